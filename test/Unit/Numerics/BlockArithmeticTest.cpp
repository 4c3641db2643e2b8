// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Exact block arithmetic: Table 2 of the source, the four-step unit, rational
// results against binary64 where that is exact, corner cases.

#include "ashlar/Numerics/BlockArithmetic.h"
#include "gtest/gtest.h"

#include <cmath>
#include <random>
#include <vector>

using namespace ashlar::numerics;

namespace {

std::vector<int> fixed(std::vector<float> values, FixedRule rule,
                       EncodeCounters &counters) {
  std::vector<int16_t> m(values.size());
  encodeBlockFixed(llvm::ArrayRef<float>(values), rule, m, counters);
  return {m.begin(), m.end()};
}

TEST(TableTwo, everyRowWrapsAndSaturates) {
  const std::vector<float> values = {131072, 256, 1, 0.5f, 0.125f};
  EncodeCounters high, wrap, saturate;
  EXPECT_EQ(fixed(values, {16, 3}, high),
            (std::vector<int>{0x4000, 0x20, 0, 0, 0}));
  EXPECT_EQ(high.underflow, 3u);
  EXPECT_EQ(fixed(values, {16, -3, Overflow::Wrap}, wrap),
            (std::vector<int>{0, 0x800, 8, 4, 1}));
  EXPECT_EQ(fixed(values, {16, -3, Overflow::Saturate}, saturate),
            (std::vector<int>{0x7fff, 0x800, 8, 4, 1}));
  EXPECT_EQ(wrap.saturated, 1u);
  EXPECT_EQ(saturate.saturated, 1u);
  EXPECT_EQ(wrap.underflow + saturate.underflow, 0u);
}

TEST(OwnRows, truncationAndRounding) {
  struct Row {
    float x;
    int e, nearest, truncated;
  };
  const Row rows[] = {
      {1, -14, 0x4000, 0x4000},           {0.5f, -15, 0x4000, 0x4000},
      {256, -6, 0x4000, 0x4000},          {1.0f / 3, -16, 0x5555, 0x5555},
      {3.14159265f, -13, 0x6488, 0x6487}, {100.01f, -8, 0x6403, 0x6402},
      {0.1f, -18, 0x6666, 0x6666},        {0.001f, -24, 0x4189, 0x4189},
      {32767, 0, 0x7fff, 0x7fff},         {65535, 1, 0x7fff, 0x7fff},
      {-2, -13, -0x4000, -0x4000},        {255, -7, 0x7f80, 0x7f80},
      {11.5f, -11, 0x5c00, 0x5c00}};
  for (const Row &row : rows) {
    FixedRule rule = {16, row.e};
    EncodeCounters nearest, truncated;
    EXPECT_EQ(encodeFixed(wideValue(row.x), rule, nearest), row.nearest)
        << row.x;
    rule.rounding = Rounding::TowardZero;
    EXPECT_EQ(encodeFixed(wideValue(row.x), rule, truncated), row.truncated)
        << row.x;
    EXPECT_EQ(nearest.saturated, row.x == 65535 ? 1u : 0u);
    EXPECT_EQ(truncated.saturated, 0u);
  }
}

TEST(Fixed, wrapIsModuloPowerOfTwo) {
  EncodeCounters counters;
  FixedRule rule = {4, 0, Overflow::Wrap};
  EXPECT_EQ(encodeFixed(wideValue(8.0f), rule, counters), -8);
  EXPECT_EQ(encodeFixed(wideValue(-9.0f), rule, counters), 7);
  EXPECT_EQ(encodeFixed(wideValue(0x1p100f), rule, counters), 0);
  EXPECT_EQ(encodeFixed(wideValue(int64_t(0x123), 0), rule, counters), 3);
  EXPECT_EQ(encodeFixed(wideValue(int64_t(3), 2), rule, counters), -4);
  EXPECT_EQ(counters.saturated, 5u);
}

TEST(Fixed, zeroIsZeroFarFromTheStep) {
  EncodeCounters counters;
  // Two blocks whose difference is zero under an exponent of their own.
  for (int exponent : {200, 30, -200})
    EXPECT_EQ(encodeFixed(wideValue(int64_t(0), exponent), {8, 0}, counters),
              0);
  EXPECT_EQ(counters.saturated + counters.underflow, 0u);
}

TEST(Fixed, cellsAreLimitedAndZeroBlocksMarked) {
  EXPECT_EQ(fixedCell(-7, 8), -1);
  EXPECT_EQ(fixedCell(300, 8), 127);
  EXPECT_EQ(fixedCell(kClearedScale, 8), -127);
  const float values[] = {0.25f, -0.5f, NAN, INFINITY};
  int16_t m[4];
  EncodeCounters counters;
  EXPECT_EQ(encodeBlockFixed(llvm::ArrayRef<float>(values, 2), {8, 4},
                             llvm::MutableArrayRef<int16_t>(m, 2), counters),
            kZeroBlock);
  EXPECT_EQ(counters.underflow, 2u);
  EXPECT_EQ(
      encodeBlockFixed(llvm::ArrayRef<float>(values), {8, -6}, m, counters), 0);
  EXPECT_EQ(m[2], 0);
  EXPECT_EQ(m[3], 127);
  EXPECT_EQ(counters.nan, 1u);
  EXPECT_EQ(counters.infinite, 1u);
}

/// M v + b in the four steps of the source, all with one exponent per operand.
void unit(int w, int64_t r0, int64_t r1, int e6, int e4, int m0, int m1) {
  const float matrix[] = {.5f, -.25f, .125f, 1, .75f, -.5f};
  const float vector[] = {1, 2, -3}, bias[] = {.1f, -.2f};
  int16_t m[6], v[3], b[2], out[2];
  EncodeCounters counters;
  int e1 = stepExponent(
      encodeBlock(llvm::ArrayRef<float>(matrix), w, m, counters), w);
  int e2 = stepExponent(
      encodeBlock(llvm::ArrayRef<float>(vector), w, v, counters), w);
  int e5 =
      stepExponent(encodeBlock(llvm::ArrayRef<float>(bias), w, b, counters), w);
  int e3 = e1 + e2;
  EXPECT_EQ(e5 - e3, e6);
  int64_t acc[2];
  for (int i = 0; i < 2; ++i) {
    acc[i] = 0;
    for (int j = 0; j < 3; ++j)
      acc[i] += int64_t(m[3 * i + j]) * v[j];
    ScaledInteger sum = alignedSum({acc[i], e3}, {{b[i], e5}});
    EXPECT_EQ(sum.exponent, e3);
    acc[i] = sum.value;
  }
  EXPECT_EQ(acc[0], r0);
  EXPECT_EQ(acc[1], r1);
  int8_t cell = encodeWide({wideValue(acc[0], e3), wideValue(acc[1], e3)}, w,
                           out, counters);
  EXPECT_EQ(stepExponent(cell, w), e4);
  EXPECT_EQ(out[0], m0);
  EXPECT_EQ(out[1], m1);
}

TEST(FourSteps, sixteenBits) {
  unit(16, -36910080, 510027776, 10, -13, -2253, 31130);
}

TEST(FourSteps, eightBits) { unit(8, -564, 7784, 2, -5, -9, 122); }

TEST(InUnits, bothDirections) {
  EXPECT_EQ(inUnits({5, 3}, 0), 40);
  EXPECT_EQ(inUnits({-5, 0}, 1), -2);
  EXPECT_EQ(inUnits({-7, 0}, 1), -4);
  EXPECT_EQ(inUnits({6, 0}, 2), 2);
  EXPECT_EQ(inUnits({32767, 0}, 200), 0);
  EXPECT_EQ(inUnits({1, 62}, 0), int64_t(1) << 62);
  EXPECT_EQ(inUnits({1, 63}, 0), INT64_MAX);
  EXPECT_EQ(inUnits({0, 32767}, -32768), 0);
}

TEST(AlignedSum, unitOfTheAccumulatorWhereTermsFit) {
  ScaledInteger sum = alignedSum({7, -30}, {{-32768, 16}, {3, -31}});
  EXPECT_EQ(sum.exponent, -30);
  EXPECT_EQ(sum.value, 7 - (int64_t(1) << 61) + 2);
}

TEST(AlignedSum, largerUnitForALargeTerm) {
  // Weights that are all zero have the least exponent; the bias is what counts.
  ScaledInteger sum = alignedSum({5, -154}, {biasTerm(-1.5f), {}});
  EXPECT_EQ(std::ldexp(double(sum.value), sum.exponent), -1.5);
  const int64_t most = (int64_t(1) << 62) - 1;
  sum = alignedSum({most, -200}, {{32767, 0}, {32767, 0}});
  EXPECT_EQ(sum.exponent, -46);
  EXPECT_EQ(sum.value, int64_t(32767) << 47);
  sum = alignedSum({-most, 0}, {{-32768, 46}, {-32768, 46}});
  EXPECT_EQ(sum.value, -most - (int64_t(1) << 62));
}

TEST(AlignedSum, beyondTheGreatestCellItSaturates) {
  // Shifted to the step of the greatest cell, 61 bits leave a word of 64.
  for (int unit = 113; unit < 32768; unit += 7)
    for (int16_t value : {int16_t(1), int16_t(-2), int16_t(0x4000)}) {
      const ScaledInteger sum = alignedSum({12, -30}, {{value, unit + 16}});
      EncodeCounters counters;
      int16_t m;
      EXPECT_EQ(encodeWide(wideValue(sum.value, sum.exponent), 8, m, counters),
                127);
      EXPECT_EQ(m, value < 0 ? -127 : 127) << unit;
      EXPECT_EQ(counters.saturated, 1u);
    }
}

TEST(BiasTerm, sixteenBits) {
  for (float v : {1.0f, -0.1f, 3e38f, 1e-40f, 65535.5f}) {
    ScaledInteger term = biasTerm(v);
    EXPECT_LE(std::abs(std::ldexp(double(term.value), term.exponent) - v),
              std::abs(v) * 0x1p-14);
    EXPECT_LE(std::abs(term.value), 32767);
  }
  EXPECT_EQ(biasTerm(0).value, 0);
  EXPECT_EQ(biasTerm(-INFINITY).value, 0);
}

TEST(LimitInUnits, roundsAndEnds) {
  EXPECT_EQ(limitInUnits(6, -20), 6 << 20);
  EXPECT_EQ(limitInUnits(6, 2), 2);
  EXPECT_EQ(limitInUnits(-6, -80), -INT64_MAX);
  EXPECT_EQ(limitInUnits(INFINITY, 0), INT64_MAX);
}

TEST(BlockArithmetic, agreesWithBinary64WhereThatIsExact) {
  std::mt19937 random(7);
  for (int round = 0; round < 20000; ++round) {
    int w = 3 + int(random() % 14), limit = (1 << (w - 1)) - 1;
    double exact[3][8];
    WideValue wide[3][8];
    for (int i = 0; i < 8; ++i) {
      int a = int(random() % (2 * limit + 1)) - limit;
      int b = int(random() % (2 * limit + 1)) - limit;
      int eA = int(random() % 20) - 10, eB = int(random() % 20) - 10;
      double x = std::ldexp(a, eA), y = std::ldexp(b, eB);
      exact[0][i] = x + y, exact[1][i] = x - y, exact[2][i] = x * y;
      for (int op = 0; op < 3; ++op)
        wide[op][i] = blockApply(BlockFunction(op), a, eA, b, eB);
    }
    for (int op = 0; op < 3; ++op) {
      int16_t found[8], wanted[8];
      EncodeCounters c1, c2;
      EXPECT_EQ(encodeWide(wide[op], w, found, c1),
                encodeBlock(llvm::ArrayRef<double>(exact[op]), w, wanted, c2));
      for (int i = 0; i < 8; ++i)
        ASSERT_EQ(found[i], wanted[i]) << "op " << op << " W " << w;
      EXPECT_EQ(c1.saturated, c2.saturated);
      EXPECT_EQ(c1.underflow, c2.underflow);
    }
  }
}

TEST(BlockArithmetic, quotientsRoundOnce) {
  std::mt19937 random(9);
  for (int round = 0; round < 200000; ++round) {
    int a = int(random() % 65535) - 32767, b = int(random() % 32767) + 1;
    if (a == 0)
      continue;
    WideValue value = blockApply(BlockFunction::Div, a, 0, -b, 0);
    EncodeCounters counters;
    int16_t m;
    int w = 3 + int(random() % 14);
    int8_t cell = encodeWide(value, w, m, counters);
    int e = stepExponent(cell, w);
    // 2|a - m' b 2^e| <= b 2^e in integers scaled by 2^32, where not limited.
    __int128 scale = __int128(1) << 32, unit = (scale * b);
    unit = e < 0 ? unit >> -e : unit << e;
    __int128 error = __int128(std::abs(a)) * scale - unit * std::abs(m);
    error = error < 0 ? -error : error;
    if (counters.saturated == 0)
      ASSERT_LE(2 * error, unit) << a << "/" << b << " W " << w;
    EXPECT_EQ(m < 0, a > 0);
    EXPECT_GE(std::abs(int(m)), 1 << (w - 2));
  }
}

TEST(BlockArithmetic, divisionByZero) {
  const WideValue values[] = {blockApply(BlockFunction::Div, 5, 0, 0, 0),
                              blockApply(BlockFunction::Div, -5, 0, 0, 0),
                              blockApply(BlockFunction::Div, 0, 0, 0, 0),
                              blockApply(BlockFunction::Div, 6, 0, 3, 0)};
  int16_t m[4];
  EncodeCounters counters;
  EXPECT_EQ(encodeWide(values, 8, m, counters), 1);
  EXPECT_EQ(m[0], 127);
  EXPECT_EQ(m[1], -127);
  EXPECT_EQ(m[2], 0);
  EXPECT_EQ(m[3], 64);
  EXPECT_EQ(counters.saturated, 2u);
  // No scale to saturate at: like infinities among zeros.
  EXPECT_EQ(encodeWide(llvm::ArrayRef<WideValue>(values, 3), 8,
                       llvm::MutableArrayRef<int16_t>(m, 3), counters),
            kZeroBlock);
  EXPECT_EQ(counters.saturated, 4u);
}

TEST(BlockArithmetic, distantOperandsKeepTheirSide) {
  // 1 - 2^-200 lies below 1: its leading place is -1, and it rounds up to the
  // limit of that block.
  WideValue below = blockApply(BlockFunction::Sub, 64, -6, 1, -200);
  EXPECT_EQ(floorLog2(below), -1);
  WideValue above = blockApply(BlockFunction::Add, 64, -6, 1, -200);
  EXPECT_EQ(floorLog2(above), 0);
  // A tie at W = 3 (5/4 between 1 and 3/2) is decided by the distant operand.
  EncodeCounters counters;
  FixedRule rule = {3, -1};
  WideValue tie = blockApply(BlockFunction::Add, 5, -2, 0, 0);
  EXPECT_EQ(encodeFixed(tie, rule, counters), 2);
  tie = blockApply(BlockFunction::Add, 5, -2, 1, -250);
  EXPECT_EQ(encodeFixed(tie, rule, counters), 3);
}

TEST(GivenBlocks, OneBeyondTheExponentIsShiftedToItsOwn) {
  const float values[] = {100, -3, 0.5f};
  int16_t mantissas[3];
  FixedRule rule; // steps of 1, W = 8
  rule.scale = -1;
  auto encode = [&](bool repair, EncodeCounters &counters) {
    return encodeBlockGiven(llvm::ArrayRef<float>(values), rule, repair,
                            mantissas, counters);
  };
  EncodeCounters saturated, repaired;
  GivenBlock block = encode(false, saturated);
  EXPECT_EQ(block.cell, 5);
  EXPECT_EQ(block.own, 6);
  EXPECT_EQ(mantissas[0], 127); // 200 steps of 1/2
  EXPECT_EQ(saturated.saturated, 1u);
  EXPECT_EQ(saturated.repaired, 0u);
  block = encode(true, repaired);
  EXPECT_EQ(block.cell, 6);
  EXPECT_EQ(mantissas[0], 100);
  EXPECT_EQ(repaired.saturated, 0u);
  EXPECT_EQ(repaired.repaired, 1u);
  // A block that fits takes the given exponent, and needs no repair.
  rule.scale = 2;
  EncodeCounters fits;
  block = encode(true, fits);
  EXPECT_EQ(block.cell, 8);
  EXPECT_EQ(mantissas[0], 25);
  EXPECT_EQ(fits.repaired, 0u);
  // Nothing is known: every block by itself.
  rule.scale = kClearedScale;
  block = encode(false, fits);
  EXPECT_EQ(block.cell, 6);
  EXPECT_EQ(block.own, 6);
}

TEST(GivenBlocks, OwnCellIsThatOfEncoding) {
  std::mt19937 random(7);
  for (int i = 0; i < 20000; ++i) {
    float values[4];
    int16_t given[4], alone[4];
    for (float &v : values)
      v = random() % 3 == 0 ? 0
                            : floatFromBits(static_cast<uint32_t>(random()) &
                                            (i % 2 ? 0x80ffffff : 0xffffffff));
    EncodeCounters counters;
    const int mantissa = 3 + i % 14;
    FixedRule rule;
    rule.mantissa = mantissa;
    const GivenBlock block = encodeBlockGiven(llvm::ArrayRef<float>(values),
                                              rule, false, given, counters);
    EXPECT_EQ(block.own, encodeBlock(llvm::ArrayRef<float>(values), mantissa,
                                     alone, counters));
  }
}

} // namespace
