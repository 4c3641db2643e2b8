// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One element of every elementwise function (docs/Numerics.md 8), inlined into
// the scalar reference and into the rest loops of the row kernels. Internal
// linkage for the reason given in Elementary.h.

#ifndef ASHLAR_LIB_NUMERICS_SCALAR_H
#define ASHLAR_LIB_NUMERICS_SCALAR_H

#include "Trigonometry.h"

#include "ashlar/Numerics/Function.h"

namespace ashlar::numerics::elementary {

/// Nearest integer, ties to even, sign kept. The magnitudes from which on every
/// value is an integer also cover infinities.
ASHLAR_INLINE float roundAny(float x) {
  float a = magnitude(x);
  float r = (a + 0x1p23f) - 0x1p23f;
  return withSign(a < 0x1p23f ? r : a, x);
}
ASHLAR_INLINE double roundAny(double x) {
  double a = magnitude(x);
  double r = (a + 0x1p52) - 0x1p52;
  return withSign(a < 0x1p52 ? r : a, x);
}
template <typename Float>
ASHLAR_INLINE Float floorAny(Float x) {
  Float r = roundAny(x);
  return withSign(r > x ? r - 1 : r, x);
}
template <typename Float>
ASHLAR_INLINE Float ceilAny(Float x) {
  Float r = roundAny(x);
  return withSign(r < x ? r + 1 : r, x);
}

/// Exact remainder of non-negative finite a by b > 0: one quotient bit per
/// step.
template <typename Float>
ASHLAR_INLINE Float remainder(Float a, Float b) {
  // b * 2^k never overflows in the loop: it stays at or below a.
  while (a >= b) {
    Float step = b;
    while (step <= a - step)
      step += step;
    a -= step; // Exact: step <= a < 2 * step.
  }
  return a;
}

template <typename Float>
ASHLAR_INLINE Float modAny(Float x, Float y) {
  Float infinity = static_cast<Float>(kInfinity);
  Float a = magnitude(x), b = magnitude(y);
  if (!(a < infinity) || !(b > 0)) // NaN or infinite x; NaN or zero y
    return static_cast<Float>(kNaN);
  return withSign(b < infinity ? remainder(a, b) : a, x);
}

ASHLAR_INLINE bool isInteger(double y) {
  return !(magnitude(y) < 0x1p52) || roundAny(y) == y;
}
ASHLAR_INLINE bool isOdd(double y) {
  return magnitude(y) < 0x1p53 && isInteger(y) &&
         !(roundAny(y * 0.5) == y * 0.5);
}

/// Rules 8 of docs/Numerics.md 8.4.
ASHLAR_INLINE double powGeneral(double x, double y) {
  double infinity = static_cast<double>(kInfinity);
  double a = magnitude(x);
  double l = a == 0 ? -infinity : a == infinity ? infinity : logWide(a);
  double r = a == 1 ? 1 : expWide(y * l);
  if ((bitsOf(x) >> 63) == 0)
    return r;
  if (isInteger(y))
    return isOdd(y) ? -r : r;
  return a == 0 || a == infinity ? r : static_cast<double>(kNaN);
}

template <typename Float>
ASHLAR_INLINE Float powAny(Float x, Float y) {
  if (x == 1 || y == 0)
    return 1;
  if (isNaN(x) || isNaN(y))
    return static_cast<Float>(kNaN);
  if (y == 1)
    return x;
  if (y == 2)
    return x * x;
  if (y == -1)
    return 1 / x;
  double wide = x;
  if (y == 3)
    return static_cast<Float>((wide * wide) * wide);
  if (y == Float(0.5) && x > 0) {
    if constexpr (sizeof(Float) == 4)
      return __builtin_sqrtf(x);
    else
      return __builtin_sqrt(x);
  }
  return static_cast<Float>(powGeneral(wide, y));
}

/// Everything but Pow and Mod.
template <typename Float>
ASHLAR_INLINE Float basicBinary(BinaryFunction function, Float x, Float y) {
  Float nan = static_cast<Float>(kNaN);
  switch (function) {
  case BinaryFunction::Add:
    return canonical(x + y);
  case BinaryFunction::Sub:
    return canonical(x - y);
  case BinaryFunction::Mul:
    return canonical(x * y);
  case BinaryFunction::Div:
    return canonical(x / y);
  case BinaryFunction::Max:
    return canonical(isNaN(x) ? x : isNaN(y) || !(x > y) ? y : x);
  case BinaryFunction::Min:
    return canonical(isNaN(x) ? x : isNaN(y) || !(x < y) ? y : x);
  case BinaryFunction::PRelu: {
    Float r = x < 0 ? x * y : x;
    return canonical(r);
  }
  case BinaryFunction::Equal:
    return x == y;
  case BinaryFunction::Less:
    return x < y;
  case BinaryFunction::LessOrEqual:
    return x <= y;
  case BinaryFunction::Greater:
    return x > y;
  case BinaryFunction::GreaterOrEqual:
    return x >= y;
  case BinaryFunction::And:
    return (x != 0) & (y != 0);
  case BinaryFunction::Or:
    return (x != 0) | (y != 0);
  case BinaryFunction::Xor:
    return (x != 0) != (y != 0);
  default:
    return nan;
  }
}

ASHLAR_INLINE float scalarBinary(BinaryFunction function, float x, float y) {
  if (function == BinaryFunction::Pow)
    return canonical(powAny(x, y));
  if (function == BinaryFunction::Mod)
    return modAny(x, y);
  return basicBinary(function, x, y);
}

ASHLAR_INLINE float hardSigmoid(float x, float alpha, float beta) {
  float t = alpha * x;
  t = t + beta;
  return t < 0 ? 0 : t > 1 ? 1 : t;
}

/// Functions that are exact or one binary32 operation per step; NaN results
/// are made canonical by the caller.
ASHLAR_INLINE float simpleUnary(Function function, float x, float alpha,
                                float beta) {
  switch (function) {
  case Function::Neg:
    return floatOf(bitsOf(x) ^ 0x80000000u);
  case Function::Abs:
    return magnitude(x);
  case Function::Sqrt:
    return __builtin_sqrtf(x);
  case Function::Reciprocal:
    return 1.0f / x;
  case Function::Relu:
    return x > 0 ? x : isNaN(x) ? x : 0;
  case Function::LeakyRelu:
    return x < 0 ? alpha * x : x;
  case Function::Clip: {
    float low = x < alpha ? alpha : x;
    return low > beta ? beta : low;
  }
  case Function::HardSigmoid:
    return hardSigmoid(x, alpha, beta);
  case Function::HardSwish:
    return x * hardSigmoid(x, 0x1.555556p-3f, 0.5f);
  case Function::Floor:
    return floorAny(x);
  case Function::Ceil:
    return ceilAny(x);
  case Function::Round:
    return roundAny(x);
  case Function::Sign:
    return x > 0 ? 1 : x < 0 ? -1 : isNaN(x) ? x : 0;
  default:
    return x;
  }
}

/// Functions computed in binary64.
ASHLAR_INLINE double wideUnary(Function function, double x, double alpha,
                               double beta) {
  switch (function) {
  case Function::Exp:
    return expWide(x);
  case Function::Log:
    return logAny(x);
  case Function::Sigmoid:
    return sigmoidWide(x);
  case Function::Tanh:
    return tanhWide(x);
  case Function::Elu:
    return eluWide(x, alpha);
  case Function::Selu:
    return seluWide(x, alpha, beta);
  case Function::Softplus:
    return softplusWide(x);
  case Function::Softsign:
    return softsignWide(x);
  case Function::Erf:
    return erfWide(x);
  case Function::Gelu:
    return geluWide(x);
  case Function::GeluTanh:
    return geluTanhWide(x);
  case Function::Swish:
    return swishWide(x, alpha);
  case Function::Sin:
    return sinWide(x);
  case Function::Cos:
    return cosWide(x);
  case Function::Tan:
    return tanWide(x);
  case Function::Asin:
    return asinWide(x);
  case Function::Acos:
    return acosWide(x);
  case Function::Atan:
    return atanWide(x);
  case Function::Sinh:
    return sinhWide(x);
  case Function::Cosh:
    return coshWide(x);
  case Function::Asinh:
    return asinhWide(x);
  case Function::Acosh:
    return acoshWide(x);
  case Function::Atanh:
    return atanhWide(x);
  default:
    return x;
  }
}

ASHLAR_INLINE constexpr bool isWide(Function function) {
  switch (function) {
  case Function::Exp:
  case Function::Log:
  case Function::Sigmoid:
  case Function::Tanh:
  case Function::Elu:
  case Function::Selu:
  case Function::Softplus:
  case Function::Softsign:
  case Function::Erf:
  case Function::Gelu:
  case Function::GeluTanh:
  case Function::Swish:
  case Function::Sin:
  case Function::Cos:
  case Function::Tan:
  case Function::Asin:
  case Function::Acos:
  case Function::Atan:
  case Function::Sinh:
  case Function::Cosh:
  case Function::Asinh:
  case Function::Acosh:
  case Function::Atanh:
    return true;
  default:
    return false;
  }
}

ASHLAR_INLINE float scalarUnary(Function function, float x, float alpha,
                                float beta) {
  if (function == Function::Copy)
    return x;
  if (function == Function::Not)
    return x == 0 ? 1 : 0;
  if (!isWide(function))
    return canonical(simpleUnary(function, x, alpha, beta));
  // A NaN operand is tested here: the logarithm takes bits apart.
  float y = static_cast<float>(wideUnary(function, x, alpha, beta));
  return canonical(isNaN(x) ? x : y);
}

} // namespace ashlar::numerics::elementary

#endif // ASHLAR_LIB_NUMERICS_SCALAR_H
