// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tile mode beyond random convolutions: epilogues, groups of units, traffic,
// double buffering, the knee, the latency of sums, initial values, faults.

#include "../Emulator/TestSupport.h"
#include "Convolution.h"
#include "ashlar/Isa/Tiles.h"
#include "ashlar/Machine/Cycles.h"
#include <cstring>

using namespace ashlar;
using namespace ashlar::test;
using emulator::FaultKind;

static machine::Description a1() { return llvm::cantFail(machine::load("a1")); }

/// For what the source counts in cycles.
static machine::Description ideal() {
  return llvm::cantFail(machine::load("a1-ideal"));
}

/// A plain 3 x 3 convolution with padding.
static Convolution plain(int64_t channels, int64_t results, int64_t size) {
  Convolution conv;
  conv.channels = channels;
  conv.results = results;
  conv.height = conv.width = size;
  conv.kH = conv.kW = 3;
  conv.padTop = conv.padLeft = conv.padBottom = conv.padRight = 1;
  return conv;
}

static uint64_t sumOf(const std::vector<ExpectedRun> &runs) {
  uint64_t cycles = 0;
  for (const ExpectedRun &run : runs)
    cycles += run.cycles;
  return cycles;
}

/// Busy cycles of the units, counted by the emulator.
static uint64_t unitCycles(const TileProgram &program) {
  emulator::Options options;
  options.functional = false;
  auto loaded = llvm::cantFail(emulator::load(program.program, options));
  return llvm::cantFail(emulator::run(loaded, {}, options)).queues[8].busy;
}

TEST(TileBehaviour, EpiloguesGiveTheBitsOfTheDenseCluster) {
  const machine::Description machine = a1();
  std::mt19937_64 random(21);
  for (Epilogue epilogue : {Epilogue::Float, Epilogue::Encoded}) {
    Convolution conv = plain(12, 16, 11);
    conv.images = 2;
    conv.epilogue = epilogue;
    conv.fill(random, 0.2, machine);
    TilePlan plan;
    plan.tileH = 6;
    plan.tileW = 4;
    plan.copies = 2;
    plan.regions = 8;
    plan.channelsPerLoad = 5;
    const std::vector<uint8_t> tiles =
        bytesOf(buildTiles(conv, plan, machine, random).program);
    const std::vector<uint8_t> dense = bytesOf(buildDense(conv, machine));
    ASSERT_EQ(tiles.size(), dense.size());
    for (size_t k = 0; k < tiles.size(); ++k)
      ASSERT_EQ(tiles[k], dense[k]) << "byte " << k;
    // Results shared out among the groups, in order again after the drain.
    plan.drainTogether = plan.mapped = true;
    EXPECT_TRUE(bytesOf(buildTiles(conv, plan, machine, random).program) ==
                dense);
  }
}

/// The machine that knows no phases, halos or shifts gives the same bytes.
TEST(TileBehaviour, NaiveMachineAgrees) {
  const machine::Description machine = llvm::cantFail(machine::load("a1-tiny"));
  std::mt19937_64 random(26);
  for (int i = 0; i < 30; ++i) {
    Convolution conv = randomConvolution(random, machine);
    conv.epilogue = i % 2 ? Epilogue::Float : Epilogue::Raw;
    conv.fill(random, 0.4, machine);
    const TilePlan plan = randomPlan(random, conv, machine);
    const container::Program program =
        buildTiles(conv, plan, machine, random).program;
    EXPECT_TRUE(bytesOf(program) == naiveBytesOf(program)) << i;
  }
}

