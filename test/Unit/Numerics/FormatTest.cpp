// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Text form, validation and the accumulator proof of block formats.

#include "ashlar/Numerics/Format.h"
#include "gtest/gtest.h"

using namespace ashlar::numerics;

namespace {

TEST(Format, parsesEveryLegalSetAndPrintsItBack) {
  for (int w = 3; w <= 16; ++w)
    for (int b : {8, 16, 32, 64, BlockFormat::kAxis, BlockFormat::kTensor})
      for (int d : {0, 1, 3, 7, 15}) {
        BlockFormat format{w, b, d};
        auto parsed = parseFormat(toString(format));
        ASSERT_TRUE(static_cast<bool>(parsed)) << toString(format);
        EXPECT_EQ(*parsed, format);
      }
}

TEST(Format, rowsOfWeights) {
  for (int rows :
       {1, 2, 3, 17, BlockFormat::kMostRows, BlockFormat::kQuadrant}) {
    BlockFormat format;
    format.rows = rows;
    auto parsed = parseFormat(toString(format));
    ASSERT_TRUE(static_cast<bool>(parsed)) << toString(format);
    EXPECT_EQ(*parsed, format);
    EXPECT_EQ(parsed->withoutRows(), BlockFormat());
  }
  EXPECT_EQ(toString(BlockFormat{}), "w=8,block=16,range=7");
  auto refused = [](const char *text, const char *message) {
    auto parsed = parseFormat(text);
    ASSERT_FALSE(static_cast<bool>(parsed)) << text;
    EXPECT_EQ(llvm::toString(parsed.takeError()), message);
  };
  refused("rows=0", "rows is 0, expected 1 to 4096 or quadrant");
  refused("rows=-4", "value of 'rows' is '-4', expected a number");
  refused("rows=5000", "rows is 5000, expected 1 to 4096 or quadrant");
  refused("rows=half", "value of 'rows' is 'half', expected a number");
  refused("rows=2,block=tensor",
          "rows of weights share exponents with block=tensor, which has one "
          "exponent for all rows: leave one of them out");
}

TEST(Format, rowsEndWithTheChannelsAndQuadrantsHalveBothAxes) {
  BlockFormat format;
  format.rows = 16;
  EXPECT_EQ(format.ofWeights(64, 32).rows, 16);
  EXPECT_EQ(format.ofWeights(10, 32).rows, 10);
  EXPECT_EQ(format.ofWeights(1, 32).rows, 1);
  format.rows = BlockFormat::kQuadrant;
  auto quadrant = [&](int64_t outputs, int64_t length, int rows, int block) {
    const BlockFormat own = format.ofWeights(outputs, length);
    EXPECT_EQ(own.rows, rows) << outputs;
    EXPECT_EQ(own.block, block) << length;
  };
  quadrant(64, 64, 32, 32);
  quadrant(7, 16, 4, 8);
  quadrant(1, 17, 1, 16);
  quadrant(2, 3, 1, 8);
  quadrant(128, 128, 64, 64);
  quadrant(100000, 1000, BlockFormat::kMostRows, 64);
}

TEST(Format, shorthands) {
  auto check = [](const char *text, BlockFormat expected) {
    auto parsed = parseFormat(text);
    ASSERT_TRUE(static_cast<bool>(parsed)) << text;
    EXPECT_EQ(*parsed, expected) << text;
  };
  check("bfp8", {8, 16, 7});
  check("bfp16", {16, 16, 7});
  check("w=6", {6, 16, 7});
  check("bfp5,block=axis", {5, BlockFormat::kAxis, 7});
  check("range=0,block=tensor,w=12", {12, BlockFormat::kTensor, 0});
}

TEST(Format, refusesWhatIsNotAFormat) {
  for (const char *text :
       {"", "bfp", "bfp2", "bfp17", "w=", "w=8,", "w=-8", "w=8x", "block=12",
        "block=0", "block=-1", "range=2", "range=99999999999", "mantissa=8",
        "w=8 ", "bfp8,bfp9"}) {
    auto parsed = parseFormat(text);
    EXPECT_FALSE(static_cast<bool>(parsed)) << text;
    llvm::consumeError(parsed.takeError());
  }
}

TEST(Format, accumulatorProofFollowsTheFormula) {
  // docs/Numerics.md 4: W = 16 on both sides, K = 4608 allows DA + DW = 19.
  EXPECT_TRUE(provesAccumulator(16, 15, 16, 4, 4608));
  EXPECT_FALSE(provesAccumulator(16, 15, 16, 5, 4608));
  EXPECT_EQ(accumulatorBits(8, 7, 8, 7, 1), 29);
  EXPECT_EQ(accumulatorBits(8, 7, 8, 7, 2), 30);
  EXPECT_EQ(accumulatorBits(8, 7, 8, 7, 3), 31);
}

TEST(Format, accumulatorProofHoldsForTheLargestOperands) {
  for (int wa = 3; wa <= 16; ++wa)
    for (int ww = 3; ww <= 16; ++ww)
      for (int d : {0, 1, 3, 7, 15})
        for (uint64_t k : {1ull, 2ull, 7ull, 128ull, 4608ull, 1ull << 20}) {
          if (!provesAccumulator(wa, d, ww, d, k))
            continue;
          __int128 a = __int128((1 << (wa - 1)) - 1) << d;
          __int128 w = __int128((1 << (ww - 1)) - 1) << d;
          EXPECT_LT(a * w * k, __int128(1) << 63);
        }
}

} // namespace
