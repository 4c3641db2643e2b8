// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ashlar/Support/Nearest.h"

#include <gtest/gtest.h>

using ashlar::support::didYouMean;

TEST(NearestTest, NamesWhatIsMisspelt) {
  const llvm::StringRef names[] = {"auto", "off", "tile", "scatter"};
  EXPECT_EQ(didYouMean("tiles", names), ", did you mean 'tile'");
  EXPECT_EQ(didYouMean("Scatter", names), ", did you mean 'scatter'");
  EXPECT_EQ(didYouMean("sctater", names), ", did you mean 'scatter'");
  EXPECT_EQ(didYouMean("of", names), ", did you mean 'off'");
}

TEST(NearestTest, SaysNothingOfOtherWords) {
  const llvm::StringRef names[] = {"auto", "off"};
  EXPECT_EQ(didYouMean("", names), "");
  EXPECT_EQ(didYouMean("dense", names), "");
  EXPECT_EQ(didYouMean("x", {}), "");
}
