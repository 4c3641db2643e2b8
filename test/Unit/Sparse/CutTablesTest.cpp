// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tables of tiles that a program cuts: what the loader takes for granted of
// every cut is checked again when the cut is made.

#include "lib/Emulator/State/RunTimeCuts.h"
#include "gtest/gtest.h"

using namespace ashlar;

/// A layer of 4 x 6 results with a kernel of 3 x 3.
static isa::TccPart layer(bool disjoint) {
  isa::TccPart op;
  op.units = 3;
  op.kH = op.kW = 3;
  op.pH = op.pW = 1;
  op.inH = op.endH = op.tileH = 4;
  op.inW = op.endW = op.tileW = 6;
  op.pitch = 6;
  op.capacity = 9;
  op.disjoint = disjoint;
  return op;
}

TEST(CutTables, EveryCutIsChecked) {
  for (bool disjoint : {false, true}) {
    const isa::TccPart op = layer(disjoint);
    const partition::Partition cut = llvm::cantFail(emulator::cutMap(
        machine::Description(), op, std::vector<uint32_t>(24, 5)));
    EXPECT_EQ(emulator::checkCut(op, cut), "");
    partition::Partition less = cut;
    less.tiles.back() = {};
    EXPECT_NE(emulator::checkCut(op, less).find("do not cover 4x6 once"),
              std::string::npos);
    partition::Partition twice = cut;
    twice.tiles[1] = twice.tiles[0];
    EXPECT_NE(emulator::checkCut(op, twice), "");
    partition::Partition few = cut;
    few.tiles.pop_back();
    EXPECT_NE(emulator::checkCut(op, few), "");
    partition::Partition outside = cut;
    ++outside.tiles.back().core.x0;
    EXPECT_NE(emulator::checkCut(op, outside), "");
    isa::TccPart tight = op;
    tight.tileH = 1;
    EXPECT_NE(emulator::checkCut(tight, cut).find("the instruction allows 1x6"),
              std::string::npos);
  }
}

/// The drain of such a tile stores all results of its images.
TEST(CutTables, ATileThatReachesNothingNamesItsImages) {
  isa::TccOperand op;
  op.clear = true;
  op.images = 2;
  op.endN = 3;
  op.n0 = 1;
  op.inH = op.inW = op.outH = op.outW = 4;
  op.pH = -4; // the results are of rows after the last
  emulator::TileTable table(2);
  emulator::writeTiles(op, table);
  EXPECT_TRUE(table[0].idle());
  EXPECT_EQ(table[0].images, 2u);
  isa::ActDrain drain;
  drain.n0 = 3;
  drain.n1 = drain.n2 = 4;
  EXPECT_EQ(emulator::partialDrain(drain, table).n0, 2u);
  EXPECT_EQ(emulator::drainedResults(drain, table), 0u);
  EXPECT_EQ(emulator::unreachedResults(drain, table), 32u);
}
