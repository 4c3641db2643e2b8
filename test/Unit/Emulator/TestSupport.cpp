// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Helpers of the emulator tests.

#include "TestSupport.h"
#include "ashlar/Machine/Peak.h"

using namespace ashlar;
using namespace ashlar::test;

std::vector<uint64_t> test::serialise(llvm::ArrayRef<isa::Instruction> code) {
  llvm::SmallVector<uint64_t, 0> words;
  auto put = [&](const isa::Instruction &inst) {
    llvm::cantFail(isa::encode(inst, words));
  };
  for (size_t i = 0; i < code.size(); ++i) {
    isa::Queue queue = isa::queueOf(code[i]);
    isa::Queue before = i ? isa::queueOf(code[i - 1]) : queue;
    if (queue != before) {
      isa::SemSignal signal;
      isa::SemWait wait;
      signal.queue = before;
      wait.queue = queue;
      signal.sem = wait.sem =
          static_cast<uint32_t>(before) * emulator::numQueues +
          static_cast<uint32_t>(queue);
      put(signal);
      put(wait);
    }
    put(code[i]);
  }
  return {words.begin(), words.end()};
}

container::Program test::assembleText(const std::string &text, bool inOrder) {
  llvm::Expected<container::Program> program =
      container::assemble(text, "test.asm");
  if (!program) {
    ADD_FAILURE() << llvm::toString(program.takeError());
    return {};
  }
  if (inOrder) {
    program->code = serialise(llvm::cantFail(isa::decodeAll(program->code)));
    program->semaphores = serialSemaphores;
  }
  return std::move(*program);
}

std::string test::transposition(const std::string &given,
                                const std::string &between) {
  return ".machine name=fig3-4x4\n" + given +
         R"(.data at=16 hex=01000000000100000000010000000001
.output name=y type=u8 shape=[16] at=64
dma.copy srcMem=dram dstMem=sb n3=4 n4=4 srcStride3=4 srcStride4=1 dstStride3=65536 dstStride4=1
dma.copy srcMem=dram srcBase=16 dstMem=sb dstBase=64 n3=4 n4=4 srcStride3=4 srcStride4=1 dstStride3=65536 dstStride4=1
pe.load rows=4 cols=4 colStride=1 type=u8 mode=int
pe.swap
pe.matmul rows=4 cols=4 offset=64 type=u8 mode=int n2=4 stride2=1 psumStride2=1 hi0=1 hi1=1 hi2=4
act.drain cols=4 n2=4 psumStride2=1 mode=int dstType=u8 dstOffset=128 dstStride2=1
)" + between +
         R"(
dma.copy srcMem=sb srcBase=128 dstMem=dram dstBase=64 n3=4 n4=4 srcStride3=65536 srcStride4=1 dstStride3=4 dstStride4=1
)";
}

emulator::RunResult test::runText(const std::string &text,
                                  const emulator::Options &options) {
  llvm::Expected<emulator::LoadedProgram> loaded =
      emulator::load(assembleText(text, true), options);
  if (!loaded) {
    ADD_FAILURE() << llvm::toString(loaded.takeError());
    return {};
  }
  llvm::Expected<emulator::RunResult> result =
      emulator::run(*loaded, {}, options);
  if (!result) {
    ADD_FAILURE() << llvm::toString(result.takeError());
    return {};
  }
  return std::move(*result);
}

static machine::Engine engineOf(unsigned queue) {
  using machine::Engine;
  static constexpr Engine others[] = {Engine::PeLoad, Engine::Pe,
                                      Engine::Act,    Engine::Vec,
                                      Engine::Tcc,    Engine::Host};
  return queue < 4 ? Engine::Dma : others[queue - 4];
}

void test::expectBalanced(const machine::Description &machine,
                          const emulator::RunResult &result) {
  std::vector<emulator::NodeStats> nodes = result.nodes;
  nodes.push_back(result.unassigned);
  for (unsigned q = 0; q < emulator::numQueues; ++q) {
    const emulator::QueueStats &queue = result.queues[q];
    const std::string name = emulator::queueName(q).str();
    uint64_t sum = queue.busy, busy = 0, work = 0;
    for (uint64_t stall : queue.stall)
      sum += stall;
    EXPECT_EQ(sum, result.totalCycles) << name;
    for (const emulator::NodeStats &node : nodes) {
      busy += node.busy[q];
      work += node.work[q];
      EXPECT_LE(node.busy[q], node.end - node.start) << name;
    }
    EXPECT_EQ(busy, queue.busy) << name;
    EXPECT_EQ(work, queue.work) << name;
    EXPECT_LE(queue.work,
              queue.busy * machine::peakPerCycle(machine, engineOf(q)))
        << name;
  }
  uint64_t sum = 0;
  for (const emulator::NodeStats &node : nodes) {
    sum += node.cycles;
    EXPECT_LE(node.cycles, node.end - node.start);
    EXPECT_LE(node.end, result.totalCycles);
  }
  EXPECT_EQ(sum, result.totalCycles);
  EXPECT_EQ(result.unassigned.cycles, result.idleCycles);
  EXPECT_LE(result.dramUseful, result.dramBusy * machine.dram.bytesPerCycle);
}

std::vector<double> test::values(const emulator::RunResult &result,
                                 size_t output) {
  std::vector<double> numbers;
  if (output >= result.outputs.size())
    return numbers;
  for (uint64_t i = 0; i < result.outputs[output].numElements(); ++i)
    numbers.push_back(result.outputs[output].asDouble(i));
  return numbers;
}

std::string test::gatherError(std::string text, const std::string &first,
                              unsigned threads) {
  emulator::Options options;
  options.threads = threads;
  options.checkRaces = false;
  text.insert(text.find(first), ".node name=Gather_7 op=Gather\n.for node=0\n");
  auto loaded = emulator::load(assembleText(text, false), options);
  if (!loaded) {
    ADD_FAILURE() << llvm::toString(loaded.takeError());
    return "";
  }
  auto result = emulator::run(*loaded, {}, options);
  if (result)
    return "";
  llvm::Error error = result.takeError();
  EXPECT_EQ(support::classify(error), ErrorClass::Malformed);
  return llvm::toString(std::move(error));
}

emulator::Fault test::faultOf(const std::string &text) {
  emulator::Fault fault = faultOf(assembleText(text, false));
  EXPECT_FALSE(fault.message.empty()) << "the program loads";
  return fault;
}

emulator::Fault test::faultOf(container::Program program) {
  emulator::Fault fault;
  llvm::Expected<emulator::LoadedProgram> loaded =
      emulator::load(std::move(program), {}, &fault);
  if (loaded)
    return {};
  // The error says what the value says.
  EXPECT_EQ(llvm::toString(loaded.takeError()), emulator::describe(fault));
  return fault;
}

container::Program
test::withCode(container::Program program,
               llvm::function_ref<void(isa::Instruction &)> change) {
  llvm::SmallVector<uint64_t, 0> words;
  for (isa::Instruction inst : llvm::cantFail(isa::decodeAll(program.code))) {
    change(inst);
    llvm::cantFail(isa::encode(inst, words));
  }
  program.code.assign(words.begin(), words.end());
  return program;
}