/// Depthwise and grouped convolutions over groups of units: missing lists cost
/// nothing, every unit has channels of its own.
TEST(TileBehaviour, GroupedConvolutionsSplitOverUnits) {
  const machine::Description machine = ideal();
  std::mt19937_64 random(22);
  for (int64_t perGroup : {1, 2, 4})
    for (unsigned mantissa : {0u, 8u}) {
      Convolution conv = plain(32, 32, 14);
      conv.groups = 32 / perGroup;
      conv.mantissa = mantissa;
      conv.range = mantissa ? 7 : 0;
      conv.fill(random, 0.8, machine);
      TilePlan plan;
      plan.tileH = 7;
      plan.tileW = 14;
      plan.copies = 4;
      plan.channelsPerLoad = 3;
      plan.splitGroups = true;
      const TileProgram program = buildTiles(conv, plan, machine, random);
      EXPECT_TRUE(sumsOf(program.program) == conv.direct());
      // One tcc.tile per tile, one tcc.init, and the runs.
      EXPECT_EQ(unitCycles(program), sumOf(program.runs) + 2 + 1);
    }
}

/// Cycles are a straight line through the number of coefficients, and more
/// zeros never cost more.
TEST(TileBehaviour, CyclesFollowTheDensity) {
  const machine::Description machine = a1();
  TilePlan plan;
  plan.tileH = plan.tileW = 14; // 16 tiles of 9 + 5 rows: two steps
  plan.regions = 8;
  plan.channelsPerLoad = 16;
  auto cycles = [&](double density, uint64_t &nonZeros) {
    std::mt19937_64 random(23);
    Convolution conv = plain(16, 8, 56);
    conv.fill(random, density, machine);
    nonZeros = conv.nonZeros();
    return unitCycles(buildTiles(conv, plan, machine, random)) - 16 - 1;
  };
  for (double density : {0.0, 1.0 / 64, 0.05, 0.1, 0.25, 0.5, 0.75, 1.0}) {
    uint64_t nonZeros = 0;
    EXPECT_EQ(cycles(density, nonZeros), 2 * nonZeros) << density;
  }
  // The same engine without skipping takes 1 / density times as long.
  plan.encoding = isa::StreamEncoding::Dense;
  plan.issueZeros = true;
  uint64_t nonZeros = 0;
  EXPECT_EQ(cycles(0.5, nonZeros), 2u * 16 * 8 * 9);
  EXPECT_LT(nonZeros, 16u * 8 * 9 * 6 / 10);
}

/// Input bytes: tiles times live channels times a box, whatever the number of
/// results in a group.
TEST(TileBehaviour, InputTrafficIsHaloAlone) {
  const machine::Description machine = a1();
  uint64_t bytes[2];
  for (int i = 0; i < 2; ++i) {
    std::mt19937_64 random(24);
    Convolution conv = plain(16, i == 0 ? 4 : 8, 28);
    conv.fill(random, 0.3, machine);
    TilePlan plan;
    plan.tileH = plan.tileW = 14;
    plan.regions = 8;
    plan.channelsPerLoad = 16;
    bytes[i] = buildTiles(conv, plan, machine, random).inputBytes;
  }
  EXPECT_EQ(bytes[0], 4u * 16 * 16 * 16);
  EXPECT_EQ(bytes[1], bytes[0]);
}

//===- Double buffering ---------------------------------------------------===//

namespace {
/// Channels one at a time into alternating sets: load k on dma1 while the units
/// work on k - 1. `entries` coefficients for each channel.
class Pipeline {
public:
  Pipeline(const std::vector<uint64_t> &entries, bool waitsForSet);
  emulator::RunResult run() const;
  uint64_t loadCycles() const {
    return machine::tileLoad(machine, 256, 1, 256).issue;
  }
  static constexpr uint64_t steps = 2; ///< 14 rows of 14, 9 at a time.

  machine::Description machine = ideal();
  container::Program program;

private:
  void put(const isa::Instruction &inst) {
    llvm::cantFail(isa::encode(inst, words));
  }
  void signal(isa::Queue queue, uint32_t sem) {
    isa::SemSignal op;
    op.queue = queue;
    op.sem = sem;
    put(op);
  }
  void wait(isa::Queue queue, uint32_t sem) {
    isa::SemWait op;
    op.queue = queue;
    op.sem = sem;
    put(op);
  }
  void prepare(size_t channels);
  void streams(const std::vector<uint64_t> &entries);
  /// One channel's load and sums.
  void channel(uint32_t k, bool first, bool last, bool waitsForSet);

