// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Orders and parts of copies: what they cost, and which are chosen.

#include "ashlar/Machine/Transfers.h"
#include "gtest/gtest.h"
#include <utility>

using namespace ashlar::machine;

namespace {

constexpr int64_t partition = 65536;

/// A machine that shares ports and forms any number of runs.
Description portsOnly() {
  Description machine;
  machine.sb.banks = 8;
  machine.sb.ports = 2;
  return machine;
}

/// Windows of 3 x 3 x 3 floats, gathered from 3 partitions into 27 times 4
/// lanes: what a packed stem stages.
Transfer windows(int64_t rows) {
  Transfer transfer;
  transfer.elementBytes = 4;
  transfer.sides[0] = {false, true, partition, 256};
  transfer.sides[1] = {false, true, partition, 1664};
  auto add = [&](int64_t extent, int64_t from, int64_t to) {
    transfer.loops.push_back({extent, {from, to}, transfer.loops.size()});
  };
  add(3, partition, 9 * partition);
  add(3, 136, 3 * partition);
  add(3, 4, partition);
  add(rows, 136, 32);
  add(8, 16, 4);
  add(4, 4, 32 * partition);
  return transfer;
}

/// Single elements of one partition after the other, which a descriptor for
/// each partition would read from the same ports.
TEST(Transfers, LoopsOfPartitionsStayInADescriptor) {
  const Description machine = portsOnly();
  Transfer transfer = windows(8);
  const TransferCost given = TransferCosts(machine).of(transfer);
  const TransferCost best = TransferCosts(machine).orderLoops(transfer, 3, 3);
  EXPECT_EQ(given.descriptors, 3u);
  EXPECT_EQ(given.claim, 960u);
  // A descriptor reads of each partition 3 * 3 runs of 128 bytes, and writes 8
  // elements: (72 + 8) / 2 cycles for each of 8 rows.
  EXPECT_EQ(best.descriptors, 8u);
  EXPECT_EQ(best.claim, 320u);
  EXPECT_EQ(best.issue, 320u);
  EXPECT_EQ(transfer.loops.front().extent, 8);
}

/// Rows of bytes whose innermost loop steps over 16 bytes.
Transfer interleaved() {
  Transfer transfer;
  transfer.sides[0] = {false, true, partition, 0};
  transfer.sides[1] = {false, true, partition, 1024};
  transfer.loops = {{4, {1, partition}, 0}, {64, {4, 1}, 1}};
  return transfer;
}

TEST(Transfers, InnerRunsSpareAccesses) {
  Description machine = portsOnly();
  Transfer transfer = interleaved();
  // 256 single bytes read, 4 accesses of 16 bytes written in each partition.
  EXPECT_EQ(TransferCosts(machine).of(transfer).claim, 130u);
  // 16 accesses read, 64 single bytes written in each partition.
  EXPECT_EQ(TransferCosts(machine).orderLoops(transfer, 1, 1).claim, 40u);
  EXPECT_EQ(transfer.loops.back().extent, 4);
}

TEST(Transfers, WithoutPricesTheOrderStays) {
  const Description machine;
  Transfer transfer = interleaved();
  TransferCosts(machine).orderLoops(transfer, 1, 1);
  EXPECT_EQ(transfer.loops.back().extent, 64);
}

TEST(Transfers, UnevenPartsShareQueues) {
  Description machine = portsOnly();
  machine.dma.runsPerCycle = 4;
  Transfer transfer;
  transfer.elementBytes = 4;
  transfer.sides[0].inDram = true;
  transfer.sides[1] = {false, true, partition, 0};
  transfer.loops = {{3, {206116, 4 * partition}, 0},
                    {10, {908, 32}, 1},
                    {7, {128, 4}, 2},
                    {8, {16, 16 * partition}, 3},
                    {4, {4, partition}, 4}};
  EXPECT_EQ(TransferCosts(machine).loopToCut(transfer, 3, 3), 0u);
  EXPECT_EQ(TransferCosts(Description()).loopToCut(transfer, 3, 3),
            transfer.loops.size());
  // The first part of a store is what is made first.
  std::swap(transfer.sides[0], transfer.sides[1]);
  EXPECT_EQ(TransferCosts(machine).loopToCut(transfer, 3, 3),
            transfer.loops.size());
}

/// Only copies inside the chip are cut where ports are spared.
TEST(Transfers, PartsFollowThePorts) {
  const Description machine = portsOnly();
  Transfer transfer;
  transfer.elementBytes = 4;
  transfer.sides[0] = {false, true, partition, 0};
  transfer.sides[1] = {false, true, partition, 8192};
  transfer.loops = {{64, {partition, partition}, 0}, {96, {4, 4}, 1}};
  EXPECT_EQ(TransferCosts(machine).loopToCut(transfer, 3, 3), 1u);
  EXPECT_EQ(TransferCosts(Description()).loopToCut(transfer, 3, 3), 0u);
  transfer.sides[1] = {true, false, 0, 0};
  EXPECT_EQ(TransferCosts(machine).loopToCut(transfer, 3, 3), 0u);
}

/// Parts of a row would fill no burst: other loops are cut, though they have
/// fewer iterations.
TEST(Transfers, StoresAreCutBetweenBursts) {
  Description machine;
  machine.dram.burstBytes = 64;
  Transfer transfer;
  transfer.elementBytes = 4;
  transfer.sides[0] = {false, true, partition, 0};
  transfer.sides[1].inDram = true;
  transfer.loops = {{32, {partition, 65536}, 0},
                    {4, {512, 2048}, 1},
                    {4, {32 * partition, 512}, 2},
                    {128, {4, 4}, 3}};
  EXPECT_EQ(TransferCosts(machine).loopToCut(transfer, 12, 3), 0u);
  // Rows whose parts are whole bursts may be cut.
  transfer.loops.back().extent = 48 * 16;
  EXPECT_EQ(TransferCosts(machine).loopToCut(transfer, 12, 3), 3u);
}

TEST(Transfers, MergedLoopsCountTheSame) {
  TransferLoops loops = {{4, {64, 64}, 0}, {16, {4, 4}, 1}, {5, {0, 1}, 2}};
  mergeLoops(loops, 64);
  ASSERT_EQ(loops.size(), 2u);
  EXPECT_EQ(loops[0].extent, 64);
  EXPECT_EQ(loops[0].stride[1], 4);
  loops = {{4, {64, 64}, 0}, {16, {4, 4}, 1}};
  mergeLoops(loops, 63);
  EXPECT_EQ(loops.size(), 2u);
}

} // namespace
