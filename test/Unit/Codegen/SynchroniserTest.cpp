// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Synchronised programs are free of races by the emulator's own proof, and no
// wait is placed that another one implies.

#include "lib/Transforms/ISA/Synchroniser.h"
#include "TestSupport.h"
#include "ashlar/Emulator/Emulator.h"
#include "lib/Conversion/NPUToISA/ProgramBuilder.h"
#include "lib/Transforms/ISA/Dependences.h"
#include "llvm/ADT/STLExtras.h"
#include "gtest/gtest.h"

#include <numeric>
#include <set>

using namespace ashlar;
using namespace ashlar::codegen;
using namespace ashlar::test;
using isa::Queue;

namespace {

constexpr unsigned partitionBytes = 4096;

/// A program with its semaphores in place.
struct SynchronisedProgram {
  std::vector<Entry> entries;
  /// Index in `entries` of every entry of the input.
  std::vector<size_t> newIndex;
  uint32_t semaphores = 0;
};

SynchronisedProgram insertSemaphores(const std::vector<Entry> &entries,
                                     const machine::Description &machine) {
  std::vector<isa::Instruction> instructions;
  for (const Entry &entry : entries)
    instructions.push_back(entry.instruction);
  isadialect::SemaphorePlan plan =
      isadialect::planSemaphores(instructions, machine);
  SynchronisedProgram result;
  result.semaphores = plan.semaphores;
  for (size_t i = 0; i < entries.size(); ++i) {
    Queue queue = isa::queueOf(instructions[i]);
    for (uint32_t semaphore : plan.waits[i]) {
      isa::SemWait wait{};
      wait.queue = queue, wait.sem = semaphore;
      result.entries.push_back({wait, 0});
    }
    result.newIndex.push_back(result.entries.size());
    result.entries.push_back(entries[i]);
    for (uint32_t semaphore : plan.signals[i]) {
      isa::SemSignal signal{};
      signal.queue = queue, signal.sem = semaphore;
      result.entries.push_back({signal, 0});
    }
  }
  return result;
}

/// A copy of `bytes` bytes of partition 0 on `queue`.
Entry copy(Queue queue, uint64_t from, uint64_t to, uint32_t bytes) {
  isa::DmaCopy op{};
  op.queue = queue;
  op.elemBytes = 1;
  op.srcMem = isa::Memory::Sb, op.dstMem = isa::Memory::Sb;
  op.srcBase = from, op.dstBase = to;
  op.n0 = op.n1 = op.n2 = op.n3 = 1, op.n4 = bytes;
  op.srcStride4 = op.dstStride4 = 1;
  return {op, 0};
}

/// The relu of `count` values of every partition.
Entry map(uint32_t from, uint32_t to, uint32_t count) {
  isa::VecMap op{};
  op.op = isa::Function::Relu;
  op.channels = 16;
  op.n2 = count;
  op.aOffset = from, op.dstOffset = to;
  op.aStride2 = op.dstStride2 = 4;
  return {op, 0};
}

class RandomProgram {
public:
  explicit RandomProgram(uint64_t seed) : random(seed) {}

  std::vector<Entry> make(size_t length) {
    while (entries.size() < length)
      switch (random.between(0, 5)) {
      case 0:
      case 1:
        addCopy();
        break;
      case 2:
        chooseSides();
        entries.push_back(
            map(from + place(4), to + place(4), random.between(1, 20)));
        break;
      case 3:
        addEncode();
        break;
      case 4:
        addScale();
        break;
      default:
        addProduct();
      }
    return std::move(entries);
  }

private:
  /// Few places, so that accesses meet.
  uint32_t place(uint32_t unit) { return random.between(0, 60) * 8 * unit; }

  /// Sources and destinations of one instruction are apart.
  void chooseSides() {
    bool up = random.chance(50);
    from = up ? 0 : 2048, to = up ? 2048 : 0;
  }

  void addCopy() {
    chooseSides();
    Entry entry = copy(static_cast<Queue>(random.between(0, 3)),
                       from + place(1) + 4096 * random.between(0, 7),
                       to + place(1) + 4096 * random.between(0, 7),
                       random.between(1, 40));
    auto &op = std::get<isa::DmaCopy>(entry.instruction);
    op.n3 = random.between(1, 4);
    op.srcStride3 = op.dstStride3 = random.chance(70) ? 4096 : op.n4;
    if (random.chance(25))
      op.srcMem = isa::Memory::Dram;
    else if (random.chance(25))
      op.dstMem = isa::Memory::Dram;
    entries.push_back(entry);
  }

