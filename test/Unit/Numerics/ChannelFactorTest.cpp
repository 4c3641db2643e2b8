// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Factors of output channels: the predicted error against the encoder itself,
// and what the choice has to leave alone.

#include "ashlar/Numerics/ChannelFactor.h"
#include "ashlar/Numerics/Bound.h"
#include "ashlar/Numerics/Encode.h"
#include "ashlar/Numerics/Kernels.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

using namespace ashlar::numerics;

namespace {

/// Normal weights whose deviation differs from block to block.
std::vector<float> drawChannel(std::mt19937 &random, size_t count,
                               size_t block) {
  std::normal_distribution<float> normal;
  std::uniform_real_distribution<float> octave(-3, 0);
  std::vector<float> values(count);
  float deviation = 1;
  for (size_t i = 0; i < count; ++i) {
    if (i % block == 0)
      deviation = std::exp2(octave(random));
    values[i] = deviation * normal(random);
  }
  return values;
}

/// What errorWith predicts, from mantissas as the array reads them. The weights
/// of `neighbour`, if any, share the exponents of the blocks.
double measuredError(llvm::ArrayRef<float> values, size_t rowLength,
                     const BlockFormat &format, float factor,
                     llvm::ArrayRef<float> neighbour = {}) {
  size_t length = format.block > 0 ? format.block : rowLength;
  std::vector<float> scaled(values.begin(), values.end());
  for (float &value : scaled)
    value *= factor;
  std::vector<int16_t> mantissas(values.size());
  std::vector<int8_t> cells(values.size());
  EncodeCounters counters;
  int16_t scale = kClearedScale;
  for (size_t row = 0; row < values.size(); row += rowLength)
    for (size_t at = row; at < row + rowLength; at += length) {
      size_t count = std::min(length, row + rowLength - at);
      std::vector<float> tile(scaled.begin() + at, scaled.begin() + at + count);
      if (!neighbour.empty())
        tile.insert(tile.end(), neighbour.begin() + at,
                    neighbour.begin() + at + count);
      std::vector<int16_t> codes(tile.size());
      int8_t cell =
          encodeBlock(llvm::ArrayRef(tile), format.mantissa, codes, counters);
      std::copy_n(codes.begin(), count, mantissas.begin() + at);
      std::fill_n(cells.begin() + at, count, cell);
      if (cell != kZeroBlock)
        scale = mergeScale(
            scale, static_cast<int16_t>(stepExponent(cell, format.mantissa)));
    }
  double plain = 0, square = 0;
  uint64_t saturated = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    int32_t whole = align(mantissas[i], cells[i], scale, format.mantissa,
                          format.range, saturated);
    double error =
        whole * powerOfTwo(scale - format.range) / factor - values[i];
    plain += error;
    square += error * error;
  }
  return square + plain * plain / 2;
}

TEST(ChannelFactor, predictsWhatTheEncoderDoes) {
  std::mt19937 random(7);
  for (int width : {3, 6, 8, 16})
    for (int block : {8, 16, BlockFormat::kAxis})
      for (size_t rowLength : {1, 3, 16, 40}) {
        BlockFormat format{width, block, 15};
        size_t length = block > 0 ? block : rowLength;
        std::vector<float> values = drawChannel(random, rowLength * 9, length);
        ChannelRounding channel(values, rowLength, format);
        for (float factor : {1.0f, 1.125f, 1.5f, 1.875f}) {
          double expected = measuredError(values, rowLength, format, factor);
          // Weights times a factor are binary32: 1/512 of a step at W=16.
          double tolerance = width == 16 ? 2e-2 : 2e-3;
          EXPECT_NEAR(channel.errorWith(factor), expected, tolerance * expected)
              << toString(format) << " rows of " << rowLength << " times "
              << factor;
        }
      }
}

/// Of channels that share exponents, for factors that raise none.
TEST(ChannelFactor, predictsTilesAndRaisesNoExponent) {
  std::mt19937 random(31);
  int compared = 0, scaled = 0;
  for (int draw = 0; draw < 300; ++draw) {
    const BlockFormat format{draw % 2 ? 8 : 6, draw % 3 ? 8 : 16, 15};
    const size_t rowLength = draw % 5 ? 16 : 3;
    const auto block = static_cast<size_t>(format.block);
    std::vector<float> values = drawChannel(random, rowLength * 3, block);
    std::vector<float> neighbour = drawChannel(random, rowLength * 3, block);
    if (draw % 4)
      for (float &value : values)
        value /= 3;
    auto exponents = [&](float factor) {
      std::vector<float> tops = blockTops(neighbour, rowLength, format);
      const std::vector<float> own = blockTops(values, rowLength, format);
      for (size_t i = 0; i < tops.size(); ++i)
        tops[i] = std::max(tops[i], own[i] * factor);
      return tops;
    };
    const std::vector<float> tops = exponents(1);
    auto same = [&](float factor) {
      const std::vector<float> others = exponents(factor);
      return std::equal(tops.begin(), tops.end(), others.begin(),
                        [](float a, float b) {
                          return blockExponent(a) == blockExponent(b);
                        });
    };
    const ChannelRounding channel(values, rowLength, format, tops);
    for (float factor : {1.0f, 1.125f, 1.5f})
      if (same(factor)) {
        ++compared;
        const double expected =
            measuredError(values, rowLength, format, factor, neighbour);
        EXPECT_NEAR(channel.errorWith(factor), expected, 2e-3 * expected)
            << toString(format) << " times " << factor;
      }
    const float chosen = channel.chooseFactor();
    EXPECT_TRUE(same(chosen)) << chosen;
    EXPECT_LE(channel.errorWith(chosen), channel.errorWith(1));
    scaled += chosen != 1;
  }
  EXPECT_GT(compared, 400);
  EXPECT_GT(scaled, 50);
}

