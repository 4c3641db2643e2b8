// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Streams of codes: layout by hand, and every width, start and length against
// a loop over bits.

#include "ashlar/Numerics/PackedCodes.h"
#include "gtest/gtest.h"
#include <random>

using namespace ashlar;

TEST(PackedCodes, LayoutIsLowestBitFirst) {
  // 001, 110, 011 (3 bits each): 1 | 6 << 3 | 3 << 6 = 0x0f1.
  EXPECT_EQ(numerics::packCodes({1, -2, 3}, 3),
            (std::vector<uint8_t>{0xf1, 0x00}));
  EXPECT_EQ(numerics::packCodes({-2048, 2047}, 12),
            (std::vector<uint8_t>{0x00, 0xf8, 0x7f}));
  EXPECT_EQ(numerics::packedBytes(5, 5), 4u);
  EXPECT_EQ(numerics::packedBytes(0, 5), 0u);
}

template <typename T>
static void expectRoundTrips(unsigned width) {
  std::mt19937 random(width);
  std::vector<int16_t> codes(100);
  const int half = 1 << (width - 1);
  for (int16_t &code : codes)
    code = static_cast<int16_t>(static_cast<int>(random() % (2 * half)) - half);
  codes[0] = static_cast<int16_t>(-half);
  codes[1] = static_cast<int16_t>(half - 1);
  const std::vector<uint8_t> stream = numerics::packCodes(codes, width);
  ASSERT_EQ(stream.size(), numerics::packedBytes(codes.size(), width));
  for (uint64_t first = 0; first < 20; ++first)
    for (uint64_t count = 0; first + count <= codes.size(); ++count) {
      std::vector<T> out(count + 1, 77);
      numerics::unpackCodes(stream, first, width, out.data(), count);
      ASSERT_TRUE(std::equal(out.begin(), out.end() - 1, codes.begin() + first))
          << width << " bits, " << count << " codes from " << first;
      ASSERT_EQ(out.back(), 77) << "nothing beyond the last code";
    }
}

TEST(PackedCodes, EveryWidthStartAndLength) {
  for (unsigned width = 1; width <= 8; ++width)
    expectRoundTrips<int8_t>(width);
  for (unsigned width = 1; width <= 16; ++width)
    expectRoundTrips<int16_t>(width);
}
