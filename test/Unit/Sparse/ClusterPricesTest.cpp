// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Programs on machines whose sparse cluster has prices: the bits stay, the
// cycles of one unit are those of a count product by product, wide and narrow
// units take each their own time, and a machine without a cluster refuses.

#include "../Emulator/TestSupport.h"
#include "Convolution.h"

using namespace ashlar;
using namespace ashlar::test;

namespace {

container::Program scattered(const container::Program &program,
                             uint32_t variant, uint32_t turn = 0) {
  return withCode(program, [&](isa::Instruction &inst) {
    if (auto *run = std::get_if<isa::TccRun>(&inst)) {
      run->scatter = 1;
      run->issueZeros = 0;
      run->variant = variant;
      run->turn = turn;
    }
  });
}

/// Cycles of all instructions of one kind.
template <typename Op>
uint64_t cyclesOf(const container::Program &program,
                  const emulator::RunResult &result) {
  uint64_t cycles = 0;
  const std::vector<isa::Instruction> code =
      llvm::cantFail(isa::decodeAll(program.code));
  for (size_t i = 0; i < code.size(); ++i)
    if (std::holds_alternative<Op>(code[i]))
      cycles += result.times[i].issueEnd - result.times[i].start;
  return cycles;
}

emulator::Options timed() {
  emulator::Options options;
  options.recordTimes = true;
  return options;
}

/// Cycles of the runs, sums checked.
uint64_t runCycles(const Convolution &conv, const container::Program &program) {
  emulator::RunResult result;
  EXPECT_TRUE(sumsOf(program, timed(), &result) == conv.direct());
  return cyclesOf<isa::TccRun>(program, result);
}

/// 8 x 8 data under one 3 x 3 kernel: 6 x 6 results, one unit of 16
/// multipliers.
Convolution oneKernel(std::mt19937_64 &random, const machine::Description &m) {
  Convolution conv;
  conv.height = conv.width = 8;
  conv.kH = conv.kW = 3;
  conv.fill(random, 1.0, m);
  for (int i = 0; i < 64; ++i)
    conv.values[i] = conv.stored[i] = i % 3 == 0 ? 1 + i % 7 : 0;
  return conv;
}

TilePlan wholePlan() {
  TilePlan plan;
  plan.tileH = plan.tileW = 6;
  return plan;
}

} // namespace

TEST(ClusterPrices, PricesNeverChangeABit) {
  std::mt19937_64 random(51);
  for (int i = 0; i < 24; ++i) {
    machine::Description machine = llvm::cantFail(machine::load("a1-tiny"));
    machine.sparse.accumulatorBanks = uint64_t(1) << (random() % 6);
    machine.sparse.accumulateLatency = 1 + random() % 5;
    machine.sparse.scanPositions = random() % 9;
    machine.sparse.fmuWriteBytes = random() % 9;
    machine.sparse.routeBytes = random() % 9;
    machine.sparse.narrowTcus = random() % 3;
    machine.sparse.narrowLanes = 1 + random() % 16;
    Convolution conv = randomConvolution(random, machine);
    conv.fill(random, i % 4 * 0.33, machine);
    TilePlan plan = randomPlan(random, conv, machine);
    const TileProgram tiles = buildTiles(conv, plan, machine, random);
    EXPECT_TRUE(sumsOf(tiles.program) == conv.direct()) << i;
    plan.issueZeros = false;
    const TileProgram sparse = buildTiles(conv, plan, machine, random);
    for (uint32_t variant = 0; variant < 4; ++variant)
      EXPECT_TRUE(sumsOf(scattered(sparse.program, variant)) == conv.direct())
          << i << " variant " << variant;
  }
}

