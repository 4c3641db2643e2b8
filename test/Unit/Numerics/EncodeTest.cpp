// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The scalar contract, exhaustively for narrow mantissas, against exact
// arithmetic written down a second time (long double holds every case).

#include "ashlar/Numerics/Encode.h"
#include "gtest/gtest.h"

#include <cmath>
#include <limits>
#include <random>
#include <vector>

using namespace ashlar::numerics;

namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
const float kQuietNaN = std::numeric_limits<float>::quiet_NaN();

/// Nearest even integer of an exact long double.
long double roundEven(long double v) {
  long double low = std::floor(v), rest = v - low;
  if (rest > 0.5L || (rest == 0.5L && std::fmod(low, 2.0L) != 0))
    return low + 1;
  return low;
}

TEST(Encode, cellsOfPowersOfTwoAndNeighbours) {
  for (int x = -126; x <= 127; ++x) {
    float power = std::ldexp(1.0f, x);
    EXPECT_EQ(blockExponent(power), x);
    EXPECT_EQ(blockExponent(std::nextafterf(power, 0)), std::max(x - 1, -127));
  }
  EXPECT_EQ(blockExponent(0.0f), kZeroBlock);
  EXPECT_EQ(blockExponent(std::ldexp(1.0f, -149)), -127);
  EXPECT_EQ(blockExponent(std::ldexp(1.0, 1000)), 127);
  EXPECT_EQ(blockExponent(std::ldexp(1.0, -1074)), -127);
}

TEST(Encode, everyMantissaDecodesExactlyAndEncodesBack) {
  for (int w = 3; w <= 8; ++w)
    for (int cell = -127; cell <= 127; ++cell) {
      int limit = (1 << (w - 1)) - 1;
      for (int m = -limit; m <= limit; ++m) {
        float value = decode(m, cell, w);
        ASSERT_EQ(value,
                  std::ldexp(static_cast<long double>(m), cell - (w - 2)));
        // A full-width partner fixes the exponent of the block.
        float partner = decode(1 << (w - 2), cell, w);
        int16_t out[2];
        EncodeCounters counters;
        int8_t again = encodeBlock(llvm::ArrayRef<float>{value, partner}, w,
                                   out, counters);
        ASSERT_EQ(again, cell);
        ASSERT_EQ(out[0], m);
        ASSERT_EQ(counters.saturated + counters.underflow, 0u);
      }
    }
}

TEST(Encode, fetchSignExtendsAndClampsTheForbiddenCode) {
  for (int w = 3; w <= 16; ++w) {
    int half = 1 << (w - 1);
    for (int m = -half; m < half; ++m) {
      int32_t masked = m & ((1 << w) - 1);
      EXPECT_EQ(fetchMantissa(masked, w), m == -half ? -half + 1 : m);
      EXPECT_EQ(fetchMantissa(m, w), m == -half ? -half + 1 : m);
    }
  }
}

/// align by its definition, in long double.
int64_t alignExact(int m, int cell, int scale, int w, int d, bool &saturates) {
  int s = scale - (cell - (w - 2));
  long double limit = (1 << (w - 1)) - 1;
  long double value;
  if (s < 0) {
    value = std::ldexp(static_cast<long double>(m), -s);
    saturates = std::fabs(value) > limit;
    value = std::max(-limit, std::min(limit, value));
    s = 0;
  } else if (s <= d) {
    value = m;
  } else {
    value = roundEven(std::ldexp(static_cast<long double>(m), d - s));
    s = d;
  }
  return static_cast<int64_t>(std::ldexp(value, d - s));
}

TEST(Encode, alignExhaustiveForNarrowMantissas) {
  for (int w = 3; w <= 8; ++w)
    for (int d : {0, 1, 3, 7, 15})
      for (int cell : {-128, -127, -3, 0, 5, 127})
        for (int distance = -40; distance <= 40; ++distance) {
          int scale = cell - (w - 2) + distance;
          int limit = (1 << (w - 1)) - 1;
          for (int m = -limit; m <= limit; ++m) {
            bool saturates = false;
            uint64_t counted = 0;
            int64_t expected = alignExact(m, cell, scale, w, d, saturates);
            ASSERT_EQ(align(m, cell, scale, w, d, counted), expected)
                << w << " " << d << " " << m << " " << distance;
            ASSERT_EQ(counted, saturates ? 1u : 0u);
            ASSERT_LT(std::llabs(expected), 1ll << (w - 1 + d));
          }
        }
}

TEST(Encode, roundsOnceToNearestEven) {
  std::mt19937 random(7);
  for (int trial = 0; trial < 200000; ++trial) {
    int w = 3 + trial % 14;
    float top = floatFromBits((random() & 0x7fffff) | 0x3f800000u);
    float v =
        floatFromBits((random() & 0x807fffff) | (127 - random() % 20) << 23);
    if (std::fabs(v) > top)
      std::swap(v, top);
    int16_t m[2];
    EncodeCounters counters;
    int8_t cell = encodeBlock(llvm::ArrayRef<float>{top, v}, w, m, counters);
    int limit = (1 << (w - 1)) - 1;
    long double exact =
        roundEven(std::ldexp(static_cast<long double>(v), -(cell - (w - 2))));
    exact = std::max<long double>(-limit, std::min<long double>(limit, exact));
    ASSERT_EQ(m[1], static_cast<int>(exact));
  }
}

