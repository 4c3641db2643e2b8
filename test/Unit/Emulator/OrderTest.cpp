// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Programs in the order of their starts: a worked case, and random programs
// whose queues, semaphores, planned tensors and results stay as they were.

#include "ashlar/Emulator/Order.h"
#include "TestSupport.h"
#include "llvm/ADT/STLExtras.h"
#include <fmt/format.h>
#include <random>

using namespace ashlar;
using namespace ashlar::test;
using emulator::ProgramOrder;
using isa::Instruction;

namespace {

std::vector<Instruction> decoded(const container::Program &program) {
  return llvm::cantFail(
      isa::decodeAll({program.code.data(), program.code.size()}));
}

container::Program reordered(container::Program program,
                             const ProgramOrder &order) {
  const std::vector<Instruction> code = decoded(program);
  llvm::SmallVector<uint64_t, 0> words;
  std::vector<uint32_t> nodes;
  for (uint32_t index : order.instructions) {
    llvm::cantFail(isa::encode(code[index], words));
    if (index < program.nodeOfInstruction.size())
      nodes.push_back(program.nodeOfInstruction[index]);
  }
  program.code.assign(words.begin(), words.end());
  program.nodeOfInstruction = std::move(nodes);
  for (size_t i = 0; i < program.dumps.size(); ++i)
    program.dumps[i].afterInstruction = order.dumps[i];
  return program;
}

emulator::RunResult runProgram(container::Program program) {
  emulator::Options options;
  options.dumpTensors = true;
  llvm::Expected<emulator::LoadedProgram> loaded =
      emulator::load(std::move(program), options);
  if (!loaded) {
    ADD_FAILURE() << llvm::toString(loaded.takeError());
    return {};
  }
  return llvm::cantFail(emulator::run(*loaded, {}, options));
}

/// Fills on four queues, each with memory of its own in one of the banks or in
/// DRAM, and semaphores between them: slow ones stand before fast ones.
std::string randomText(std::mt19937 &random) {
  auto pick = [&](unsigned n) { return static_cast<unsigned>(random() % n); };
  std::string text =
      fmt::format(".machine yaml=\"name: order\\nbase: a1-ideal\\nsb: {{banks: "
                  "{}, ports: 1, port_bytes: "
                  "1}}\\ndma: {{setup_cycles: {}}}\\n\"\n.semaphores count=16\n"
                  ".memory dram=65536\n",
                  pick(4) ? 4 : 0, pick(10));
  unsigned pending[16] = {}, memory[5] = {};
  for (unsigned i = 0; i < 60; ++i) {
    const unsigned queue = pick(4), other = pick(4);
    if (unsigned &waits = pending[4 * other + queue];
        other != queue && waits > 0 && pick(2)) {
      text += fmt::format("sem.wait queue=dma{} sem={}\n", queue,
                          4 * other + queue);
      --waits;
    }
    const unsigned count = 1 + (pick(3) ? pick(20) : pick(800));
    const unsigned bank = pick(5);
    const unsigned at = (bank < 4 ? bank * 16384 : 0) + memory[bank];
    if (memory[bank] + 2 * count > 16000)
      continue;
    memory[bank] += 2 * count;
    text += fmt::format(
        "dma.fill queue=dma{} dstMem={} dstBase={} n4={} dstStride4=2 "
        "value={}\n",
        queue, bank < 4 ? "sb" : "dram", at, count, i);
    if (pick(3) == 0 && other != queue) {
      text += fmt::format("sem.signal queue=dma{} sem={}\n", queue,
                          4 * queue + other);
      ++pending[4 * queue + other];
    }
  }
  return text;
}

} // namespace

