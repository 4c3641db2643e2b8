// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// binary16 and bfloat16 as bit patterns. Widening is exact (denormals and NaN
// payloads included); narrowing rounds once to nearest even. Integer
// arithmetic only, so every host gives the same bits (docs/Numerics.md).

#ifndef ASHLAR_SUPPORT_HALF_H
#define ASHLAR_SUPPORT_HALF_H

#include <bit>
#include <cstdint>

namespace ashlar::support {

/// binary16 -> binary32, exact.
inline float halfToFloat(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000u) << 16;
  const uint32_t exponent = (bits >> 10) & 0x1fu;
  const uint32_t fraction = bits & 0x3ffu;
  if (exponent == 0x1f) // infinity, NaN
    return std::bit_cast<float>(sign | 0x7f800000u | (fraction << 13));
  if (exponent != 0)
    return std::bit_cast<float>(sign | ((exponent + 112) << 23) |
                                (fraction << 13));
  if (fraction == 0)
    return std::bit_cast<float>(sign);
  // Denormal: fraction * 2^-24; move its leading one to bit 23 and drop it.
  const int shift = std::countl_zero(fraction) - 8;
  return std::bit_cast<float>(sign |
                              (static_cast<uint32_t>(126 - shift) << 23) |
                              ((fraction << shift) & 0x7fffffu));
}

/// binary32 -> binary16, one rounding to nearest even. Overflow gives
/// infinity; a NaN stays a quiet NaN with the top payload bits.
inline uint16_t floatToHalf(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint16_t sign = static_cast<uint16_t>((bits >> 16) & 0x8000u);
  const uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u)
    return static_cast<uint16_t>(sign | 0x7e00u | ((magnitude >> 13) & 0x3ffu));
  if (magnitude >= 0x47800000u) // 2^16 and above, infinity
    return sign | 0x7c00u;
  uint32_t fraction;
  unsigned drop;
  if (magnitude >= 0x38800000u) { // normal result: 2^-14 and above
    fraction = magnitude - 0x38000000u;
    drop = 13;
  } else {
    const uint32_t exponent = magnitude >> 23;
    if (exponent < 102) // below 2^-25: rounds to zero
      return sign;
    fraction = (magnitude & 0x7fffffu) | 0x800000u;
    drop = 126 - exponent;
  }
  const uint32_t kept = fraction >> drop;
  const uint32_t rest = fraction & ((1u << drop) - 1);
  const uint32_t tie = 1u << (drop - 1);
  const uint32_t base =
      kept + ((rest > tie || (rest == tie && (kept & 1u))) ? 1u : 0u);
  // A carry out of the fraction moves into the exponent, up to infinity.
  return static_cast<uint16_t>(sign | base);
}

/// bfloat16 -> binary32, exact.
inline float bfloatToFloat(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

/// binary32 -> bfloat16, one rounding to nearest even; NaN stays quiet.
inline uint16_t floatToBfloat(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u)
    return static_cast<uint16_t>((bits >> 16) | 0x40u);
  return static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

} // namespace ashlar::support

#endif // ASHLAR_SUPPORT_HALF_H