TEST(Encode, binary64RoundsOnce) {
  // Just above a tie only in binary64: through binary32 it would be a tie.
  double values[] = {64.0, 2.5 + 0x1p-40, 2.5, 3.5, -2.5 - 0x1p-40};
  int16_t m[5];
  EncodeCounters counters;
  EXPECT_EQ(encodeBlock(llvm::ArrayRef<double>(values), 8, m, counters), 6);
  EXPECT_EQ(m[1], 3);
  EXPECT_EQ(m[2], 2);
  EXPECT_EQ(m[3], 4);
  EXPECT_EQ(m[4], -3);
}

TEST(Encode, specialValuesAndCounters) {
  float values[] = {kQuietNaN, kInf, -kInf, 1.0f, 1.9999f, 1e-6f, -0.0f};
  int16_t m[7];
  EncodeCounters counters;
  EXPECT_EQ(encodeBlock(llvm::ArrayRef<float>(values), 8, m, counters), 0);
  EXPECT_EQ(m[0], 0);
  EXPECT_EQ(m[1], 127);
  EXPECT_EQ(m[2], -127);
  EXPECT_EQ(m[3], 64);
  EXPECT_EQ(m[4], 127);
  EXPECT_EQ(m[5], 0);
  EXPECT_EQ(counters.nan, 1u);
  EXPECT_EQ(counters.infinite, 2u);
  EXPECT_EQ(counters.saturated, 1u);
  EXPECT_EQ(counters.underflow, 1u);
}

TEST(Encode, zeroBlocks) {
  int16_t m[3] = {1, 1, 1};
  EncodeCounters counters;
  EXPECT_EQ(
      encodeBlock(llvm::ArrayRef<float>{0.0f, -0.0f, kInf}, 8, m, counters),
      kZeroBlock);
  EXPECT_EQ(m[0] | m[1] | m[2], 0);
  // Denormals below the least cell vanish, and the block with them.
  EXPECT_EQ(
      encodeBlock(llvm::ArrayRef<float>{0x1p-149f, 0.0f, 0.0f}, 4, m, counters),
      kZeroBlock);
  EXPECT_EQ(counters.underflow, 1u);
  // The same value survives with more mantissa bits.
  EXPECT_EQ(encodeBlock(llvm::ArrayRef<float>{0x1p-140f, 0.0f, 0.0f}, 16, m,
                        counters),
            -127);
  EXPECT_EQ(m[0], 2);
}

TEST(Encode, accToFloatRoundsOnceOverTheWholeRange) {
  EXPECT_EQ(accToFloat(0, 5), 0.0f);
  EXPECT_EQ(accToFloat(INT64_MIN, 0), -0x1p63f);
  EXPECT_EQ(accToFloat(INT64_MAX, 0), 0x1p63f);
  EXPECT_EQ(accToFloat(1, -149), 0x1p-149f);
  EXPECT_EQ(accToFloat(1, -150), 0.0f);
  EXPECT_EQ(accToFloat(3, -150), 0x1p-148f);
  EXPECT_EQ(accToFloat(-1, 128), -kInf);
  EXPECT_EQ(accToFloat(0x1ffffff, 103), kInf);
  EXPECT_EQ(accToFloat(1, INT32_MAX), kInf);
  EXPECT_EQ(accToFloat(INT64_MAX, INT32_MIN), 0.0f);
  // A tie that a detour through binary64 would get wrong.
  int64_t tie = (int64_t(0x1000001) << 38) + 1;
  EXPECT_EQ(accToFloat(tie, 0), std::ldexp(float(0x1000002), 38));
  std::mt19937_64 random(3);
  for (int trial = 0; trial < 300000; ++trial) {
    int64_t acc = static_cast<int64_t>(random()) >> (random() % 64);
    int exponent = static_cast<int>(random() % 340) - 220;
    // 64 mantissa bits hold acc, and ldexp of it is exact.
    float expected =
        static_cast<float>(std::ldexp(static_cast<long double>(acc), exponent));
    ASSERT_EQ(floatBits(accToFloat(acc, exponent)), floatBits(expected))
        << acc << " " << exponent;
  }
}

TEST(Encode, shiftRightEvenBothSignsAndLargeShifts) {
  EXPECT_EQ(shiftRightEven(5, 1), 2);
  EXPECT_EQ(shiftRightEven(7, 1), 4);
  EXPECT_EQ(shiftRightEven(-5, 1), -2);
  EXPECT_EQ(shiftRightEven(-7, 1), -4);
  EXPECT_EQ(shiftRightEven(INT64_MAX, 63), 1);
  EXPECT_EQ(shiftRightEven(INT64_MIN, 63), -1);
  EXPECT_EQ(shiftRightEven(INT64_MIN, 64), 0);
  EXPECT_EQ(shiftRightEven(INT64_MIN, 1000), 0);
  EXPECT_EQ(shiftRightEven(-42, 0), -42);
}

TEST(Encode, scaleRegisters) {
  EXPECT_EQ(mergeScale(kClearedScale, -134), -134);
  EXPECT_EQ(mergeScale(3, -1), 3);
  EXPECT_EQ(scaleOrDefault(kClearedScale, 8), -134);
  EXPECT_EQ(scaleOrDefault(-7, 8), -7);
}

} // namespace
