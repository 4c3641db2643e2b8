// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Circular and hyperbolic functions and their inverses (docs/Numerics.md 8.5),
// in binary64 with one rounding by the caller. Internal linkage for the reason
// given in Elementary.h.

#ifndef ASHLAR_LIB_NUMERICS_TRIGONOMETRY_H
#define ASHLAR_LIB_NUMERICS_TRIGONOMETRY_H

#include "Elementary.h"

namespace ashlar::numerics::elementary {

inline constexpr double kSin[8] = {
    0x1.0000000000000p+0,   -0x1.5555555555555p-3, 0x1.1111111111111p-7,
    -0x1.a01a01a01a01ap-13, 0x1.71de3a556c734p-19, -0x1.ae64567f544e4p-26,
    0x1.6124613a86d09p-33,  -0x1.ae7f3e733b81fp-41};
inline constexpr double kCos[9] = {
    0x1.0000000000000p+0,   -0x1.0000000000000p-1,  0x1.5555555555555p-5,
    -0x1.6c16c16c16c17p-10, 0x1.a01a01a01a01ap-16,  -0x1.27e4fb7789f5cp-22,
    0x1.1eed8eff8d898p-29,  -0x1.93974a8c07c9dp-37, 0x1.ae7f3e733b81fp-45};
inline constexpr double kAtan[21] = {
    0x1.0000000000000p+0,  -0x1.5555555555555p-2, 0x1.999999999999ap-3,
    -0x1.2492492492492p-3, 0x1.c71c71c71c71cp-4,  -0x1.745d1745d1746p-4,
    0x1.3b13b13b13b14p-4,  -0x1.1111111111111p-4, 0x1.e1e1e1e1e1e1ep-5,
    -0x1.af286bca1af28p-5, 0x1.8618618618618p-5,  -0x1.642c8590b2164p-5,
    0x1.47ae147ae147bp-5,  -0x1.2f684bda12f68p-5, 0x1.1a7b9611a7b96p-5,
    -0x1.0842108421084p-5, 0x1.f07c1f07c1f08p-6,  -0x1.d41d41d41d41dp-6,
    0x1.bacf914c1bad0p-6,  -0x1.a41a41a41a41ap-6, 0x1.8f9c18f9c18fap-6};
inline constexpr double kSinh[10] = {
    0x1.0000000000000p+0,  0x1.5555555555555p-3,  0x1.1111111111111p-7,
    0x1.a01a01a01a01ap-13, 0x1.71de3a556c734p-19, 0x1.ae64567f544e4p-26,
    0x1.6124613a86d09p-33, 0x1.ae7f3e733b81fp-41, 0x1.952c77030ad4ap-49,
    0x1.2f49b46814157p-57};

/// pi / 2 in parts of 33, 33 and 53 bits; a product of one of the first two
/// with an integer below 2^20 is exact.
inline constexpr double kHalfPi1 = 0x1.921fb54400000p+0;
inline constexpr double kHalfPi2 = 0x1.0b4611a600000p-34;
inline constexpr double kHalfPi3 = 0x1.3198a2e037073p-69;
inline constexpr double kTwoOverPi = 0x1.45f306dc9c883p-1;
inline constexpr double kHalfPi = 0x1.921fb54442d18p+0;
inline constexpr double kQuarterPi = 0x1.921fb54442d18p-1;
/// From here on an argument is reduced by integers.
inline constexpr double kLargeAngle = 0x1p20;
/// tan(pi / 8), rounded.
inline constexpr double kTanEighth = 0x1.a827999fcef32p-2;
inline constexpr double kLn2 = 0x1.62e42fefa39efp-1;
/// From here on sqrt(1 + x * x) is x.
inline constexpr double kLargeArea = 0x1p28;

/// An angle as r + quadrant * pi / 2 with |r| <= pi / 4, modulo 2 pi.
struct Angle {
  double r;
  unsigned quadrant;
};

/// Bits of 2 / pi, after 39 zeros.
inline constexpr uint64_t kTwoOverPiBits[20] = {
    0x000000000145f306u, 0xdc9c882a53f84eafu, 0xa3ea69bb81b6c52bu,
    0x3278872083fca2c7u, 0x57bd778ac36e48dcu, 0x74849ba5c00c925du,
    0xd413a32439fc3bd6u, 0x3962534e7dd1046bu, 0xea5d768909d338e0u,
    0x4d68befc827323acu, 0x7306a673e93908bfu, 0x177bf250763ff12fu,
    0xffbc0b301fde5e23u, 0x16b414da3eda6cfdu, 0x9e4f96136e9e8c7eu,
    0xcd3cbfd45aea4f75u, 0x8fd7cbe2f67a0e73u, 0xef14a525d4d7f6bfu,
    0x623f1aba10ac0660u, 0x8df8f6d757e19f78u};

/// The upper half of a product.
ASHLAR_INLINE uint64_t productHigh(uint64_t a, uint64_t b) {
  const uint64_t a0 = a & 0xffffffffu, a1 = a >> 32;
  const uint64_t b0 = b & 0xffffffffu, b1 = b >> 32;
  const uint64_t middle = a1 * b0 + ((a0 * b0) >> 32);
  const uint64_t other = a0 * b1 + (middle & 0xffffffffu);
  return a1 * b1 + (middle >> 32) + (other >> 32);
}

/// x finite, of magnitude 2^20 and more. x * 2 / pi modulo 4 is the product of
/// the significand with 128 bits of 2 / pi: bits of higher weight give
/// multiples of 4, lower ones less than 2^-73.
ASHLAR_INLINE Angle reduceLarge(double x) {
  const uint64_t bits = bitsOf(magnitude(x));
  const uint64_t m = (bits & 0x000fffffffffffffu) | (uint64_t(1) << 52);
  const uint64_t start = (bits >> 52) - 1075 + 37;
  const uint64_t word = start / 64, shift = start % 64;
  auto window = [&](uint64_t at) {
    const uint64_t high = kTwoOverPiBits[at] << shift;
    return shift == 0 ? high : high | kTwoOverPiBits[at + 1] >> (64 - shift);
  };
  const uint64_t high = window(word), low = window(word + 1);
  // The product modulo 2^128; its top two bits count quadrants.
  const uint64_t top = m * high + productHigh(m, low);
  const uint64_t quadrant = (top + (uint64_t(1) << 61)) >> 62;
  const double whole =
      static_cast<double>(static_cast<int64_t>(top - (quadrant << 62)));
  const double rest = static_cast<double>(m * low) * 0x1p-64;
  const double r = ((whole + rest) * 0x1p-62) * kHalfPi;
  const auto turns = static_cast<unsigned>(quadrant) & 3;
  if (bitsOf(x) >> 63)
    return {-r, (4 - turns) & 3};
  return {r, turns};
}

ASHLAR_INLINE Angle reduceAngle(double x) {
  if (!(magnitude(x) < kLargeAngle)) {
    if (!(magnitude(x) < static_cast<double>(kInfinity))) // infinite or NaN
      return {static_cast<double>(kNaN), 0};
    return reduceLarge(x);
  }
  const double shifted = x * kTwoOverPi + kRounder;
  const double n = shifted - kRounder;
  const double r = ((x - n * kHalfPi1) - n * kHalfPi2) - n * kHalfPi3;
  // The low bits of `shifted` are n in two's complement.
  return {r, static_cast<unsigned>(bitsOf(shifted) & 3)};
}

ASHLAR_INLINE double sinCentre(double r) { return r * horner(kSin, r * r); }
ASHLAR_INLINE double cosCentre(double r) { return horner(kCos, r * r); }

ASHLAR_INLINE double sinWide(double x) {
  const Angle a = reduceAngle(x);
  const double y = a.quadrant & 1 ? cosCentre(a.r) : sinCentre(a.r);
  return a.quadrant & 2 ? -y : y;
}

ASHLAR_INLINE double cosWide(double x) {
  const Angle a = reduceAngle(x);
  const double y = a.quadrant & 1 ? sinCentre(a.r) : cosCentre(a.r);
  return (a.quadrant + 1) & 2 ? -y : y;
}

ASHLAR_INLINE double tanWide(double x) {
  const Angle a = reduceAngle(x);
  const double s = sinCentre(a.r), c = cosCentre(a.r);
  return a.quadrant & 1 ? -(c / s) : s / c;
}

ASHLAR_INLINE double atanWide(double x) {
  const double a = magnitude(x);
  const double b = a > 1.0 ? 1.0 / a : a;
  const double c = b > kTanEighth ? (b - 1.0) / (b + 1.0) : b;
  const double p = c * horner(kAtan, c * c);
  const double q = b > kTanEighth ? kQuarterPi + p : p;
  return withSign(a > 1.0 ? kHalfPi - q : q, x);
}

ASHLAR_INLINE double asinWide(double x) {
  return atanWide(x / __builtin_sqrt((1.0 - x) * (1.0 + x)));
}

ASHLAR_INLINE double acosWide(double x) {
  return 2.0 * atanWide(__builtin_sqrt((1.0 - x) / (1.0 + x)));
}

ASHLAR_INLINE double sinhWide(double x) {
  const double a = magnitude(x);
  const double small = x * horner(kSinh, x * x);
  const double large = withSign((expWide(a) - expWide(-a)) * 0.5, x);
  return a < 1.0 ? small : large;
}

ASHLAR_INLINE double coshWide(double x) {
  const double a = magnitude(x);
  return (expWide(a) + expWide(-a)) * 0.5;
}

/// log(1 + y) of y >= 0; an infinite y gives infinity.
ASHLAR_INLINE double log1pAny(double y) {
  const double small = y * (1.0 - y * (0.5 - y * (kThird - y * 0.25)));
  return y < kSmall ? small : logAny(1.0 + y);
}

ASHLAR_INLINE double asinhWide(double x) {
  const double a = magnitude(x);
  const double s = a * a;
  const double near = log1pAny(a + s / (1.0 + __builtin_sqrt(1.0 + s)));
  const double far = logAny(a) + kLn2;
  return withSign(a < kLargeArea ? near : far, x);
}

ASHLAR_INLINE double acoshWide(double x) {
  const double t = x - 1.0;
  const double near = log1pAny(t + __builtin_sqrt(t * (t + 2.0)));
  const double far = logAny(x) + kLn2;
  const double result = x < kLargeArea ? near : far;
  return x < 1.0 ? static_cast<double>(kNaN) : result;
}

ASHLAR_INLINE double atanhWide(double x) {
  const double a = magnitude(x);
  const double result = withSign(log1pAny((a + a) / (1.0 - a)) * 0.5, x);
  return a > 1.0 ? static_cast<double>(kNaN) : result;
}

} // namespace ashlar::numerics::elementary

#endif // ASHLAR_LIB_NUMERICS_TRIGONOMETRY_H
