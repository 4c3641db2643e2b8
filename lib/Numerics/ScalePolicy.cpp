// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Text form of scale-exponent policies.

#include "ashlar/Numerics/ScalePolicy.h"

#include "ashlar/Support/Error.h"
#include "ashlar/Support/Nearest.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <fmt/format.h>

using namespace llvm;

namespace ashlar::numerics {

using support::ErrorClass;
using support::makeError;

/// In the order of ScaleKind.
static constexpr StringRef names[] = {"runmax", "fixed", "table", "stats",
                                      "predict"};
/// Parameters of each kind, in the order of ScaleKind.
static constexpr StringLiteral parameters[] = {"none", "e", "e", "k and n",
                                               "k and depth"};

StringRef scaleKindName(ScaleKind kind) {
  return names[static_cast<size_t>(kind)];
}

/// A decimal integer in [low, high].
static Error parseInteger(StringRef key, StringRef text, int64_t low,
                          int64_t high, int64_t &value) {
  if (text.size() <= 12 && !text.getAsInteger(10, value) && value >= low &&
      value <= high)
    return Error::success();
  return makeError(ErrorClass::Usage, "'{}' is '{}', expected {} to {}",
                   key.str(), text.str(), low, high);
}

/// k deviations: a multiple of 1/16 below 16.
static Error parseDeviations(StringRef text, int &sixteenths) {
  double value = 0;
  if (text.size() <= 12 && !text.getAsDouble(value) && value >= 0 &&
      value < 16 && value * 16 == static_cast<int>(value * 16)) {
    sixteenths = static_cast<int>(value * 16);
    return Error::success();
  }
  return makeError(ErrorClass::Usage,
                   "'k' is '{}', expected a multiple of 1/16 from 0 to 15.9375",
                   text.str());
}

static Error parseParameter(StringRef item, ScalePolicy &policy) {
  auto [key, text] = item.split('=');
  int64_t value = 0;
  Error error = Error::success();
  if (key == "e" && policy.isConstant()) {
    // The registers hold 16 bits; beyond these no block can be aligned.
    error = joinErrors(std::move(error),
                       parseInteger(key, text, -1024, 1024, value));
    policy.exponent = static_cast<int>(value);
  } else if (key == "k" && policy.isStateful()) {
    error =
        joinErrors(std::move(error), parseDeviations(text, policy.sixteenths));
  } else if (key == "n" && policy.kind == ScaleKind::Stats) {
    error = joinErrors(std::move(error),
                       parseInteger(key, text, 0, UINT32_MAX, value));
    policy.samples = static_cast<uint32_t>(value);
  } else if (key == "depth" && policy.kind == ScaleKind::Predict) {
    error = joinErrors(std::move(error), parseInteger(key, text, 1, 16, value));
    policy.depth = static_cast<int>(value);
  } else {
    error = joinErrors(
        std::move(error),
        makeError(ErrorClass::Usage,
                  "policy '{}' has the parameter '{}', expected {}",
                  scaleKindName(policy.kind).str(), item.str(),
                  parameters[static_cast<size_t>(policy.kind)].str()));
  }
  return error;
}

Expected<ScalePolicy> parseScalePolicy(StringRef text) {
  ScalePolicy policy;
  auto [name, rest] = text.split('(');
  const auto *found = llvm::find(names, name);
  if (found == std::end(names))
    return makeError(ErrorClass::Usage,
                     "scale policy is '{}', expected runmax, fixed, table, "
                     "stats or predict{}",
                     text.str(), support::didYouMean(name, names));
  policy.kind = static_cast<ScaleKind>(found - std::begin(names));
  if (name.size() == text.size())
    return policy;
  if (!rest.consume_back(")"))
    return makeError(ErrorClass::Usage,
                     "scale policy is '{}', expected ')' at its end",
                     text.str());
  SmallVector<StringRef, 4> items;
  rest.split(items, ',');
  for (StringRef item : items)
    if (Error error = parseParameter(item, policy))
      return error;
  return policy;
}

std::string toString(const ScalePolicy &policy) {
  std::string name = scaleKindName(policy.kind).str();
  switch (policy.kind) {
  case ScaleKind::RunMax:
    return name;
  case ScaleKind::Fixed:
  case ScaleKind::Table:
    return policy.exponent ? fmt::format("{}(e={})", name, *policy.exponent)
                           : name;
  case ScaleKind::Stats:
    return fmt::format("{}(k={},n={})", name, policy.sixteenths / 16.0,
                       policy.samples);
  case ScaleKind::Predict:
    return fmt::format("{}(k={},depth={})", name, policy.sixteenths / 16.0,
                       policy.depth);
  }
  return name;
}

} // namespace ashlar::numerics
