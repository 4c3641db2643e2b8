// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Drains that take the lanes of several groups of units, or of several tiles.

#include "../Emulator/TestSupport.h"
#include "Convolution.h"

using namespace ashlar;
using namespace ashlar::test;
using emulator::FaultKind;

/// Lanes of several groups side by side: these groups have equal tiles.
TEST(TileDrains, DrainsOfSeveralGroupsAreChecked) {
  const machine::Description machine = llvm::cantFail(machine::load("a1"));
  std::mt19937_64 random(26);
  Convolution conv;
  conv.channels = conv.results = conv.height = conv.width = 8;
  conv.fill(random, 0.5, machine);
  TilePlan plan;
  plan.tileH = 4;
  plan.tileW = plan.channelsPerLoad = 8;
  plan.copies = 2;
  plan.regions = 4;
  const TileProgram apart = buildTiles(conv, plan, machine, random);
  plan.drainTogether = true;
  const TileProgram together = buildTiles(conv, plan, machine, random);
  emulator::RunResult two, one;
  EXPECT_TRUE(sumsOf(apart.program, {}, &two) == conv.direct());
  EXPECT_TRUE(sumsOf(together.program, {}, &one) == conv.direct());
  // 8 of 64 lanes instead of 4, so half as many entries.
  EXPECT_LT(one.totalCycles, two.totalCycles);
  auto fault = [&](auto change) {
    return faultAfter<isa::ActDrain>(together.program, [&](isa::ActDrain &op) {
      change(op);
      return true;
    });
  };
  EXPECT_EQ(fault([](auto &op) { op.groupLanes = 3; }), FaultKind::BadField);
  EXPECT_EQ(fault([](auto &op) { op.group = 63; }), FaultKind::BadField);
  EXPECT_EQ(fault([](auto &op) { op.regionStride = 0; }), FaultKind::BadField);
  EXPECT_EQ(fault([](auto &op) { op.fromTcu = false; }), FaultKind::BadField);
  // Records name one of the lanes, and hold nothing else in its place.
  EXPECT_EQ(fault([](auto &op) { op.mapped = op.alphaFromParam = true; }),
            FaultKind::BadField);
  plan.mapped = true;
  container::Program mapped = buildTiles(conv, plan, machine, random).program;
  EXPECT_TRUE(sumsOf(mapped) == conv.direct());
  // The records of the lanes: 16 bytes each, the first lane takes the last.
  std::vector<uint8_t> records;
  for (container::Segment &constant : mapped.constants)
    if (constant.bytes.size() == 128 && constant.bytes[12] == 7) {
      records = constant.bytes.vec();
      records[12] = 8;
      constant.bytes = records;
    }
  auto loaded = llvm::cantFail(emulator::load(mapped, {}));
  auto run = emulator::run(loaded, {}, {});
  ASSERT_FALSE(!!run);
  EXPECT_NE(llvm::toString(run.takeError())
                .find("lane 0 takes the accumulators of lane 8"),
            std::string::npos);
}

/// Tiles of a group side by side: the largest of those taken together counts.
TEST(TileDrains, TilesSideBySideTakeTheCyclesOfTheLargest) {
  machine::Description machine = llvm::cantFail(machine::load("a1"));
  machine.act.lanes = 9;
  std::mt19937_64 random(27);
  Convolution conv;
  conv.channels = conv.results = 4;
  conv.height = 8;
  conv.width = 7;
  conv.fill(random, 0.5, machine);
  TilePlan plan;
  plan.tileH = 3;
  plan.tileW = 7;
  plan.channelsPerLoad = plan.regions = 4;
  const TileProgram apart = buildTiles(conv, plan, machine, random);
  auto sideBySide = [](isa::ActDrain &op) { return op.sideBySide = true; };
  emulator::RunResult one, two;
  EXPECT_TRUE(sumsOf(apart.program, {}, &one) == conv.direct());
  EXPECT_TRUE(sumsOf(withOne<isa::ActDrain>(apart.program, sideBySide), {},
                     &two) == conv.direct());
  const auto act = static_cast<size_t>(isa::Queue::Act);
  // Rows of three, three and two; two tiles of four lanes fit nine.
  EXPECT_EQ(one.queues[act].busy, 8u * 7);
  EXPECT_EQ(two.queues[act].busy, (3u + 2) * 7);
  // The lanes took as many results.
  EXPECT_EQ(one.queues[act].work, two.queues[act].work);
  machine.act.lanes = 7;
  EXPECT_EQ(faultAfter<isa::ActDrain>(
                buildTiles(conv, plan, machine, random).program, sideBySide),
            FaultKind::BadField);
  machine.act.lanes = 9;
  EXPECT_EQ(faultAfter<isa::ActDrain>(apart.program,
                                      [](isa::ActDrain &op) {
                                        op.fromTcu = false;
                                        op.regionStride = op.group = 0;
                                        return op.sideBySide = true;
                                      }),
            FaultKind::BadField);
  // Partial sums are added as they come.
  plan.tileH = 8;
  plan.cut = TileCut{2};
  plan.cut->disjoint = true;
  EXPECT_EQ(faultAfter<isa::ActDrain>(
                buildTiles(conv, plan, machine, random).program, sideBySide),
            FaultKind::BadField);
}
