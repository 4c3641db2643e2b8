// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ashlar/Support/Progress.h"

#include <gtest/gtest.h>

using namespace ashlar::support;

TEST(ProgressTest, Durations) {
  EXPECT_EQ(durationText(0.4), "0 s");
  EXPECT_EQ(durationText(59.4), "59 s");
  EXPECT_EQ(durationText(185), "3:05 min");
  EXPECT_EQ(durationText(7620), "2:07 h");
}

TEST(ProgressTest, TimeLeftRunsDownWithinAStep) {
  const std::string bar = "[######                        ]  20 %";
  EXPECT_EQ(progressText("x", 0.2, 2, 2), "x " + bar + ", 8 s left");
  EXPECT_EQ(progressText("x", 0.2, 2, 7), "x " + bar + ", 3 s left");
  EXPECT_EQ(progressText("x", 0.2, 2, 12), "x " + bar);
}

TEST(ProgressTest, NoTimeLeftFromNothing) {
  EXPECT_EQ(progressText("x", 0, 0, 3),
            "x [                              ]   0 %");
  EXPECT_EQ(progressText("x", 1, 5, 5),
            "x [##############################] 100 %");
}
