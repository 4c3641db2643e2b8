// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tiles that follow the zeros of a feature map: counted and cut by the program,
// against the same cuts written by the program's author and against the direct
// sum; tiles of the operand whose partial sums are added; proofs of the loader.

#include "../Emulator/TestSupport.h"
#include "Convolution.h"
#include "ashlar/Machine/Cycles.h"
#include "ashlar/Partition/Binding.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>

using namespace ashlar;
using namespace ashlar::test;

static machine::Description machineOf(const char *name) {
  return llvm::cantFail(machine::load(name));
}

static emulator::Options timed() {
  emulator::Options options;
  options.recordTimes = true;
  return options;
}

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

/// A random cut of a random plan, or nothing if the units are too few or their
/// memories too small for all tiles at once.
static std::optional<TilePlan> randomCut(std::mt19937_64 &random,
                                         const Convolution &conv,
                                         const machine::Description &machine) {
  TilePlan plan = randomPlan(random, conv, machine);
  const auto chunks = static_cast<uint64_t>(
      (conv.images + plan.tileImages - 1) / plan.tileImages);
  const uint64_t room =
      machine.sparse.tcus / (chunks * static_cast<uint64_t>(plan.copies));
  if (room == 0)
    return std::nullopt;
  TileCut cut;
  cut.units = static_cast<uint32_t>(1 + random() % room);
  cut.algorithm = static_cast<isa::Cut>(random() % 4);
  cut.metric = static_cast<isa::CutMetric>(random() % 4);
  cut.disjoint = random() % 3 == 0;
  cut.align = cut.disjoint ? 1 : 1 + random() % 2;
  plan.cut = cut;
  llvm::Expected<partition::Partition> found = cutOf(conv, plan);
  if (!found) {
    llvm::consumeError(found.takeError());
    return std::nullopt;
  }
  return plan;
}

/// One convolution cut by its author and by the program.
static void compareCuts(const Convolution &conv, TilePlan plan,
                        const machine::Description &machine,
                        std::mt19937_64 &random, int i) {
  const std::vector<int64_t> direct = conv.direct();
  const TileProgram fixed = buildTiles(conv, plan, machine, random);
  plan.cut->runTime = true;
  plan.shuffle = false;
  const TileProgram program = buildTiles(conv, plan, machine, random);
  emulator::RunResult before, after;
  ASSERT_TRUE(sumsOf(fixed.program, timed(), &before) == direct)
      << i << (plan.cut->disjoint ? " operand" : "");
  ASSERT_TRUE(sumsOf(program.program, timed(), &after) == direct) << i;
  // The same tiles, so the same time for everything but the cut itself.
  EXPECT_EQ(cyclesOf<isa::TccRun>(fixed.program, before), closedForm(fixed));
  EXPECT_EQ(cyclesOf<isa::TccRun>(program.program, after), closedForm(program));
  EXPECT_EQ(cyclesOf<isa::DmaTile>(program.program, after), program.loads);
  EXPECT_EQ(cyclesOf<isa::ActDrain>(program.program, after),
            cyclesOf<isa::ActDrain>(fixed.program, before));
  ASSERT_EQ(after.cuts.size(), program.waves);
  const emulator::CutResult &last = after.cuts.back();
  EXPECT_EQ(last.met, program.cut.met);
  EXPECT_EQ(last.spread, program.cut.spread);
  EXPECT_EQ(last.probes, program.cut.probes);
  const auto positions = static_cast<uint64_t>(conv.height * conv.width);
  EXPECT_EQ(cyclesOf<isa::TccPart>(program.program, after).back(),
            machine::cutTiles(machine, positions, program.cut.probes).issue);
  EXPECT_EQ(cyclesOf<isa::TccNnz>(program.program, after)[0],
            machine::countPass(
                machine, static_cast<uint64_t>(conv.images * conv.channels) *
                             positions * conv.elementBytes())
                .issue);
  // Without execution the largest tiles bound the time.
  emulator::Options bound = timed();
  bound.functional = false;
  emulator::LoadedProgram loaded =
      llvm::cantFail(emulator::load(program.program, bound));
  const emulator::RunResult worst =
      llvm::cantFail(emulator::run(loaded, {}, bound));
  EXPECT_GE(worst.totalCycles, after.totalCycles) << i;
}

