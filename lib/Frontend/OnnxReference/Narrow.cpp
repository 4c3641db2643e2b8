// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Search among the numbers of a type.

#include "Narrow.h"

#include <cmath>
#include <limits>

using namespace ashlar;
using namespace ashlar::onnxref;
using frontend::NarrowKind;
using frontend::NarrowType;

namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr double kUndefined = std::numeric_limits<double>::quiet_NaN();

unsigned countOf(const NarrowType &type) { return 1u << type.bits; }

/// The number that follows the largest, if the type went on.
double nextAfterLargest(const NarrowType &type) {
  double below = 0;
  for (unsigned code = 0; code < countOf(type); ++code) {
    const double value = frontend::decode(type, code);
    if (value < type.largest && value > below)
      below = value;
  }
  return 2 * type.largest - below;
}

int64_t lowBits(int64_t value, const NarrowType &type) {
  const auto modulus = static_cast<int64_t>(countOf(type));
  int64_t rest = value % modulus;
  if (rest < 0)
    rest += modulus;
  return type.kind == NarrowKind::Signed && rest >= modulus / 2 ? rest - modulus
                                                                : rest;
}

double powerFor(double x, const NarrowType &type, bool saturate,
                llvm::StringRef mode) {
  if (std::isnan(x) || x < 0)
    return kUndefined;
  const double least = frontend::decode(type, 0);
  double below = 0, above = kInfinite;
  for (int exponent = -300; exponent <= 300; ++exponent) {
    const double power = std::ldexp(1.0, exponent);
    if (power <= x)
      below = power;
    else
      above = std::min(above, power);
  }
  double result = below;
  if (x == 0)
    result = 0;
  else if (x > below &&
           (mode == "up" || (mode == "nearest" && above - x <= x - below)))
    result = above;
  if (saturate)
    return std::min(std::max(result, least), type.largest);
  return result < least || result > type.largest ? kUndefined : result;
}

} // namespace

double onnxref::nearestIn(const NarrowType &type, double x, bool saturate) {
  if (std::isnan(x))
    return type.hasNaN() ? x : -0.0;
  const double magnitude = std::abs(x), beyond = nextAfterLargest(type);
  double best = 0;
  double distance = magnitude;
  bool even = true;
  auto consider = [&](double value, bool isEven) {
    const double apart = std::abs(value - magnitude);
    if (apart < distance || (apart == distance && isEven && !even)) {
      best = value;
      distance = apart;
      even = isEven;
    }
  };
  for (unsigned code = 1; code < countOf(type) / 2; ++code)
    if (const double value = frontend::decode(type, code); std::isfinite(value))
      consider(value, code % 2 == 0);
  // The code after that of the largest number would be of the other parity.
  unsigned top = 0;
  for (unsigned code = 0; code < countOf(type) / 2; ++code)
    if (frontend::decode(type, code) == type.largest)
      top = code;
  consider(beyond, top % 2 == 1);
  // Nothing is nearer to what is far beyond.
  if (best > type.largest || magnitude > beyond) {
    if (saturate || !type.hasNaN())
      best = type.largest;
    else
      best = type.kind == NarrowKind::Ieee ? kInfinite : kUndefined;
  }
  if (best == 0 && type.kind == NarrowKind::NoZero)
    return 0;
  return std::copysign(best, x);
}

Tensor onnxref::toNarrow(const Tensor &x, const NarrowType &type, bool saturate,
                         llvm::StringRef roundMode) {
  Tensor y(type.storage, x.shape);
  for (int64_t i = 0, e = x.size(); i < e; ++i) {
    const double value =
        x.isFloat() ? x.floats[i] : static_cast<double>(x.ints[i]);
    if (type.kind == NarrowKind::Scale)
      y.floats[i] = powerFor(value, type, saturate, roundMode);
    else if (type.isFloat())
      y.floats[i] = nearestIn(type, value, saturate);
    else if (x.type == support::ElementType::Bool)
      y.ints[i] = x.ints[i];
    else
      y.ints[i] = lowBits(x.isFloat() ? static_cast<int64_t>(std::min(
                                            std::max(value, -0x1p30), 0x1p30))
                                      : x.ints[i],
                          type);
  }
  return y;
}

Tensor onnxref::valuesOf(const Tensor &codes, const NarrowType &type) {
  Tensor values(type.storage, codes.shape);
  for (int64_t i = 0, e = codes.size(); i < e; ++i) {
    const double value =
        frontend::decode(type, static_cast<unsigned>(codes.ints[i]));
    if (type.isFloat())
      values.floats[i] = value;
    else
      values.ints[i] = static_cast<int64_t>(value);
  }
  return values;
}

Tensor onnxref::codesOf(const Tensor &values, const NarrowType &type) {
  Tensor codes(type.outside, values.shape);
  if (!type.isFloat()) {
    codes.ints = values.ints;
    return codes;
  }
  for (int64_t i = 0, e = values.size(); i < e; ++i) {
    const double value = values.floats[i];
    for (unsigned code = countOf(type); code-- > 0;) {
      const double other = frontend::decode(type, code);
      if ((std::isnan(value) && std::isnan(other)) ||
          (value == other && std::signbit(value) == std::signbit(other)))
        codes.ints[i] = code;
    }
  }
  return codes;
}
