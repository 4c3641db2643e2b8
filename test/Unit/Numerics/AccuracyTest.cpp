// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Signal to quantisation noise of groups that share one exponent, and what the
// statistical scale policy gains and loses against the maximum.

#include "ashlar/Numerics/BlockArithmetic.h"
#include "ashlar/Numerics/Statistics.h"
#include "gtest/gtest.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

using namespace ashlar::numerics;

namespace {

std::vector<float> gaussian(size_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> draw;
  std::vector<float> values(n);
  for (float &v : values)
    v = static_cast<float>(draw(random));
  return values;
}

std::vector<float> laplace(size_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::exponential_distribution<double> draw;
  std::vector<float> values(n);
  for (float &v : values)
    v = static_cast<float>(random() & 1 ? draw(random) : -draw(random));
  return values;
}

/// Noise ratio in dB of groups of `length` under the maximum rule.
double sqnr(const std::vector<float> &values, size_t length, int w) {
  double signal = 0, noise = 0;
  std::vector<int16_t> m(length);
  EncodeCounters counters;
  for (size_t at = 0; at + length <= values.size(); at += length) {
    llvm::ArrayRef<float> group(values.data() + at, length);
    double step =
        std::ldexp(1.0, stepExponent(encodeBlock(group, w, m, counters), w));
    for (size_t i = 0; i < length; ++i) {
      double error = group[i] - m[i] * step;
      signal += double(group[i]) * group[i];
      noise += error * error;
    }
  }
  return 10 * std::log10(signal / noise);
}

TEST(Accuracy, longGroupsReachTheTable) {
  struct Row {
    int w;
    double gauss128, gaussGroup, laplaceGroup;
  };
  const Row rows[] = {{4, 16.7, 10.8, 8.3},   {5, 22.8, 16.8, 13.9},
                      {6, 28.8, 22.8, 19.9},  {8, 40.8, 34.9, 31.9},
                      {10, 52.9, 46.9, 43.9}, {12, 64.9, 59.0, 55.9},
                      {16, 89.0, 83.1, 80.0}};
  constexpr size_t n = size_t(1) << 18;
  // One exponent for 2^18 values depends on one of them: seeds whose maximum
  // lies in the octave of most draws (4..8 and 8..16).
  std::vector<float> gauss = gaussian(n, 21), exponential = laplace(n, 22);
  for (const Row &row : rows) {
    EXPECT_NEAR(sqnr(gauss, 128, row.w), row.gauss128, 0.5) << row.w;
    EXPECT_NEAR(sqnr(gauss, n, row.w), row.gaussGroup, 0.5) << row.w;
    EXPECT_NEAR(sqnr(exponential, n, row.w), row.laplaceGroup, 0.5) << row.w;
  }
}

/// Worst and mean over deviations of one octave.
struct Sweep {
  double worst = 1e9, mean = 0, worstClip = 0, meanClip = 0;
};

/// k = 0: the maximum rule.
Sweep sweep(const std::vector<float> &unit, int w, unsigned k) {
  constexpr int steps = 32;
  Sweep result;
  std::vector<float> values(unit.size());
  std::vector<int16_t> m(unit.size());
  for (int step = 0; step < steps; ++step) {
    double deviation = std::exp2(double(step) / steps);
    for (size_t i = 0; i < unit.size(); ++i)
      values[i] = static_cast<float>(unit[i] * deviation);
    EncodeCounters ignored, counters;
    int8_t cell = encodeBlock(llvm::ArrayRef<float>(values), 16, m, ignored);
    Statistics statistics;
    for (int16_t v : m)
      statistics.add(v, stepExponent(cell, 16));
    FixedRule rule;
    rule.mantissa = w;
    rule.scale = k == 0 ? selectMaximum(statistics, w, Lead::Floor)
                        : selectSpread(statistics, 16 * k, w, Lead::Floor);
    encodeBlockFixed(llvm::ArrayRef<float>(values), rule, m, counters);
    double signal = 0, noise = 0;
    for (size_t i = 0; i < values.size(); ++i) {
      double error = values[i] - std::ldexp(m[i], rule.scale);
      signal += double(values[i]) * values[i];
      noise += error * error;
    }
    double ratio = 10 * std::log10(signal / noise);
    double clip = double(counters.saturated) / double(values.size());
    result.worst = std::min(result.worst, ratio);
    result.mean += ratio / steps;
    result.worstClip = std::max(result.worstClip, clip);
    result.meanClip += clip / steps;
  }
  return result;
}

TEST(Accuracy, policiesReachTheTable) {
  struct Row {
    unsigned k;
    double wide[2], eight[2], five[2], clip[2];
  };
  const Row rows[] = {
      {1, {12.6, 20.3}, {12.5, 20.0}, {11.6, 17.7}, {0.157, 0.059}},
      {2, {20.3, 34.3}, {20.1, 31.6}, {18.3, 22.7}, {0.039, 0.0093}},
      {3, {29.1, 56.3}, {28.6, 37.5}, {20.5, 23.0}, {0.0074, 0.0012}},
      {4, {38.6, 71.1}, {36.9, 39.0}, {18.9, 21.7}, {0.0010, 0.00013}},
      {0, {82.4, 85.4}, {34.3, 37.2}, {16.2, 19.1}, {0, 0}}};
  std::vector<float> unit = gaussian(65536, 23);
  for (const Row &row : rows) {
    Sweep wide = sweep(unit, 16, row.k), eight = sweep(unit, 8, row.k),
          five = sweep(unit, 5, row.k);
    const Sweep *found[] = {&wide, &eight, &five};
    const double (*wanted[])[2] = {&row.wide, &row.eight, &row.five};
    // The worst of a sweep depends on where its steps fall.
    for (int i = 0; i < 3; ++i) {
      EXPECT_NEAR(found[i]->worst, (*wanted[i])[0], 1.5) << row.k << ' ' << i;
      EXPECT_NEAR(found[i]->mean, (*wanted[i])[1], 1.0) << row.k << ' ' << i;
    }
    EXPECT_NEAR(wide.worstClip, row.clip[0], 0.1 * row.clip[0] + 0.0005);
    EXPECT_NEAR(wide.meanClip, row.clip[1], 0.1 * row.clip[1] + 0.0002);
  }
}

} // namespace
