// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Formats named after those of others hold each of their values, and one bit
// less would not.

#include "ashlar/Numerics/Encode.h"
#include "ashlar/Numerics/Format.h"
#include "gtest/gtest.h"

#include <cmath>
#include <set>

using namespace ashlar::numerics;

namespace {

/// Magnitudes of a float with `fraction` bits, its exponent from `least` on.
std::set<double> floats(int fraction, int least, double largest) {
  std::set<double> values = {0};
  for (int digits = 0; digits < 1 << (fraction + 1); ++digits)
    for (int exponent = least; exponent <= 16; ++exponent) {
      const double value = std::ldexp(digits, exponent - fraction);
      if (value <= largest && (digits >= 1 << fraction || exponent == least))
        values.insert(value);
    }
  return values;
}

std::set<double> integers(int bits) {
  std::set<double> values;
  for (int i = 0; i < 1 << bits; ++i)
    values.insert(i);
  return values;
}

/// Each element of a block next to each other one: all pairs decide whether a
/// block holds them, since its exponent is that of the larger.
bool holdsAll(const std::set<double> &elements, double scale, int mantissa) {
  for (double largest : elements)
    for (double other : elements) {
      if (other > largest)
        continue;
      const float block[] = {static_cast<float>(largest * scale),
                             static_cast<float>(-other * scale)};
      int16_t codes[2];
      EncodeCounters counters;
      const int8_t cell = encodeBlock(block, mantissa, codes, counters);
      for (int i = 0; i < 2; ++i)
        if (block[i] != 0 && decode(codes[i], cell, mantissa) != block[i])
          return false;
    }
  return true;
}

void check(const char *name, int block, const std::set<double> &elements,
           const std::set<double> &scales) {
  auto format = parseFormat(name);
  ASSERT_TRUE(static_cast<bool>(format)) << name;
  EXPECT_EQ(format->block, block) << name;
  bool narrower = true;
  for (double scale : scales) {
    EXPECT_TRUE(holdsAll(elements, scale, format->mantissa))
        << name << " with the scale " << scale;
    narrower &= holdsAll(elements, scale, format->mantissa - 1);
  }
  EXPECT_FALSE(narrower) << name;
}

TEST(NamedFormat, HoldsTheValuesOfOthers) {
  const std::set<double> powers = {0x1p-40, 0x1p-1, 1, 0x1p20};
  check("mxfp4", 32, floats(1, 0, 6), powers);
  check("mxfp6-e2m3", 32, floats(3, 0, 7.5), powers);
  check("mxfp6-e3m2", 32, floats(2, -2, 28), powers);
  // All but -128, which their definitions advise against.
  check("mxint8", 32, integers(7), powers);
  check("amd-bfp16", 8, integers(7), powers);
  check("tt-bfp8", 16, integers(7), powers);
  check("tt-bfp4", 16, integers(3), powers);
  // A sign and 6 or 11 bits, or two's complement of 8 or 9 without the least.
  check("intel-fp11", 16, integers(6), powers);
  check("intel-fp12agx", 16, integers(7), powers);
  check("intel-fp13agx", 16, integers(8), powers);
  check("intel-fp16", 16, integers(11), powers);
  // Scales are floats of 8 bits.
  std::set<double> scales = floats(3, -6, 448);
  scales.erase(0);
  check("nvfp4", 16, floats(1, 0, 6), scales);
}

/// Blocks as the FPGA AI Suite describes them: integers and the exponent of the
/// largest one, its leading digit included. What is encoded from their values
/// are the same integers.
TEST(NamedFormat, KeepsTheIntegersOfIntelsBlocks) {
  struct Vector {
    const char *name;
    std::vector<int> integers;
    int exponent; ///< Of the last digit.
  };
  const Vector vectors[] = {
      {"intel-fp11", {63, -63, 1, 0, -32, 17}, -20},
      {"intel-fp12agx", {127, -127, 64, -1, 90, 0}, 3},
      {"intel-fp13agx", {255, -128, 129, 1, -254, 0}, -9},
      {"intel-fp16", {2047, -1024, 1025, 3, -2046, 0}, 12}};
  for (const Vector &vector : vectors) {
    auto format = parseFormat(vector.name);
    ASSERT_TRUE(static_cast<bool>(format)) << vector.name;
    std::vector<float> block;
    for (int integer : vector.integers)
      block.push_back(static_cast<float>(std::ldexp(integer, vector.exponent)));
    std::vector<int16_t> codes(block.size());
    EncodeCounters counters;
    const int8_t cell = encodeBlock(block, format->mantissa, codes, counters);
    EXPECT_EQ(cell - (format->mantissa - 2), vector.exponent) << vector.name;
    for (size_t i = 0; i < block.size(); ++i)
      EXPECT_EQ(codes[i], vector.integers[i]) << vector.name << " " << i;
  }
}

TEST(NamedFormat, TakesOtherBlockLengths) {
  auto format = parseFormat("intel-fp13agx,block=32,range=3");
  ASSERT_TRUE(static_cast<bool>(format));
  EXPECT_EQ(toString(*format), "w=9,block=32,range=3");
}

TEST(NamedFormat, SaysWhyNoBlockHoldsMxfp8) {
  for (const char *name : {"mxfp8", "mxfp8-e4m3", "mxfp8-e5m2,block=16"}) {
    auto format = parseFormat(name);
    ASSERT_FALSE(static_cast<bool>(format)) << name;
    const std::string text = llvm::toString(format.takeError());
    EXPECT_NE(text.find("w=16,block=32"), std::string::npos) << text;
  }
  // 17 bits are not enough: the largest and the least number of E4M3.
  EXPECT_FALSE(holdsAll({0, 0x1p-9, 448}, 1, 16));
}

} // namespace
