// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Claims of the width folds that are arithmetic on shapes and layouts, each a
// test named after it, and the source's worked examples. Claims about programs
// are in test/Claims/WidthFold.

#include "Stem.h"
#include "ashlar/Analysis/Layout/Lanes.h"
#include "gtest/gtest.h"

using namespace ashlar;
using namespace ashlar::nn;

namespace {

FoldConv row(int64_t width, int64_t kernel, int64_t stride) {
  FoldConv conv;
  conv.input = {width};
  conv.kernel = {kernel};
  conv.strides = {stride};
  conv.dilations = {1};
  conv.pads = {0, 0};
  conv.output = {(width - kernel) / stride + 1};
  return conv;
}

int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// The claimed width ceil(Wi / Sw) holds wherever it gives no surplus column;
/// elsewhere the exact width is one column less.
TEST(WidthFoldClaim, 01_ShapesOfBothOperandsAndStrideOne) {
  for (int64_t stride = 2; stride <= 5; ++stride)
    for (int64_t kernel = 1; kernel <= 7; ++kernel)
      for (int64_t width = kernel; width <= 30; ++width) {
        const FoldConv conv = row(width, kernel, stride);
        const StrideFold fold = trailingFold(conv);
        EXPECT_EQ(fold.stride, stride);
        EXPECT_EQ(fold.kernel, ceilDiv(kernel, stride));
        const int64_t claimed = ceilDiv(width, stride);
        const bool surplus = claimed - fold.kernel + 1 != conv.output[0];
        EXPECT_EQ(fold.width, claimed - (surplus ? 1 : 0));
        // At stride 1 the folded row gives the results of the original.
        EXPECT_EQ(fold.width - fold.kernel + 1, conv.output[0]);
      }
}

TEST(WidthFoldClaim, 02_BothWidthsAreCompletedToMultiplesOfTheStride) {
  for (int64_t width = 7; width <= 30; ++width) {
    const FoldConv conv = row(width, 7, 3);
    const StrideFold fold = trailingFold(conv);
    // Folded columns are whole by construction: what the input lacks is zero.
    EXPECT_EQ(fold.padLow + width + fold.padHigh, fold.width * fold.stride);
    EXPECT_GE(fold.kernel * fold.stride, conv.kernel[0]);
    EXPECT_LT(fold.kernel * fold.stride - conv.kernel[0], fold.stride);
  }
}

TEST(WidthFoldClaim, 03_TheSourcesFormAddsZerosAtTheEnd) {
  const StrideFold source = trailingFold(row(5, 3, 2));
  EXPECT_EQ(source.leadingTaps, 0);
  EXPECT_EQ(source.padLow, 0);
  EXPECT_EQ(source.padHigh, 1);
  // Form B, zeros in front, is ours: outside this claim, inside claim 2.
  FoldConv padded = row(224, 7, 2);
  padded.pads = {3, 3};
  padded.output = {112};
  bool valid = false;
  EXPECT_EQ(leadingFold(padded, valid).leadingTaps, 1);
  EXPECT_TRUE(valid);
}

TEST(WidthFoldClaim, 07_ChannelsTimesStrideAreAlignedToARowGroup) {
  // 3 channels of stride 2: 6 rows in groups of 8, 16 results a step.
  const FoldConv conv = test::stem(224, 7, 3, 64);
  const MachineView machine = test::machineWith();
  for (const FoldAlternative &plan : foldAlternatives(conv, machine, true))
    if (plan.kind == FoldKind::Width) {
      EXPECT_EQ(plan.channels, 6);
      EXPECT_EQ(plan.lanes, 16);
      EXPECT_EQ(plan.lanes * machine.laneUnit, machine.rows) << "PCi * Ws = M";
    }
}

/// Fig. 13: 5 columns and 3 taps of stride 2 become 3 columns and 2 taps.
TEST(WidthFoldGolden, Figure13) {
  const StrideFold fold = trailingFold(row(5, 3, 2));
  EXPECT_EQ(fold.width, 3);
  EXPECT_EQ(fold.kernel, 2);
  EXPECT_EQ(fold.padHigh, 1) << "w5 is the inserted zero";
  EXPECT_EQ(fold.kernel * fold.stride - 3, 1) << "kw3 is the inserted tap";
}

/// Table 1: PCi and the pixels of a row of 64 bytes.
TEST(WidthFoldGolden, Table1) {
  const MachineView machine = test::machineWith([](auto &own) {
    own.pe.rows = 64;
    own.pe.rowGroupGranularity = own.xmGroup = 4;
  });
  const std::pair<int64_t, int64_t> table[] = {
      {4, 16}, {8, 8}, {16, 4}, {32, 2}, {64, 1}};
  for (auto [pitch, lanes] : table)
    EXPECT_EQ(lanesFor(pitch, 1000, machine), lanes) << pitch;
}

/// The alignment rule with the tolerances under which its examples hold.
TEST(WidthFoldGolden, AlignmentRuleOfTheSource) {
  const int64_t candidates[] = {8, 16, 32, 64};
  for (int64_t tolerance : {8, 12, 15}) {
    EXPECT_EQ(analysis::sourcePitch(candidates, 48, tolerance), 16);
    EXPECT_EQ(analysis::sourcePitch(candidates, 28, tolerance), 32);
    EXPECT_EQ(analysis::sourcePitch(candidates, 49, tolerance), 64);
  }
  // The tolerance that the source names contradicts its first example.
  EXPECT_EQ(analysis::sourcePitch(candidates, 48, 16), 64);
}

/// Figs. 7a and 7b: 4 x 9 pixels of 14 and of 47 bytes in groups of 16.
TEST(WidthFoldGolden, Figure7Layouts) {
  const analysis::Lanes lanes{4, 16};
  // 7a: four pixels side by side, two bytes of zeros each; three steps a row.
  EXPECT_EQ(analysis::storedShape({1, 14, 4, 9}, lanes),
            (analysis::Shape{1, 64, 4, 3}));
  // 7b and 7c: three blocks of channels, the last with a zero per pixel.
  EXPECT_EQ(ceilDiv(47, lanes.pitch), 3);
  EXPECT_EQ(ceilDiv(47, lanes.pitch) * lanes.pitch - 47, 1);
}

} // namespace