TEST(Order, WhatIsFreeGoesFirst) {
  // The second transfer of dma0 cannot ask for DRAM before cycle 512; until
  // then it would hold back that of dma1.
  const std::string text = R"(
.machine name=a1-tiny
.memory dram=8192
dma.fill queue=dma0 dstMem=sb n3=4 n4=1024 dstStride3=65536 dstStride4=1
dma.fill queue=dma0 dstMem=dram n4=1024 dstStride4=1
dma.fill queue=dma1 dstMem=dram dstBase=4096 n4=1024 dstStride4=1
)";
  const container::Program program = assembleText(text, false);
  const std::optional<ProgramOrder> order = emulator::orderByStart(program);
  ASSERT_TRUE(order.has_value());
  EXPECT_EQ(order->instructions, (std::vector<uint32_t>{0, 2, 1}));
  // 512 and 128 cycles, the second transfer's 128, and DRAM's latency.
  EXPECT_EQ(order->before, 512u + 128 + 128 + 20);
  EXPECT_EQ(order->after, 512u + 128 + 20);
  EXPECT_EQ(runProgram(program).totalCycles, order->before);
  const container::Program better = reordered(program, *order);
  EXPECT_EQ(runProgram(better).totalCycles, order->after);
  // There is nothing left to gain.
  EXPECT_FALSE(emulator::orderByStart(better).has_value());
}

TEST(Order, RandomProgramsStayTheSame) {
  std::mt19937 random(11);
  unsigned gained = 0;
  for (int i = 0; i < 300; ++i) {
    container::Program program = assembleText(randomText(random), false);
    const std::vector<Instruction> code = decoded(program);
    // Copies of memory in the middle of the program.
    for (int t = 0; t < 4; ++t) {
      container::TensorPlacement tensor;
      tensor.name = fmt::format("t{}", t);
      tensor.type = support::ElementType::U8;
      tensor.shape = {1000};
      tensor.strides = {1};
      tensor.baseOffset = random() % 15000;
      tensor.memory = t % 2 ? container::PlacementMemory::Dram
                            : container::PlacementMemory::Sb;
      tensor.afterInstruction = static_cast<uint32_t>(random() % code.size());
      program.dumps.push_back(tensor);
    }
    const std::optional<ProgramOrder> order = emulator::orderByStart(program);
    if (!order)
      continue;
    ++gained;
    ASSERT_EQ(order->instructions.size(), code.size());
    // Each queue in its order; each semaphore has one queue on either side.
    std::vector<int64_t> last(emulator::numQueues, -1);
    for (uint32_t index : order->instructions) {
      int64_t &before = last[static_cast<unsigned>(isa::queueOf(code[index]))];
      ASSERT_LT(before, int64_t(index));
      before = index;
    }
    const emulator::RunResult was = runProgram(program);
    const emulator::RunResult is = runProgram(reordered(program, *order));
    EXPECT_EQ(was.totalCycles, order->before);
    EXPECT_EQ(is.totalCycles, order->after);
    EXPECT_LT(is.totalCycles, was.totalCycles);
    ASSERT_EQ(was.dumps.size(), is.dumps.size());
    for (const emulator::TensorDump &dump : was.dumps)
      for (const emulator::TensorDump &other : is.dumps)
        if (dump.placement == other.placement)
          ASSERT_EQ(dump.data, other.data) << i;
  }
  EXPECT_GT(gained, 50u);
}

TEST(Order, LastCellOfACompressedTensor) {
  // Its last cell is written by the transfer that comes later now, far past
  // where the strides of the dense tensor end.
  container::Program program = assembleText(R"(
.machine name=a1-tiny
.memory dram=16384
dma.fill queue=dma0 dstMem=sb n3=4 n4=1024 dstStride3=65536 dstStride4=1
dma.fill queue=dma0 dstMem=dram dstBase=8192 n4=1024 dstStride4=1
dma.fill queue=dma1 dstMem=dram n4=1024 dstStride4=1
)",
                                            false);
  container::TensorPlacement tensor;
  tensor.name = "map";
  tensor.type = support::ElementType::U8;
  tensor.shape = {1, 1, 3, 4};
  tensor.strides = {12, 12, 4, 1};
  tensor.memory = container::PlacementMemory::Dram;
  tensor.cellPitch = 4096;
  tensor.cellBytes = 1024;
  tensor.cellChannels = 1;
  tensor.afterInstruction = 2;
  program.dumps.push_back(tensor);
  const std::optional<ProgramOrder> order = emulator::orderByStart(program);
  ASSERT_TRUE(order.has_value());
  EXPECT_EQ(order->instructions, (std::vector<uint32_t>{0, 2, 1}));
  EXPECT_EQ(order->dumps, (std::vector<uint32_t>{2}));
}

