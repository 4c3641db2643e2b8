// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tiles of transposes: counts of equation 1, ragged ends, channel tiles, short
// patterns that share a tile.

#include "ashlar/Analysis/Array/TransposePlan.h"

#include "ashlar/Machine/Transposes.h"
#include "gtest/gtest.h"

namespace ashlar::analysis {
namespace {

/// [m, n] to [n, m], m across partitions before and n after it.
TransposePlan matrix(int64_t m, int64_t n) {
  npu::AccessPattern pattern;
  pattern.dims = {{n, 1, 1, 0, 1}, {m, 0, 1, 1, 1}};
  pattern.sourceStart = {0, 0};
  pattern.resultStart = {0, 0};
  return *planTranspose(pattern, /*sourceAxis=*/0, /*resultAxis=*/0);
}

/// Sizes of segments, which must cover the range in order.
std::vector<int64_t> sizes(llvm::ArrayRef<Segment> segments) {
  std::vector<int64_t> list;
  int64_t at = 0;
  for (const Segment &segment : segments) {
    EXPECT_EQ(at, segment.begin);
    int64_t product = 1;
    for (int64_t extent : segment.dims)
      product *= extent;
    EXPECT_EQ(segment.size, product);
    at += segment.size;
    list.push_back(segment.size);
  }
  return list;
}

TEST(TransposePlan, TilesFitABankOfAccumulators) {
  machine::Description machine;
  machine.psum.entriesPerBank = 32;
  EXPECT_EQ(machine::transposeRows(machine), 32U);
  // Four tiles of 32 rows take the time of as many matrices of 32 rows.
  const TransposeCycles whole = predictTranspose(matrix(128, 64), 1, machine);
  machine.pe.rows = 32;
  EXPECT_GE(whole.identity,
            predictTranspose(matrix(128, 64), 1, machine).identity);
  EXPECT_EQ(machine::transposeRows(machine), 32U);
  machine.psum.entriesPerBank = 512;
  EXPECT_EQ(machine::transposeRows(machine), 32U);
}

TEST(TransposePlan, T5_SubBlocksOfTheSpecification) {
  // Sub-blocks of 128 x 64.
  const struct {
    int64_t m, n, tiles;
  } cases[] = {{128, 128, 2},  {129, 128, 4},     {256, 256, 8}, {300, 200, 12},
               {512, 384, 24}, {1000, 1000, 128}, {1, 1, 1}};
  for (auto [m, n, tiles] : cases) {
    TransposePlan plan = matrix(m, n);
    int64_t found = plan.rowSegments(128, 128, 0).size() *
                    plan.columnSegments(64, 128, 0).size();
    // Ragged columns need no second tile where 64 suffice.
    EXPECT_LE(found, tiles);
    EXPECT_GE(2 * found, tiles);
  }
}

TEST(TransposePlan, T6_RaggedSizesAreCovered) {
  for (int64_t extent : {1, 2, 63, 64, 65, 127, 128, 129, 200, 300}) {
    TransposePlan plan = matrix(extent, extent);
    for (int64_t size : sizes(plan.rowSegments(128, 128, 0)))
      EXPECT_LE(size, 128);
    for (int64_t size : sizes(plan.columnSegments(64, 128, 0)))
      EXPECT_LE(size, 64);
  }
  EXPECT_EQ((std::vector<int64_t>{128, 1}),
            sizes(matrix(129, 1).rowSegments(128, 128, 0)));
}

TEST(TransposePlan, NoTileCrossesAChannelTile) {
  EXPECT_EQ((std::vector<int64_t>{3, 5, 2}),
            sizes(matrix(10, 1).rowSegments(5, 8, 5)));
}

TEST(TransposePlan, ShortPatternsShareATile) {
  // [5, 3, 4] to [5, 4, 3] with the first two axes together across partitions:
  // five patterns of three rows.
  npu::AccessPattern pattern;
  pattern.dims = {{5, 0, 3, 0, 1}, {3, 0, 1, 2, 1}, {4, 1, 1, 1, 1}};
  pattern.sourceStart = {0, 0};
  pattern.resultStart = {0, 0, 0};
  auto plan = planTranspose(pattern, 0, 1);
  ASSERT_TRUE(plan);
  EXPECT_EQ(15, plan->rowCount());
  EXPECT_EQ(1, plan->planes());
  auto rows = plan->rowSegments(128, 128, 0);
  ASSERT_EQ(1u, rows.size());
  EXPECT_EQ((llvm::SmallVector<int64_t, 3>{5, 3}), rows[0].dims);
  // Eight rows: whole patterns only.
  EXPECT_EQ((std::vector<int64_t>{6, 6, 3}),
            sizes(plan->rowSegments(8, 128, 0)));
}

TEST(TransposePlan, ColumnsOfATileHaveOneDistance) {
  // [2, 6, 5] to [30, 2] columns (6, 5) contiguous in the source: one run.
  npu::AccessPattern pattern;
  pattern.dims = {{2, 0, 1, 1, 1}, {6, 1, 1, 0, 5}, {5, 2, 1, 0, 1}};
  pattern.sourceStart = {0, 0, 0};
  pattern.resultStart = {0, 0};
  auto plan = planTranspose(pattern, 0, 0);
  ASSERT_TRUE(plan);
  EXPECT_EQ((std::vector<int64_t>{5, 5, 5, 5, 5, 5}),
            sizes(plan->columnSegments(64, 128, 0)));
}

TEST(TransposePlan, MovementWithinThePartitionAxisHasNone) {
  // A channel shuffle keeps channels across partitions.
  npu::AccessPattern pattern;
  pattern.dims = {{2, 0, 3, 0, 1}, {3, 0, 1, 0, 2}, {4, 1, 1, 1, 1}};
  pattern.sourceStart = {0, 0};
  pattern.resultStart = {0, 0};
  EXPECT_FALSE(planTranspose(pattern, 0, 0));
  // Repeated elements are no permutation.
  pattern.dims = {{2, -1, 0, 0, 1}, {3, 0, 1, 1, 1}};
  EXPECT_FALSE(planTranspose(pattern, 0, 0));
}

TEST(TransposePlan, ThePredictionFollowsTheMachine) {
  machine::Description machine;
  TransposeCycles cycles = predictTranspose(matrix(1024, 1024), 4, machine);
  EXPECT_LT(cycles.copy, cycles.identity);
  EXPECT_LT(cycles.identity, cycles.dma);
  machine.dma.onchipBytesPerCycle = 8;
  cycles = predictTranspose(matrix(1024, 1024), 4, machine);
  EXPECT_LT(cycles.identity, cycles.copy);
}

TEST(TransposePlan, ByteShufflesArePaid) {
  machine::Description machine;
  // 16,384 bytes on three queues.
  EXPECT_EQ(predictTranspose(matrix(128, 128), 1, machine).copy, 43);
  machine.dma.setupCycles = 8;
  machine.dma.onchipLatency = 32;
  machine.dma.runsPerCycle = 4;
  // Every element is a run: 5,462 for each queue.
  TransposeCycles cycles = predictTranspose(matrix(128, 128), 1, machine);
  EXPECT_EQ(cycles.copy, 8 + 1366 + 32);
  EXPECT_LT(cycles.identity, cycles.copy);
  // To DRAM as it lies, 256 cycles; turned on the way back, 4,096.
  EXPECT_EQ(cycles.dma, 8 + 256 + 200 + 8 + 4096 + 200);
  // Four elements that stay together are a run.
  npu::AccessPattern pattern;
  pattern.dims = {{128, 0, 1, 1, 1}, {128, 1, 1, 0, 1}, {4, 2, 1, 2, 1}};
  pattern.sourceStart = {0, 0, 0};
  pattern.resultStart = {0, 0, 0};
  auto plan = planTranspose(pattern, 0, 0);
  ASSERT_TRUE(plan);
  EXPECT_EQ(predictTranspose(*plan, 1, machine).copy, 8 + 1366 + 32);
}

TEST(TransposePlan, LoadsAndStoresAreCounted) {
  machine::Description machine;
  machine.dma.setupCycles = 8;
  machine.dma.runsPerCycle = 4;
  const TransposePlan plan = matrix(128, 128);
  // 734 cycles of the array; 16,384 bytes as they lie take 264 and the latency
  // of DRAM.
  const int64_t array = static_cast<int64_t>(
      machine::transposeTiles(machine, {128}, {64, 64}, 1));
  EXPECT_EQ(array, 734);
  // Between buffers of the chip the drain follows the stream after its first
  // row, 127 cycles earlier.
  EXPECT_EQ(predictTranspose(plan, 1, machine).identity, array - 127);
  EXPECT_EQ(predictTranspose(plan, 1, machine, {128, 0}).identity,
            array + 264 + 200);
  EXPECT_EQ(predictTranspose(plan, 1, machine, {128, 128}).identity,
            array + 2 * (264 + 200));
  // A load that turns: two of three shares pass DRAM before the last one's
  // 5,462 elements.
  EXPECT_EQ(predictTranspose(plan, 1, machine, {128, 0}).copy,
            170 + 8 + 1366 + 200);
  // A store that turns goes the same way, since one queue would take longer
  // than DRAM; one that does not stays on one queue.
  EXPECT_EQ(predictTranspose(plan, 1, machine, {0, 128}).copy,
            170 + 8 + 1366 + 200);
  machine.dma.runsPerCycle = 64;
  EXPECT_EQ(predictTranspose(plan, 1, machine, {0, 128}).copy, 8 + 256 + 200);
  machine.dma.runsPerCycle = 4;
  // Every byte has a burst.
  EXPECT_EQ(predictTranspose(plan, 1, machine, {128, 128}).copy,
            256 + 16384 + 2 * 200);
  // Across the inner axis a load takes element by element.
  EXPECT_EQ(predictTranspose(plan, 1, machine, {1, 0}).identity,
            array + 8 + 4096 + 200);
}

TEST(TransposePlan, TilesOverlapTheirLoads) {
  const machine::Description machine;
  const TransposePlan plan = matrix(512, 512);
  const std::vector<uint64_t> rows(4, 128), cols(8, 64);
  const auto array =
      static_cast<int64_t>(machine::transposeTiles(machine, rows, cols, 1));
  // 4,096 cycles of loads in four patterns next to the array.
  EXPECT_EQ(predictTranspose(plan, 1, machine, {512, 0}).identity,
            array + 4096 / 4 + 200);
}

TEST(TransposePlan, WhatDoesNotFitGoesThroughDram) {
  const machine::Description machine;
  TransposeEnds ends;
  ends.evicted = true;
  const TransposeCycles fits = predictTranspose(matrix(256, 256), 4, machine),
                        other = predictTranspose(matrix(256, 256), 4, machine,
                                                 ends);
  EXPECT_EQ(other.identity, fits.identity + 2 * (4096 + 200));
  EXPECT_EQ(other.copy, other.dma);
  ends.changesPlaces = true;
  EXPECT_EQ(predictTranspose(matrix(256, 256), 4, machine, ends).copy,
            fits.copy);
}

TEST(TransposePlan, PortsLimitCopiesOfFewPartitions) {
  machine::Description machine;
  const TransposePlan plan = matrix(4096, 2);
  const int64_t free = predictTranspose(plan, 1, machine).copy;
  machine.sb.banks = 8;
  // 64 elements of a partition are read, pairs at a time, and 4,096 written
  // into each of two, through one port.
  EXPECT_EQ(predictTranspose(plan, 1, machine).copy, 64 + 4096);
  EXPECT_LT(free, 64 + 4096);
  machine.sb.ports = 2;
  EXPECT_EQ(predictTranspose(plan, 1, machine).copy, (64 + 4096) / 2);
}

} // namespace
} // namespace ashlar::analysis
