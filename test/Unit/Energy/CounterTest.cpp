// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Actions of single instructions, counted by hand on a1: 128 partitions, 8 of
// them next to an exponent cell, digits of 8 bits.

#include "ashlar/Energy/Counter.h"
#include "gtest/gtest.h"
#include <map>

using namespace ashlar;
using namespace ashlar::energy;

using Found = std::map<std::string, uint64_t>;

static Found nonZero(const ActionCounts &counts) {
  Found found;
  for (unsigned a = 0; a < numActions; ++a)
    if (const uint64_t count = counts.of(static_cast<Action>(a)))
      found[fullName(static_cast<Action>(a))] = count;
  found.erase("fetch.read");
  return found;
}

static ActionCounts countAll(std::vector<isa::Instruction> code,
                             const Measured &measured = {}) {
  const machine::Description machine;
  ActionCounter counter(machine);
  ActionCounts counts;
  for (const isa::Instruction &inst : code)
    counter.count(inst, measured, counts);
  return counts;
}

static isa::PeLoad load(unsigned mantissa) {
  isa::PeLoad op;
  op.rows = 16, op.cols = 4, op.colStride = 1;
  op.type = isa::ElemType::Bfp, op.mantissa = mantissa;
  return op;
}

static isa::PeMatmul product(unsigned mantissa, unsigned steps) {
  isa::PeMatmul op;
  op.rows = 16, op.cols = 4, op.n2 = steps;
  op.type = isa::ElemType::Bfp, op.mantissa = mantissa;
  op.stride2 = mantissa > 8 ? 2 : 1, op.psumStride2 = 1;
  op.hi0 = op.hi1 = 1, op.hi2 = steps;
  return op;
}

TEST(Counter, InstructionBytesCountForEveryInstruction) {
  const ActionCounts counts = countAll({isa::SemWait(), isa::PeSwap()});
  EXPECT_EQ(counts.of(Action::FetchRead), 16u + 8u);
  EXPECT_TRUE(nonZero(counts).empty());
}

TEST(Counter, ProductsByDigits) {
  // 16 rows are two cells; nine steps of which the first reads padding.
  isa::PeMatmul op = product(8, 9);
  op.lo2 = 1;
  const ActionCounts counts = countAll({load(8), isa::PeSwap(), op});
  EXPECT_EQ(nonZero(counts), (Found{{"sb.read", 16 * 4 + 16 * 8},
                                    {"xm.read", 2 * 4 + 2 * 8},
                                    {"xr.read", 4},
                                    {"pe.load", 64},
                                    {"pe.multiply", 576},
                                    {"pe.accumulate", 576},
                                    {"psum.write", 9 * 4 * 8}}));
  ASSERT_EQ(counts.widths(Component::Pe).size(), 1u);
  EXPECT_EQ(counts.widths(Component::Pe)[0].count, 576u);
  // Two digits by two: four passes, each through the accumulators.
  op = product(16, 9);
  op.accumulate = true;
  const ActionCounts wide = countAll({load(12), isa::PeSwap(), op});
  EXPECT_EQ(wide.of(Action::PeMultiply), 4u * 576);
  EXPECT_EQ(wide.of(Action::PsumWrite), 4u * 288);
  EXPECT_EQ(wide.of(Action::PsumRead), 4u * 288);
  EXPECT_EQ(wide.of(Action::PsumAccumulate), 4u * 36);
  EXPECT_EQ(wide.of(Action::SbRead), 2u * 64 + 2u * 144);
  EXPECT_EQ(wide.widths(Component::Pe)[0].count, 576u);
  EXPECT_EQ(wide.widths(Component::Pe)[0].stationary, 12u);
}

TEST(Counter, StepsOfTheHost) {
  Measured measured;
  measured.work = 700;
  measured.dramRead = 64;
  EXPECT_EQ(nonZero(countAll({isa::HostSort()}, measured)),
            (Found{{"dram.read", 64}, {"host.step", 700}}));
}

TEST(Counter, RowGroupsReadEveryPixelOnce) {
  // Eight groups of 16 rows, 12 results of a row shifted by one pixel to the
  // left: the first reads padding.
  isa::PeMatmul op = product(8, 2);
  op.groups = 8, op.validW = 12, op.shift = -1, op.hi2 = 12;
  const ActionCounts counts = countAll({op});
  EXPECT_EQ(counts.of(Action::SbRead), 11u * 16);
  EXPECT_EQ(counts.of(Action::XmRead), 11u * 2);
  EXPECT_EQ(counts.of(Action::PeMultiply), 12u * 16 * 4);
  EXPECT_EQ(counts.of(Action::PsumWrite), 12u * 4 * 8);
  // Every second pixel from -1 on: 1, 3, .. 11 of twelve exist.
  op.skip = 1;
  EXPECT_EQ(countAll({op}).of(Action::SbRead), 6u * 16);
}

TEST(Counter, SelectingAndFloatingPoint) {
  isa::PeMatmul op = product(8, 4);
  op.mode = isa::OperandMode::Select;
  EXPECT_EQ(nonZero(countAll({op})), (Found{{"sb.read", 64},
                                            {"xm.read", 8},
                                            {"pe.select", 256},
                                            {"psum.write", 128}}));
  isa::PeLoad stationary = load(0);
  stationary.mode = op.mode = isa::OperandMode::Float;
  stationary.type = op.type = isa::ElemType::F32;
  op.mantissa = 0;
  const ActionCounts counts = countAll({stationary, isa::PeSwap(), op});
  // Significands of 24 bits: nine products of digits, one sum in binary32.
  EXPECT_EQ(counts.of(Action::PeMultiply), 9u * 256);
  EXPECT_EQ(counts.of(Action::PeFloatAccumulate), 256u);
  EXPECT_EQ(counts.of(Action::PeAccumulate), 0u);
  EXPECT_EQ(counts.of(Action::PsumWrite), 128u);
}