static void compareRandom(const char *name, uint64_t seed, int count) {
  const machine::Description machine = machineOf(name);
  std::mt19937_64 random(seed);
  int compared = 0;
  for (int i = 0; compared < count && i < 50 * count; ++i) {
    Convolution conv = randomConvolution(random, machine);
    conv.fill(random, 0.3, machine);
    makeSparse(conv, random, 0.1 * static_cast<double>(random() % 11));
    if (std::optional<TilePlan> plan = randomCut(random, conv, machine)) {
      compareCuts(conv, *plan, machine, random, i);
      ++compared;
    }
  }
  EXPECT_EQ(compared, count);
}

/// Test 10.6(8).
TEST(RunTimeCut, T8_SameBitsAndSameCyclesAsTheSameCutsWrittenDown) {
  compareRandom("a1-ideal", 31, 80);
}

TEST(RunTimeCut, SameOnASmallMachine) { compareRandom("a1-tiny", 32, 40); }

/// A small layer and a plan with room for all of it in one unit.
static std::pair<Convolution, TilePlan>
smallLayer(std::mt19937_64 &random, const machine::Description &machine) {
  Convolution conv;
  conv.channels = 9;
  conv.results = 5;
  conv.height = 19;
  conv.width = 17;
  conv.kH = conv.kW = 3;
  conv.padTop = conv.padLeft = conv.padBottom = conv.padRight = 1;
  conv.fill(random, 0.4, machine);
  makeSparse(conv, random, 0.4);
  TilePlan plan;
  plan.tileH = 19;
  plan.tileW = 17;
  plan.regions = 5;
  plan.channelsPerLoad = 9;
  return {conv, plan};
}

/// Memory units that a binding can reach from units 1..: the one before, or any
/// in random order.
static std::vector<uint32_t> memoriesFor(partition::Binding binding,
                                         uint64_t units,
                                         std::mt19937_64 &random) {
  std::vector<uint32_t> memories(units);
  for (uint32_t u = 0; u < units; ++u)
    memories[u] = binding == partition::Binding::Switch && u > 0 ? u - 1 : u;
  if (binding >= partition::Binding::Mesh)
    std::shuffle(memories.begin(), memories.end(), random);
  return memories;
}

/// Test 10.6(3) of the specification on the machine: every algorithm, both halo
/// modes, every binding, 1, 2, 5 and 16 units, both places where the cut is
/// chosen, always the bits of the direct sum.
TEST(RunTimeCut, T3_EveryAlgorithmHaloModeBindingAndNumberOfUnits) {
  machine::Description machine = machineOf("a1-ideal");
  std::mt19937_64 random(33);
  auto [conv, plan] = smallLayer(random, machine);
  int i = 0;
  for (partition::Binding binding :
       {partition::Binding::Static, partition::Binding::Switch,
        partition::Binding::Mesh, partition::Binding::Benes}) {
    machine.sparse.binding = static_cast<uint64_t>(binding);
    for (uint32_t units : {1u, 2u, 5u, 16u})
      for (uint32_t algorithm = 0; algorithm < 4; ++algorithm)
        for (bool disjoint : {false, true}) {
          plan.cut = TileCut{units, static_cast<isa::Cut>(algorithm)};
          plan.cut->disjoint = disjoint;
          plan.firstUnit = binding == partition::Binding::Switch && units < 16;
          plan.memories.clear();
          if (binding != partition::Binding::Switch || plan.firstUnit)
            plan.memories = memoriesFor(binding, machine.sparse.tcus, random);
          compareCuts(conv, plan, machine, random, i++);
        }
  }
}