  llvm::SmallVector<uint64_t, 0> words;
  std::vector<uint8_t> bytes;   ///< All streams.
  std::vector<uint32_t> places; ///< Of each, and the end.
};
} // namespace

/// Input, table and regions.
void Pipeline::prepare(size_t channels) {
  isa::DmaFill fill;
  fill.dstMem = isa::Memory::Sb;
  fill.n3 = static_cast<uint32_t>(channels);
  fill.n4 = 196;
  fill.dstStride3 = static_cast<int64_t>(machine.sb.bytesPerPartition);
  fill.dstStride4 = 1;
  fill.value = 3;
  put(fill);
  isa::TccTile tile;
  tile.clear = true;
  tile.tileH = tile.tileW = 14;
  tile.endH = tile.endW = 14;
  put(tile);
  isa::TccInit init;
  init.regions = 40;
  init.regionStride = init.count = 196;
  put(init);
}

/// Streams of one channel each, all in weight memory at once.
void Pipeline::streams(const std::vector<uint64_t> &entries) {
  isa::StreamShape shape;
  shape.kernels = 40;
  shape.kH = shape.kW = 3;
  for (uint64_t count : entries) {
    std::vector<isa::Coefficient> list;
    for (uint32_t i = 0; i < count; ++i)
      list.push_back({i / 9, i % 9 / 3, i % 3, 1, 0});
    std::vector<uint8_t> stream = llvm::cantFail(
        isa::encodeStream(shape, {list}, isa::StreamEncoding::List));
    places.push_back(static_cast<uint32_t>(bytes.size()));
    bytes.insert(bytes.end(), stream.begin(), stream.end());
  }
  places.push_back(static_cast<uint32_t>(bytes.size()));
  isa::DmaCopy copy;
  copy.srcMem = isa::Memory::Dram;
  copy.dstMem = isa::Memory::Wm;
  copy.n4 = places.back();
  copy.srcStride4 = copy.dstStride4 = 1;
  put(copy);
}

void Pipeline::channel(uint32_t k, bool first, bool last, bool waitsForSet) {
  isa::DmaTile load;
  load.queue = isa::Queue::Dma1;
  load.type = isa::ElemType::I8;
  load.kH = load.kW = 3;
  load.tileH = load.tileW = load.inH = load.inW = 14;
  load.pH = load.pW = 1;
  load.srcStrideH = 14;
  load.srcStrideW = 1;
  load.set = k % 2;
  load.part = k;
  // A set is written again when its last reader has finished.
  if (!first && waitsForSet)
    wait(isa::Queue::Dma1, 3);
  put(load);
  signal(isa::Queue::Dma1, 2);
  wait(isa::Queue::Tcc, 2);
  isa::TccRun run;
  run.type = isa::ElemType::I8;
  run.mode = isa::OperandMode::Int;
  run.kH = run.kW = 3;
  run.tileH = run.tileW = 14;
  run.regions = 40;
  run.regionStride = 196;
  run.set = load.set;
  run.wm = places[k];
  run.bytes = places[k + 1] - places[k];
  put(run);
  if (!last && waitsForSet)
    signal(isa::Queue::Tcc, 3);
}

Pipeline::Pipeline(const std::vector<uint64_t> &entries, bool waitsForSet) {
  prepare(entries.size());
  streams(entries);
  signal(isa::Queue::Dma0, 0);
  wait(isa::Queue::Tcc, 0);
  signal(isa::Queue::Tcc, 1);
  wait(isa::Queue::Dma1, 1);
  for (uint32_t k = 0; k < entries.size(); ++k)
    channel(k, k < 2, k + 2 >= entries.size(), waitsForSet);
  program.machine = machine;
  program.dramBytes = bytes.size();
  program.addConstant(0, std::move(bytes));
  program.code.assign(words.begin(), words.end());
  program.semaphores = 4;
}

emulator::RunResult Pipeline::run() const {
  emulator::Options options;
  options.recordTimes = true;
  auto loaded = llvm::cantFail(emulator::load(program, options));
  return llvm::cantFail(emulator::run(loaded, {}, options));
}

