// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// binary16 and bfloat16: every 16-bit pattern, and the rounding boundaries
// between every two neighbours, against the definition in binary64.

#include "ashlar/Support/Half.h"
#include "gtest/gtest.h"
#include <bit>
#include <cmath>

using namespace ashlar::support;

namespace {

/// Value of a finite binary16 pattern by definition.
double halfValue(uint16_t bits) {
  const int exponent = (bits >> 10) & 31;
  const int fraction = bits & 1023;
  const double magnitude = exponent == 0
                               ? std::ldexp(fraction, -24)
                               : std::ldexp(1024 + fraction, exponent - 25);
  return bits & 0x8000 ? -magnitude : magnitude;
}

bool isHalfNaN(uint16_t bits) {
  return (bits & 0x7c00) == 0x7c00 && (bits & 0x3ff) != 0;
}

} // namespace

TEST(Half, WidenEveryPattern) {
  for (unsigned bits = 0; bits < 65536; ++bits) {
    const float wide = halfToFloat(static_cast<uint16_t>(bits));
    if ((bits & 0x7c00) == 0x7c00) {
      const uint32_t expected =
          ((bits & 0x8000u) << 16) | 0x7f800000u | ((bits & 0x3ffu) << 13);
      EXPECT_EQ(std::bit_cast<uint32_t>(wide), expected);
      continue;
    }
    ASSERT_EQ(wide, halfValue(static_cast<uint16_t>(bits))) << bits;
    ASSERT_EQ(std::signbit(wide), (bits & 0x8000) != 0);
  }
}

TEST(Half, RoundTripEveryPattern) {
  for (unsigned bits = 0; bits < 65536; ++bits) {
    const uint16_t half = static_cast<uint16_t>(bits);
    const uint16_t back = floatToHalf(halfToFloat(half));
    if (isHalfNaN(half))
      ASSERT_EQ(back, half | 0x200); // made quiet
    else
      ASSERT_EQ(back, half);
    const float wide = bfloatToFloat(half);
    if (std::isnan(wide))
      ASSERT_EQ(floatToBfloat(wide), half | 0x40);
    else
      ASSERT_EQ(floatToBfloat(wide), half);
  }
}

TEST(Half, NarrowRoundsToNearestEven) {
  for (unsigned bits = 0; bits < 0x7c00; ++bits) {
    const uint16_t low = static_cast<uint16_t>(bits);
    const uint16_t high = static_cast<uint16_t>(bits + 1);
    // The step above the largest finite value is where infinity would be.
    const double top = high == 0x7c00 ? 65536.0 : halfValue(high);
    const float middle = static_cast<float>((halfValue(low) + top) / 2);
    const uint16_t even = low & 1 ? high : low;
    ASSERT_EQ(floatToHalf(middle), even) << bits;
    ASSERT_EQ(floatToHalf(-middle), even | 0x8000) << bits;
    ASSERT_EQ(floatToHalf(std::nextafterf(middle, 0)), low) << bits;
    ASSERT_EQ(floatToHalf(std::nextafterf(middle, 1e9f)), high) << bits;
  }
}

TEST(Half, NarrowExtremes) {
  EXPECT_EQ(floatToHalf(1e30f), 0x7c00);
  EXPECT_EQ(floatToHalf(-INFINITY), 0xfc00);
  EXPECT_EQ(floatToHalf(1e-30f), 0);
  EXPECT_EQ(floatToHalf(-0.0f), 0x8000);
  EXPECT_EQ(floatToHalf(std::bit_cast<float>(1u)), 0);
}

TEST(Bfloat, NarrowRoundsToNearestEven) {
  for (uint32_t bits = 0; bits < 0x7f80; ++bits) {
    const float middle = std::bit_cast<float>((bits << 16) | 0x8000u);
    const uint16_t low = static_cast<uint16_t>(bits);
    ASSERT_EQ(floatToBfloat(middle), low + (low & 1));
    ASSERT_EQ(floatToBfloat(std::nextafterf(middle, 0)), low);
    ASSERT_EQ(floatToBfloat(std::nextafterf(middle, INFINITY)), low + 1);
  }
}