/// More rows than a unit's memories have room for: folds of the result, each
/// cut on its own and one after the other.
TEST(RunTimeCut, T10_FoldsOfTheResultAreCutOneByOne) {
  const machine::Description machine = machineOf("a1-ideal");
  std::mt19937_64 random(38);
  auto [conv, plan] = smallLayer(random, machine);
  const std::vector<int64_t> direct = conv.direct();
  plan.cut = TileCut{4};
  plan.cut->foldRows = 5;
  plan.tileH = 5;
  plan.tileW = 9;
  compareCuts(conv, plan, machine, random, 0);
  EXPECT_EQ(buildTiles(conv, plan, machine, random).waves, 4u);
}

/// The machine that keeps pixels by coordinate gives the same bytes, whatever
/// the epilogue is.
TEST(RunTimeCut, NaiveMachineAgrees) {
  const machine::Description machine = machineOf("a1-tiny");
  std::mt19937_64 random(40);
  int compared = 0;
  for (int i = 0; compared < 24 && i < 2000; ++i) {
    Convolution conv = randomConvolution(random, machine);
    conv.epilogue = i % 2 ? Epilogue::Float : Epilogue::Raw;
    conv.fill(random, 0.4, machine);
    makeSparse(conv, random, 0.5);
    std::optional<TilePlan> plan = randomCut(random, conv, machine);
    if (!plan)
      continue;
    plan->cut->runTime = i % 4 < 2;
    const container::Program program =
        buildTiles(conv, *plan, machine, random).program;
    EXPECT_TRUE(bytesOf(program) == naiveBytesOf(program)) << i;
    ++compared;
  }
  EXPECT_EQ(compared, 24);
}

/// Results that meet nothing but padding are stored as well, whether compiler
/// or machine cuts: the bias alone after the function. The loader takes them
/// for written.
TEST(RunTimeCut, ResultsThatNoPartReachesAreStored) {
  const machine::Description machine = machineOf("a1-tiny");
  std::mt19937_64 random(44);
  // The stride steps over the only row, unless the pad is even.
  for (int64_t padTop : {1, 2, 3}) {
    Convolution conv;
    conv.images = 3;
    conv.channels = 4;
    conv.results = 8;
    conv.height = 1;
    conv.width = 3;
    conv.sH = conv.sW = 2;
    conv.padTop = conv.padBottom = padTop;
    conv.epilogue = Epilogue::Float;
    conv.fill(random, 1, machine);
    TilePlan plan;
    plan.tileImages = 2;
    plan.tileH = conv.outHeight();
    plan.tileW = conv.outWidth();
    plan.regions = 8;
    plan.channelsPerLoad = 4;
    plan.cut = TileCut{1};
    plan.cut->disjoint = plan.cut->runTime = true;
    const TileProgram program = buildTiles(conv, plan, machine, random);
    emulator::RunResult result;
    const std::vector<uint8_t> bytes =
        bytesOf(program.program, timed(), &result);
    EXPECT_TRUE(bytes == naiveBytesOf(program.program));
    EXPECT_TRUE(llvm::any_of(bytes, [](uint8_t byte) { return byte != 0; }));
    // Each of them takes a step of the drain.
    const auto results =
        static_cast<uint64_t>(conv.images * plan.tileH * plan.tileW);
    EXPECT_EQ(cyclesOf<isa::ActDrain>(program.program, result).front(),
              machine::actDrain(machine, 8, results).issue);
  }
}

