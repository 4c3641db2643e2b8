// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Statistics, selectors and predictor against plain binary64 formulas where
// these decide clearly, and against exact corner cases where they do not.

#include "ashlar/Numerics/Statistics.h"
#include "gtest/gtest.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

using namespace ashlar::numerics;

namespace {

Statistics sample(std::vector<std::pair<int, int>> values) {
  Statistics statistics;
  for (auto [m, e] : values)
    statistics.add(m, e);
  return statistics;
}

TEST(Statistics, orderAndSplitDoNotMatter) {
  std::mt19937 random(3);
  std::vector<std::pair<int, int>> values(1000);
  for (auto &[m, e] : values) {
    m = int(random() % 65535) - 32767;
    e = int(random() % 40) - 20;
  }
  Statistics whole = sample(values);
  std::shuffle(values.begin(), values.end(), random);
  Statistics first = sample({values.begin(), values.begin() + 300});
  first.merge(sample({values.begin() + 300, values.end()}));
  EXPECT_EQ(whole, first);
  EXPECT_EQ(whole.count(), 1000u);
  first.clear();
  EXPECT_EQ(first, Statistics());
}

TEST(Statistics, exactPowersDecideFloorAndCeiling) {
  // Constant samples: deviation 0, mean exactly 2^(e+3).
  Statistics constant = sample({{8, -5}, {-8, -5}, {4, -4}});
  for (unsigned k : {0u, 16u, 255u}) {
    EXPECT_EQ(constant.leadOfSpread(k, Lead::Floor), -2);
    EXPECT_EQ(constant.leadOfSpread(k, Lead::Ceil), -2);
  }
  // Mean 2, deviation 2: k = 1 gives exactly 4, a sixteenth less is below it.
  Statistics two = sample({{0, 9}, {1, 2}});
  EXPECT_EQ(two.leadOfSpread(16, Lead::Floor), 2);
  EXPECT_EQ(two.leadOfSpread(16, Lead::Ceil), 2);
  EXPECT_EQ(two.leadOfSpread(15, Lead::Floor), 1);
  EXPECT_EQ(two.leadOfSpread(15, Lead::Ceil), 2);
  EXPECT_EQ(two.leadOfSpread(17, Lead::Ceil), 3);
  // One unit in 2^40 above a power of two: binary32 sums would miss it.
  Statistics above = sample({{16384, 26}, {1, 0}, {16384, 26}, {1, 0}});
  EXPECT_EQ(above.leadOfSpread(0, Lead::Floor), 39);
  EXPECT_EQ(above.leadOfSpread(0, Lead::Ceil), 40);
}

TEST(Statistics, agreesWithBinary64WhereThatIsClear) {
  std::mt19937 random(5);
  int compared = 0;
  for (int round = 0; round < 2000; ++round) {
    Statistics statistics;
    unsigned n = 1 + random() % 50, k = random() % 256;
    double s1 = 0, s2 = 0, top = 0;
    for (unsigned i = 0; i < n; ++i) {
      int m = int(random() % 255) - 127, e = int(random() % 12) - 30;
      statistics.add(m, e);
      double v = std::ldexp(std::abs(m), e);
      s1 += v, s2 += v * v, top = std::max(top, v);
    }
    if (top == 0)
      continue;
    double mean = s1 / n,
           range = std::sqrt(std::max(0.0, s2 / n - mean * mean));
    double logarithm = std::log2(mean + k / 16.0 * range);
    EXPECT_EQ(leadingExponent(*statistics.maximum(), Lead::Floor),
              std::ilogb(top));
    if (std::fabs(logarithm - std::round(logarithm)) < 1e-9)
      continue;
    ++compared;
    EXPECT_EQ(statistics.leadOfSpread(k, Lead::Floor), std::floor(logarithm));
    EXPECT_EQ(statistics.leadOfSpread(k, Lead::Ceil), std::ceil(logarithm));
  }
  EXPECT_GT(compared, 1500);
}

TEST(Statistics, extremeExponents) {
  Statistics wide = sample({{1, -32767}, {1, 32767}});
  EXPECT_EQ(wide.leadOfSpread(0, Lead::Floor), 32766);
  EXPECT_EQ(selectMaximum(wide, 16, Lead::Floor), 32753);
  EXPECT_EQ(compare({1, -32767}, {1, 32767}), -1);
  EXPECT_EQ(compare({4, 0}, {1, 2}), 0);
  EXPECT_EQ(compare({5, 0}, {1, 2}), 1);
  EXPECT_EQ(compare({0, 50}, {1, -50}), -1);
}

TEST(Statistics, maximumHasOneForm) {
  EXPECT_EQ(sample({{1, 2}, {-4, 0}, {2, 1}}).maximum(), (Magnitude{4, 0}));
  EXPECT_FALSE(sample({{0, 7}}).maximum());
}

TEST(Statistics, nothingSampledClears) {
  EXPECT_EQ(selectSpread({}, 64, 8, Lead::Floor), kClearedScale);
  EXPECT_EQ(selectMaximum(sample({{0, 3}}), 8, Lead::Ceil), kClearedScale);
}

TEST(Statistics, tableFourOfTheSource) {
  // Mean 10, deviation 0.5: values 9.5 and 10.5 in steps of 1/2.
  Statistics table = sample({{19, -1}, {21, -1}});
  const double upper[] = {10.5, 11, 11.5, 12};
  for (unsigned k = 1; k <= 4; ++k)
    EXPECT_EQ(table.leadOfSpread(16 * k, Lead::Floor),
              std::ilogb(upper[k - 1]));
  // The exact end of the 4 sigma range: 12 <= 10 + k/16 * 0.5 first at k = 64;
  // 16 is reached at k = 192 and not before.
  EXPECT_EQ(table.leadOfSpread(191, Lead::Floor), 3);
  EXPECT_EQ(table.leadOfSpread(192, Lead::Floor), 4);
  EXPECT_EQ(table.leadOfSpread(192, Lead::Ceil), 4);
  EXPECT_EQ(selectSpread(table, 48, 16, Lead::Floor), -11);
}

TEST(Statistics, largeMeanSmallDeviation) {
  // Binary32 sums make this variance negative.
  Statistics statistics;
  for (int i = 0; i < 4096; ++i) {
    statistics.add(19999, -1);
    statistics.add(20001, -1);
  }
  EXPECT_EQ(statistics.leadOfSpread(255, Lead::Floor), 13);
  // 10000 + k/16 * 0.5 never reaches 16384, whatever k.
  EXPECT_EQ(statistics.leadOfSpread(0, Lead::Ceil), 14);
}

TEST(Statistics, measuredValues) {
  EXPECT_EQ(measureExponent(1.0f, 16, Lead::Floor), -14);
  EXPECT_EQ(measureExponent(-1.5f, 16, Lead::Ceil), -13);
  EXPECT_EQ(measureExponent(0x1p-149f, 8, Lead::Floor), -155);
  EXPECT_EQ(measureExponent(0.0f, 8, Lead::Floor), kClearedScale);
  EXPECT_EQ(measureExponent(INFINITY, 8, Lead::Floor), kClearedScale);
  EXPECT_EQ(measureExponent(NAN, 8, Lead::Floor), kClearedScale);
}

TEST(Predict, windowFillsAndTurns) {
  std::vector<int16_t> history(historyRegisters(3));
  PredictRule rule;
  rule.mantissa = 8;
  rule.kSixteenths = 16;
  EXPECT_EQ(predictScale(history, {}, kClearedScale, kClearedScale, rule).next,
            kClearedScale);
  for (int i = 0; i < 5; ++i) {
    Prediction p = predictScale(history, sample({{100, i}}), kClearedScale,
                                kClearedScale, rule);
    EXPECT_FALSE(p.overflow || p.underflow);
    EXPECT_EQ(history[0], std::min(i + 1, 3));
  }
  EXPECT_EQ(history[1], 2);
  EXPECT_EQ(history, (std::vector<int16_t>{3, 2, 100, 3, 100, 4, 100, 2}));
}

TEST(Predict, stepUpOverflowsClearsAndDoubles) {
  std::vector<int16_t> history = {2, 2, 100, 0, 100, 0, 0, 0};
  Prediction p = predictScale(history, sample({{127, 5}}), 0, 5, PredictRule());
  EXPECT_TRUE(p.overflow);
  EXPECT_FALSE(p.underflow);
  EXPECT_EQ(history, (std::vector<int16_t>{1, 1, 127, 6, 0, 0, 0, 0}));
  EXPECT_EQ(p.next, 6);
}

TEST(Predict, decayUnderflowsAndClears) {
  std::vector<int16_t> history = {1, 1, 100, 10, 0, 0};
  PredictRule rule;
  EXPECT_FALSE(predictScale(history, {}, 10, 3, rule).underflow);
  Prediction p = predictScale(history, sample({{64, 2}}), 10, 2, rule);
  EXPECT_TRUE(p.underflow);
  EXPECT_EQ(history, (std::vector<int16_t>{1, 1, 64, 2, 0, 0}));
  EXPECT_EQ(p.next, 2);
}

TEST(Predict, hostileHistoryIsEmpty) {
  for (std::vector<int16_t> history : {std::vector<int16_t>{-5, 0, 1, 1},
                                       {9, 0, 1, 1},
                                       {1, 7, 1, 1},
                                       {1, -32768, 1, 1}}) {
    EXPECT_EQ(predictScale(history, {}, 0, 0, PredictRule()).next,
              kClearedScale);
    EXPECT_EQ(history, (std::vector<int16_t>{0, 0, 0, 0}));
  }
  std::vector<int16_t> odd = {1, 0, -32768, 32767};
  EXPECT_EQ(predictScale(odd, {}, 0, 0, PredictRule()).next, 32767);
}

/// Magnitudes m, all in steps of 1.
Statistics sampled(std::initializer_list<int> magnitudes) {
  Statistics statistics;
  for (int m : magnitudes)
    statistics.add(m, 0);
  return statistics;
}

TEST(SelectError, AnExponentStaysWhileErrorsAreSmall) {
  // 64 samples of 64: each loses at most 2^(E-1), so E = 3 loses a sixteenth.
  Statistics even;
  for (int i = 0; i < 64; ++i)
    even.add(64, 0);
  EXPECT_EQ(selectError(even, 3, 4, 8, Lead::Floor), 3);
  // One octave above that the errors are too large: an octave down, not the
  // maximum's exponent of 0, is not better than that exponent.
  EXPECT_EQ(selectError(even, 4, 4, 8, Lead::Floor), 0);
  EXPECT_EQ(selectError(even, 4, 3, 8, Lead::Floor), 4);
}

TEST(SelectError, ClippingOutweighsSteps) {
  // 1024 in W = 8 needs E = 4; under E = 0 almost all of it is cut off.
  const Statistics one = sampled({1024});
  EXPECT_EQ(selectError(one, 0, 4, 8, Lead::Floor), 4);
  EXPECT_EQ(selectError(one, kClearedScale, 4, 8, Lead::Floor), 4);
  // Few large values among many small ones: the step of the small ones counts.
  Statistics mixed = sampled({300});
  for (int i = 0; i < 4000; ++i)
    mixed.add(9, 0);
  EXPECT_EQ(selectError(mixed, 3, 6, 8, Lead::Floor), 2);
  EXPECT_EQ(selectError(sampled({0, 0}), 3, 6, 8, Lead::Floor), kClearedScale);
}

} // namespace
