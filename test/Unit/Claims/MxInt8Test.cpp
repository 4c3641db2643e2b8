// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// W = 8, B = 32 gives the codes of OCP MXINT8. The rule below is written from
// the public text of the format, in terms of binary64 values, and shares
// nothing with the encoder: X = 2^floor(log2(max |v|)), elements are 8-bit
// two's complement numbers with an implied scale of 2^-6, rounded to nearest
// even and limited to +-127.

#include "ashlar/Numerics/Encode.h"
#include "gtest/gtest.h"

#include <bit>
#include <cmath>
#include <random>

using namespace ashlar::numerics;

namespace {

/// Largest power of two <= v, by halving and doubling.
int sharedExponent(double v) {
  int exponent = 0;
  for (; v >= 2; v /= 2)
    ++exponent;
  for (; v < 1; v *= 2)
    --exponent;
  return exponent;
}

int nearestEven(double v) {
  double low = std::floor(v), rest = v - low;
  bool odd = std::fmod(low, 2) != 0;
  return int(low) + (rest > 0.5 || (rest == 0.5 && odd) ? 1 : 0);
}

/// Codes of one block; the shared exponent is that of E8M0: -127..127.
int mxInt8(const float (&values)[32], int (&codes)[32]) {
  double largest = 0;
  for (float v : values)
    largest = std::fmax(largest, std::fabs(double(v)));
  int shared = largest == 0 ? -127 : sharedExponent(largest);
  shared = shared < -127 ? -127 : shared;
  double unit = std::ldexp(1.0, shared - 6);
  for (int i = 0; i < 32; ++i) {
    int code = nearestEven(values[i] / unit);
    codes[i] = code > 127 ? 127 : code < -127 ? -127 : code;
  }
  return shared;
}

/// Elements whose code differs.
int mismatches(const float (&values)[32]) {
  int codes[32], wrong = 0;
  int shared = mxInt8(values, codes);
  int16_t m[32];
  EncodeCounters counters;
  int8_t cell = encodeBlock(llvm::ArrayRef<float>(values), 8, m, counters);
  bool zero = true;
  for (int i = 0; i < 32; ++i) {
    wrong += m[i] != codes[i];
    zero &= codes[i] == 0;
  }
  // A block whose codes are all zero has no exponent worth comparing.
  return wrong + (cell != (zero ? kZeroBlock : shared));
}

TEST(MxInt8, tenMillionRandomElements) {
  std::mt19937_64 random(2024);
  int wrong = 0;
  for (int block = 0; block < 312500; ++block) {
    // Three kinds: any finite pattern, near exponents, near normal numbers.
    float values[32];
    int kind = block % 3, centre = int(random() % 220) + 20;
    for (float &v : values) {
      uint32_t bits = uint32_t(random());
      if (kind != 0) {
        int field = kind == 1 ? centre + int(random() % 10) : centre;
        bits = (bits & 0x807fffff) | uint32_t(field) << 23;
      }
      v = std::bit_cast<float>(bits);
      if (!std::isfinite(v))
        v = std::bit_cast<float>(bits & 0xff7fffff);
    }
    wrong += mismatches(values);
  }
  EXPECT_EQ(wrong, 0);
}

TEST(MxInt8, edgeValues) {
  const float edges[] = {0.0f,
                         -0.0f,
                         0x1p-149f,
                         -0x1p-149f,
                         0x1.fffffcp-127f,
                         0x1p-126f,
                         0x1p-133f,
                         0x1p-134f,
                         0x1.8p-134f,
                         1.0f,
                         -1.0f,
                         0x1.fffffep0f,
                         0x1.fdp0f,
                         0x1.fbp0f,
                         0x1.fap0f,
                         2.0f,
                         0x1p-6f,
                         0x1p-7f,
                         0x1.8p-6f,
                         0x1.000002p-7f,
                         0x1.fffffep-8f,
                         957.0f,
                         896.0f,
                         7.9999f,
                         65504.0f,
                         0x1p127f,
                         -0x1p127f,
                         0x1.fffffep127f,
                         -0x1.fffffep127f};
  int wrong = 0, blocks = 0;
  for (float first : edges)
    for (float second : edges) {
      float values[32] = {};
      values[0] = first;
      values[31] = second;
      // Every halfway point of the block's grid, when the top is normal.
      float top = std::fmax(std::fabs(first), std::fabs(second));
      if (top >= 0x1p-100f && top < 0x1p100f)
        for (int i = 1; i < 31; ++i)
          values[i] = std::ldexp(float(2 * i - 31), sharedExponent(top) - 7);
      wrong += mismatches(values);
      ++blocks;
    }
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(blocks, 29 * 29);
}

TEST(MxInt8, everyHalfwayPointAndItsNeighbours) {
  int wrong = 0;
  for (int half = -255; half <= 255; ++half)
    for (int exponent : {-120, -7, 0, 100}) {
      float v = std::ldexp(float(half), exponent - 7), values[32] = {};
      values[0] = std::ldexp(1.0f, exponent);
      values[1] = v;
      values[2] = std::nextafterf(v, -INFINITY);
      values[3] = std::nextafterf(v, INFINITY);
      wrong += mismatches(values);
    }
  EXPECT_EQ(wrong, 0);
}

} // namespace
