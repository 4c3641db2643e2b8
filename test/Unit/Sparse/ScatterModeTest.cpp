// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Scatter mode of tcc.run: the bits of the direct sum whatever the variant and
// the blocks, cycles that fall with zeros in the data, products counted.

#include "../Emulator/TestSupport.h"
#include "Convolution.h"

using namespace ashlar;
using namespace ashlar::test;

namespace {

/// The program with all its tcc.run in scatter mode.
container::Program scattered(const container::Program &program,
                             uint32_t variant, uint32_t block,
                             uint32_t turn = 0) {
  return withCode(program, [&](isa::Instruction &inst) {
    auto *run = std::get_if<isa::TccRun>(&inst);
    if (!run)
      return;
    run->scatter = 1;
    run->issueZeros = 0;
    run->variant = variant;
    run->blockH = run->blockW = block;
    run->turn = turn;
  });
}

/// Cycles of all tcc.run.
uint64_t cyclesOfRuns(const container::Program &program,
                      const emulator::RunResult &result) {
  uint64_t cycles = 0;
  const std::vector<isa::Instruction> code =
      llvm::cantFail(isa::decodeAll(program.code));
  for (size_t i = 0; i < code.size(); ++i)
    if (std::holds_alternative<isa::TccRun>(code[i]))
      cycles += result.times[i].issueEnd - result.times[i].start;
  return cycles;
}

emulator::Options timed() {
  emulator::Options options;
  options.recordTimes = true;
  return options;
}

} // namespace

TEST(ScatterMode, RandomConvolutionsEqualTheDirectSumInEveryVariant) {
  const machine::Description machine = llvm::cantFail(machine::load("a1-tiny"));
  std::mt19937_64 random(5);
  for (int i = 0; i < 40; ++i) {
    Convolution conv = randomConvolution(random, machine);
    conv.fill(random, i % 4 * 0.33, machine);
    TilePlan plan = randomPlan(random, conv, machine);
    plan.issueZeros = false;
    const TileProgram program = buildTiles(conv, plan, machine, random);
    const std::vector<int64_t> direct = conv.direct();
    uint64_t cycles[4] = {};
    for (uint32_t variant = 0; variant < 4; ++variant)
      for (uint32_t block : {0u, 2u}) {
        const container::Program scatter =
            scattered(program.program, variant, block);
        emulator::RunResult result;
        ASSERT_TRUE(sumsOf(scatter, timed(), &result) == direct)
            << i << " variant " << variant << " block " << block;
        if (block == 0)
          cycles[variant] = cyclesOfRuns(scatter, result);
      }
    EXPECT_EQ(cycles[0], cycles[1]);
    EXPECT_LE(cycles[3], cycles[2]);
  }
}

/// The order of coefficients changes no sum, in no encoding of the stream; and
/// the loader compares what stream and instruction say about it.
TEST(ScatterMode, SnakeOrderKeepsEveryBit) {
  machine::Description machine = llvm::cantFail(machine::load("a1-tiny"));
  std::mt19937_64 random(6);
  for (int i = 0; i < 30; ++i) {
    machine.sparse.windowShift = random() % 4;
    Convolution conv = randomConvolution(random, machine);
    conv.fill(random, i % 4 * 0.33, machine);
    TilePlan plan = randomPlan(random, conv, machine);
    plan.issueZeros = plan.shuffle = false;
    plan.turn = 1 + static_cast<uint32_t>(random() % 3);
    const TileProgram program = buildTiles(conv, plan, machine, random);
    const std::vector<int64_t> direct = conv.direct();
    for (uint32_t variant = 0; variant < 4; ++variant)
      EXPECT_TRUE(sumsOf(scattered(program.program, variant, 2 * (i % 2),
                                   plan.turn)) == direct)
          << i << " variant " << variant;
    if (i % 4 == 0)
      continue; // no coefficients, no tcc.run
    const std::string message =
        faultOf(scattered(program.program, 0, 0, plan.turn + 1)).message;
    EXPECT_NE(message.find("taps turn every"), std::string::npos) << message;
  }
}