/// The choice must not depend on the host.
TEST(ChannelFactor, hasTheSameSumsWithEveryKernel) {
  std::mt19937 random(23);
  for (size_t rowLength : {1, 3, 8, 15, 16, 23, 40})
    for (int block : {8, 16, BlockFormat::kAxis})
      for (int range : {1, 7}) {
        const size_t length = block > 0 ? block : rowLength;
        std::vector<float> values = drawChannel(random, rowLength * 5, length);
        std::vector<float> tops;
        for (size_t row = 0; row < values.size(); row += rowLength)
          for (size_t at = row; at < row + rowLength; at += length) {
            float most = 0;
            for (size_t i = at; i < std::min(at + length, row + rowLength); ++i)
              most = std::max(most, std::fabs(values[i]));
            tops.push_back(most);
          }
        const WeightBlocks blocks{values.data(),
                                  5,
                                  rowLength,
                                  length,
                                  tops.data(),
                                  *std::max_element(tops.begin(), tops.end()),
                                  8,
                                  range};
        for (float factor : {1.0f, 1.25f, 1.9375f}) {
          RoundingErrors wanted;
          kernelsByName("scalar")->roundingErrors(blocks, factor, &wanted);
          for (const KernelTable *table : availableKernels()) {
            RoundingErrors errors;
            table->roundingErrors(blocks, factor, &errors);
            EXPECT_EQ(std::memcmp(&errors, &wanted, sizeof(errors)), 0)
                << table->name.str() << " rows of " << rowLength
                << " blocks of " << block << " times " << factor;
          }
        }
      }
}

TEST(ChannelFactor, countsWhatAlignmentDrops) {
  std::mt19937 random(11);
  std::vector<float> values = drawChannel(random, 16 * 64, 16);
  for (int range : {0, 1, 3}) {
    BlockFormat format{8, 16, range};
    ChannelRounding channel(values, 64, format);
    double expected = measuredError(values, 64, format, 1.25f);
    EXPECT_NEAR(channel.errorWith(1.25f), expected, 2e-3 * expected)
        << toString(format);
  }
}

TEST(ChannelFactor, takesTheBestOfTheFactors) {
  std::mt19937 random(3);
  double gain = 0;
  for (int draw = 0; draw < 200; ++draw) {
    std::vector<float> values = drawChannel(random, 16 * 9, 16);
    ChannelRounding channel(values, 16, BlockFormat{8, 16, 7});
    float chosen = channel.chooseFactor();
    double error = channel.errorWith(chosen), plain = channel.errorWith(1);
    for (int k = 0; k < kLeastFactors; ++k)
      EXPECT_LE(error * (1 - kLeastGain),
                channel.errorWith(1 + static_cast<float>(k) / kLeastFactors));
    EXPECT_TRUE(chosen == 1 || error < plain * (1 - kLeastGain));
    gain += 10 * std::log10(plain / error) / 200;
  }
  // The mean of 200 channels of nine blocks, in dB.
  EXPECT_GT(gain, 1.5);
  EXPECT_LT(gain, 4.0);
}

TEST(ChannelFactor, leavesExactWeightsAlone) {
  BlockFormat format{8, 16, 7};
  std::vector<float> small = {1, -3, 127, 0, 64, -127, 5, 9};
  EXPECT_EQ(ChannelRounding(small, 8, format).chooseFactor(), 1);
  std::vector<float> powers = {0.5f, 0.25f, -0.5f, 8, 4, 2, 1, 16};
  EXPECT_EQ(ChannelRounding(powers, 8, format).chooseFactor(), 1);
  std::vector<float> zeros(32, 0);
  EXPECT_EQ(ChannelRounding(zeros, 16, format).chooseFactor(), 1);
}

TEST(ChannelFactor, leavesTheEndsOfTheRangeAlone) {
  BlockFormat format{6, 16, 7};
  std::vector<float> values = {0.7f, -0.31f, 0.113f, 0.57f};
  EXPECT_NE(ChannelRounding(values, 4, format).chooseFactor(), 1);
  for (float unit : {0x1p-140f, 0x1p-70f, 0x1p70f, 0x1p127f}) {
    std::vector<float> scaled = values;
    for (float &value : scaled)
      value *= unit;
    EXPECT_EQ(ChannelRounding(scaled, 4, format).chooseFactor(), 1) << unit;
  }
  for (float odd : {std::numeric_limits<float>::infinity(),
                    std::numeric_limits<float>::quiet_NaN()}) {
    std::vector<float> spoilt = values;
    spoilt[1] = odd;
    EXPECT_EQ(ChannelRounding(spoilt, 4, format).chooseFactor(), 1) << odd;
  }
}

/// A block of a channel may be tiny where its neighbour is not.
TEST(ChannelFactor, readsDenormalBlocks) {
  BlockFormat format{8, 16, 15};
  std::vector<float> values = {0.7f, -0.31f, 0.113f, 0.57f};
  for (int i = 0; i < 16; ++i)
    values.insert(values.begin() + 4, 0);
  values.resize(32, 0x1p-130f);
  double error = ChannelRounding(values, 32, format).errorWith(1.5f);
  EXPECT_TRUE(std::isfinite(error) && error > 0);
}

} // namespace