TEST(Counter, DrainWithItsStages) {
  isa::ActDrain op;
  op.cols = 20, op.n1 = 3, op.n2 = 5;
  op.hasScale = op.hasBias = op.resMode = true;
  op.function = isa::Function::Sigmoid;
  op.resType = isa::ElemType::F16, op.resStride2 = 2, op.resStride1 = 10;
  op.dstType = isa::ElemType::Bfp, op.dstMantissa = 8, op.dstBlock = 16;
  op.dstPart = 4, op.dstStride2 = 1;
  // Partitions 4 to 23 lie next to three rows of cells.
  EXPECT_EQ(nonZero(countAll({op})), (Found{{"psum.read", 300 * 8},
                                            {"act.very_expensive", 300},
                                            {"act.medium", 300},
                                            {"act.cheap", 3 * 300},
                                            {"sb.read", 20 * 16 + 600},
                                            {"sb.write", 300},
                                            {"xm.write", 15 * 3},
                                            {"xr.read", 6},
                                            {"xr.write", 2}}));
}

TEST(Counter, CopiesOnTheChip) {
  isa::DmaCopy op;
  op.srcMem = isa::Memory::Sb, op.dstMem = isa::Memory::Xm;
  op.n3 = 6, op.n4 = 10, op.srcStride3 = 1;
  op.dstStride3 = 10, op.dstStride4 = 1;
  // Each of six source bytes stays in the engine for ten results.
  EXPECT_EQ(nonZero(countAll({op}, {.work = 60})),
            (Found{{"sb.read", 6}, {"xm.write", 60}, {"dma.move", 60}}));
  op.srcMem = isa::Memory::Dram;
  EXPECT_EQ(nonZero(countAll(
                {op}, {.dramRead = 64, .rowActivations = 1, .work = 60})),
            (Found{{"dram.read", 64},
                   {"dram.activate", 1},
                   {"xm.write", 60},
                   {"dma.move", 60}}));
}

TEST(Counter, PoolsReadValidTaps) {
  isa::VecPool op;
  op.kind = isa::PoolKind::Avg;
  op.channels = 10, op.inD = 1, op.inH = 4, op.inW = 4;
  op.outH = op.outW = 4, op.kH = op.kW = 3, op.pH = op.pW = 1;
  op.srcType = op.dstType = isa::ElemType::F32;
  // Along an axis of four, three taps meet 3 + 4 + 3 coordinates.
  EXPECT_EQ(nonZero(countAll({op})), (Found{{"sb.read", 10 * 100 * 4},
                                            {"sb.write", 10 * 4},
                                            {"vec.cheap", 10 * 144},
                                            {"vec.expensive", 160}}));
  op.kind = isa::PoolKind::Max;
  op.dstStrideH = 16, op.dstStrideW = 4;
  // In passes: 4 rows of 10 taps read, 48 visits for each of the two.
  EXPECT_EQ(nonZero(countAll({op})), (Found{{"sb.read", 10 * 40 * 4},
                                            {"sb.write", 10 * 16 * 4},
                                            {"vec.cheap", 10 * 96}}));
}

TEST(Counter, PooledDrain) {
  isa::VecDrain op;
  op.kind = isa::PoolKind::Max;
  op.cols = 10, op.inH = op.inW = 4, op.psumStride = 4;
  op.outH = op.outW = 2, op.kH = op.kW = op.sH = op.sW = 2;
  op.srcType = op.dstType = isa::ElemType::F32;
  op.dstStrideH = 8, op.dstStrideW = 4;
  op.function = isa::Function::Relu, op.hasBias = true;
  // Windows that do not overlap read every entry once.
  EXPECT_EQ(nonZero(countAll({op})), (Found{{"psum.read", 10 * 16 * 8},
                                            {"act.cheap", 10 * 16 * 2},
                                            {"sb.read", 10 * 16},
                                            {"sb.write", 10 * 4 * 4},
                                            {"vec.cheap", 10 * 16},
                                            {"xr.read", 4}}));
}

TEST(Counter, SparseCluster) {
  isa::DmaTile tile;
  tile.channels = 8, tile.type = isa::ElemType::Bfp, tile.mantissa = 8;
  tile.block = 16, tile.part = 12;
  // Partitions 12 to 19 belong to two blocks: 10 bytes a pixel, which two
  // units hear.
  EXPECT_EQ(nonZero(countAll({tile}, {.work = 90, .fmuBytes = 180})),
            (Found{{"dma.move", 90},
                   {"sb.read", 72},
                   {"xm.read", 18},
                   {"fmu.write", 180}}));
  isa::TccRun run;
  run.type = isa::ElemType::Bfp, run.mantissa = 8;
  const ActionCounts counts = countAll({run}, {.products = 50,
                                               .digitProducts = 100,
                                               .fmuBytes = 100,
                                               .streamBytes = 40,
                                               .weightBits = 12});
  EXPECT_EQ(nonZero(counts), (Found{{"fmu.read", 100},
                                    {"wm.read", 40},
                                    {"tcu.multiply", 100},
                                    {"tcu.accumulate", 100},
                                    {"acc.read", 800},
                                    {"acc.write", 800},
                                    {"xr.read", 2}}));
  ASSERT_EQ(counts.widths(Component::Tcu).size(), 1u);
  EXPECT_EQ(counts.widths(Component::Tcu)[0].count, 50u);
}
