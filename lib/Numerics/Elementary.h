// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The elementwise formulas of docs/Numerics.md 8, shared by the scalar
// reference and the row kernels. Written without branches where a vector unit
// can use it. Everything has internal linkage and is always inlined: this
// header is compiled once per instruction set, and the linker must never pick
// one instance for all of them.

#ifndef ASHLAR_LIB_NUMERICS_ELEMENTARY_H
#define ASHLAR_LIB_NUMERICS_ELEMENTARY_H

#include <cstdint>

#define ASHLAR_INLINE static inline __attribute__((always_inline))

namespace ashlar::numerics::elementary {

inline constexpr double kExp[12] = {
    0x1.0000000000000p+0,  0x1.0000000000000p+0,  0x1.0000000000000p-1,
    0x1.5555555555555p-3,  0x1.5555555555555p-5,  0x1.1111111111111p-7,
    0x1.6c16c16c16c17p-10, 0x1.a01a01a01a01ap-13, 0x1.a01a01a01a01ap-16,
    0x1.71de3a556c734p-19, 0x1.27e4fb7789f5cp-22, 0x1.ae64567f544e4p-26};
inline constexpr double kLog[8] = {0x1.5555555555555p-2, 0x1.999999999999ap-3,
                                   0x1.2492492492492p-3, 0x1.c71c71c71c71cp-4,
                                   0x1.745d1745d1746p-4, 0x1.3b13b13b13b14p-4,
                                   0x1.1111111111111p-4, 0x1.e1e1e1e1e1e1ep-5};
inline constexpr double kErf[12] = {
    0x1.20dd750429b6dp+0,   -0x1.812746b0379c1p-2,  0x1.ce2f21a040f66p-4,
    -0x1.b82ce31203772p-6,  0x1.565bccfa44156p-8,   -0x1.c02db0665e53dp-11,
    0x1.f9a2be4f731a1p-14,  -0x1.f4ca838adb73bp-17, 0x1.b981d78881a5dp-20,
    -0x1.5c131500d3f88p-23, 0x1.d76af6ca49787p-27,  -0x1.ac9585a44fe29p-31};
inline constexpr double kErfc[18] = {
    0x1.40c522d7e4987p+0,   -0x1.15c084bb9e8f5p-3,  -0x1.85a15c58aa5c9p-5,
    0x1.098366a5b47f8p-3,   -0x1.e88b803a4a4f4p-4,  0x1.17ca2877e8d14p-4,
    -0x1.8574c40a9c368p-6,  0x1.4b884e5b972d9p-9,   0x1.ef1bdb4941080p-10,
    -0x1.98db54e47b908p-11, -0x1.b910c381fad39p-14, 0x1.065a6b95209e7p-13,
    0x1.4b56907d6c929p-18,  -0x1.5131d6e31a5bbp-16, -0x1.6c2bd7cb10165p-21,
    0x1.cec043b1b2b73p-19,  0x1.ecde1cf089cf3p-23,  -0x1.1ec452ba850e8p-21};

inline constexpr double kLog2E = 0x1.71547652b82fep+0;
inline constexpr double kLn2High = 0x1.62e42fee00000p-1;
inline constexpr double kLn2Low = 0x1.a39ef35793c76p-33;
inline constexpr double kRoot2Inverse = 0x1.6a09e667f3bcdp-1;
/// 2 sqrt(2 / pi), and 0.044715 times that.
inline constexpr double kGeluLinear = 0x1.9884533d43651p+0;
inline constexpr double kGeluCubic = 0x1.2444f2a4d8b4bp-4;
inline constexpr double kThird = 0x1.5555555555555p-2;
inline constexpr double kSixth = 0x1.5555555555555p-3;
inline constexpr double k24th = 0x1.5555555555555p-5;
inline constexpr double kSmall = 0x1p-10;
/// Adding and subtracting it rounds |v| < 2^51 to an integer, ties to even.
inline constexpr double kRounder = 0x1.8p52;
inline constexpr float kNaN = __builtin_bit_cast(float, 0x7fc00000u);
inline constexpr float kInfinity = __builtin_bit_cast(float, 0x7f800000u);

ASHLAR_INLINE uint32_t bitsOf(float x) {
  return __builtin_bit_cast(uint32_t, x);
}
ASHLAR_INLINE float floatOf(uint32_t x) { return __builtin_bit_cast(float, x); }
ASHLAR_INLINE uint64_t bitsOf(double x) {
  return __builtin_bit_cast(uint64_t, x);
}
ASHLAR_INLINE double doubleOf(uint64_t x) {
  return __builtin_bit_cast(double, x);
}

ASHLAR_INLINE bool isNaN(float x) { return __builtin_isnan(x); }
ASHLAR_INLINE bool isNaN(double x) { return __builtin_isnan(x); }
/// Canonical NaN for any NaN. On integers: to the optimiser all NaN values are
/// alike, so that it may drop a choice between two of them.
ASHLAR_INLINE float canonical(float x) {
  uint32_t bits = bitsOf(x);
  return floatOf((bits & 0x7fffffffu) > 0x7f800000u ? 0x7fc00000u : bits);
}
ASHLAR_INLINE double canonical(double x) {
  uint64_t bits = bitsOf(x);
  return doubleOf((bits & 0x7fffffffffffffffu) > 0x7ff0000000000000u
                      ? 0x7ff8000000000000u
                      : bits);
}
ASHLAR_INLINE float magnitude(float x) {
  return floatOf(bitsOf(x) & 0x7fffffffu);
}
ASHLAR_INLINE double magnitude(double x) {
  return doubleOf(bitsOf(x) & 0x7fffffffffffffffu);
}
ASHLAR_INLINE float withSign(float value, float sign) {
  return floatOf((bitsOf(value) & 0x7fffffffu) | (bitsOf(sign) & 0x80000000u));
}
ASHLAR_INLINE double withSign(double value, double sign) {
  return doubleOf((bitsOf(value) & 0x7fffffffffffffffu) |
                  (bitsOf(sign) & 0x8000000000000000u));
}

template <int N>
ASHLAR_INLINE double horner(const double (&c)[N], double v) {
  double p = c[N - 1];
#pragma GCC unroll 32
  for (int k = N - 2; k >= 0; --k)
    p = p * v + c[k];
  return p;
}

ASHLAR_INLINE double expWide(double x) {
  double c = x < -700.0 ? -700.0 : x;
  c = c > 700.0 ? 700.0 : c;
  double shifted = c * kLog2E + kRounder;
  double n = shifted - kRounder;
  double r = (c - n * kLn2High) - n * kLn2Low;
  // The low bits of `shifted` are n in two's complement: exponent field of 2^n.
  double power = doubleOf((bitsOf(shifted) + 1023) << 52);
  return horner(kExp, r) * power;
}

/// x finite and positive.
ASHLAR_INLINE double logWide(double x) {
  uint64_t offset = bitsOf(x) - bitsOf(kRoot2Inverse);
  // Arithmetic shift of a 12-bit signed field, exact in binary64.
  double k = static_cast<double>(
      static_cast<int32_t>(static_cast<uint32_t>(offset >> 32)) >> 20);
  double m = doubleOf(bitsOf(x) - (offset & 0xfff0000000000000u));
  double f = m - 1.0;
  double s = f / (2.0 + f);
  double z = s * s;
  double w = s + s;
  double q = horner(kLog, z);
  return k * kLn2High + (k * kLn2Low + (w + w * (z * q)));
}

/// x <= 0.
ASHLAR_INLINE double expm1Wide(double x) {
  double small = x * (1.0 + x * (0.5 + x * (kSixth + x * k24th)));
  double large = expWide(x) - 1.0;
  return x > -kSmall ? small : large;
}

/// 0 <= y <= 1.
ASHLAR_INLINE double log1pWide(double y) {
  double small = y * (1.0 - y * (0.5 - y * (kThird - y * 0.25)));
  double large = logWide(1.0 + y);
  return y < kSmall ? small : large;
}

ASHLAR_INLINE double erfCentre(double x) { return x * horner(kErf, x * x); }

/// a >= 1.
ASHLAR_INLINE double erfcTail(double a) {
  double b = a > 12.0 ? 12.0 : a;
  double t = (b - 3.0) / (b + 3.0);
  return (expWide(-(b * b)) * horner(kErfc, t)) / (1.0 + 2.0 * b);
}

ASHLAR_INLINE double sigmoidWide(double x) { return 1.0 / (1.0 + expWide(-x)); }

/// x * sigmoid(alpha * x).
ASHLAR_INLINE double swishWide(double x, double alpha) {
  return x / (1.0 + expWide(-(alpha * x)));
}

ASHLAR_INLINE double tanhWide(double x) {
  double a = magnitude(x);
  double small = x * (1.0 - (x * x) * kThird);
  double large = withSign(1.0 - 2.0 / (expWide(2.0 * a) + 1.0), x);
  return a < kSmall ? small : large;
}

ASHLAR_INLINE double eluWide(double x, double alpha) {
  double negative = alpha * expm1Wide(x);
  return x > 0.0 ? x : negative;
}

ASHLAR_INLINE double seluWide(double x, double alpha, double gamma) {
  double negative = gamma * (alpha * expm1Wide(x));
  return x > 0.0 ? gamma * x : negative;
}

ASHLAR_INLINE double softplusWide(double x) {
  return (x > 0.0 ? x : 0.0) + log1pWide(expWide(-magnitude(x)));
}

ASHLAR_INLINE double softsignWide(double x) { return x / (1.0 + magnitude(x)); }

ASHLAR_INLINE double erfWide(double x) {
  double a = magnitude(x);
  double centre = erfCentre(x);
  double tail = withSign(1.0 - erfcTail(a), x);
  return a >= 1.0 ? tail : centre;
}

ASHLAR_INLINE double geluWide(double x) {
  double h = 0.5 * x;
  double u = x * kRoot2Inverse;
  double a = magnitude(u);
  double tail = erfcTail(a);
  double outer = h * (x > 0.0 ? 2.0 - tail : tail);
  double inner = h * (1.0 + erfCentre(u));
  double result = a < 1.0 ? inner : outer;
  return x < -16.0 ? -0.0 : result;
}

/// x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))).
ASHLAR_INLINE double geluTanhWide(double x) {
  double u = x * (kGeluLinear + kGeluCubic * (x * x));
  double result = x / (1.0 + expWide(-u));
  return x < -16.0 ? -0.0 : result;
}

/// log with the special values of docs/Numerics.md 8.1.
ASHLAR_INLINE double logAny(double x) {
  double result = logWide(x);
  result = x < doubleOf(0x7ff0000000000000u) ? result : x; // +inf, NaN
  result = x == 0.0 ? -doubleOf(0x7ff0000000000000u) : result;
  return x < 0.0 ? doubleOf(0x7ff8000000000000u) : result;
}

} // namespace ashlar::numerics::elementary

#endif // ASHLAR_LIB_NUMERICS_ELEMENTARY_H
