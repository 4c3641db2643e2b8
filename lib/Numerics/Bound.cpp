// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Error bounds, one rounding at a time. Every constant is rounded up: a bound
// that is a little too large stays a bound.

#include "ashlar/Numerics/Bound.h"
#include "ashlar/Numerics/Encode.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>

namespace ashlar::numerics {

namespace {

/// Relative error of the few binary64 operations of a reference value or of a
/// bound.
constexpr double kReferenceSlack = 0x1p-50;
/// Half a unit in the last place of binary32, and of its least exponent.
constexpr double kHalfUlp = 0x1p-24 + kReferenceSlack;
constexpr double kHalfDenormal = 0x1p-150;

/// Largest change of the function's value while its argument moves by `v.bound`
/// up or down, for functions that never fall or never rise.
double monotoneSpread(Enclosure v, Function function, double alpha,
                      double beta) {
  auto at = [&](double x) { return applyWide(function, x, alpha, beta); };
  double middle = at(v.value);
  double up = std::abs(at(v.value + v.bound) - middle);
  double down = std::abs(at(v.value - v.bound) - middle);
  // Where the function ends there is no guarantee.
  if (std::isnan(up) || std::isnan(down))
    return HUGE_VAL;
  return std::max(up, down);
}

/// Change of the function's value that an argument error of `v.bound` causes.
double spread(Enclosure v, Function function, double alpha, double beta) {
  if (v.bound == 0)
    return 0;
  switch (function) {
  case Function::Copy:
  case Function::Neg:
  case Function::Abs:
  case Function::Sin:
  case Function::Cos:
    return v.bound;
  case Function::Tan: {
    // The slope is 1 / cos^2, and the cosine moves by no more than v.bound.
    const double least = std::abs(applyWide(Function::Cos, v.value)) - v.bound;
    return least > 0 ? v.bound / (least * least) : HUGE_VAL;
  }
  case Function::Cosh: // slope at most that of the farther end
    return v.bound * std::abs(applyWide(Function::Sinh, v.top()));
  case Function::Reciprocal:
    // 1/x falls on either side of its pole and is unbounded across it.
    if (std::abs(v.value) <= v.bound)
      return HUGE_VAL;
    return monotoneSpread(v, function, alpha, beta);
  case Function::HardSwish: // slope at most 1.5, at x = 3
    return 1.5 * v.bound;
  case Function::Gelu:     // slope at most 1.129, at x = sqrt 2
  case Function::GeluTanh: // slope at most 1.129 as well
    return 1.13 * v.bound;
  case Function::Swish: // slope at most 1.0998 for every alpha
    return 1.1 * v.bound;
  case Function::Not:
    return std::abs(v.value) <= v.bound ? 1 : 0;
  case Function::LeakyRelu:
    return std::max(1.0, std::abs(alpha)) * v.bound;
  case Function::Elu:
    return std::max(1.0, std::abs(alpha)) * v.bound;
  case Function::Selu:
    return std::abs(beta) * std::max(1.0, std::abs(alpha)) * v.bound;
  default:
    return monotoneSpread(v, function, alpha, beta);
  }
}

/// Roundings inside the function, of a result `y` for an argument `x`.
double ownRounding(double x, double y, Function function, double alpha,
                   double beta) {
  switch (function) {
  case Function::Copy:
  case Function::Neg:
  case Function::Abs:
  case Function::Relu:
  case Function::Clip:
  case Function::Floor:
  case Function::Ceil:
  case Function::Round:
  case Function::Sign:
  case Function::Not:
    return 0;
  case Function::HardSigmoid:
    // Two roundings of a sum that may cancel.
    return 4 * kHalfUlp * (std::abs(alpha * x) + std::abs(beta) + 1);
  case Function::HardSwish:
    return 4 * kHalfUlp * (std::abs(x) + 1) * (std::abs(x) + 1);
  default:
    // 0.501 units in the last place, doubled; elu and selu are products.
    return 4 * kHalfUlp * std::abs(y) + 2 * kHalfDenormal;
  }
}

} // namespace

double powerOfTwo(int exponent) {
  assert(exponent >= -1000 && exponent <= 1000 && "normal binary64 only");
  return std::bit_cast<double>(static_cast<uint64_t>(exponent + 1023) << 52);
}

double Enclosure::top() const {
  // Where the function ends, nothing is known of the machine's value.
  const double top = std::abs(value) + bound;
  return top >= 0 ? top : HUGE_VAL;
}

double blockStep(double top, int mantissa) {
  if (top == 0)
    return 0;
  if (!(top < HUGE_VAL))
    return HUGE_VAL;
  return powerOfTwo(stepExponent(blockExponent(top), mantissa));
}

double encodeBound(double top, double step, int mantissa) {
  double limit = powerOfTwo(mantissa - 1) - 1;
  double above = top - limit * step;
  return std::max(step / 2, std::min(step, above)) * (1 + kReferenceSlack);
}

double alignBound(double step, int scale, int range) {
  double unit = powerOfTwo(scale - range);
  return step > 0 && step < unit ? unit / 2 : 0;
}

bool alignSaturates(double value, double step, int scale, int mantissa) {
  double limit = powerOfTwo(mantissa - 1) - 1;
  return step > powerOfTwo(scale) &&
         std::abs(value) > limit * powerOfTwo(scale);
}

double productBound(double operandError, double magnitude, uint64_t terms) {
  double slack = kReferenceSlack * static_cast<double>(terms + 4);
  return operandError * (1 + slack) + magnitude * slack;
}

Enclosure toBinary32(Enclosure v) {
  constexpr double overflow = 0x1.ffffffp+127;
  if (!(v.top() < overflow))
    return {v.value, HUGE_VAL};
  return {v.value, v.bound + v.top() * kHalfUlp + kHalfDenormal};
}

Enclosure scaled(Enclosure v, double factor) {
  return toBinary32({v.value * factor, v.bound * std::abs(factor)});
}

Enclosure shifted(Enclosure v, double term) {
  double slack = kReferenceSlack * (std::abs(v.value) + std::abs(term));
  return toBinary32({v.value + term, v.bound + slack});
}

Enclosure applied(Enclosure v, Function function, double alpha, double beta) {
  double y = applyWide(function, v.value, alpha, beta);
  double moved = spread(v, function, alpha, beta);
  double own = ownRounding(v.top(), std::abs(y) + moved, function, alpha, beta);
  // A NaN from a difference of infinities proves nothing.
  double bound = moved + own;
  return {y, bound >= 0 ? bound : HUGE_VAL};
}

double roundingBound(double top, int fraction, int least) {
  return top * (powerOfTwo(-fraction - 1) + kReferenceSlack) +
         powerOfTwo(least - 1);
}

} // namespace ashlar::numerics
