// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// N:M weights: cycles of loads and streams by hand (docs/Machine.md 4), and
// descriptions that contradict themselves.

#include "ashlar/Machine/Cycles.h"
#include "ashlar/Machine/Description.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace ashlar::machine;

static Description withPattern(uint64_t kept, uint64_t group) {
  Description machine = llvm::cantFail(load("a1"));
  machine.pe.patternKept = kept;
  machine.pe.patternGroup = group;
  return machine;
}

TEST(Pattern, CyclesOfTheExample) {
  const Description m = withPattern(2, 4);
  EXPECT_EQ(m.pe.patternPositions(), 2u);
  EXPECT_EQ(m.pe.patternPlaceBits(), 2u);
  EXPECT_EQ(peLoad(m, 128, 1).issue, 128u);
  EXPECT_EQ(peLoad(m, 128, 1, true).issue, 64u);
  EXPECT_EQ(peLoad(m, 27, 2, true).issue, 28u);
  EXPECT_EQ(patternSteps(m, 1, 196), 98u);
  // Rows of odd width end with a step of one position.
  EXPECT_EQ(patternSteps(m, 13, 13), 91u);
  EXPECT_EQ(patternWords(m, 128), 64u);
  // A last group of three rows keeps two words, one of one row keeps it.
  EXPECT_EQ(patternWords(m, 7), 4u);
  EXPECT_EQ(patternWords(m, 9), 5u);
}

TEST(Pattern, OtherPatterns) {
  const Description quarter = withPattern(1, 4), half = withPattern(4, 8);
  EXPECT_EQ(patternSteps(quarter, 2, 10), 6u);
  EXPECT_EQ(patternWords(quarter, 128), 32u);
  EXPECT_EQ(patternSteps(half, 2, 10), 10u);
  EXPECT_EQ(half.pe.patternPlaceBits(), 3u);
}

TEST(Pattern, NoneByItself) {
  const Description m = llvm::cantFail(load("a1"));
  EXPECT_FALSE(m.pe.hasPattern());
  EXPECT_EQ(m.pe.patternPositions(), 1u);
  EXPECT_EQ(patternWords(m, 100), 100u);
  EXPECT_EQ(patternSteps(m, 3, 5), 15u);
}

TEST(Pattern, Contradictions) {
  auto finding = [](uint64_t kept, uint64_t group) {
    return llvm::toString(withPattern(kept, group).validate());
  };
  EXPECT_EQ(finding(2, 4), "");
  EXPECT_EQ(finding(8, 16), "");
  EXPECT_THAT(finding(2, 6), testing::HasSubstr("pe.pattern_group is 6"));
  EXPECT_THAT(finding(3, 4), testing::HasSubstr("pe.pattern_kept is 3"));
  EXPECT_THAT(finding(4, 4), testing::HasSubstr("pe.pattern_kept is 4"));
  EXPECT_THAT(finding(2, 32), testing::HasSubstr("pe.pattern_group is 32"));
}