/// First start of a load and end of the last run.
static uint64_t pipelineCycles(const Pipeline &pipeline) {
  const emulator::RunResult result = pipeline.run();
  const auto code = llvm::cantFail(isa::decodeAll(pipeline.program.code));
  uint64_t begin = ~uint64_t(0), end = 0;
  for (size_t i = 0; i < code.size(); ++i) {
    if (std::holds_alternative<isa::DmaTile>(code[i]))
      begin = std::min(begin, result.times[i].start);
    if (std::holds_alternative<isa::TccRun>(code[i]))
      end = std::max(end, result.times[i].complete);
  }
  return end - begin;
}

TEST(TileBehaviour, DoubleBufferHidesTheShorterOfLoadAndSums) {
  for (const std::vector<uint64_t> &entries :
       {std::vector<uint64_t>{9, 9, 9, 9},
        {1, 1, 1, 1, 1},
        {30, 0, 2, 17, 1}}) {
    const Pipeline pipeline(entries, true);
    uint64_t expected = pipeline.loadCycles();
    for (size_t k = 0; k < entries.size(); ++k)
      expected += std::max(entries[k] * Pipeline::steps,
                           k + 1 < entries.size() ? pipeline.loadCycles() : 0);
    EXPECT_EQ(pipelineCycles(pipeline), expected);
  }
}

TEST(TileBehaviour, ASetBeingReadIsNotLoaded) {
  emulator::Fault fault;
  auto loaded =
      emulator::load(Pipeline({9, 9, 9, 9}, false).program, {}, &fault);
  EXPECT_FALSE(!!loaded);
  llvm::consumeError(loaded.takeError());
  EXPECT_EQ(fault.kind, FaultKind::Race);
}

/// A buffer has a single port: not even other bytes of a set are written while
/// it is read.
TEST(TileBehaviour, T12_ASetIsNotWrittenAnywhereWhileItIsRead) {
  container::Program program = Pipeline({9, 9}, true).program;
  const auto places = [&](uint32_t set) {
    uint32_t loads = 0, runs = 0;
    return faultOf(withCode(program,
                            [&](isa::Instruction &inst) {
                              if (auto *load =
                                      std::get_if<isa::DmaTile>(&inst)) {
                                load->mantissas = 1024 * loads++;
                                load->set = set ? set - 1 : load->set;
                              } else if (auto *run =
                                             std::get_if<isa::TccRun>(&inst)) {
                                run->mantissas = 1024 * runs++;
                                run->set = set ? set - 1 : run->set;
                              }
                            }))
        .message;
  };
  EXPECT_EQ(places(0), "");
  EXPECT_NE(places(1).find("writes fmu[0..1)[1024..1280)"), std::string::npos)
      << places(1);
}

/// The fewest coefficients per channel at which sums take longer than loads.
TEST(TileBehaviour, KneeIsWhereTheFormulaPutsIt) {
  const uint64_t load = Pipeline({1}, true).loadCycles();
  const uint64_t formula = (load + Pipeline::steps - 1) / Pipeline::steps;
  uint64_t knee = 0;
  uint64_t before = pipelineCycles(Pipeline({0, 0, 0, 0, 0, 0}, true));
  for (uint64_t n = 1; n < 4 * formula + 4 && knee == 0; ++n) {
    const std::vector<uint64_t> entries(6, n);
    const uint64_t cycles = pipelineCycles(Pipeline(entries, true));
    // The last channel's sums always show; more than that is the knee.
    if (cycles > before + Pipeline::steps)
      knee = n;
    before = cycles;
  }
  EXPECT_GE(knee + 1, formula);
  EXPECT_LE(knee, formula + 1);
}

//===- Sums ---------------------------------------------------------------===//