TEST(Order, NothingWaitsForWhatMakesNoPartOfATensor) {
  // The tensor is made by the first transfer; that the program copies it out
  // after the third one does not hold back the fourth, which overwrites it.
  container::Program program = assembleText(R"(
.machine name=a1-tiny
.memory dram=8192
dma.fill queue=dma0 dstMem=dram n4=1024 dstStride4=1
dma.fill queue=dma0 dstMem=sb n3=4 n4=1024 dstStride3=65536 dstStride4=1
dma.fill queue=dma0 dstMem=dram dstBase=4096 n4=1024 dstStride4=1
dma.fill queue=dma1 dstMem=dram n4=1024 dstStride4=1 value=5
)",
                                            false);
  container::TensorPlacement tensor;
  tensor.name = "t";
  tensor.type = support::ElementType::U8;
  tensor.shape = {1024};
  tensor.strides = {1};
  tensor.memory = container::PlacementMemory::Dram;
  tensor.afterInstruction = 2;
  program.dumps.push_back(tensor);
  const std::optional<ProgramOrder> order = emulator::orderByStart(program);
  ASSERT_TRUE(order.has_value());
  EXPECT_EQ(order->instructions, (std::vector<uint32_t>{0, 1, 3, 2}));
  EXPECT_EQ(order->dumps, (std::vector<uint32_t>{0}));
}

TEST(Order, ListScheduleFillsPauses) {
  // The second map of the vector unit reads what a short transfer brings; the
  // first one waits for a long transfer.
  const container::Program program = assembleText(R"(
.machine name=a1-tiny
.memory dram=8192
dma.fill queue=dma0 dstMem=sb n3=4 n4=1024 dstStride3=65536 dstStride4=1
vec.map op=relu channels=4 n2=8 aType=f32 aStride2=4 dstType=f32 dstOffset=8192 dstStride2=4
dma.fill queue=dma1 dstMem=sb dstBase=4096 n3=4 n4=32 dstStride3=65536 dstStride4=1
vec.map op=relu channels=4 n2=8 aType=f32 aOffset=4096 aStride2=4 dstType=f32 dstOffset=12288 dstStride2=4
)",
                                                  false);
  emulator::Dependences dependences;
  dependences.pairs = {{0, 1, true}, {2, 3, true}};
  dependences.steps = 4;
  for (auto urgency :
       {emulator::Urgency::Program, emulator::Urgency::CriticalPath}) {
    const auto order = emulator::listSchedule(program, dependences,
                                              {urgency, emulator::Moves::Free});
    ASSERT_TRUE(order.has_value());
    const auto &places = order->instructions;
    EXPECT_LT(llvm::find(places, 3u), llvm::find(places, 1u));
    EXPECT_LT(llvm::find(places, 0u), llvm::find(places, 1u));
    EXPECT_LT(llvm::find(places, 2u), llvm::find(places, 3u));
  }
  // Steps that only collect pass dependences on; cycles are refused.
  dependences.pairs.push_back({1, 4, true});
  dependences.pairs.push_back({4, 3, true});
  dependences.steps = 5;
  const auto joined = emulator::listSchedule(program, dependences, {});
  ASSERT_TRUE(joined.has_value());
  EXPECT_LT(llvm::find(joined->instructions, 1u),
            llvm::find(joined->instructions, 3u));
  dependences.pairs.push_back({3, 1, true});
  EXPECT_FALSE(emulator::listSchedule(program, dependences, {}).has_value());
}

