// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ratios and the estimate of changed classes, against closed cases and against
// a simulation.

#include "lib/Pipelines/FormatSearch/FormatQuality.h"

#include "gtest/gtest.h"
#include <cmath>
#include <limits>
#include <random>

using namespace ashlar::pipelines;

namespace {

TEST(FormatQuality, Decibels) {
  EXPECT_NEAR(decibels(1000, 1), 30, 1e-9);
  EXPECT_NEAR(decibels(1, 1e6), -60, 1e-9);
  EXPECT_EQ(decibels(1, 0), kMaxSnr);
  EXPECT_EQ(decibels(0, 0), kMaxSnr);
  EXPECT_EQ(decibels(0, 1), -kMaxSnr);
  EXPECT_EQ(decibels(1, std::numeric_limits<double>::infinity()), -kMaxSnr);
  EXPECT_EQ(decibels(1, std::nan("")), -kMaxSnr);
}

TEST(FormatQuality, ChangesGrowWithNoiseAndShrinkWithMargins) {
  const std::vector<double> margins = {1, 2, 3, 4};
  EXPECT_EQ(expectedChanges(margins, {0.0, 0.0}), 0);
  double small = expectedChanges(margins, {0.01, 0.02});
  double large = expectedChanges(margins, {0.1, 0.2});
  EXPECT_GT(small, 0);
  EXPECT_GT(large, 2 * small);
  EXPECT_LT(large, 0.5);
  EXPECT_EQ(expectedChanges(margins, {HUGE_VAL}), 1);
  EXPECT_EQ(expectedChanges({0.0, 0.0}, {0.1}), 1);
  // Margins that are all alike say nothing about small ones.
  EXPECT_GT(expectedChanges({2.5, 2.5}, {0.1}),
            2 * expectedChanges({2.5, 1.5}, {0.1}));
  // The same in another unit.
  EXPECT_NEAR(expectedChanges({8, 16, 24, 32}, {0.8, 1.6}), large, 1e-12);
}

/// Margins of a known distribution, Laplacian noise: eight samples must predict
/// the share of changes among very many within a factor.
TEST(FormatQuality, PredictsFromEightSamples) {
  std::mt19937_64 engine(7);
  std::uniform_real_distribution<double> uniform(0x1p-30, 1);
  auto exponential = [&] { return -std::log(uniform(engine)); };
  for (int shape : {1, 2})
    for (double deviation : {0.02, 0.1}) {
      auto margin = [&] {
        double sum = 0;
        for (int i = 0; i < shape; ++i)
          sum += exponential();
        return sum / shape;
      };
      double predicted = 0, changed = 0;
      constexpr int trials = 200, many = 200000;
      for (int i = 0; i < trials; ++i) {
        std::vector<double> margins;
        for (int j = 0; j < 8; ++j)
          margins.push_back(margin());
        predicted += expectedChanges(margins, {deviation}) / trials;
      }
      for (int i = 0; i < many; ++i) {
        const double up = exponential(), down = exponential();
        changed += (up - down) * deviation / std::sqrt(2.0) > margin();
      }
      changed /= many;
      EXPECT_GT(predicted, 0.7 * changed) << shape << " " << deviation;
      // Cautious: eight samples do not show how rare small margins are.
      EXPECT_LT(predicted, 6 * changed + 0.002) << shape << " " << deviation;
    }
}

} // namespace
