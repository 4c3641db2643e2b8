// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decoded streams: tiles of a layer share them, and a stream is decoded again
// where another one, or another form of it, is asked for.

#include "lib/Emulator/Execute/TapProgram.h"
#include "llvm/Support/Error.h"
#include "gtest/gtest.h"

using namespace ashlar;
using namespace ashlar::emulator;

/// A depthwise stream of \p channels 3x3 kernels, all of one value.
static std::vector<uint8_t> streamOf(uint32_t channels, int32_t value) {
  isa::StreamShape shape;
  shape.channels = channels;
  shape.kH = shape.kW = 3;
  std::vector<std::vector<isa::Coefficient>> entries(channels);
  for (uint32_t c = 0; c < channels; ++c)
    for (uint32_t tap = 0; tap < 9; ++tap)
      entries[c].push_back({c, tap / 3, tap % 3, value, 0});
  return llvm::cantFail(
      isa::encodeStream(shape, entries, isa::StreamEncoding::Dense));
}

static isa::TccRun runOf(uint32_t channels) {
  isa::TccRun op;
  op.type = isa::ElemType::Bfp;
  op.mantissa = 8;
  op.range = 7;
  op.channels = op.regions = channels;
  op.kH = op.kW = 3;
  op.tileH = 4;
  op.tileW = 8;
  op.regionStride = 32;
  return op;
}

TEST(TapPrograms, TilesOfALayerShareAStream) {
  const std::vector<uint8_t> bytes = streamOf(4, 3);
  TapPrograms programs;
  isa::TccRun first = runOf(4), second = first;
  second.acc = 4096;
  second.table = second.set = 1;
  const auto one = programs.find(TapLayout(first), formOf(first), bytes);
  EXPECT_EQ(programs.find(TapLayout(second), formOf(second), bytes), one);
  EXPECT_EQ(one->size(), 36u);
  ASSERT_EQ(one->chunks().size(), 4u);
  EXPECT_EQ(one->chunks()[3].entry, 96u);
}

TEST(TapPrograms, OtherPlacesOrBytesAreOtherPrograms) {
  const std::vector<uint8_t> bytes = streamOf(4, 3);
  TapPrograms programs;
  const isa::TccRun op = runOf(4);
  isa::TccRun wider = op, spread = op;
  wider.tileW = 16;
  spread.regionStride = 64;
  const auto one = programs.find(TapLayout(op), formOf(op), bytes);
  EXPECT_NE(programs.find(TapLayout(wider), formOf(op), bytes), one);
  EXPECT_NE(programs.find(TapLayout(spread), formOf(op), bytes), one);
  EXPECT_NE(programs.find(TapLayout(op), formOf(op), streamOf(4, 5)), one);
  EXPECT_EQ(programs.find(TapLayout(op), formOf(op), bytes), one);
}

TEST(TapPrograms, EachFormIsDecodedOnce) {
  const std::vector<uint8_t> bytes = streamOf(2, -3);
  TapPrograms programs;
  const isa::TccRun op = runOf(2);
  const TapLayout layout(op);
  EXPECT_EQ(formOf(op), TapForm::Chunks);
  const auto chunks = programs.find(layout, TapForm::Chunks, bytes);
  const auto ordered = programs.find(layout, TapForm::Ordered, bytes);
  EXPECT_NE(ordered, chunks);
  EXPECT_EQ(programs.find(layout, TapForm::Chunks, bytes), chunks);
  EXPECT_EQ(programs.find(layout, TapForm::Ordered, bytes), ordered);
  ASSERT_EQ(ordered->of(1).size(), 9u);
  EXPECT_EQ(ordered->of(1)[8].value, -3);
}

TEST(TapPrograms, WideElementsTakeTheOrderOfTheStream) {
  isa::TccRun op = runOf(1);
  op.mantissa = 12;
  op.range = 7;
  EXPECT_EQ(formOf(op), TapForm::Ordered);
}
