// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Text form of scale-exponent policies.

#include "ashlar/Numerics/ScalePolicy.h"

#include "ashlar/Support/Error.h"
#include "ashlar/Support/Nearest.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"

#include <fmt/format.h>

using namespace llvm;

namespace ashlar::numerics {

using support::ErrorClass;
using support::makeError;

/// In the order of ScaleKind.
static constexpr StringRef names[] = {"runmax", "fixed",   "table",
                                      "stats",  "predict", "error"};
/// Parameters of each kind, in the order of ScaleKind.
static constexpr StringLiteral parameters[] = {"none",
                                               "e, at and overflow",
                                               "e, at and overflow",
                                               "k, n, lead, at and overflow",
                                               "k, depth, at and overflow",
                                               "t, n, lead and overflow"};
/// In the order of StoreOverflow.
static constexpr StringRef overflows[] = {"saturate", "wrap", "repair"};
/// By ScalePolicy::ceiling.
static constexpr StringRef leads[] = {"floor", "ceil"};
/// In the order of ScalePlace.
static constexpr StringRef places[] = {"fetch", "store"};

StringRef scaleKindName(ScaleKind kind) {
  return names[static_cast<size_t>(kind)];
}

StringRef storeOverflowName(StoreOverflow overflow) {
  return overflows[static_cast<size_t>(overflow)];
}

/// One of the names that an enumeration has, in its order.
template <typename Enum>
static Error parseName(StringRef key, StringRef text,
                       ArrayRef<StringRef> choices, Enum &value) {
  const auto *found = llvm::find(choices, text);
  if (found == choices.end())
    return makeError(ErrorClass::Usage, "'{}' is '{}', expected {}{}",
                     key.str(), text.str(), llvm::join(choices, " or "),
                     support::didYouMean(text, choices));
  value = static_cast<Enum>(found - choices.begin());
  return Error::success();
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

static Error parseParameter(StringRef item, ScalePolicy &policy,
                            std::optional<StoreOverflow> &overflow) {
  auto [key, text] = item.split('=');
  int64_t value = 0;
  Error error = Error::success();
  if (key == "e" && policy.isConstant()) {
    // The registers hold 16 bits; beyond these no block can be aligned.
    error = joinErrors(std::move(error),
                       parseInteger(key, text, -1024, 1024, value));
    policy.exponent = static_cast<int>(value);
  } else if (key == "k" && (policy.kind == ScaleKind::Stats ||
                            policy.kind == ScaleKind::Predict)) {
    error =
        joinErrors(std::move(error), parseDeviations(text, policy.sixteenths));
  } else if (key == "n" && (policy.kind == ScaleKind::Stats ||
                            policy.kind == ScaleKind::Error)) {
    error = joinErrors(std::move(error),
                       parseInteger(key, text, 0, UINT32_MAX, value));
    policy.samples = static_cast<uint32_t>(value);
  } else if (key == "depth" && policy.kind == ScaleKind::Predict) {
    error = joinErrors(std::move(error), parseInteger(key, text, 1, 16, value));
    policy.depth = static_cast<int>(value);
  } else if (key == "t" && policy.kind == ScaleKind::Error) {
    error = joinErrors(std::move(error), parseInteger(key, text, 0, 31, value));
    policy.tolerance = static_cast<int>(value);
  } else if (key == "lead" && (policy.kind == ScaleKind::Stats ||
                               policy.kind == ScaleKind::Error)) {
    error = joinErrors(std::move(error),
                       parseName(key, text, leads, policy.ceiling));
  } else if (key == "at" && policy.kind != ScaleKind::RunMax &&
             policy.kind != ScaleKind::Error) {
    error = joinErrors(std::move(error),
                       parseName(key, text, places, policy.place));
  } else if (key == "overflow" && policy.kind != ScaleKind::RunMax) {
    overflow.emplace();
    error = joinErrors(std::move(error),
                       parseName(key, text, overflows, *overflow));
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
                     "stats, predict or error{}",
                     text.str(), support::didYouMean(name, names));
  policy.kind = static_cast<ScaleKind>(found - std::begin(names));
  // Errors of stored values are what this policy looks at.
  if (policy.kind == ScaleKind::Error)
    policy.place = ScalePlace::Store;
  std::optional<StoreOverflow> overflow;
  if (name.size() != text.size()) {
    if (!rest.consume_back(")"))
      return makeError(ErrorClass::Usage,
                       "scale policy is '{}', expected ')' at its end",
                       text.str());
    SmallVector<StringRef, 4> items;
    rest.split(items, ',');
    for (StringRef item : items)
      if (Error error = parseParameter(item, policy, overflow))
        return error;
  }
  if (overflow && !policy.isStored())
    return makeError(ErrorClass::Usage,
                     "scale policy '{}' has 'overflow' without 'at=store': "
                     "blocks with exponents of their own do not overflow",
                     text.str());
  // What looks at earlier values must see those that did not fit.
  if (policy.isStored())
    policy.overflow = overflow.value_or(
        policy.isStateful() ? StoreOverflow::Repair : StoreOverflow::Saturate);
  return policy;
}

/// `name` with the parameters that `items` and the place need.
static std::string withParameters(const ScalePolicy &policy,
                                  SmallVector<std::string, 4> items) {
  if (policy.ceiling)
    items.push_back("lead=ceil");
  if (policy.isStored()) {
    if (policy.kind != ScaleKind::Error)
      items.push_back("at=store");
    items.push_back("overflow=" + storeOverflowName(policy.overflow).str());
  }
  std::string name = scaleKindName(policy.kind).str();
  return items.empty() ? name : name + "(" + llvm::join(items, ",") + ")";
}

std::string toString(const ScalePolicy &policy) {
  const std::string k = fmt::format("k={}", policy.sixteenths / 16.0);
  switch (policy.kind) {
  case ScaleKind::RunMax:
    break;
  case ScaleKind::Fixed:
  case ScaleKind::Table:
    if (!policy.exponent)
      break;
    return withParameters(policy, {fmt::format("e={}", *policy.exponent)});
  case ScaleKind::Stats:
    return withParameters(policy, {k, fmt::format("n={}", policy.samples)});
  case ScaleKind::Predict:
    return withParameters(policy, {k, fmt::format("depth={}", policy.depth)});
  case ScaleKind::Error:
    return withParameters(policy, {fmt::format("t={}", policy.tolerance),
                                   fmt::format("n={}", policy.samples)});
  }
  return withParameters(policy, {});
}

} // namespace ashlar::numerics