  void addEncode() {
    chooseSides();
    Entry entry = map(from + place(4), to + place(1), random.between(1, 20));
    auto &op = std::get<isa::VecMap>(entry.instruction);
    op.dstType = isa::ElemType::Bfp;
    op.dstMantissa = 8, op.dstBlock = 8;
    op.dstStride2 = 1;
    op.dstXr = random.between(0, 3);
    op.dstXrClear = random.chance(30);
    entries.push_back(entry);
  }

  void addScale() {
    isa::XrMerge merge{};
    merge.dst = random.between(0, 3), merge.src = random.between(0, 3);
    merge.clear = random.chance(50);
    entries.push_back({merge, 0});
  }

  void addProduct() {
    isa::PeLoad load{};
    load.type = isa::ElemType::I8, load.mode = isa::OperandMode::Int;
    load.rows = random.between(1, 8), load.cols = random.between(1, 4);
    load.offset = place(1), load.colStride = 1;
    entries.push_back({load, 0});
    entries.push_back({isa::PeSwap{}, 0});
    isa::PeMatmul matmul{};
    matmul.type = isa::ElemType::I8, matmul.mode = isa::OperandMode::Int;
    matmul.rows = load.rows, matmul.cols = load.cols;
    matmul.offset = place(1);
    matmul.n2 = matmul.hi2 = random.between(1, 16);
    matmul.hi0 = matmul.hi1 = 1;
    matmul.stride2 = matmul.psumStride2 = 1;
    matmul.psum = random.between(0, 6) * 16;
    entries.push_back({matmul, 0});
    if (random.chance(30))
      return;
    isa::ActDrain drain{};
    drain.mode = isa::DrainMode::Int;
    drain.psum = matmul.psum, drain.psumStride2 = 1;
    drain.n2 = matmul.n2, drain.cols = matmul.cols;
    drain.dstType = isa::ElemType::I32;
    drain.dstOffset = place(4), drain.dstStride2 = 4;
    entries.push_back({drain, 0});
  }

  Random random;
  uint32_t from = 0, to = 0;
  std::vector<Entry> entries;
};

/// A random order that keeps dependences and, where a schedule does, queues.
std::vector<uint32_t>
drawOrder(const std::vector<isa::Instruction> &instructions,
          const isadialect::Predecessors &predecessors, uint64_t seed) {
  std::vector<uint32_t> left(instructions.size()), order;
  std::iota(left.begin(), left.end(), 0);
  std::vector<bool> done(instructions.size());
  Random random(seed);
  while (!left.empty()) {
    // Among the first few that nothing holds up.
    std::vector<size_t> ready;
    std::set<Queue> waiting;
    for (size_t i = 0; i < left.size() && ready.size() < 4; ++i) {
      const Queue queue = isa::queueOf(instructions[left[i]]);
      const bool isFirst = !waiting.count(queue);
      if ((isFirst || !emulator::keepsOrder(queue)) &&
          llvm::all_of(predecessors.of(left[i]),
                       [&](uint32_t earlier) { return done[earlier]; }))
        ready.push_back(i);
      waiting.insert(queue);
    }
    const size_t next = ready[random.between(0, ready.size() - 1)];
    done[left[next]] = true;
    order.push_back(left[next]);
    left.erase(left.begin() + static_cast<std::ptrdiff_t>(next));
  }
  return order;
}

class SyncTest : public ::testing::Test {
protected:
  SyncTest() : machine(smallMachine(partitionBytes)) {}

  /// The emulator's verdict: empty, or the fault.
  std::string verify(const std::vector<Entry> &entries, uint32_t semaphores) {
    container::Program program;
    program.machine = machine;
    program.modelName = "random";
    program.dramBytes = 1 << 20;
    program.semaphores = semaphores;
    program.nodes.push_back({});
    llvm::SmallVector<uint64_t, 0> words;
    for (const Entry &entry : entries) {
      if (llvm::Error error = isa::encode(entry.instruction, words))
        return llvm::toString(std::move(error));
      program.nodeOfInstruction.push_back(0);
    }
    program.code.assign(words.begin(), words.end());
    emulator::Options options;
    options.checkUndefined = false;
    auto loaded = emulator::load(std::move(program), options);
    return loaded ? "" : llvm::toString(loaded.takeError());
  }

  size_t waits(const std::vector<Entry> &entries) {
    size_t count = 0;
    for (const Entry &entry : insertSemaphores(entries, machine).entries)
      count += std::holds_alternative<isa::SemWait>(entry.instruction);
    return count;
  }

  machine::Description machine;
};

} // namespace