TEST(ScatterMode, ZerosInTheDataSaveCyclesAndProducts) {
  // One unit, one channel, 8 x 8 under 3 x 3 without padding: q data times
  // nine weights on 16 multipliers.
  machine::Description machine = llvm::cantFail(machine::load("a1-tiny"));
  machine.sparse.wmBroadcast = 64;
  std::mt19937_64 random(6);
  Convolution conv;
  conv.height = conv.width = 8;
  conv.kH = conv.kW = 3;
  conv.fill(random, 1.0, machine);
  TilePlan plan;
  plan.tileH = plan.tileW = 6;
  uint64_t before = ~uint64_t(0);
  for (int zeros : {0, 16, 32, 48, 64}) {
    uint64_t q = 0;
    for (int i = 0; i < 64; ++i) {
      conv.stored[i] = i < zeros ? 0 : 1 + i % 7;
      conv.values[i] = conv.stored[i];
      q += conv.stored[i] != 0;
    }
    const container::Program program =
        scattered(buildTiles(conv, plan, machine, random).program, 3, 0);
    emulator::RunResult result;
    EXPECT_TRUE(sumsOf(program, timed(), &result) == conv.direct());
    const uint64_t cycles = cyclesOfRuns(program, result);
    EXPECT_GE(cycles, (q * 9 + 15) / 16);
    EXPECT_LE(cycles, (q * 9 + 15) / 16 + 1);
    EXPECT_LE(cycles, before);
    before = cycles;
  }
}

/// Variants whose products may wait need queues for as many as can.
TEST(ScatterMode, T12_QueuesAreDeepEnoughOrTheProgramIsRefused) {
  machine::Description machine = llvm::cantFail(machine::load("a1-tiny"));
  std::mt19937_64 random(8);
  Convolution conv;
  conv.height = conv.width = 6;
  conv.kH = conv.kW = 3;
  conv.fill(random, 1.0, machine);
  TilePlan plan;
  plan.tileH = plan.tileW = 4;
  auto accepted = [&](uint32_t variant, uint64_t depth, uint64_t weights) {
    machine.sparse.queueDepth = depth;
    machine.sparse.coefficientsPerStep = weights;
    llvm::Expected<emulator::LoadedProgram> loaded = emulator::load(
        scattered(buildTiles(conv, plan, machine, random).program, variant, 0),
        {});
    if (loaded)
      return true;
    EXPECT_NE(llvm::toString(loaded.takeError()).find("products may wait"),
              std::string::npos);
    return false;
  };
  for (uint32_t variant = 0; variant < 4; ++variant) {
    EXPECT_TRUE(accepted(variant, 0, 4));
    EXPECT_TRUE(accepted(variant, 16, 4));
    EXPECT_EQ(accepted(variant, 15, 4), variant < 2);
    EXPECT_EQ(accepted(variant, 15, 2), variant != 2);
  }
}

TEST(ScatterMode, KernelsOfOneTapShareTheMultipliers) {
  // q data of one channel times the weights of six kernels, one each.
  machine::Description machine = llvm::cantFail(machine::load("a1-tiny"));
  machine.sparse.wmBroadcast = 64;
  std::mt19937_64 random(8);
  Convolution conv;
  conv.height = conv.width = 6;
  conv.kH = conv.kW = 1;
  conv.results = 6;
  conv.fill(random, 1.0, machine);
  TilePlan plan;
  plan.tileH = plan.tileW = 6;
  plan.regions = 6;
  for (uint64_t q : {0, 1, 5, 24, 36}) {
    for (uint64_t i = 0; i < 36; ++i)
      conv.values[i] = conv.stored[i] = i < q ? 1 + int(i % 7) : 0;
    for (uint32_t variant = 0; variant < 4; ++variant) {
      const container::Program program = scattered(
          buildTiles(conv, plan, machine, random).program, variant, 0);
      emulator::RunResult result;
      EXPECT_TRUE(sumsOf(program, timed(), &result) == conv.direct());
      EXPECT_EQ(cyclesOfRuns(program, result),
                std::max<uint64_t>((q * 6 + 15) / 16, 1));
    }
  }
}

TEST(ScatterMode, FieldsWithoutScatterAreRefused) {
  const machine::Description machine = llvm::cantFail(machine::load("a1-tiny"));
  std::mt19937_64 random(7);
  Convolution conv;
  conv.fill(random, 1.0, machine);
  EXPECT_EQ(faultAfter<isa::TccRun>(
                buildTiles(conv, TilePlan(), machine, random).program,
                [](isa::TccRun &run) {
                  run.blockH = 4;
                  return true;
                }),
            emulator::FaultKind::BadField);
}
