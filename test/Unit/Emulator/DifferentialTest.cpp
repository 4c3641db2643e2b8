// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random legal programs: every kernel table and thread count must leave the
// same SB and XM as the naive machine.

#include "NaiveMachine.h"
#include "RandomProgram.h"
#include "ashlar/Isa/Text.h"
#include "ashlar/Numerics/Kernels.h"

using namespace ashlar;
using namespace ashlar::test;

static container::Program makeProgram(const machine::Description &machine,
                                      llvm::ArrayRef<Instruction> body) {
  const uint64_t sb = machine.sb.bytes(), xm = machine.xmBytes();
  container::Program program;
  program.machine = machine;
  program.dramBytes = 2 * (sb + xm);
  auto flat = [](uint64_t n) {
    return std::vector<int64_t>{static_cast<int64_t>(n)};
  };
  program.inputs = {{"sb", ElementType::U8, flat(sb), 0},
                    {"xm", ElementType::U8, flat(xm), sb}};
  program.outputs = {{"sb", ElementType::U8, flat(sb), sb + xm},
                     {"xm", ElementType::U8, flat(xm), 2 * sb + xm}};
  const uint64_t row = machine.sb.bytesPerPartition;
  auto copy = [&](isa::Memory from, uint64_t src, isa::Memory to, uint64_t dst,
                  uint64_t rows) {
    isa::DmaCopy op;
    op.srcMem = from;
    op.dstMem = to;
    op.srcBase = src;
    op.dstBase = dst;
    op.elemBytes = 8;
    op.n3 = static_cast<uint32_t>(rows);
    op.n4 = static_cast<uint32_t>(row / 8);
    op.srcStride3 = op.dstStride3 = static_cast<int64_t>(row);
    op.srcStride4 = op.dstStride4 = 8;
    return op;
  };
  using isa::Memory;
  std::vector<Instruction> code = {
      copy(Memory::Dram, 0, Memory::Sb, 0, sb / row),
      copy(Memory::Dram, sb, Memory::Xm, 0, xm / row)};
  for (uint32_t i = 0; i < 8; ++i) {
    isa::XrSet set;
    set.xr = i;
    set.value = static_cast<int32_t>(i) - 8;
    code.push_back(set);
  }
  code.insert(code.end(), body.begin(), body.end());
  code.push_back(copy(Memory::Sb, 0, Memory::Dram, sb + xm, sb / row));
  code.push_back(copy(Memory::Xm, 0, Memory::Dram, 2 * sb + xm, xm / row));
  program.code = serialise(code);
  program.semaphores = serialSemaphores;
  return program;
}

bool Generator::legal(const std::vector<Instruction> &code) {
  emulator::Options options;
  options.checkUndefined = false;
  llvm::Expected<emulator::LoadedProgram> loaded =
      emulator::load(makeProgram(machine, code), options);
  if (loaded)
    return true;
  llvm::consumeError(loaded.takeError());
  return false;
}

std::vector<Instruction> Generator::program(unsigned length) {
  std::vector<Instruction> code;
  while (code.size() < length) {
    std::vector<Instruction> next;
    switch (between(0, 7)) {
    case 0:
      next = {dma()};
      break;
    case 1:
    case 2:
      next = {map()};
      break;
    case 3:
      next = {pool()};
      break;
    case 7:
      next = {scale()};
      break;
    case 4:
      next = {chance(50) ? reduce() : reduceChannels()};
      break;
    default:
      next = array();
    }
    if (legal(next))
      code.insert(code.end(), next.begin(), next.end());
  }
  return code;
}

/// What a program leaves in SB and XM.
static std::vector<uint8_t> runProgram(const container::Program &program,
                                       llvm::ArrayRef<HostTensor> inputs,
                                       emulator::Options options) {
  options.checkUndefined = false;
  auto loaded = emulator::load(program, options);
  if (!loaded) {
    ADD_FAILURE() << llvm::toString(loaded.takeError());
    return {};
  }
  auto result = llvm::cantFail(emulator::run(*loaded, inputs, options));
  expectBalanced(program.machine, result);
  std::vector<uint8_t> bytes = result.outputs[0].data;
  bytes.insert(bytes.end(), result.outputs[1].data.begin(),
               result.outputs[1].data.end());
  return bytes;
}