/// A region takes its next sum accumulate_latency cycles after the last;
/// interleaved kernels hide that, and the bits are the same.
TEST(TileBehaviour, InterleavedKernelsHideTheLatencyOfSums) {
  machine::Description machine = a1();
  machine.sparse.accumulateLatency = 4;
  machine.sparse.coefficientsPerStep = 1;
  std::vector<isa::Coefficient> ordered, interleaved;
  for (uint32_t i = 0; i < 36; ++i) {
    ordered.push_back({i / 9, i % 9 / 3, i % 3, 1, 0});
    interleaved.push_back({i % 4, i / 4 / 3, i / 4 % 3, 1, 0});
  }
  auto cycles = [&](const std::vector<isa::Coefficient> &list, uint64_t steps) {
    machine::TileIssue issue(machine, machine::TileStep{steps, 1, 1}, 1, 4, 1);
    for (const isa::Coefficient &c : list)
      issue.issue(c.z);
    issue.endChannel();
    return issue.cycles();
  };
  EXPECT_EQ(cycles(interleaved, 1), 36u);
  EXPECT_EQ(cycles(ordered, 1), 36u * 4 - 3 * 3 - 3);
  EXPECT_EQ(cycles(ordered, 4), 36u * 4);
  EXPECT_EQ(cycles(interleaved, 4), 36u * 4);
}

/// Whole programs on such a machine: the same bits, never fewer cycles.
TEST(TileBehaviour, LatencyOfSumsNeverChangesABit) {
  machine::Description slow = a1();
  slow.sparse.accumulateLatency = 7;
  std::mt19937_64 random(27);
  for (int i = 0; i < 8; ++i) {
    Convolution conv = randomConvolution(random, slow);
    conv.fill(random, 0.4, slow);
    const TilePlan plan = randomPlan(random, conv, slow);
    const TileProgram program = buildTiles(conv, plan, slow, random);
    EXPECT_TRUE(sumsOf(program.program) == conv.direct());
    EXPECT_GE(unitCycles(program), sumOf(program.runs));
  }
}

/// Regions that start from values in weight memory keep them under the sums.
TEST(TileBehaviour, SumsStartFromMemory) {
  const machine::Description machine = a1();
  std::mt19937_64 random(28);
  Convolution conv = plain(8, 4, 8);
  conv.fill(random, 0.1, machine);
  TilePlan plan;
  plan.tileH = 4;
  plan.tileW = 8;
  plan.regions = 4;
  plan.channelsPerLoad = 8;
  container::Program program = buildTiles(conv, plan, machine, random).program;
  const std::vector<int64_t> values = {-5, int64_t(1) << 40, 0, 77};
  std::vector<uint8_t> raw(32);
  std::memcpy(raw.data(), values.data(), raw.size());
  const uint64_t place = program.dramBytes;
  program.dramBytes += 64;
  program.addConstant(place, std::move(raw));
  std::vector<isa::Instruction> plainCode, code;
  for (const isa::Instruction &inst :
       llvm::cantFail(isa::decodeAll(program.code)))
    if (!std::holds_alternative<isa::SemWait>(inst) &&
        !std::holds_alternative<isa::SemSignal>(inst))
      plainCode.push_back(inst);
  for (isa::Instruction inst : plainCode) {
    if (auto *init = std::get_if<isa::TccInit>(&inst)) {
      isa::DmaCopy copy;
      copy.srcMem = isa::Memory::Dram;
      copy.dstMem = isa::Memory::Wm;
      copy.srcBase = place;
      copy.dstBase = 65536;
      copy.n4 = 32;
      copy.srcStride4 = copy.dstStride4 = 1;
      code.push_back(copy);
      init->fromMemory = true;
      init->wm = 65536;
    }
    code.push_back(inst);
  }
  program.code = serialise(code);
  std::vector<int64_t> expected = conv.direct();
  for (size_t i = 0; i < expected.size(); ++i)
    expected[i] += values[i / 64];
  EXPECT_TRUE(sumsOf(program) == expected);
}