/// Data that changes moves the cuts, and with them only the time.
TEST(RunTimeCut, FollowsTheData) {
  const machine::Description machine = machineOf("a1");
  std::mt19937_64 random(34);
  Convolution conv;
  conv.channels = 4;
  conv.height = conv.width = 32;
  conv.results = 4;
  conv.fill(random, 1, machine);
  // Only the left quarter is not zero.
  for (size_t i = 0; i < conv.stored.size(); ++i)
    if (i % 32 >= 8)
      conv.stored[i] = 0, conv.values[i] = 0;
  TilePlan plan;
  plan.tileH = 32;
  plan.tileW = 32;
  plan.regions = 4;
  plan.channelsPerLoad = 4;
  plan.cut = TileCut{16};
  plan.cut->runTime = true;
  const TileProgram program = buildTiles(conv, plan, machine, random);
  emulator::RunResult result;
  EXPECT_TRUE(sumsOf(program.program, timed(), &result) == conv.direct());
  ASSERT_EQ(result.cuts.size(), 1u);
  EXPECT_LT(result.cuts[0].imbalance, 1.3);
  plan.cut->algorithm = isa::Cut::Uniform;
  const TileProgram even = buildTiles(conv, plan, machine, random);
  EXPECT_TRUE(sumsOf(even.program, timed(), &result) == conv.direct());
  EXPECT_GT(result.cuts[0].imbalance, 3.5);
  EXPECT_FALSE(result.cuts[0].met);
}

namespace {
/// A program with one instruction changed, and what the loader says to it.
class Broken {
public:
  explicit Broken(container::Program program) : program(std::move(program)) {}

  template <typename Op, typename Fn>
  std::string after(Fn change) const {
    return faultOf(withOne<Op>(program,
                               [&](Op &op) {
                                 change(op);
                                 return true;
                               }))
        .message;
  }

private:
  container::Program program;
};
} // namespace

#define EXPECT_SAYS(message, part)                                             \
  EXPECT_TRUE(llvm::StringRef(message).contains(part)) << (message)

TEST(RunTimeCut, TheLoaderProvesTheLargestTile) {
  const machine::Description machine = machineOf("a1");
  std::mt19937_64 random(35);
  Convolution conv;
  conv.channels = 8;
  conv.height = conv.width = 12;
  conv.results = 2;
  conv.kH = conv.kW = 3;
  conv.padTop = conv.padLeft = conv.padBottom = conv.padRight = 1;
  conv.fill(random, 1, machine);
  TilePlan plan;
  plan.tileH = 6;
  plan.tileW = 6;
  plan.regions = 2;
  plan.channelsPerLoad = 8;
  plan.cut = TileCut{9};
  plan.cut->runTime = true;
  const Broken broken(buildTiles(conv, plan, machine, random).program);
  EXPECT_EQ(broken.after<isa::TccPart>([](auto &) {}), "");
  // Two bands need twelve tiles of two columns.
  EXPECT_SAYS(broken.after<isa::TccPart>([](auto &op) { op.tileW = 2; }),
              "no way to cut");
  EXPECT_SAYS(broken.after<isa::TccPart>([](auto &op) { op.tileH = 7; }),
              "the instruction allows 1x6x6");
  EXPECT_SAYS(broken.after<isa::TccPart>(
                  [](auto &op) { op.algorithm = isa::Cut::Rows; }),
              "no way to cut");
  EXPECT_SAYS(broken.after<isa::TccPart>([](auto &op) { op.units = 17; }),
              "the machine has 16");
  EXPECT_SAYS(broken.after<isa::TccPart>([](auto &op) { op.y0 = 12; }),
              "an empty region");
  EXPECT_SAYS(broken.after<isa::TccPart>([](auto &op) {
    op.disjoint = true;
    op.y0 = 1;
  }),
              "tiles of the operand");
  EXPECT_SAYS(broken.after<isa::TccPart>([](auto &op) { op.pitch = 4; }),
              "overlap");
  EXPECT_SAYS(broken.after<isa::TccPart>([](auto &op) { op.counts = 65535; }),
              "counts ends at");
  EXPECT_SAYS(broken.after<isa::TccPart>([](auto &op) { op.counts = 4; }),
              "was not started");
  EXPECT_SAYS(broken.after<isa::TccPart>([](auto &op) { op.endW = 13; }), "13");
  EXPECT_SAYS(broken.after<isa::TccNnz>([](auto &op) { op.clear = false; }),
              "was not started");
  EXPECT_SAYS(
      broken.after<isa::TccNnz>([](auto &op) { op.type = isa::ElemType::F32; }),
      "non-zeros of type f32");
  EXPECT_SAYS(broken.after<isa::TccNnz>([](auto &op) { op.pitch = 1; }),
              "overlap");
}

