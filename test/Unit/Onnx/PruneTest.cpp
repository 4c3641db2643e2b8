// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What pruning keeps, by pattern and scope.

#include "ashlar/Frontend/Onnx/Prune.h"
#include "gtest/gtest.h"

#include <algorithm>

using namespace ashlar::frontend;

namespace {

/// [2 outputs, 4 inputs, 2 taps], magnitudes 1 to 16 in row-major order.
PruneTensor ramp() {
  PruneTensor tensor;
  tensor.shape = {2, 4, 2};
  for (int i = 0; i < 16; ++i)
    tensor.values.push_back(i % 2 ? -(i + 1) : i + 1);
  return tensor;
}

std::vector<bool> keep(PruneTensor tensor, const PruneOptions &options) {
  std::vector<PruneTensor> tensors{std::move(tensor)};
  choosePruned(tensors, options);
  return tensors[0].keep;
}

int64_t count(const std::vector<bool> &bits) {
  return std::count(bits.begin(), bits.end(), true);
}

TEST(Prune, UnstructuredKeepsTheLargest) {
  PruneOptions options;
  options.density = 0.25;
  std::vector<bool> kept = keep(ramp(), options);
  EXPECT_EQ(count(kept), 4);
  for (int i = 12; i < 16; ++i)
    EXPECT_TRUE(kept[i]) << i;
}

TEST(Prune, EqualMagnitudesKeepTheEarlier) {
  PruneTensor tensor = ramp();
  tensor.values.assign(16, 1.0);
  PruneOptions options;
  options.density = 0.5;
  std::vector<bool> kept = keep(tensor, options);
  EXPECT_EQ(count(kept), 8);
  EXPECT_TRUE(kept[7]);
  EXPECT_FALSE(kept[8]);
}

TEST(Prune, DensityZeroAndOne) {
  PruneOptions options;
  options.density = 0;
  EXPECT_EQ(count(keep(ramp(), options)), 0);
  options.density = 1;
  EXPECT_EQ(count(keep(ramp(), options)), 16);
}

TEST(Prune, TwoOfFourRunAlongInputChannels) {
  PruneOptions options;
  ASSERT_EQ(parsePrunePattern(options, "2:4"), "");
  std::vector<bool> kept = keep(ramp(), options);
  // Four input channels of one output and tap: the last two are larger.
  for (int i = 0; i < 16; ++i)
    EXPECT_EQ(kept[i], i / 2 % 4 >= 2) << i;
}

TEST(Prune, BlocksAreInputChannelsOfOneTap) {
  PruneOptions options;
  ASSERT_EQ(parsePrunePattern(options, "block"), "");
  options.block = 2;
  options.density = 0.5;
  std::vector<bool> kept = keep(ramp(), options);
  for (int i = 0; i < 16; ++i)
    EXPECT_EQ(kept[i], i >= 8) << i;
}

TEST(Prune, ChannelsAreOutputs) {
  PruneTensor tensor = ramp();
  tensor.outputAxis = 1; // a transposed convolution
  tensor.inputAxis = 0;
  PruneOptions options;
  ASSERT_EQ(parsePrunePattern(options, "channel"), "");
  options.density = 0.5;
  std::vector<bool> kept = keep(tensor, options);
  for (int i = 0; i < 16; ++i)
    EXPECT_EQ(kept[i], i / 2 % 4 >= 2) << i;
}

TEST(Prune, GlobalRanksAllTensorsTogether) {
  std::vector<PruneTensor> tensors{ramp(), ramp()};
  for (double &value : tensors[0].values)
    value /= 100;
  PruneOptions options;
  options.density = 0.5;
  options.global = true;
  choosePruned(tensors, options);
  EXPECT_EQ(count(tensors[0].keep), 0);
  EXPECT_EQ(count(tensors[1].keep), 16);
}

TEST(Prune, WrongPatterns) {
  PruneOptions options;
  for (const char *text : {"", "4:2", "0:4", "2:", ":4", "2:4:8", "random"})
    EXPECT_NE(parsePrunePattern(options, text), "") << text;
}

} // namespace