TEST(TileBehaviour, FaultsNameWhatIsWrong) {
  const machine::Description machine = a1();
  std::mt19937_64 random(25);
  Convolution conv = plain(8, 8, 8);
  conv.fill(random, 0.5, machine);
  TilePlan plan;
  plan.tileH = 4;
  plan.tileW = 8;
  plan.copies = 2;
  plan.regions = 4;
  plan.channelsPerLoad = 8;
  const container::Program good =
      buildTiles(conv, plan, machine, random).program;
  auto fault = [&](auto *kind, auto change) {
    using Op = std::remove_pointer_t<decltype(kind)>;
    return faultAfter<Op>(good, [&](Op &op) {
      change(op);
      return true;
    });
  };
  isa::TccTile *tile = nullptr;
  isa::DmaTile *load = nullptr;
  isa::TccInit *init = nullptr;
  isa::TccRun *run = nullptr;
  isa::ActDrain *drain = nullptr;
  isa::DmaCopy *copy = nullptr;
  EXPECT_EQ(fault(tile, [](auto &op) { op.unit = 15; }), FaultKind::OutOfRange);
  EXPECT_EQ(fault(tile, [](auto &op) { op.clear = false; }),
            FaultKind::UndefinedRead);
  EXPECT_EQ(fault(tile, [](auto &op) { op.tileH = 5; }), FaultKind::OutOfRange);
  EXPECT_EQ(fault(load, [](auto &op) { op.table = 3; }),
            FaultKind::UndefinedRead);
  EXPECT_EQ(fault(load, [](auto &op) { op.mantissas = 65500; }),
            FaultKind::OutOfRange);
  EXPECT_EQ(fault(load, [](auto &op) { op.kH = 2; }), FaultKind::BadField);
  EXPECT_EQ(fault(load, [](auto &op) { op.channels = 7; }),
            FaultKind::UndefinedRead);
  EXPECT_EQ(fault(load, [](auto &op) { op.inH = 5000; }),
            FaultKind::UndefinedRead);
  EXPECT_EQ(fault(init, [](auto &op) { op.regions = 3; }),
            FaultKind::UndefinedRead);
  EXPECT_EQ(fault(init, [](auto &op) { op.regionStride = 3; }),
            FaultKind::BadField);
  EXPECT_EQ(fault(init, [](auto &op) { op.acc = 9000; }),
            FaultKind::OutOfRange);
  EXPECT_EQ(fault(run, [](auto &op) { op.regions = 2; }), FaultKind::BadField);
  EXPECT_EQ(fault(run, [](auto &op) { op.bytes = 20; }), FaultKind::BadField);
  EXPECT_EQ(fault(run, [](auto &op) { op.wm = 8; }), FaultKind::BadField);
  EXPECT_EQ(fault(run, [](auto &op) { op.wmStep = 0; }), FaultKind::BadField);
  EXPECT_EQ(fault(run, [](auto &op) { op.groups = 1; }), FaultKind::OutOfRange);
  EXPECT_EQ(fault(drain, [](auto &op) { op.psum = 8000; }),
            FaultKind::UndefinedRead);
  EXPECT_EQ(fault(drain, [](auto &op) { op.n1 = 7; }), FaultKind::OutOfRange);
  EXPECT_EQ(fault(copy, [](auto &op) { op.dstMem = isa::Memory::Wm; }),
            FaultKind::UndefinedRead);
  EXPECT_EQ(faultAfter<isa::DmaCopy>(good,
                                     [](isa::DmaCopy &op) {
                                       if (op.dstMem != isa::Memory::Wm)
                                         return false;
                                       op.srcMem = isa::Memory::Sb;
                                       return true;
                                     }),
            FaultKind::BadField);
  // Sums that are started again before both groups of units were drained.
  EXPECT_EQ(faultAfter<isa::ActDrain>(
                [&] {
                  container::Program twice = good;
                  auto code = llvm::cantFail(isa::decodeAll(good.code));
                  for (const isa::Instruction &inst : code)
                    if (std::holds_alternative<isa::TccInit>(inst)) {
                      code.push_back(inst);
                      break;
                    }
                  twice.code = serialise(code);
                  return twice;
                }(),
                [](isa::ActDrain &op) { return op.group = 0, op.group == 1; }),
            FaultKind::PsumOverwrite);
}