TEST(RunTimeCut, T12_RoutesAndMemoriesAreProven) {
  machine::Description machine = machineOf("a1");
  std::mt19937_64 random(39);
  auto [conv, plan] = smallLayer(random, machine);
  plan.cut = TileCut{4};
  plan.memories = {0, 1, 2, 3};
  const auto programFor = [&](uint64_t binding) {
    machine.sparse.binding = binding;
    return Broken(buildTiles(conv, plan, machine, random).program);
  };
  EXPECT_EQ(programFor(0).after<isa::TccBind>([](auto &) {}), "");
  EXPECT_SAYS(
      programFor(0).after<isa::TccBind>([](auto &op) { op.memory = 7; }),
      "no route from memory unit 7 to compute unit 0");
  EXPECT_SAYS(
      programFor(1).after<isa::TccBind>([](auto &op) { op.memory = 1; }),
      "in binding '2x2'");
  EXPECT_EQ(programFor(2).after<isa::TccBind>([](auto &op) { op.memory = 7; }),
            "");
  EXPECT_SAYS(
      programFor(3).after<isa::TccBind>([](auto &op) { op.memory = 2; }),
      "units 0 and 2 both take their tiles from memory unit 2");
  EXPECT_SAYS(
      programFor(3).after<isa::TccBind>([](auto &op) { op.count = 17; }),
      "the machine has 16");
}

TEST(RunTimeCut, EntriesOfAnotherKindAreNotKept) {
  const machine::Description machine = machineOf("a1");
  std::mt19937_64 random(36);
  Convolution conv;
  conv.height = conv.width = 8;
  conv.fill(random, 1, machine);
  TilePlan plan;
  plan.tileH = plan.tileW = 8;
  plan.cut = TileCut{4};
  plan.cut->runTime = true;
  container::Program program = buildTiles(conv, plan, machine, random).program;
  std::vector<isa::Instruction> code =
      llvm::cantFail(isa::decodeAll(program.code));
  isa::TccTile tile;
  tile.endN = 1;
  code.push_back(tile);
  program.code = serialise(code);
  const Broken broken(program);
  EXPECT_SAYS(broken.after<isa::TccTile>([](auto &) {}),
              "were cut as the program ran");
  EXPECT_EQ(broken.after<isa::TccTile>([](auto &op) { op.clear = true; }), "");
}

