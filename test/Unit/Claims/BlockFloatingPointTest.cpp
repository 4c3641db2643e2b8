// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The 31 statements about block floating point, one test each. Each name
// carries the number and the sentence. Those that speak of processors, memories
// and registers are in BlockMachineTest.cpp.

#include "ashlar/Numerics/BlockArithmetic.h"
#include "ashlar/Numerics/Format.h"
#include "ashlar/Numerics/Statistics.h"
#include "gtest/gtest.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

using namespace ashlar;
using namespace ashlar::numerics;

namespace {

/// A block under one exponent: mantissas and step exponent.
struct Block {
  std::vector<int16_t> m;
  int e = 0;
};

Block encode(const std::vector<float> &values, int w) {
  Block block;
  block.m.resize(values.size());
  EncodeCounters counters;
  block.e = stepExponent(
      encodeBlock(llvm::ArrayRef<float>(values), w, block.m, counters), w);
  return block;
}

/// Exact products of a row-major matrix and a vector: integers and exponent.
std::vector<int64_t> multiply(const Block &matrix, const Block &vector) {
  std::vector<int64_t> result(matrix.m.size() / vector.m.size());
  for (size_t i = 0; i < matrix.m.size(); ++i)
    result[i / vector.m.size()] +=
        int64_t(matrix.m[i]) * vector.m[i % vector.m.size()];
  return result;
}

/// Exact sums as the drain encodes them.
std::vector<WideValue> wide(const std::vector<int64_t> &sums, int exponent) {
  std::vector<WideValue> values;
  for (int64_t sum : sums)
    values.push_back(wideValue(sum, exponent));
  return values;
}

Block under(const std::vector<int64_t> &values, int e3, int e4, int w,
            EncodeCounters &counters) {
  Block block;
  block.e = e4;
  for (int64_t v : values)
    block.m.push_back(encodeFixed(wideValue(v, e3), {w, e4}, counters));
  return block;
}

Statistics statisticsOf(const Block &block) {
  Statistics statistics;
  for (int16_t m : block.m)
    statistics.add(m, block.e);
  return statistics;
}

std::vector<float> gaussian(size_t n, float deviation, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> draw(0, deviation);
  std::vector<float> values(n);
  for (float &v : values)
    v = draw(random);
  return values;
}

/// A layer with the scale of the next run from mean and deviation.
struct Layer {
  Block matrix = encode(gaussian(64 * 16, 0.5f, 1), 8);
  Block vector = encode(gaussian(16, 1, 2), 8);
  std::vector<int64_t> acc = multiply(matrix, vector);
  int e3 = matrix.e + vector.e;
};

TEST(Claim01, resultExponentIsASumAndIsUpdatedFromMeanAndDeviation) {
  Layer layer;
  Layer doubled;
  doubled.e3 = layer.e3 + 1;
  EncodeCounters counters;
  std::vector<int16_t> m(64);
  auto run = [&](const Layer &l) {
    int8_t cell = encodeWide(wide(l.acc, l.e3), 8, m, counters);
    Block first{m, stepExponent(cell, 8)};
    return selectSpread(statisticsOf(first), 64, 8, Lead::Floor);
  };
  int16_t e4 = run(layer);
  // The adder's exponent moves the result; so do the statistics.
  EXPECT_EQ(run(doubled), e4 + 1);
  layer.acc[0] *= 64;
  EXPECT_GT(run(layer), e4);
  Block out = under(doubled.acc, doubled.e3, e4 + 1, 8, counters);
  EXPECT_EQ(out.m.size(), 64u);
  EXPECT_EQ(out.e, e4 + 1);
}

TEST(Claim02, theUpdateSamplesAFixedNumberOfElements) {
  Block block = encode(gaussian(64, 1, 3), 8);
  block.m[63] = 127;
  Block part{{block.m.begin(), block.m.begin() + 16}, block.e};
  EXPECT_EQ(statisticsOf(part).count(), 16u);
  Block changed = block;
  changed.m[63] = 0;
  Block same{{changed.m.begin(), changed.m.begin() + 16}, changed.e};
  EXPECT_EQ(statisticsOf(part), statisticsOf(same));
  EXPECT_NE(statisticsOf(block), statisticsOf(changed));
}

TEST(Claim03, meanIsARunningSumOverTheCount) {
  // k = 0 leaves the mean alone: (3 + 5 + 0 + 8) / 4 = 4 exactly.
  Statistics running;
  for (int m : {3, -5, 0, 8})
    running.add(m, 0);
  EXPECT_EQ(running.leadOfSpread(0, Lead::Floor), 2);
  EXPECT_EQ(running.leadOfSpread(0, Lead::Ceil), 2);
  running.add(3, 0);
  EXPECT_EQ(running.leadOfSpread(0, Lead::Floor), 1);
}

TEST(Claim04, deviationAccumulates) {
  Statistics running, again;
  std::vector<int> samples = {1, 9, 4, 4, 4, 4, 7, 1};
  for (size_t i = 0; i < samples.size(); ++i)
    running.add(samples[i], 0);
  for (size_t i = samples.size(); i-- > 0;)
    again.add(samples[i], 0);
  EXPECT_EQ(running, again);
  // Mean 4.25, E(x^2) = 24.5, deviation 2.537: k = 1.5 crosses 8.
  EXPECT_EQ(running.leadOfSpread(23, Lead::Floor), 2);
  EXPECT_EQ(running.leadOfSpread(24, Lead::Floor), 3);
}

TEST(Claim05, absoluteValuesAreKeptInAFifo) {
  std::vector<int16_t> history(historyRegisters(2));
  for (int m : {10, 20, 30}) {
    Statistics one;
    one.add(-m, 0);
    predictScale(history, one, kClearedScale, kClearedScale, PredictRule());
  }
  // First in, first out: 10 has left.
  EXPECT_EQ(history, (std::vector<int16_t>{2, 1, 30, 0, 20, 0}));
}

TEST(Claim06, theUpdatePreservesTheMaximum) {
  for (unsigned seed = 0; seed < 50; ++seed) {
    Layer layer;
    layer.acc.resize(16);
    std::mt19937_64 random(seed);
    for (int64_t &acc : layer.acc)
      acc = int64_t(random()) >> (20 + seed % 30);
    std::vector<int16_t> m(16);
    EncodeCounters counters;
    encodeWide(wide(layer.acc, 0), 16, m, counters);
    size_t top = 0;
    for (size_t i = 1; i < 16; ++i)
      if (std::abs(layer.acc[i]) > std::abs(layer.acc[top]))
        top = i;
    EXPECT_GE(std::abs(int(m[top])), 1 << 14);
  }
}

TEST(Claim07, maximumGoesThroughLog2) {
  Statistics statistics;
  statistics.add(-100, 4);
  statistics.add(3, 8);
  // 100 * 16 = 1600 > 768: log2 is 10.6.
  EXPECT_EQ(selectMaximum(statistics, 16, Lead::Floor), 10 - 14);
}

TEST(Claim08, floorOrCeilingOfLog2) {
  Statistics power, above;
  power.add(64, 0);
  above.add(65, 0);
  EXPECT_EQ(selectMaximum(power, 8, Lead::Floor), 0);
  EXPECT_EQ(selectMaximum(power, 8, Lead::Ceil), 0);
  EXPECT_EQ(selectMaximum(above, 8, Lead::Floor), 0);
  EXPECT_EQ(selectMaximum(above, 8, Lead::Ceil), 1);
}

TEST(Claim09, sampledValuesComeFromBlockOperations) {
  // Products of encoded operands, sampled on the scale of the result.
  Statistics statistics;
  WideValue product = blockApply(BlockFunction::Mul, 100, -3, -7, 5);
  statistics.add(int32_t(product.low), product.exponent);
  EXPECT_EQ(statistics.maximum(), (Magnitude{700, 2}));
}

TEST(Claim10, oneExponentForAWholeMatrix) {
  BlockFormat format = llvm::cantFail(parseFormat("bfp16,block=tensor"));
  EXPECT_EQ(format.block, BlockFormat::kTensor);
  Block matrix = encode(gaussian(4096, 1, 5), 16);
  EncodeCounters counters;
  for (float v : {0.25f, 3.0f})
    EXPECT_EQ(encodeFixed(wideValue(v), {16, matrix.e}, counters),
              std::lround(std::ldexp(v, -matrix.e)));
}

TEST(Claim12, expectedValueOfSuccessiveElementsMovesTheExponent) {
  for (int scale : {0, 3, 7, -2}) {
    // 3 and 5 octaves: the mean is 4 octaves, whatever the larger one is.
    Block block =
        encode({std::ldexp(3.0f, scale), std::ldexp(-5.0f, scale)}, 8);
    int e = selectSpread(statisticsOf(block), 0, 8, Lead::Floor);
    EXPECT_EQ(e, scale + 2 - 6);
    // Mantissas are shifted to it, and the larger one is in range: 5 is 80.
    EncodeCounters counters;
    EXPECT_EQ(under({3, -5}, scale, e, 8, counters).m,
              (std::vector<int16_t>{48, -80}));
  }
}

TEST(Claim14, aMemoryHoldsTheRunningSum) {
  Statistics first, second;
  for (int i = 0; i < 4; ++i)
    first.add(2, 0);
  second.add(-30, 0);
  EXPECT_EQ(first.leadOfSpread(0, Lead::Floor), 1);
  EXPECT_EQ(second.leadOfSpread(0, Lead::Floor), 4);
  // 38 over 5 elements, neither of the two parts nor their mean of means, 16.
  Statistics sum = first;
  sum.merge(second);
  EXPECT_EQ(sum.count(), 5u);
  EXPECT_EQ(sum.leadOfSpread(0, Lead::Floor), 2);
}

TEST(Claim16, adderSelectorAndShifterAreChained) {
  Layer layer;
  int e3 = layer.matrix.e + layer.vector.e;
  std::vector<int16_t> m(64);
  EncodeCounters counters;
  int8_t cell = encodeWide(wide(layer.acc, e3), 8, m, counters);
  int e4 = stepExponent(cell, 8), shift = e4 - e3;
  ASSERT_GT(shift, 0);
  for (size_t i = 0; i < 64; ++i)
    EXPECT_EQ(m[i], std::min<int64_t>(
                        127, std::max<int64_t>(
                                 -127, shiftRightEven(layer.acc[i], shift))));
}

/// Iterations of a value that grows by one octave each.
std::vector<int> predictGrowth(std::vector<int16_t> &history) {
  std::vector<int> scales;
  int16_t used = kClearedScale;
  PredictRule rule;
  rule.kSixteenths = 48;
  for (int i = 0; i < 6; ++i) {
    Block block = encode({std::ldexp(1.5f, i), 0.25f}, 8);
    Prediction p = predictScale(history, statisticsOf(block), used,
                                static_cast<int16_t>(block.e), rule);
    used = p.next;
    scales.push_back(used);
  }
  return scales;
}

TEST(Claim18, aRollingMaximumPredictsTheNextIteration) {
  std::vector<int16_t> history(historyRegisters(8));
  std::vector<int> scales = predictGrowth(history);
  for (size_t i = 1; i < scales.size(); ++i)
    EXPECT_GE(scales[i], scales[i - 1]);
  // Never below the iteration it was predicted from.
  for (int i = 0; i < 6; ++i)
    EXPECT_GE(scales[i], i - 6);
}

TEST(Claim19, expectedValueOfTheSquaresIsComputed) {
  // Same mean 4, different squares: only the deviation tells them apart.
  Statistics narrow, wide;
  for (int m : {4, 4})
    narrow.add(m, 0);
  for (int m : {0, 8})
    wide.add(m, 0);
  EXPECT_EQ(narrow.leadOfSpread(0, Lead::Floor),
            wide.leadOfSpread(0, Lead::Floor));
  EXPECT_EQ(narrow.leadOfSpread(16, Lead::Floor), 2);
  EXPECT_EQ(wide.leadOfSpread(16, Lead::Floor), 3);
}

TEST(Claim20, theAdjustmentUsesAConfidenceInterval) {
  Block block = encode(gaussian(4096, 1, 9), 16);
  Statistics statistics = statisticsOf(block);
  double clipped[5];
  for (unsigned k = 1; k <= 4; ++k) {
    int e = selectSpread(statistics, 16 * k, 8, Lead::Floor);
    EncodeCounters counters;
    for (int16_t m : block.m)
      encodeFixed(wideValue(int64_t(m), block.e), {8, e}, counters);
    clipped[k] = double(counters.saturated) / 4096;
  }
  EXPECT_LT(clipped[1], 0.16);
  EXPECT_LT(clipped[4], 0.002);
  EXPECT_GE(clipped[1], clipped[4]);
}

TEST(Claim21, errorMagnitudeDecidesWhetherToAdjust) {
  // 64 magnitudes of 64: a step of 2^E may lose half of itself of each.
  Statistics even;
  for (int i = 0; i < 64; ++i)
    even.add(64, 0);
  for (int e : {0, 1, 2, 3})
    EXPECT_EQ(selectError(even, static_cast<int16_t>(e), 4, 8, Lead::Floor), e);
  // An eighth is more than a sixteenth: adjusted, and kept where it is allowed.
  EXPECT_EQ(selectError(even, 4, 4, 8, Lead::Floor), 0);
  EXPECT_EQ(selectError(even, 4, 3, 8, Lead::Floor), 4);
  // What is cut off counts as well.
  EXPECT_EQ(selectError(even, -1, 4, 8, Lead::Floor), 0);
}

TEST(Claim22, oneExponentForAllValuesOfTheMatrix) {
  std::vector<float> values = gaussian(1000, 1, 10);
  Block block = encode(values, 16);
  double worst = 0;
  for (size_t i = 0; i < values.size(); ++i)
    worst = std::fmax(worst,
                      std::fabs(values[i] - std::ldexp(block.m[i], block.e)));
  EXPECT_LE(worst, std::ldexp(1.0, block.e - 1));
}

TEST(Claim23, overflowAndUnderflowAreCheckedAndAvoided) {
  std::vector<int16_t> history(historyRegisters(4));
  Statistics big;
  big.add(127, 6);
  Prediction p = predictScale(history, big, 0, 6, PredictRule());
  EXPECT_TRUE(p.overflow);
  EncodeCounters before, after;
  encodeFixed(wideValue(int64_t(127), 6), {8, 0}, before);
  encodeFixed(wideValue(int64_t(127), 6), {8, p.next}, after);
  EXPECT_EQ(before.saturated, 1u);
  EXPECT_EQ(after.saturated, 0u);
}

TEST(Claim28, leadingPlaceOfTheMaximumMinusWidthPlusTwo) {
  for (int w = 3; w <= 16; ++w)
    for (float top : {1.0f, 1.99f, 255.0f, 11.5f, 0.1f})
      EXPECT_EQ(encode({0.01f, -top}, w).e, std::ilogb(top) - w + 2);
}

TEST(Claim29, sixteenBitMantissaFiveBitExponent) {
  // Exponents -31..0 justify maxima from 2^-17 up to 2^15 fully.
  for (int top = -17; top <= 14; ++top) {
    Block block = encode({std::ldexp(1.25f, top)}, 16);
    EXPECT_GE(block.e, -31);
    EXPECT_LE(block.e, 0);
    EXPECT_EQ(block.m[0], 0x5000);
  }
}

TEST(Claim30, mantissasAreShiftedOnOverflowAndUnderflow) {
  const float values[] = {40000, -300, 7};
  FixedRule rule;
  rule.mantissa = 16;
  int16_t m[3];
  auto encode = [&](bool repair, EncodeCounters &counters) {
    GivenBlock block = encodeBlockGiven(llvm::ArrayRef<float>(values), rule,
                                        repair, m, counters);
    return std::pair(stepExponent(block.cell, 16),
                     std::vector<int16_t>(m, m + 3));
  };
  EncodeCounters low, moved, fits;
  EXPECT_EQ(encode(false, low),
            (std::pair(0, std::vector<int16_t>{32767, -300, 7})));
  EXPECT_EQ(low.saturated, 1u);
  EXPECT_EQ(encode(true, moved),
            (std::pair(1, std::vector<int16_t>{20000, -150, 4})));
  EXPECT_EQ(moved.saturated, 0u);
  EXPECT_EQ(moved.repaired, 1u);
  // Without an overflow the given exponent stays.
  rule.scale = 3;
  EXPECT_EQ(encode(true, fits),
            (std::pair(3, std::vector<int16_t>{5000, -38, 1})));
  EXPECT_EQ(fits.repaired, 0u);
}

TEST(Claim31, rollingValuesAreClearedOnOverflowAndUnderflow) {
  for (auto [used, observed, cleared] :
       {std::tuple{0, 1, true}, {0, 0, false}, {7, 0, false}, {8, 0, true}}) {
    std::vector<int16_t> history = {2, 0, 64, 0, 65, 0};
    predictScale(history, {}, static_cast<int16_t>(used),
                 static_cast<int16_t>(observed), PredictRule());
    EXPECT_EQ(history[0], cleared ? 0 : 2);
    EXPECT_EQ(history[4], cleared ? 0 : 65);
  }
}

} // namespace
