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
  // Scales are floats of 8 bits.
  std::set<double> scales = floats(3, -6, 448);
  scales.erase(0);
  check("nvfp4", 16, floats(1, 0, 6), scales);
}

} // namespace