static std::vector<uint8_t> runNaively(const container::Program &program,
                                       llvm::ArrayRef<HostTensor> inputs) {
  NaiveMachine naive(program.machine, program.dramBytes);
  for (size_t i = 0; i < inputs.size(); ++i)
    std::copy(inputs[i].data.begin(), inputs[i].data.end(),
              naive.dram.begin() +
                  static_cast<ptrdiff_t>(program.inputs[i].dramOffset));
  for (const Instruction &inst : llvm::cantFail(isa::decodeAll(program.code)))
    naive.execute(inst);
  return {naive.dram.begin() +
              static_cast<ptrdiff_t>(program.outputs[0].dramOffset),
          naive.dram.end()};
}

/// The first instruction after which the two machines differ.
static std::string firstDifference(const machine::Description &machine,
                                   llvm::ArrayRef<Instruction> code,
                                   llvm::ArrayRef<HostTensor> inputs,
                                   const emulator::Options &options) {
  for (size_t n = 1; n <= code.size(); ++n) {
    container::Program program = makeProgram(machine, code.take_front(n));
    std::vector<uint8_t> a = runProgram(program, inputs, options);
    std::vector<uint8_t> b = runNaively(program, inputs);
    for (size_t i = 0; i < a.size(); ++i)
      if (a[i] != b[i])
        return fmt::format("{}: byte {} (partition {}, offset {}) is {:#x}, "
                           "expected {:#x}",
                           isa::print(code[n - 1]), i,
                           i / machine.sb.bytesPerPartition,
                           i % machine.sb.bytesPerPartition, a[i], b[i]);
  }
  return "no prefix differs";
}

/// Whether the program leaves what the naive machine leaves, with any kernels
/// and threads.
static bool comparesEqual(Generator &generator, uint64_t seed,
                          llvm::ArrayRef<Instruction> code,
                          llvm::ArrayRef<unsigned> threadCounts) {
  const container::Program program = makeProgram(generator.machine, code);
  std::vector<HostTensor> inputs(2);
  for (size_t i = 0; i < 2; ++i) {
    inputs[i].type = ElementType::U8;
    inputs[i].shape.assign(program.inputs[i].shape.begin(),
                           program.inputs[i].shape.end());
  }
  inputs[0].data = generator.image(generator.machine.sb.bytes());
  inputs[1].data = generator.cells(generator.machine.xmBytes());
  const std::vector<uint8_t> expected = runNaively(program, inputs);
  for (const numerics::KernelTable *table : numerics::availableKernels())
    for (unsigned threads : threadCounts) {
      emulator::Options options;
      options.kernels = table->name.str();
      options.threads = threads;
      options.threadsNear = true; // Loops are shared on any host.
      options.lists = false;
      if (runProgram(program, inputs, options) != expected) {
        ADD_FAILURE() << "seed " << seed << ", kernels " << options.kernels
                      << ", threads " << threads << ": "
                      << firstDifference(generator.machine, code, inputs,
                                         options);
        return false;
      }
    }
  for (unsigned threads : {2, 3, 4}) {
    emulator::Options options;
    options.threads = threads;
    options.lists = true;
    if (runProgram(program, inputs, options) != expected) {
      ADD_FAILURE() << "seed " << seed << ", lists on " << threads
                    << " threads: "
                    << firstDifference(generator.machine, code, inputs,
                                       options);
      return false;
    }
  }
  return true;
}

TEST(Differential, RandomPrograms) {
  int64_t pooled = 0;
  for (uint64_t seed = 1; seed <= 600; ++seed) {
    Generator generator(seed);
    const std::vector<Instruction> code = generator.program(12);
    pooled += llvm::count_if(code, [](const Instruction &inst) {
      return std::holds_alternative<isa::VecDrain>(inst);
    });
    if (!comparesEqual(generator, seed, code, {1, 2}))
      return;
  }
  // What follows from several draws must not become rare unnoticed.
  EXPECT_GT(pooled, 10);
}

TEST(Differential, LongPrograms) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    Generator generator(seed);
    if (!comparesEqual(generator, seed, generator.program(60), {1}))
      return;
  }
}

TEST(Differential, WindowsFilledAndDrainedSideBySide) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    Generator generator(seed, "a1");
    const std::vector<Instruction> code = generator.windows();
    if (!comparesEqual(generator, seed, code, {1, 2, 3}))
      return;
  }
}
