// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Selectors, block arithmetic and aligned bias against exact fractions computed
// by test/reference/scale_vectors.py.

#include "ashlar/Numerics/BlockArithmetic.h"
#include "ashlar/Numerics/Statistics.h"
#include "gtest/gtest.h"

#include <vector>

using namespace ashlar::numerics;

namespace {

using List = std::vector<int>;

void select(const List &m, const List &e, unsigned k, int w,
            const List &expected) {
  Statistics statistics;
  for (size_t i = 0; i < m.size(); ++i)
    statistics.add(m[i], e[i]);
  EXPECT_EQ(expected, (List{selectSpread(statistics, k, w, Lead::Floor),
                            selectSpread(statistics, k, w, Lead::Ceil),
                            selectMaximum(statistics, w, Lead::Floor),
                            selectMaximum(statistics, w, Lead::Ceil)}));
}

/// Two lists of mantissas and their exponents.
struct Operands {
  List mA, mB, eA, eB;
};

void apply(BlockFunction function, int w, const Operands &in, int cell,
           const List &expected, uint64_t saturated) {
  std::vector<WideValue> values;
  for (size_t i = 0; i < in.mA.size(); ++i)
    values.push_back(
        blockApply(function, in.mA[i], in.eA[i], in.mB[i], in.eB[i]));
  std::vector<int16_t> m(values.size());
  EncodeCounters counters;
  EXPECT_EQ(encodeWide(values, w, m, counters), cell);
  EXPECT_EQ(List(m.begin(), m.end()), expected);
  EXPECT_EQ(counters.saturated, saturated);
}

#define SELECT(m, e, k, w, expected)
#define APPLY(op, w, mA, mB, eA, eB, cell, expected, saturated)
#define BIAS(m, biasExponent, accExponent, expected)

TEST(Vectors, selections) {
#undef SELECT
#define SELECT(m, e, k, w, expected) select(m, e, k, w, expected);
#include "ScaleVectors.inc"
#undef SELECT
#define SELECT(m, e, k, w, expected)
}

TEST(Vectors, blockArithmetic) {
#undef APPLY
#define APPLY(op, w, mA, mB, eA, eB, cell, expected, saturated)                \
  apply(BlockFunction::op, w, {mA, mB, eA, eB}, cell, expected, saturated);
#include "ScaleVectors.inc"
#undef APPLY
#define APPLY(op, w, mA, mB, eA, eB, cell, expected, saturated)
}

TEST(Vectors, alignedBias) {
#undef BIAS
#define BIAS(m, biasExponent, accExponent, expected)                           \
  EXPECT_EQ(inUnits({m, biasExponent}, accExponent), expected);
#include "ScaleVectors.inc"
}

} // namespace