TEST(Order, WhatAnOrderedQueueWaitsForIsAsUrgentAsAllThatFollowsInIt) {
  // Two swaps of the array, of which only the second has a
  // reader: what the first one waits for holds up both, so that it goes before
  // the transfer that nobody waits for.
  const container::Program program = assembleText(R"(
.machine name=a1-tiny
.memory dram=8192
dma.fill queue=dma0 dstMem=sb dstBase=4096 n3=4 n4=1024 dstStride3=65536 dstStride4=1
dma.fill queue=dma0 dstMem=sb n3=4 n4=32 dstStride3=65536 dstStride4=1
pe.swap
pe.swap
vec.map op=relu channels=4 n2=512 aType=f32 aStride2=4 dstType=f32 dstOffset=8192 dstStride2=4
)",
                                                  false);
  emulator::Dependences dependences;
  dependences.pairs = {{1, 2, true}, {3, 4, true}};
  dependences.steps = 5;
  for (auto moves : {emulator::Moves::Free, emulator::Moves::Shared}) {
    const auto order = emulator::listSchedule(
        program, dependences, {emulator::Urgency::CriticalPath, moves});
    ASSERT_TRUE(order.has_value());
    const auto &places = order->instructions;
    EXPECT_LT(llvm::find(places, 1u), llvm::find(places, 0u));
  }
  // A dependence against that order leaves nothing to choose.
  dependences.pairs.push_back({3, 1, true});
  EXPECT_FALSE(emulator::listSchedule(
                   program, dependences,
                   {emulator::Urgency::CriticalPath, emulator::Moves::Free})
                   .has_value());
}

TEST(Order, AQueueTakesWhatStartsFirst) {
  // DRAM serves the long transfer of the other queue. The load with a reader is
  // more urgent than the fill, which needs no DRAM and can start.
  const container::Program program = assembleText(R"(
.machine name=a1-tiny
.memory dram=8192
dma.copy queue=dma1 dstMem=sb n3=4 n4=1024 srcStride3=1024 srcStride4=1 dstStride3=65536 dstStride4=1
dma.copy queue=dma0 dstMem=sb srcBase=4096 dstBase=2048 n3=4 n4=32 srcStride3=32 srcStride4=1 dstStride3=65536 dstStride4=1
dma.fill queue=dma0 dstMem=sb dstBase=4096 n3=4 n4=32 dstStride3=65536 dstStride4=1
vec.map op=relu channels=4 n2=8 aType=f32 aOffset=2048 aStride2=4 dstType=f32 dstOffset=8192 dstStride2=4
)",
                                                  false);
  emulator::Dependences dependences;
  dependences.pairs = {{0, 3, true}, {1, 3, true}};
  dependences.steps = 4;
  auto orderOf = [&](emulator::Pick pick) {
    const auto order = emulator::listSchedule(
        program, dependences,
        {emulator::Urgency::CriticalPath, emulator::Moves::Free, pick});
    return order ? order->instructions : std::vector<uint32_t>();
  };
  EXPECT_EQ(orderOf(emulator::Pick::FirstToStart),
            (std::vector<uint32_t>{0, 2, 1, 3}));
  EXPECT_EQ(orderOf(emulator::Pick::MostUrgent),
            (std::vector<uint32_t>{0, 1, 2, 3}));
}

TEST(Order, ATransferLeavesDramToAMoreUrgentOneThatIsAboutToStart) {
  // The short load waits for a fill of another queue. Nobody waits for the long
  // one, which would have DRAM when the fill ends.
  const container::Program program = assembleText(R"(
.machine name=a1-tiny
.memory dram=8192
dma.fill queue=dma1 dstMem=sb dstBase=2048 n3=4 n4=32 dstStride3=65536 dstStride4=1
dma.copy queue=dma0 dstMem=sb n3=4 n4=1024 srcStride3=1024 srcStride4=1 dstStride3=65536 dstStride4=1
dma.copy queue=dma0 dstMem=sb srcBase=4096 dstBase=2048 n3=4 n4=32 srcStride3=32 srcStride4=1 dstStride3=65536 dstStride4=1
vec.map op=relu channels=4 n2=512 aType=f32 aOffset=2048 aStride2=4 dstType=f32 dstOffset=8192 dstStride2=4
)",
                                                  false);
  emulator::Dependences dependences;
  dependences.pairs = {{0, 2, false}, {2, 3, true}};
  dependences.steps = 4;
  auto endOf = [&](emulator::Pick pick, std::vector<uint32_t> expected) {
    const auto order = emulator::listSchedule(
        program, dependences,
        {emulator::Urgency::CriticalPath, emulator::Moves::Free, pick});
    EXPECT_TRUE(order.has_value());
    EXPECT_EQ(order->instructions, expected);
    return order->after;
  };
  EXPECT_LT(endOf(emulator::Pick::FirstToStart, {0, 2, 1, 3}),
            endOf(emulator::Pick::MostUrgent, {0, 1, 2, 3}));
}

