// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tile mode on random convolutions: the bits of the direct sum and of the dense
// cluster, the cycles of the closed form, skipping on and off.

#include "../Emulator/TestSupport.h"
#include "Convolution.h"

using namespace ashlar;
using namespace ashlar::test;

static machine::Description machineOf(const char *name) {
  return llvm::cantFail(machine::load(name));
}

static constexpr double densities[] = {0, 0.02, 0.1, 0.25, 0.5, 1};

/// Issue times of the instructions of one kind, in program order.
template <typename Op>
static std::vector<uint64_t> cyclesOf(const container::Program &program,
                                      const emulator::RunResult &result) {
  const std::vector<isa::Instruction> code =
      llvm::cantFail(isa::decodeAll(program.code));
  std::vector<uint64_t> cycles;
  for (size_t i = 0; i < code.size(); ++i)
    if (std::holds_alternative<Op>(code[i]))
      cycles.push_back(result.times[i].issueEnd - result.times[i].start);
  return cycles;
}

static std::vector<uint64_t> closedForm(const TileProgram &program) {
  std::vector<uint64_t> cycles;
  for (const ExpectedRun &run : program.runs)
    cycles.push_back(run.cycles);
  return cycles;
}

static void compareRandom(const char *name, uint64_t seed, int count) {
  const machine::Description machine = machineOf(name);
  std::mt19937_64 random(seed);
  emulator::Options options;
  options.recordTimes = true;
  for (int i = 0; i < count; ++i) {
    Convolution conv = randomConvolution(random, machine);
    conv.fill(random, densities[i % std::size(densities)], machine);
    const TilePlan plan = randomPlan(random, conv, machine);
    const TileProgram program = buildTiles(conv, plan, machine, random);
    options.threads = 1 + i % 2;
    emulator::RunResult result;
    const std::vector<int64_t> sums = sumsOf(program.program, options, &result);
    ASSERT_TRUE(sums == conv.direct())
        << name << " convolution " << i << ": " << conv.channels << "x"
        << conv.height << "x" << conv.width << " -> " << conv.results
        << ", kernel " << conv.kH << "x" << conv.kW << ", tile " << plan.tileH
        << "x" << plan.tileW;
    EXPECT_EQ(cyclesOf<isa::TccRun>(program.program, result),
              closedForm(program))
        << name << " convolution " << i;
    EXPECT_EQ(cyclesOf<isa::DmaTile>(program.program, result), program.loads);
  }
}

TEST(TileMode, RandomConvolutionsEqualTheDirectSumAndTheClosedForm) {
  compareRandom("a1-ideal", 1, 150);
}

TEST(TileMode, RandomConvolutionsOnASmallMachine) {
  compareRandom("a1-tiny", 2, 150);
}

TEST(TileMode, SameBitsAsTheDenseCluster) {
  const machine::Description machine = machineOf("a1");
  std::mt19937_64 random(3);
  for (int i = 0; i < 40; ++i) {
    Convolution conv = randomConvolution(random, machine);
    conv.groups = 1;
    conv.mantissa = conv.range = conv.shiftBits = 0;
    conv.weightBits = 8;
    if (conv.images * conv.outHeight() * conv.outWidth() >
        static_cast<int64_t>(machine.psum.entries()))
      conv.images = 1;
    conv.fill(random, densities[i % std::size(densities)], machine);
    const TilePlan plan = randomPlan(random, conv, machine);
    EXPECT_TRUE(sumsOf(buildTiles(conv, plan, machine, random).program) ==
                sumsOf(buildDense(conv, machine)))
        << i;
  }
}

/// Skipping changes cycles, not bits, and every encoding and order gives the
/// same bits.
TEST(TileMode, SkippingOnAndOffAndEveryEncoding) {
  const machine::Description machine = machineOf("a1");
  std::mt19937_64 random(4);
  for (int i = 0; i < 24; ++i) {
    Convolution conv = randomConvolution(random, machine);
    conv.fill(random, densities[i % std::size(densities)], machine);
    TilePlan plan = randomPlan(random, conv, machine);
    const std::vector<int64_t> direct = conv.direct();
    for (isa::StreamEncoding encoding :
         {isa::StreamEncoding::List, isa::StreamEncoding::Bitmap,
          isa::StreamEncoding::Dense})
      for (bool shuffle : {false, true}) {
        plan.encoding = encoding;
        plan.shuffle = shuffle;
        plan.issueZeros = encoding == isa::StreamEncoding::Dense && shuffle;
        EXPECT_TRUE(sumsOf(buildTiles(conv, plan, machine, random).program) ==
                    direct)
            << i;
      }
  }
}
