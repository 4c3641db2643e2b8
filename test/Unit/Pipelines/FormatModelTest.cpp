// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The knapsack of the search for formats against all combinations.

#include "lib/Pipelines/FormatSearch/FormatModel.h"

#include "gtest/gtest.h"

using namespace ashlar;
using namespace ashlar::pipelines;

namespace {

numerics::BlockFormat width(int mantissa) {
  numerics::BlockFormat format;
  format.mantissa = mantissa;
  return format;
}

/// Weights of two nodes and the activations of the first; a byte costs 1, a
/// cycle 1.
FormatModel makeModel() {
  FormatModel model;
  model.perByte = 1;
  FormatGroup activations, first, second;
  activations.slots = {{"a", false}};
  first.slots = {{"a", true}};
  second.slots = {{"b", true}};
  model.groups = {activations, first, second};
  model.choices = {{{width(8), 16, 0}, {width(16), 0, 0}},
                   {{width(6), 16, 6}, {width(7), 4, 7}, {width(8), 1, 8}},
                   {{width(6), 64, 6}, {width(7), 16, 7}, {width(8), 4, 8}}};
  model.nodes["a"] = {{{100, 200}, {200, 400}}};
  model.nodes["b"] = {{{50, 100}, {100, 200}}};
  return model;
}

double noiseOf(const FormatModel &model, llvm::ArrayRef<size_t> picked) {
  double noise = 0;
  for (size_t i = 0; i < picked.size(); ++i)
    noise += model.choices[i][picked[i]].noise;
  return noise;
}

TEST(FormatModel, CheapestWithoutBudget) {
  EXPECT_EQ(chooseFormats(makeModel(), 1e9), (std::vector<size_t>{0, 0, 0}));
}

TEST(FormatModel, LeastNoiseIfNothingMeetsTheBudget) {
  EXPECT_EQ(chooseFormats(makeModel(), 0), (std::vector<size_t>{1, 2, 2}));
}

TEST(FormatModel, BytesBeforeTheCyclesOfWideActivations) {
  // 16 + 16 + 16: a byte of the second weights, no wide operand.
  FormatModel model = makeModel();
  std::vector<size_t> picked = chooseFormats(model, 48);
  EXPECT_EQ(picked, (std::vector<size_t>{0, 0, 1}));
  EXPECT_LE(noiseOf(model, picked), 48);
  // Only wide activations reach 8.
  EXPECT_EQ(chooseFormats(model, 8)[0], 1u);
}

TEST(FormatModel, GivesBackWhatWasTooMuch) {
  // The second weights have one choice, so much better than needed that the
  // first go back to their cheapest.
  FormatModel model = makeModel();
  model.choices[2] = {{width(6), 64, 6}, {width(8), 1, 8}};
  std::vector<size_t> picked = chooseFormats(model, 33);
  EXPECT_EQ(picked, (std::vector<size_t>{0, 0, 1}));
}

TEST(FormatModel, FewerPassesByCyclesSavedPerNoise) {
  // Both operands of the first node and the weights of the second have two
  // bytes. Saved are 200 of 400 for either operand, 50 of 100; noises of the
  // widest formats of one byte are 16, 1 and 4.
  const FormatModel model = makeModel();
  const std::vector<numerics::BlockFormat> wide(3, width(16));
  std::vector<FormatStep> steps = fewerPasses(model, wide, 0);
  ASSERT_EQ(steps.size(), 3u);
  EXPECT_EQ(steps[0].group, 1u);
  EXPECT_EQ(steps[0].format, width(8));
  EXPECT_EQ(steps[0].worth, 200);
  EXPECT_EQ(steps[1].group, 0u);
  EXPECT_EQ(steps[1].worth, 12.5);
  EXPECT_EQ(steps[2].group, 2u);
  EXPECT_EQ(steps[2].worth, 12.5);
  // What saves less than 60 is omitted, and so are operands of one byte.
  EXPECT_EQ(fewerPasses(model, wide, 60).size(), 2u);
  const std::vector<numerics::BlockFormat> one = {width(8), width(16),
                                                  width(8)};
  steps = fewerPasses(model, one, 0);
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_EQ(steps[0].group, 1u);
  EXPECT_EQ(steps[0].worth, 100);
}

} // namespace