TEST_F(SyncTest, RandomProgramsAreRaceFree) {
  int racy = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    std::vector<Entry> entries = RandomProgram(seed).make(120);
    racy += !verify(entries, 0).empty();
    SynchronisedProgram program = insertSemaphores(entries, machine);
    ASSERT_EQ(verify(program.entries, program.semaphores), "")
        << "seed " << seed;
  }
  // Without semaphores nearly all of them have races.
  EXPECT_GT(racy, 50);
}

TEST_F(SyncTest, LongProgramsAreRaceFree) {
  // Longer than the records that are kept one by one.
  SynchronisedProgram program =
      insertSemaphores(RandomProgram(7).make(6000), machine);
  EXPECT_EQ(verify(program.entries, program.semaphores), "");
}

TEST_F(SyncTest, DependencesGiveThePlansOfAccesses) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    std::vector<isa::Instruction> instructions;
    for (const Entry &entry : RandomProgram(seed).make(200))
      instructions.push_back(entry.instruction);
    auto dependences = isadialect::findDependences(instructions, machine);
    ASSERT_TRUE(dependences);
    auto predecessors =
        isadialect::Predecessors::of(*dependences, instructions.size());
    ASSERT_TRUE(predecessors);
    const std::vector<uint32_t> order =
        drawOrder(instructions, *predecessors, seed);
    const auto byAccesses =
        isadialect::planSemaphores(instructions, order, machine);
    const auto byDependences =
        isadialect::planSemaphores(instructions, order, *predecessors);
    ASSERT_EQ(byAccesses.semaphores, byDependences.semaphores)
        << "seed " << seed;
    ASSERT_EQ(byAccesses.waits, byDependences.waits) << "seed " << seed;
    ASSERT_EQ(byAccesses.signals, byDependences.signals) << "seed " << seed;
  }
}

TEST_F(SyncTest, DependencesOfLongProgramsAreCollected) {
  const std::vector<isa::Instruction> instructions(
      2100, copy(Queue::Dma0, 0, 1000, 8).instruction);
  auto dependences = isadialect::findDependences(instructions, machine);
  ASSERT_TRUE(dependences);
  ASSERT_GT(dependences->steps, instructions.size());
  EXPECT_FALSE(isadialect::Predecessors::of(*dependences, instructions.size()));
}

TEST_F(SyncTest, ProgramOrderAndIndicesStay) {
  std::vector<Entry> entries = RandomProgram(3).make(100);
  SynchronisedProgram program = insertSemaphores(entries, machine);
  ASSERT_EQ(program.newIndex.size(), entries.size());
  size_t last = 0;
  for (size_t i = 0; i < entries.size(); ++i) {
    size_t at = program.newIndex[i];
    EXPECT_TRUE(i == 0 || at > last);
    EXPECT_EQ(program.entries[at].instruction.index(),
              entries[i].instruction.index());
    last = at;
  }
}

TEST_F(SyncTest, IndependentWorkWaitsForNothing) {
  EXPECT_EQ(waits({copy(Queue::Dma0, 0, 1000, 64),
                   copy(Queue::Dma1, 0, 2000, 64), map(0, 3008, 16)}),
            0u);
}

TEST_F(SyncTest, OneQueueWaitsForNothing) {
  EXPECT_EQ(
      waits({copy(Queue::Dma0, 0, 1000, 64), copy(Queue::Dma0, 1000, 2000, 64),
             copy(Queue::Dma0, 1000, 0, 64)}),
      0u);
}

TEST_F(SyncTest, ChainsWaitOncePerLink) {
  EXPECT_EQ(
      waits({copy(Queue::Dma0, 0, 1000, 64), copy(Queue::Dma1, 1000, 2000, 64),
             copy(Queue::Dma2, 2000, 3000, 64)}),
      2u);
}

TEST_F(SyncTest, TheLastProducerOfAQueueImpliesEarlierOnes) {
  EXPECT_EQ(
      waits({copy(Queue::Dma0, 0, 1000, 64), copy(Queue::Dma0, 0, 2000, 64),
             copy(Queue::Dma1, 1000, 3000, 1064)}),
      1u);
}

TEST_F(SyncTest, WaitsThatFollowFromOthersAreLeftOut) {
  // The last copy reads what both others wrote, and dma1 has waited for dma0.
  EXPECT_EQ(
      waits({copy(Queue::Dma0, 0, 1000, 64), copy(Queue::Dma1, 1000, 1064, 64),
             copy(Queue::Dma2, 1000, 3000, 128)}),
      2u);
}

TEST_F(SyncTest, ReadersAreWaitedForBeforeTheyAreOverwritten) {
  EXPECT_EQ(
      waits({copy(Queue::Dma0, 0, 1000, 64), copy(Queue::Dma1, 0, 2000, 64),
             copy(Queue::Dma2, 3000, 0, 64)}),
      2u);
}