/// Counters of a drain: those of tcc.nnz over what it has stored.
TEST(RunTimeCut, DrainsCountWhatTheyStore) {
  const machine::Description machine = machineOf("a1");
  std::mt19937_64 random(37);
  Convolution conv;
  conv.images = 2;
  conv.channels = 8;
  conv.results = 8;
  conv.height = 10;
  conv.width = 9;
  conv.kH = conv.kW = 3;
  conv.mantissa = 8;
  conv.range = 7;
  conv.epilogue = Epilogue::Encoded;
  conv.fill(random, 0.3, machine);
  makeSparse(conv, random, 0.3);
  TilePlan plan;
  plan.tileImages = 1;
  plan.tileH = 4;
  plan.tileW = 7;
  plan.regions = 8;
  plan.channelsPerLoad = 8;
  for (bool disjoint : {false, true}) {
    if (disjoint) {
      plan.tileH = 8;
      plan.cut = TileCut{2};
      plan.cut->disjoint = true;
    }
    container::Program program =
        buildTiles(conv, plan, machine, random).program;
    std::vector<isa::Instruction> code;
    isa::ActDrain last;
    bool first = true;
    for (isa::Instruction inst : llvm::cantFail(isa::decodeAll(program.code))) {
      if (std::holds_alternative<isa::SemWait>(inst) ||
          std::holds_alternative<isa::SemSignal>(inst))
        continue;
      if (auto *op = std::get_if<isa::ActDrain>(&inst)) {
        op->counted = true;
        op->countClear = std::exchange(first, false);
        op->counts = 5;
        op->countStride1 = 7;
        op->countStride2 = 1;
        last = *op;
      }
      code.push_back(inst);
    }
    // Uniform cuts of the counters tell their sums by the metric: the same
    // instruction on both counts must choose and report the same.
    isa::TccNnz count;
    count.channels = 8;
    count.type = isa::ElemType::Bfp;
    count.mantissa = 8;
    count.offset = last.dstOffset;
    count.inN = 2;
    count.inH = 8;
    count.inW = 7;
    count.srcStrideN = last.dstStride0;
    count.srcStrideH = last.dstStride1;
    count.srcStrideW = last.dstStride2;
    count.counts = 500;
    count.pitch = 7;
    count.clear = true;
    code.push_back(count);
    for (uint32_t place : {5u, 500u}) {
      isa::TccPart part;
      part.table = 9;
      part.units = 16;
      part.inH = part.endH = part.tileH = 8;
      part.inW = part.endW = part.tileW = 7;
      part.counts = place;
      part.pitch = 7;
      part.capacity = 16;
      part.algorithm = isa::Cut::P2;
      code.push_back(part);
    }
    program.code = serialise(code);
    emulator::RunResult result;
    bytesOf(program, timed(), &result);
    ASSERT_EQ(result.cuts.size(), 2u);
    EXPECT_GT(result.cuts[0].spread, 0);
    EXPECT_EQ(result.cuts[0].spread, result.cuts[1].spread);
    EXPECT_EQ(result.cuts[0].imbalance, result.cuts[1].imbalance);
  }
}

/// Bits flipped in any instruction: a fault, or a program that runs to its end.
TEST(RunTimeCut, FlippedBitsAreFaultsOrRun) {
  machine::Description machine = machineOf("a1-tiny");
  machine.sparse.binding = 3;
  std::mt19937_64 random(41);
  Convolution conv;
  conv.channels = 4;
  conv.results = 2;
  conv.height = conv.width = 6;
  conv.kH = conv.kW = 3;
  conv.padTop = conv.padLeft = conv.padBottom = conv.padRight = 1;
  conv.fill(random, 0.5, machine);
  makeSparse(conv, random, 0.5);
  TilePlan plan;
  plan.tileH = plan.tileW = 6;
  plan.regions = 2;
  plan.channelsPerLoad = 4;
  plan.memories = {1, 0};
  int ran = 0;
  for (int i = 0; i < 600; ++i) {
    plan.cut = TileCut{2, static_cast<isa::Cut>(i % 4)};
    plan.cut->disjoint = i % 3 == 0;
    plan.cut->runTime = i % 2;
    container::Program program =
        buildTiles(conv, plan, machine, random).program;
    for (int flips = 1 + i % 2; flips > 0; --flips)
      program.code[random() % program.code.size()] ^= uint64_t(1)
                                                      << random() % 64;
    llvm::Expected<emulator::LoadedProgram> loaded =
        emulator::load(std::move(program), {});
    if (!loaded) {
      llvm::consumeError(loaded.takeError());
      continue;
    }
    llvm::Expected<emulator::RunResult> result = emulator::run(*loaded, {}, {});
    if (!result)
      llvm::consumeError(result.takeError());
    else
      ++ran;
  }
  EXPECT_GT(ran, 10);
}
