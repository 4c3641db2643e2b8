// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Digits of the array's cells and narrow operands: passes and streams by hand
// (docs/Machine.md 4), and descriptions that contradict themselves.

#include "ashlar/Machine/Cycles.h"
#include "ashlar/Machine/Description.h"
#include "ashlar/Machine/Peak.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace ashlar::machine;

static Description withNarrow(uint64_t bits, uint64_t digit = 8) {
  Description machine = llvm::cantFail(load("a1"));
  machine.pe.narrowBits = bits;
  machine.pe.cellDigitBits = digit;
  return machine;
}

TEST(Digits, TheHighestHasTheSign) {
  const Description m = withNarrow(0);
  // Mantissas of 9 bits have magnitudes of 8.
  EXPECT_EQ(pePasses(m, 9 - 1, 9 - 1), 1u);
  EXPECT_EQ(pePasses(m, 10 - 1, 9 - 1), 2u);
  EXPECT_EQ(pePasses(m, 16 - 1, 16 - 1), 4u);
  EXPECT_EQ(pePasses(withNarrow(0, 4), 5 - 1, 9 - 1), 2u);
}

TEST(Narrow, StreamsOfTheExamples) {
  const Description m = withNarrow(4);
  EXPECT_TRUE(isNarrow(m, 4, 3));
  EXPECT_FALSE(isNarrow(m, 4, 5));
  EXPECT_FALSE(isNarrow(withNarrow(0), 3, 3));
  EXPECT_EQ(stepPositions(m, false, true), 2u);
  EXPECT_EQ(stepPositions(m, true, false), 1u);
  PeStreamShape shape{.rows = 1, .positions = 196, .narrow = true};
  EXPECT_EQ(peSteps(m, shape).steps, 98u);
  EXPECT_TRUE(peSteps(m, shape).narrow);
  // Rows of odd width end with a step of one position.
  shape.rows = shape.positions = 13;
  EXPECT_EQ(peSteps(m, shape).cycles, 91u);
  // Four lanes fill the four ports of a column already.
  shape = {.rows = 3, .positions = 7, .groups = 4, .narrow = true};
  EXPECT_EQ(peSteps(m, shape).cycles, 21u);
  EXPECT_FALSE(peSteps(m, shape).narrow);
  shape.groups = 2;
  EXPECT_EQ(peSteps(m, shape).cycles, 12u);
  // Partitions give neighbours together, but lanes one after the other.
  shape.advance = 2;
  EXPECT_EQ(peSteps(m, shape).cycles, 24u);
  shape.narrow = false;
  EXPECT_EQ(peSteps(m, shape).cycles, 42u);
}

TEST(Narrow, WithNofM) {
  Description m = withNarrow(4);
  m.pe.patternGroup = 4;
  EXPECT_EQ(stepPositions(m, true, true), 4u);
  PeStreamShape shape{.rows = 1, .positions = 196, .pattern = true};
  EXPECT_EQ(peSteps(m, shape).cycles, 98u);
  shape.narrow = true;
  EXPECT_EQ(peSteps(m, shape).cycles, 49u);
}

TEST(Narrow, TwiceTheProducts) {
  EXPECT_EQ(peakPerCycle(withNarrow(0), Engine::Pe), 128u * 64);
  EXPECT_EQ(peakPerCycle(withNarrow(4), Engine::Pe), 2 * 128u * 64);
}

TEST(Narrow, Contradictions) {
  auto finding = [](uint64_t bits, uint64_t digit) {
    return llvm::toString(withNarrow(bits, digit).validate());
  };
  EXPECT_EQ(finding(0, 1), "");
  EXPECT_EQ(finding(5, 8), "");
  EXPECT_EQ(finding(9, 16), "");
  EXPECT_THAT(finding(2, 8), testing::HasSubstr("pe.narrow_bits is 2"));
  EXPECT_THAT(finding(6, 8),
              testing::HasSubstr("pe.narrow_bits is 6, expected at most 5"));
  EXPECT_THAT(finding(3, 3),
              testing::HasSubstr("pe.narrow_bits is 3, expected at most 2"));
  EXPECT_THAT(finding(10, 16), testing::HasSubstr("pe.narrow_bits is 10"));
}