/// The window of variant A moves from weight to weight: three positions from
/// the end of a row of taps to the start of the next, one in snake order.
TEST(ClusterPrices, WindowsMoveFromWeightToWeight) {
  machine::Description machine = llvm::cantFail(machine::load("a1-tiny"));
  machine.sparse.wmBroadcast = 64;
  std::mt19937_64 random(53);
  const Convolution conv = oneKernel(random, machine);
  auto cycles = [&](uint32_t variant, uint32_t turn, uint64_t shift) {
    machine.sparse.windowShift = shift;
    TilePlan plan = wholePlan();
    plan.turn = turn;
    const TileProgram tiles = buildTiles(conv, plan, machine, random);
    return runCycles(conv, scattered(tiles.program, variant, turn));
  };
  EXPECT_EQ(cycles(0, 0, 0), 18u); // two rounds for each of nine weights
  EXPECT_EQ(cycles(0, 0, 1), 18u + 2 * 2);
  EXPECT_EQ(cycles(0, 0, 2), 18u + 2 * 1);
  EXPECT_EQ(cycles(0, 0, 3), 18u);
  EXPECT_EQ(cycles(0, 1, 1), 18u);
  // Turns every two rows: at the end of the first row as in ascending order.
  EXPECT_EQ(cycles(0, 2, 1), 18u + 2);
  for (uint32_t variant : {1, 3})
    EXPECT_EQ(cycles(variant, 0, 1), cycles(variant, 1, 1));
}

/// Variant A adds in registers, which are loaded and stored; the others add by
/// address, and the fullest bank holds them up.
TEST(ClusterPrices, VariantADiffersFromB) {
  machine::Description machine = llvm::cantFail(machine::load("a1-tiny"));
  machine.sparse.wmBroadcast = 64;
  std::mt19937_64 random(52);
  const Convolution conv = oneKernel(random, machine);
  uint64_t q = 0;
  for (int64_t value : conv.values)
    q += value != 0;
  ASSERT_EQ(q, 22u);
  auto cycles = [&](uint32_t variant, uint64_t banks) {
    machine.sparse.accumulatorBanks = banks;
    return runCycles(
        conv, scattered(buildTiles(conv, wholePlan(), machine, random).program,
                        variant));
  };
  // Two rounds of 16 multipliers for each weight; D: 198 products in a stream.
  EXPECT_EQ(cycles(0, 0), 18u);
  EXPECT_EQ(cycles(1, 0), 18u);
  EXPECT_EQ(cycles(3, 0), 13u);
  for (uint64_t banks : {1, 2, 4, 8, 16, 64}) {
    // Result (y - ky, x - kx), product by product; others are dropped.
    std::vector<uint64_t> sums(banks);
    for (int64_t i = 0; i < 64; ++i)
      for (int64_t tap = 0; conv.values[i] != 0 && tap < 9; ++tap) {
        const int64_t y = i / 8 - tap / 3, x = i % 8 - tap % 3;
        if (y >= 0 && y < 6 && x >= 0 && x < 6)
          ++sums[static_cast<uint64_t>(y * 6 + x) % banks];
      }
    const uint64_t fullest = *std::max_element(sums.begin(), sums.end());
    EXPECT_EQ(cycles(0, banks), 18 + 2 * ((36 + banks - 1) / banks)) << banks;
    EXPECT_EQ(cycles(1, banks), std::max<uint64_t>(18, fullest)) << banks;
    EXPECT_EQ(cycles(3, banks), std::max<uint64_t>(13, fullest)) << banks;
  }
}

TEST(ClusterPrices, FindingAndLatencyInScatterMode) {
  machine::Description machine = llvm::cantFail(machine::load("a1-tiny"));
  machine.sparse.wmBroadcast = 64;
  std::mt19937_64 random(53);
  const Convolution conv = oneKernel(random, machine);
  auto cycles = [&](uint32_t variant) {
    return runCycles(
        conv, scattered(buildTiles(conv, wholePlan(), machine, random).program,
                        variant));
  };
  machine.sparse.scanPositions = 2; // 64 positions
  EXPECT_EQ(cycles(3), 32u);
  machine.sparse.scanPositions = 16;
  EXPECT_EQ(cycles(3), 13u);
  machine.sparse.accumulateLatency = 4; // nine weights, two at a time
  EXPECT_EQ(cycles(0), 18u);
  EXPECT_EQ(cycles(1), 36u);
  EXPECT_EQ(cycles(3), 20u);
}

