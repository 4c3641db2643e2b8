// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Copies between views and passes of the vector unit, counted by hand with the
// formulas of docs/Machine.md 3, 3.2 and 6.

#include "ashlar/Analysis/Cost/CopyNest.h"
#include "ashlar/Analysis/Cost/LaneCopies.h"
#include "ashlar/Analysis/Cost/OperationCycles.h"
#include "gtest/gtest.h"

#include <map>

using namespace ashlar;
using namespace ashlar::analysis;

namespace {

machine::Description priced() {
  machine::Description machine;
  machine.dma.setupCycles = 8;
  machine.dma.runsPerCycle = 4;
  machine.sb.banks = 8;
  machine.sb.ports = 2;
  return machine;
}

StorageType bytes() {
  StorageType type;
  type.plain = support::ElementType::U8;
  return type;
}

npu::AccessPattern transposed(int64_t rows, int64_t columns) {
  npu::AccessPattern pattern;
  pattern.dims = {{rows, 0, 1, 1, 1}, {columns, 1, 1, 0, 1}};
  pattern.sourceStart = pattern.resultStart = {0, 0};
  return pattern;
}

/// 128 x 100 bytes across partitions the other way: 12,800 runs of a byte, 4 a
/// cycle and queue.
TEST(CopyCost, TransposeOfBytesHasARunForEachElement) {
  const machine::Description machine = priced();
  machine::TransferCosts costs(machine);
  const View source = denseBufferView(bytes(), {128, 100}, 0, 0, machine);
  const View result = denseBufferView(bytes(), {100, 128}, 0, 8192, machine);
  const machine::TransferCost cost =
      copyCost(source, result, transposed(128, 100), costs);
  EXPECT_EQ(cost.descriptors, 3u);
  EXPECT_EQ(cost.dram, 0u);
  // Three parts of at most 43 rows of 100 elements: 1,075 cycles and set-up.
  EXPECT_EQ(cost.issue, 3u * (8 + 43 * 100 / 4));
}

/// 12 channels of 30 x 40 positions become 3,600 rows of 4: position p and
/// channels 4 a to 4 a + 3 are row 3 p + a. Rows and columns of the map are one
/// loop, which is cut where one of 29 tiles ends, for each a: 87 copies of
/// about 43 cycles, which take the queues by turns.
TEST(CopyCost, CopiesThatTakeTurnsAreNotCut) {
  const machine::Description machine = priced();
  machine::TransferCosts costs(machine);
  const View source =
      denseBufferView(f32Storage(), {1, 30, 40, 12}, 3, 0, machine);
  const View result =
      denseBufferView(f32Storage(), {1, 3600, 4}, 1, 8192, machine);
  npu::AccessPattern pattern;
  pattern.dims = {
      {30, 1, 1, 1, 120}, {40, 2, 1, 1, 3}, {3, 3, 4, 1, 1}, {4, 3, 1, 2, 1}};
  pattern.sourceStart = {0, 0, 0, 0}, pattern.resultStart = {0, 0, 0};
  const machine::TransferCost cost = copyCost(source, result, pattern, costs);
  EXPECT_EQ(cost.descriptors, 87u);
  EXPECT_EQ(cost.issue, 87u * 8 + 14400 / 4);
}

/// Heads of 96 features that lie in 3 channel tiles, copied to memory of their
/// own: head by head the same bytes as slices of the features.
TEST(CopyNest, SecondAxisAcrossPartitions) {
  const machine::Description machine = priced();
  machine::TransferCosts costs(machine);
  const View whole = denseBufferView(bytes(), {5, 384}, 1, 64, machine);
  View heads = whole;
  heads.shape = {5, 4, 96}, heads.strides = {1, 0, 0};
  heads.axis = 2, heads.outer = 1, heads.outerStep = 96;
  const View own = denseBufferView(bytes(), {5, 4, 96}, 2, 1024, machine);
  auto moved = [&](const View &source, const View &result) {
    std::map<int64_t, int64_t> bytes;
    forEachCopy(source, result, identityPattern(result.shape), costs,
                [&](const CopyNest &nest) {
                  auto visit = [&](auto &self, size_t at, int64_t from,
                                   int64_t to) -> void {
                    if (at == nest.transfer.loops.size()) {
                      EXPECT_TRUE(bytes.insert({to, from}).second);
                      return;
                    }
                    const machine::TransferLoop &loop = nest.transfer.loops[at];
                    for (int64_t i = 0; i < loop.extent; ++i)
                      self(self, at + 1, from + i * loop.stride[0],
                           to + i * loop.stride[1]);
                  };
                  visit(visit, 0, nest.transfer.sides[0].base,
                        nest.transfer.sides[1].base);
                  return true;
                });
    return bytes;
  };
  std::map<int64_t, int64_t> expected;
  for (int64_t head = 0; head < 4; ++head) {
    View features = whole.slice({{0, head * 96}, {5, 96}}, machine);
    features.shape = {5, 1, 96}, features.strides = {1, 0, 0};
    features.axis = 2;
    const Region part{{0, head, 0}, {5, 1, 96}};
    EXPECT_EQ(heads.slice(part, machine).part, features.part);
    EXPECT_EQ(heads.slice(part, machine).base, features.base);
    expected.merge(moved(features, own.slice(part, machine)));
  }
  EXPECT_EQ(moved(heads, own), expected);
  EXPECT_EQ(expected.size(), 5u * 384u);
}

/// The visitor ends the walk.
TEST(CopyNest, VisitorEndsTheWalk) {
  machine::Description machine = priced();
  machine::TransferCosts costs(machine);
  // 130 channels wrap around 128 partitions: two nests at least.
  const View source = denseBufferView(bytes(), {4, 130}, 1, 0, machine);
  const View result = denseBufferView(bytes(), {4, 130}, 0, 8192, machine);
  int all = 0, first = 0;
  const npu::AccessPattern pattern = identityPattern(source.shape);
  forEachCopy(source, result, pattern, costs, [&](const CopyNest &) {
    ++all;
    return true;
  });
  forEachCopy(source, result, pattern, costs, [&](const CopyNest &) {
    ++first;
    return false;
  });
  EXPECT_GE(all, 2);
  EXPECT_EQ(first, 1);
}

/// A row of 8 pixels in 4 lanes is 2 pixels of 4 lanes each.
TEST(LanePieces, WholePixelsAreOnePiece) {
  npu::AccessPattern pattern = identityPattern({1, 3, 2, 8});
  const auto patterns = lanePatterns(pattern, Lanes{4, 32});
  ASSERT_EQ(patterns.size(), 1u);
  int64_t elements = 1;
  for (const npu::PatternDim &dim : patterns.front().dims)
    elements *= dim.extent;
  EXPECT_EQ(elements, 3 * 2 * 8);
  EXPECT_EQ(patterns.front().dims.back().resultStep, 32);
}

/// docs/Machine.md 3.2: two f32 operands to f32, 100 elements: 3 * 25 accesses,
/// claim 38, of 100 cycles; at a stride of 8 bytes 300 accesses, claim 150.
TEST(MapCycles, PortsAreCountedWherePositionsAreApart) {
  const machine::Description machine = priced();
  auto strided = [&](int64_t offset) {
    View view = denseBufferView(f32Storage(), {128, 100}, 0, offset, machine);
    view.strides[1] = 8;
    return view;
  };
  const View a = denseBufferView(f32Storage(), {128, 100}, 0, 0, machine);
  const View b = denseBufferView(f32Storage(), {128, 100}, 0, 400, machine);
  const View y = denseBufferView(f32Storage(), {128, 100}, 0, 800, machine);
  using machine::VecCost, machine::VecStore;
  EXPECT_EQ(mapCycles({a, b}, y, VecCost::Cheap, VecStore::Same, machine), 100);
  EXPECT_EQ(mapCycles({strided(0), strided(800)}, strided(1600), VecCost::Cheap,
                      VecStore::Same, machine),
            150);
  machine::Description ideal = machine;
  ideal.sb.banks = 0;
  EXPECT_EQ(mapCycles({strided(0), strided(800)}, strided(1600), VecCost::Cheap,
                      VecStore::Same, ideal),
            100);
}

} // namespace