TEST(Order, SharedMovesGoToTheQueueThatIsFreeFirst) {
  // Three long transfers of one queue, which has three others beside it.
  const container::Program program = assembleText(R"(
.machine name=a1-tiny
.memory dram=8192
dma.fill queue=dma1 dstMem=sb n3=4 n4=1024 dstStride3=65536 dstStride4=1
dma.fill queue=dma1 dstMem=sb dstBase=2048 n3=4 n4=1024 dstStride3=65536 dstStride4=1
dma.fill queue=dma1 dstMem=sb dstBase=4096 n3=4 n4=1024 dstStride3=65536 dstStride4=1
vec.map op=relu channels=4 n2=8 aType=f32 aStride2=4 dstType=f32 dstOffset=8192 dstStride2=4
)",
                                                  false);
  emulator::Dependences dependences;
  dependences.pairs = {{0, 3, true}};
  dependences.steps = 4;
  const auto kept = emulator::listSchedule(program, dependences, {});
  const auto shared = emulator::listSchedule(
      program, dependences,
      {emulator::Urgency::CriticalPath, emulator::Moves::Shared});
  ASSERT_TRUE(kept.has_value() && shared.has_value());
  EXPECT_TRUE(kept->queues.empty());
  ASSERT_EQ(shared->queues.size(), 4u);
  EXPECT_NE(shared->queues[0], shared->queues[1]);
  EXPECT_EQ(shared->queues[3], isa::Queue::Vec);
  EXPECT_LT(shared->after, kept->after);
}

TEST(Order, TrialsTakeAsLongAsTheProgramsThatTheyAre) {
  std::mt19937 random(7);
  size_t faster = 0;
  for (int round = 0; round < 20; ++round) {
    const container::Program program = assembleText(randomText(random), false);
    container::Program without = program;
    emulator::OrderTrials::Trial trial;
    trial.code = decoded(program);
    trial.semaphores = program.semaphores;
    trial.inFlight.resize(trial.code.size());
    llvm::SmallVector<uint64_t, 0> words;
    uint32_t count = 0;
    for (const Instruction &instruction : trial.code) {
      const bool synchronises =
          std::holds_alternative<isa::SemWait>(instruction) ||
          std::holds_alternative<isa::SemSignal>(instruction);
      trial.origins.push_back(synchronises ? emulator::OrderTrials::kNone
                                           : count++);
      if (!synchronises)
        llvm::cantFail(isa::encode(instruction, words));
    }
    without.code.assign(words.begin(), words.end());
    without.semaphores = 0;
    without.nodeOfInstruction.clear();
    without.dumps.clear();
    emulator::Dependences dependences;
    dependences.steps = count;
    const auto trials = emulator::OrderTrials::of(without, dependences);
    ASSERT_TRUE(trials.has_value());
    container::Program plain = program;
    plain.dumps.clear();
    const uint64_t cycles = runProgram(plain).totalCycles;
    EXPECT_EQ(trials->cycles(trial, false), cycles);
    const std::optional<ProgramOrder> order = emulator::orderByStart(plain);
    EXPECT_EQ(trials->cycles(trial, true), order ? order->after : cycles);
    faster += order.has_value();
  }
  EXPECT_GT(faster, 0u);
  emulator::Dependences few;
  EXPECT_FALSE(
      emulator::OrderTrials::of(
          assembleText(".machine name=a1-tiny\nxr.set value=1\n", false), few)
          .has_value());
}

TEST(Order, ProgramsThatAreRefusedStay) {
  for (const char *text :
       {".machine name=a1-tiny\n.semaphores count=1\nsem.wait queue=vec\n",
        ".machine name=a1-tiny\ndma.fill dstMem=sb dstBase=999999999\n",
        ".machine name=a1-tiny\n"})
    EXPECT_FALSE(emulator::orderByStart(assembleText(text, false)).has_value());
}