/// The loader's bound holds for every run.
TEST(ClusterPrices, BoundsHoldWithPrices) {
  std::mt19937_64 random(54);
  for (int i = 0; i < 24; ++i) {
    machine::Description machine = llvm::cantFail(machine::load("a1-tiny"));
    machine.sparse.accumulatorBanks = uint64_t(1) << (random() % 6);
    machine.sparse.accumulateLatency = 1 + random() % 3;
    machine.sparse.scanPositions = 1 + random() % 9;
    machine.sparse.coefficientsPerStep = 1 + random() % 4;
    Convolution conv = randomConvolution(random, machine);
    conv.fill(random, 0.5, machine);
    TilePlan plan = randomPlan(random, conv, machine);
    plan.issueZeros = false;
    const TileProgram program = buildTiles(conv, plan, machine, random);
    for (uint32_t variant = 0; variant < 4; ++variant) {
      const container::Program scatter = scattered(program.program, variant);
      emulator::Options bound = timed();
      bound.functional = false;
      emulator::RunResult real, most;
      sumsOf(scatter, timed(), &real);
      auto loaded = llvm::cantFail(emulator::load(scatter, bound));
      most = llvm::cantFail(emulator::run(loaded, {}, bound));
      EXPECT_LE(cyclesOf<isa::TccRun>(scatter, real),
                cyclesOf<isa::TccRun>(scatter, most))
          << i << " variant " << variant;
    }
  }
}

/// Two tiles of 16 x 8 results, one on a unit of 64 multipliers and one on a
/// unit of 32: the run waits for the narrow one.
TEST(ClusterPrices, NarrowUnitsTakeTheirOwnTime) {
  machine::Description machine = llvm::cantFail(machine::load("a1"));
  machine.sparse.tcus = 2;
  machine.sparse.lanes = 64;
  machine.sparse.narrowLanes = 32;
  machine.sparse.wmBroadcast = 64;
  std::mt19937_64 random(55);
  Convolution conv;
  conv.height = 32;
  conv.width = 8;
  conv.kH = conv.kW = 1;
  conv.fill(random, 1.0, machine);
  TilePlan plan;
  plan.tileH = 16;
  plan.tileW = 8;
  auto cycles = [&](uint64_t narrow) {
    machine.sparse.narrowTcus = narrow;
    return runCycles(conv, buildTiles(conv, plan, machine, random).program);
  };
  const uint64_t wide = cycles(0);
  EXPECT_GT(wide, 0u);
  EXPECT_EQ(cycles(1), 2 * wide);
  EXPECT_EQ(cycles(2), 2 * wide);
}

/// The port of a memory unit takes less than the bus brings.
TEST(ClusterPrices, LoadsWaitForThePortOfAUnit) {
  machine::Description machine = llvm::cantFail(machine::load("a1-tiny"));
  std::mt19937_64 random(56);
  const Convolution conv = oneKernel(random, machine);
  auto cycles = [&](uint64_t bytes) {
    machine.sparse.fmuWriteBytes = bytes;
    const container::Program program =
        buildTiles(conv, wholePlan(), machine, random).program;
    emulator::RunResult result;
    sumsOf(program, timed(), &result);
    return cyclesOf<isa::DmaTile>(program, result);
  };
  const uint64_t bytes = 8 * cycles(0); // of the bus
  EXPECT_EQ(cycles(8), cycles(0));
  EXPECT_EQ(cycles(2), bytes / 2);
}

TEST(ClusterPrices, MachinesWithoutAClusterRefuseItsPrograms) {
  machine::Description machine = llvm::cantFail(machine::load("a1-tiny"));
  std::mt19937_64 random(57);
  const Convolution conv = oneKernel(random, machine);
  container::Program program =
      buildTiles(conv, wholePlan(), machine, random).program;
  program.machine.sparse.tcus = 0;
  llvm::Expected<emulator::LoadedProgram> loaded = emulator::load(program, {});
  ASSERT_FALSE(!!loaded);
  const std::string message = llvm::toString(loaded.takeError());
  EXPECT_NE(message.find("the instruction is for the sparse cluster, machine "
                         "'a1-tiny' has none (sparse.tcus is 0)"),
            std::string::npos)
      << message;
}
