// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The 23 clauses of the source design, one named test each, on the trace of a
// running program. Clauses that speak of the compiler (2, 5, 13, 14, 17 to 20)
// are tested here on the instructions that it has to emit; the tests of the
// compiler check that it emits them.

#include "Bench.h"
#include "ashlar/Machine/Transposes.h"
#include "llvm/ADT/STLExtras.h"
#include "gtest/gtest.h"
#include <map>
#include <set>

using namespace ashlar;
using namespace ashlar::test;
using emulator::ArrayEvent;
using emulator::ArrayEventKind;

namespace {

constexpr uint64_t source = 1024, target = 8192;

/// One transposed matrix, its program and its trace.
struct Sample {
  Bench bench;
  Bytes matrix;
  uint64_t m, n;
  emulator::RunResult result;

  Sample(const std::string &machine, uint64_t m, uint64_t n)
      : bench(machine), matrix(randomBytes(m * n, m * n)), m(m), n(n) {
    bench.load(bench.constant(matrix), m, n, 1, source);
    bench.loadIdentity(0);
    bench.ready();
    bench.transpose(m, n, source, target, 0);
    bench.store(n, m, 1, target);
    emulator::Options options;
    options.traceArray = true;
    result = bench.run(options);
  }
  uint8_t at(uint64_t i, uint64_t j) const { return matrix[i * n + j]; }
  const machine::Description &machine() const { return bench.machine(); }
  std::vector<ArrayEvent> events(ArrayEventKind kind) const {
    std::vector<ArrayEvent> found;
    for (const ArrayEvent &event : result.arrayTrace)
      if (event.kind == kind)
        found.push_back(event);
    return found;
  }
  template <typename Op>
  std::vector<Op> all() const {
    std::vector<Op> found;
    for (const isa::Instruction &inst : bench.code)
      if (const auto *op = std::get_if<Op>(&inst))
        found.push_back(*op);
    return found;
  }
  /// Position of the first instruction of a kind.
  template <typename Op>
  size_t first() const {
    for (size_t i = 0; i < bench.code.size(); ++i)
      if (std::holds_alternative<Op>(bench.code[i]))
        return i;
    return bench.code.size();
  }
};

/// Whether PSUM has reproduced the tiles of a run at their places.
void expectReproduced(const Sample &run) {
  std::map<uint32_t, isa::PeLoad> loads;
  size_t tile = 0;
  const std::vector<isa::PeLoad> all = run.all<isa::PeLoad>();
  uint32_t last = ~0U;
  for (const ArrayEvent &event : run.events(ArrayEventKind::Write)) {
    if (event.instruction != last) {
      last = event.instruction;
      loads[last] = all[tile++];
    }
    const isa::PeLoad &load = loads[last];
    const uint64_t p = run.bench.partitions();
    const uint64_t block = (load.offset - source) / run.n;
    const uint64_t column = (load.offset - source) % run.n + event.column;
    EXPECT_EQ(static_cast<uint64_t>(event.value),
              run.at(block * p + load.part + event.step, column));
  }
  EXPECT_EQ(tile, all.size());
}

TEST(Clause, Clause01_BlockThroughTheArrayToAsManyPartitions) {
  const Sample run("fig4-128x64", 128, 64);
  EXPECT_EQ(run.result.outputs[0].data, transposed(run.matrix, 128, 64, 1));
  const auto load = run.all<isa::PeLoad>()[0];
  EXPECT_EQ(load.rows, 128u);
  EXPECT_EQ(load.cols, 64u);
  // As many PSUM partitions as columns, as many rows as array rows.
  std::set<uint32_t> partitions, rows;
  std::map<uint32_t, uint32_t> next;
  for (const ArrayEvent &event : run.events(ArrayEventKind::Write)) {
    partitions.insert(event.column);
    rows.insert(event.entry);
    EXPECT_EQ(event.entry, next[event.column]++); // the next row each time
  }
  EXPECT_EQ(partitions.size(), run.machine().pe.columns);
  EXPECT_EQ(rows.size(), run.machine().pe.rows);
  EXPECT_EQ(run.all<isa::ActDrain>()[0].cols, 64u);
}

TEST(Clause, Clause02_BlocksFitTheStateBuffer) {
  const Sample run("a1-tiny", 20, 12);
  for (const isa::DmaCopy &copy : run.all<isa::DmaCopy>())
    EXPECT_LE(copy.n3, run.machine().sb.partitions);
  EXPECT_EQ(blockCount(20, 12, 8, 8), 6u);
  EXPECT_EQ(run.result.outputs[0].data, transposed(run.matrix, 20, 12, 1));
}

TEST(Clause, Clause03_EachSumIsOneElementOfTheArray) {
  const Sample run("fig3-4x4", 4, 4);
  std::multiset<int64_t> sums, elements;
  for (const ArrayEvent &event : run.events(ArrayEventKind::Write))
    sums.insert(event.value);
  elements.insert(run.matrix.begin(), run.matrix.end());
  EXPECT_EQ(sums, elements);
}

TEST(Clause, Clause04_PsumReproducesTheBlock) {
  expectReproduced(Sample("fig4-128x64", 128, 64));
}

TEST(Clause, Clause05_LoadMultiplyStoreAndMoveAreInstructions) {
  const Sample run("fig3-4x4", 4, 4);
  EXPECT_LT(run.first<isa::PeLoad>(), run.first<isa::PeMatmul>());
  EXPECT_LT(run.first<isa::PeMatmul>(), run.first<isa::ActDrain>());
  EXPECT_EQ(run.all<isa::PeLoad>().size(), 1u);
  EXPECT_EQ(run.all<isa::PeMatmul>().size(), 1u);
  EXPECT_EQ(run.all<isa::ActDrain>().size(), 1u);
}

TEST(Clause, Clause06_TheFirstInstructionLoadsOverItsOwnBus) {
  const Sample run("fig3-4x4", 4, 4);
  const isa::Instruction load = run.all<isa::PeLoad>()[0];
  const isa::Instruction matmul = run.all<isa::PeMatmul>()[0];
  EXPECT_NE(isa::queueOf(load), isa::queueOf(matmul));
  EXPECT_EQ(isa::queueOf(load), isa::Queue::Peload);
}

TEST(Clause, Clause07_IdentityColumnsOnePerCycle) {
  const Sample run("fig3-4x4", 4, 4);
  const auto enters = run.events(ArrayEventKind::Enter);
  ASSERT_EQ(enters.size(), 4u);
  for (size_t t = 1; t < enters.size(); ++t)
    EXPECT_EQ(enters[t].cycle, enters[t - 1].cycle + 1);
}

TEST(Clause, Clause08_OnePsumPartitionPerColumn) {
  const Sample run("fig4-128x64", 128, 64);
  std::set<uint32_t> partitions;
  for (const ArrayEvent &event : run.events(ArrayEventKind::Write))
    partitions.insert(event.column);
  EXPECT_EQ(partitions.size(), 64u);
  EXPECT_EQ(*partitions.rbegin(), 63u);
}

TEST(Clause, Clause09_PsumPartitionsMapToRowPartitions) {
  // Two tiles of columns: the second goes to the partitions after the first.
  const Sample run("a1-tiny", 8, 8);
  const auto drains = run.all<isa::ActDrain>();
  ASSERT_EQ(drains.size(), 2u);
  EXPECT_EQ(drains[0].dstPart, 0u);
  EXPECT_EQ(drains[1].dstPart, 4u);
  EXPECT_EQ(run.result.outputs[0].data, transposed(run.matrix, 8, 8, 1));
}

TEST(Clause, Clause10_EveryColumnMeetsEveryIdentityColumn) {
  const Sample run("a1-tiny", 8, 4);
  std::set<std::pair<uint32_t, uint32_t>> met;
  for (const ArrayEvent &event : run.events(ArrayEventKind::Write))
    met.insert({event.step, event.column});
  EXPECT_EQ(met.size(), 8u * 4u);
  // At most one term of a sum is not zero: the window is a checked identity.
  EXPECT_EQ(run.all<isa::PeMatmul>()[0].window, isa::Window::Identity);
}

TEST(Clause, Clause11_TheSumIsTheSelectedElement) {
  const Sample run("fig3-4x4", 4, 4);
  for (const ArrayEvent &event : run.events(ArrayEventKind::Write))
    EXPECT_EQ(static_cast<uint64_t>(event.value),
              run.at(event.step, event.column));
}

TEST(Clause, Clause12_EveryTileIsReproducedAtItsPlaces) {
  expectReproduced(Sample("a1-tiny", 20, 12));
}

TEST(Clause, Clause13_BlocksAreStoredBeforeTheTranspose) {
  const Sample run("a1-tiny", 20, 12);
  const size_t load = run.first<isa::PeLoad>();
  size_t blocks = 0;
  for (size_t i = 0; i < load; ++i)
    blocks += std::holds_alternative<isa::DmaCopy>(run.bench.code[i]);
  // Three blocks of partitions, and the identity.
  EXPECT_EQ(blocks, 4u);
}

TEST(Clause, Clause14_SubBlocksFitTheArray) {
  const Sample run("a1-tiny", 20, 12);
  const auto loads = run.all<isa::PeLoad>();
  EXPECT_EQ(loads.size(), blockCount(20, 12, 8, 4));
  for (const isa::PeLoad &load : loads) {
    EXPECT_LE(load.rows, run.machine().pe.rows);
    EXPECT_LE(load.cols, run.machine().pe.columns);
  }
}

TEST(Clause, Clause15_PartitionsLoadIntoTheirRows) {
  // A tile that starts in the middle: partition part + i feeds row i, and the
  // identity window sits on the same partitions.
  Bench bench("a1-tiny");
  const Bytes matrix = randomBytes(32, 1);
  bench.load(bench.constant(matrix), 8, 4, 1, source);
  bench.loadIdentity(0);
  bench.ready();
  isa::PeLoad load;
  load.part = 2;
  load.rows = 5;
  load.cols = 4;
  load.offset = source;
  load.colStride = 1;
  load.type = isa::ElemType::U8;
  load.mode = isa::OperandMode::Select;
  isa::PeMatmul matmul;
  matmul.part = 2;
  matmul.rows = matmul.n2 = 5;
  matmul.cols = 4;
  matmul.offset = 2;
  matmul.type = isa::ElemType::U8;
  matmul.mode = isa::OperandMode::Select;
  matmul.window = isa::Window::Identity;
  matmul.stride2 = matmul.psumStride2 = 1;
  matmul.hi0 = matmul.hi1 = 1;
  matmul.hi2 = 5;
  isa::ActDrain drain;
  drain.mode = isa::DrainMode::Raw64;
  drain.cols = 4;
  drain.n2 = 5;
  drain.psumStride2 = drain.dstStride2 = 1;
  drain.dstType = isa::ElemType::U8;
  drain.dstOffset = target;
  bench.tile(load, matmul, drain);
  bench.store(4, 5, 1, target);
  EXPECT_EQ(
      bench.run().outputs[0].data,
      transposed(Bytes(matrix.begin() + 8, matrix.begin() + 28), 5, 4, 1));
}

TEST(Clause, Clause16_IntermediateResultsStayOnChip) {
  // What VEC has computed is transposed without leaving SB.
  Bench bench("a1-tiny");
  const Bytes matrix = randomBytes(32, 1);
  bench.node("before");
  bench.load(bench.constant(matrix), 8, 4, 1, 64);
  bench.loadIdentity(0);
  bench.ready();
  bench.order(isa::Queue::Dma0, isa::Queue::Vec);
  bench.node("middle");
  isa::VecMap map;
  map.op = isa::Function::Not;
  map.channels = 8;
  map.n2 = 4;
  map.aType = map.dstType = isa::ElemType::U8;
  map.aOffset = 64;
  map.dstOffset = source;
  map.aStride2 = map.dstStride2 = 1;
  bench.add(map);
  bench.order(isa::Queue::Vec, isa::Queue::Peload);
  bench.transpose(8, 4, source, target, 0);
  bench.node("after");
  bench.store(4, 8, 1, target);
  const emulator::RunResult result = bench.run();
  Bytes expected = matrix;
  for (uint8_t &byte : expected)
    byte = byte == 0;
  EXPECT_EQ(result.outputs[0].data, transposed(expected, 8, 4, 1));
  EXPECT_EQ(result.nodes[1].dramRead + result.nodes[1].dramWrite, 0u);
}

TEST(Clause, Clause17_TheProgramIsAFileThatRuns) {
  // A compiled program is a file of its own; what it does survives the file.
  const Sample run("fig3-4x4", 4, 4);
  auto image = llvm::cantFail(container::serialize(run.bench.finish()));
  auto buffer = std::shared_ptr<llvm::MemoryBuffer>(
      llvm::MemoryBuffer::getMemBufferCopy(llvm::StringRef(
          reinterpret_cast<const char *>(image.data()), image.size())));
  auto program = llvm::cantFail(
      emulator::load(llvm::cantFail(container::parse(buffer, "test")), {}));
  EXPECT_EQ(llvm::cantFail(emulator::run(program, {}, {})).outputs[0].data,
            transposed(run.matrix, 4, 4, 1));
}

TEST(Clause, Clause18_TheDrainNamesPartitionsAndMapping) {
  for (const isa::ActDrain &drain :
       Sample("a1-tiny", 20, 12).all<isa::ActDrain>())
    EXPECT_LE(drain.dstPart + drain.cols, 8u);
}

TEST(Clause, Clause19_BlocksOfTheProgramCoverTheTensor) {
  const Sample run("a1-tiny", 20, 12);
  uint64_t rows = 0;
  for (const isa::DmaCopy &copy : run.all<isa::DmaCopy>())
    if (copy.dstMem == isa::Memory::Sb && copy.dstBase % 65536 >= source)
      rows += copy.n3;
  EXPECT_EQ(rows, 20u);
}

TEST(Clause, Clause20_SubBlocksOfTheProgramCoverTheBlocks) {
  const Sample run("a1-tiny", 20, 12);
  uint64_t elements = 0;
  for (const isa::PeLoad &load : run.all<isa::PeLoad>())
    elements += uint64_t(load.rows) * load.cols;
  EXPECT_EQ(elements, 20u * 12u);
}

TEST(Clause, Clause21_TheMachineDoesClauseOne) {
  for (const char *name : {"fig3-4x4", "a1-tiny", "fig4-128x64", "a1"}) {
    const machine::Description machine = llvm::cantFail(machine::load(name));
    const uint64_t m = machine.pe.rows, n = machine.pe.columns;
    const Sample run(name, m, n);
    EXPECT_EQ(run.result.outputs[0].data, transposed(run.matrix, m, n, 1))
        << name;
    EXPECT_EQ(run.all<isa::PeMatmul>().size(), 1u);
  }
}

TEST(Clause, Clause22_TheMachinesSumsAreElements) {
  const Sample run("a1-tiny", 8, 4);
  for (const ArrayEvent &event : run.events(ArrayEventKind::Write))
    EXPECT_EQ(static_cast<uint64_t>(event.value),
              run.at(event.step, event.column));
}

TEST(Clause, Clause23_TheMachinesPsumIsTheBlock) {
  const Sample run("a1", 128, 128);
  expectReproduced(run);
  EXPECT_EQ(run.result.outputs[0].data, transposed(run.matrix, 128, 128, 1));
}

} // namespace
