// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random legal programs: every kernel table and thread count must leave the
// same SB and XM as the naive machine.

#include "NaiveMachine.h"
#include "TestSupport.h"
#include "ashlar/Isa/Text.h"
#include "ashlar/Numerics/Kernels.h"
#include <random>

using namespace ashlar;
using namespace ashlar::test;
using isa::ElemType;
using isa::Instruction;

namespace {

class Generator {
public:
  explicit Generator(uint64_t seed) : random(seed) {
    machine = llvm::cantFail(machine::load("a1-tiny"));
    machine.sb.bytesPerPartition = 8192;
  }

  machine::Description machine;

  int64_t between(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  }
  bool chance(int percent) { return between(1, 100) <= percent; }

  std::vector<uint8_t> image(uint64_t bytes);
  std::vector<uint8_t> cells(uint64_t bytes);
  std::vector<Instruction> program(unsigned length);

private:
  struct Shape {
    uint32_t n[3];
  };
  Shape shape() {
    auto n2 =
        static_cast<uint32_t>(chance(10) ? between(200, 1000) : between(1, 20));
    return {{static_cast<uint32_t>(between(1, 2)),
             static_cast<uint32_t>(between(1, 4)), n2}};
  }
  /// Strides that keep elements apart, sometimes with gaps.
  void strides(const Shape &s, unsigned bytes, int32_t out[3]) {
    int32_t span = static_cast<int32_t>(bytes);
    for (int d = 2; d >= 0; --d) {
      out[d] = span + (chance(25) ? static_cast<int32_t>(between(1, 3)) : 0);
      span = out[d] * static_cast<int32_t>(s.n[d]);
    }
  }
  ElemType type() {
    return chance(40)   ? ElemType::Bfp
           : chance(50) ? ElemType::F32
                        : static_cast<ElemType>(between(0, 12));
  }
  uint32_t mantissa() {
    return static_cast<uint32_t>(chance(50) ? 8 : between(3, 16));
  }
  static unsigned bytes(ElemType type, uint32_t mantissa) {
    if (type == ElemType::Bfp)
      return mantissa <= 8 ? 1 : 2;
    return support::byteSize(static_cast<ElementType>(type));
  }
  uint32_t offset() { return static_cast<uint32_t>(between(0, 8000)); }
  uint32_t xr() { return static_cast<uint32_t>(between(0, 7)); }
  uint32_t block() {
    static constexpr uint32_t blocks[] = {0, 8, 16, 32};
    return blocks[between(0, 3)];
  }
  float number() { return static_cast<float>(between(-16, 16)) / 4; }
  bool legal(const std::vector<Instruction> &code);

  Instruction dma();
  Instruction map();
  Instruction pool();
  Instruction reduce();
  Instruction reduceChannels();
  std::vector<Instruction> array();

  std::mt19937_64 random;
};

} // namespace

std::vector<uint8_t> Generator::image(uint64_t bytes) {
  std::vector<uint8_t> data(bytes);
  for (uint64_t i = 0; i + 4 <= bytes; i += 4) {
    auto bits = std::bit_cast<uint32_t>(number() * number());
    if (chance(20))
      bits = static_cast<uint32_t>(random());
    std::memcpy(&data[i], &bits, 4);
  }
  return data;
}

std::vector<uint8_t> Generator::cells(uint64_t bytes) {
  std::vector<uint8_t> data(bytes);
  for (uint8_t &cell : data)
    cell = static_cast<uint8_t>(chance(5) ? -128 : between(-12, 4));
  return data;
}

Instruction Generator::dma() {
  if (chance(30)) {
    isa::DmaFill op;
    op.elemBytes = 1u << between(0, 3);
    op.dstMem = chance(70) ? isa::Memory::Sb : isa::Memory::Xm;
    op.dstBase = static_cast<uint64_t>(between(0, 16000));
    op.n3 = static_cast<uint32_t>(between(1, 4));
    op.n4 = static_cast<uint32_t>(between(1, 40));
    op.dstStride4 = op.elemBytes + (chance(30) ? between(1, 9) : 0);
    op.dstStride3 = chance(50) ? 8192 : op.dstStride4 * op.n4;
    op.value = random() & 0x7f7f7f7f7f7f7f7f;
    return op;
  }
  isa::DmaCopy op;
  op.queue = static_cast<isa::Queue>(between(0, 3));
  op.elemBytes = 1u << between(0, 3);
  op.srcMem = isa::Memory::Sb;
  op.dstMem = isa::Memory::Sb;
  op.srcBase = static_cast<uint64_t>(between(0, 60000));
  op.dstBase = static_cast<uint64_t>(between(0, 60000));
  op.n2 = static_cast<uint32_t>(between(1, 3));
  op.n3 = static_cast<uint32_t>(between(1, 4));
  op.n4 = static_cast<uint32_t>(between(1, 60));
  op.dstStride4 = op.elemBytes * (chance(30) ? between(1, 3) : 1);
  op.srcStride4 = chance(20) ? 0 : op.elemBytes * between(-1, 2);
  op.dstStride3 = chance(50) ? 8192 : op.dstStride4 * op.n4;
  op.srcStride3 = chance(50) ? 8192 : op.srcStride4 * op.n4;
  op.dstStride2 = op.dstStride3 * op.n3;
  op.srcStride2 = between(0, 100);
  return op;
}

Instruction Generator::map() {
  isa::VecMap op;
  const Shape s = shape();
  op.n0 = s.n[0];
  op.n1 = s.n[1];
  op.n2 = s.n[2];
  op.channels = static_cast<uint32_t>(between(1, chance(30) ? 40 : 8));
  const bool binary = chance(50);
  op.op = static_cast<isa::Function>(binary ? between(64, 80) : between(0, 24));
  op.aType = type();
  op.aMantissa = mantissa();
  op.aOffset = offset();
  op.aTileStride = static_cast<int32_t>(between(-64, 512));
  op.aBroadcastPart = chance(10);
  int32_t stride[3];
  strides(s, bytes(op.aType, op.aMantissa), stride);
  op.aStride0 = chance(20) ? 0 : stride[0];
  op.aStride1 = stride[1];
  op.aStride2 = stride[2];
  if (binary) {
    op.bMode = chance(70) ? isa::BMode::Tensor : isa::BMode::Immediate;
    op.bType = chance(40) ? op.aType : type();
    op.bMantissa = mantissa();
    op.bOffset = offset();
    op.bTileStride = static_cast<int32_t>(between(0, 512));
    op.bBroadcastPart = chance(20);
    strides(s, bytes(op.bType, op.bMantissa), stride);
    op.bStride0 = stride[0];
    op.bStride1 = chance(20) ? 0 : stride[1];
    op.bStride2 = chance(20) ? 0 : stride[2];
  }
  op.alpha = number();
  op.beta = number();
  op.dstType = chance(30) ? op.aType : type();
  op.dstMantissa = mantissa();
  op.dstBlock = block();
  op.dstOffset = offset();
  op.dstXr = xr();
  op.dstXrClear = chance(50);
  strides(s, bytes(op.dstType, op.dstMantissa), stride);
  op.dstStride0 = stride[0];
  op.dstStride1 = stride[1];
  op.dstStride2 = stride[2];
  op.dstTileStride = stride[0] * static_cast<int32_t>(s.n[0]);
  return op;
}

Instruction Generator::pool() {
  isa::VecPool op;
  op.kind = static_cast<isa::PoolKind>(between(0, 2));
  op.channels = static_cast<uint32_t>(between(1, 17));
  op.srcType = type();
  op.srcMantissa = mantissa();
  op.srcOffset = offset();
  op.inD = static_cast<int32_t>(between(1, 2));
  op.inH = static_cast<int32_t>(between(1, 8));
  op.inW = static_cast<int32_t>(between(1, 12));
  const auto size = static_cast<int32_t>(bytes(op.srcType, op.srcMantissa));
  op.srcStrideW = size * static_cast<int32_t>(between(1, 2));
  op.srcStrideH = op.srcStrideW * op.inW;
  op.srcStrideD = op.srcStrideH * op.inH;
  op.srcTileStride = op.srcStrideD * op.inD;
  auto small = [&](int64_t most) {
    return static_cast<uint32_t>(between(1, most));
  };
  op.outD = small(2);
  op.outH = small(5);
  op.outW = small(7);
  op.kD = small(2);
  op.kH = small(3);
  op.kW = small(3);
  op.sD = small(2);
  op.sH = small(3);
  op.sW = small(3);
  op.dD = small(2);
  op.dH = small(2);
  op.dW = small(2);
  op.pD = static_cast<int32_t>(between(-1, 1));
  op.pH = static_cast<int32_t>(between(-2, 2));
  op.pW = static_cast<int32_t>(between(-2, 2));
  op.cloH = static_cast<int32_t>(between(-2, 0));
  op.cloW = static_cast<int32_t>(between(-2, 0));
  op.chiD = op.inD;
  op.chiH = op.inH + static_cast<int32_t>(between(0, 1));
  op.chiW = op.inW + static_cast<int32_t>(between(0, 1));
  op.dstType = type();
  op.dstMantissa = mantissa();
  op.dstBlock = block();
  op.dstOffset = offset();
  op.dstXr = xr();
  op.dstXrClear = chance(50);
  int32_t stride[3];
  strides({{op.outD, op.outH, op.outW}}, bytes(op.dstType, op.dstMantissa),
          stride);
  op.dstStrideD = stride[0];
  op.dstStrideH = stride[1];
  op.dstStrideW = stride[2];
  op.dstTileStride = stride[0] * static_cast<int32_t>(op.outD);
  return op;
}

Instruction Generator::reduce() {
  isa::VecReduce op;
  op.kind = static_cast<isa::ReduceKind>(between(0, 8));
  op.selectLast = chance(30);
  op.channels = static_cast<uint32_t>(between(1, 12));
  op.o0 = static_cast<uint32_t>(between(1, 3));
  op.o1 = static_cast<uint32_t>(between(1, 5));
  op.r0 = static_cast<uint32_t>(between(1, 4));
  op.r1 = static_cast<uint32_t>(between(1, 9));
  op.srcType = type();
  op.srcMantissa = mantissa();
  op.srcOffset = offset();
  op.srcTileStride = static_cast<int32_t>(between(0, 300));
  op.srcStrideO0 = static_cast<int32_t>(between(0, 60));
  op.srcStrideO1 = static_cast<int32_t>(between(0, 60));
  op.srcStrideR0 = static_cast<int32_t>(between(-30, 60));
  op.srcStrideR1 = chance(50)
                       ? static_cast<int32_t>(bytes(op.srcType, op.srcMantissa))
                       : static_cast<int32_t>(between(0, 20));
  op.dstType = type();
  op.dstMantissa = mantissa();
  op.dstBlock = block();
  op.dstOffset = offset();
  op.dstXr = xr();
  op.dstXrClear = chance(50);
  op.dstStrideO1 = static_cast<int32_t>(bytes(op.dstType, op.dstMantissa));
  op.dstStrideO0 = op.dstStrideO1 * static_cast<int32_t>(op.o1);
  op.dstTileStride = op.dstStrideO0 * static_cast<int32_t>(op.o0);
  return op;
}

Instruction Generator::reduceChannels() {
  isa::VecReduceChannels op;
  const Shape s = shape();
  op.kind = static_cast<isa::ReduceKind>(between(0, 8));
  op.selectLast = chance(30);
  op.channels = static_cast<uint32_t>(between(1, 20));
  op.n0 = s.n[0];
  op.n1 = s.n[1];
  op.n2 = s.n[2];
  op.srcType = type();
  op.srcMantissa = mantissa();
  op.srcOffset = offset();
  op.srcTileStride = static_cast<int32_t>(between(0, 300));
  int32_t stride[3];
  strides(s, bytes(op.srcType, op.srcMantissa), stride);
  op.srcStride0 = stride[0];
  op.srcStride1 = stride[1];
  op.srcStride2 = stride[2];
  op.dstType = type();
  op.dstMantissa = mantissa();
  op.dstBlock = block();
  op.dstPart =
      op.dstType == ElemType::Bfp ? 0 : static_cast<uint32_t>(between(0, 7));
  op.dstOffset = offset();
  op.dstXr = xr();
  op.dstXrClear = chance(50);
  strides(s, bytes(op.dstType, op.dstMantissa), stride);
  op.dstStride0 = stride[0];
  op.dstStride1 = stride[1];
  op.dstStride2 = stride[2];
  return op;
}

std::vector<Instruction> Generator::array() {
  static constexpr uint32_t ranges[] = {0, 1, 3, 7, 15};
  static constexpr ElemType small[] = {
      ElemType::I8, ElemType::U8, ElemType::I16, ElemType::U16, ElemType::Bool};
  isa::PeLoad load;
  load.mode = chance(70)   ? isa::OperandMode::Bfp
              : chance(70) ? isa::OperandMode::Int
                           : isa::OperandMode::Select;
  auto operandType = [&](isa::OperandMode mode) {
    if (mode == isa::OperandMode::Bfp)
      return ElemType::Bfp;
    return mode == isa::OperandMode::Int
               ? small[between(0, 4)]
               : static_cast<ElemType>(between(0, 12));
  };
  load.type = operandType(load.mode);
  load.mantissa = mantissa();
  load.range = ranges[between(0, 4)];
  load.xr = xr();
  load.rows = static_cast<uint32_t>(between(1, 8));
  load.part = static_cast<uint32_t>(between(0, 8 - load.rows));
  load.cols = static_cast<uint32_t>(between(1, 4));
  load.offset = offset();
  load.colStride = static_cast<int32_t>(bytes(load.type, load.mantissa)) +
                   (chance(30) ? static_cast<int32_t>(between(0, 4)) : 0);
  isa::PeMatmul op;
  op.mode = load.mode == isa::OperandMode::Select ? load.mode
            : chance(80)                          ? load.mode
            : load.mode == isa::OperandMode::Bfp  ? isa::OperandMode::Int
                                                  : isa::OperandMode::Bfp;
  op.type = operandType(op.mode);
  op.mantissa = mantissa();
  op.range = ranges[between(0, 4)];
  op.xr = xr();
  op.rows = load.rows;
  op.cols = load.cols;
  op.part = static_cast<uint32_t>(between(0, 8 - load.rows));
  op.offset = static_cast<int32_t>(between(-20, 8000));
  op.n0 = static_cast<uint32_t>(between(1, 2));
  op.n1 = static_cast<uint32_t>(between(1, 7));
  op.n2 = static_cast<uint32_t>(between(1, 9));
  int32_t stride[3];
  strides({{op.n0, op.n1, op.n2}}, bytes(op.type, op.mantissa), stride);
  op.stride0 = stride[0];
  op.stride1 = chance(30) ? static_cast<int32_t>(between(0, 30)) : stride[1];
  op.stride2 = stride[2] * static_cast<int32_t>(between(1, 2));
  strides({{op.n0, op.n1, op.n2}}, 1, stride);
  op.psumStride0 = stride[0];
  op.psumStride1 = stride[1];
  op.psumStride2 = stride[2];
  auto window = [&](uint32_t n, int32_t &lo, int32_t &hi) {
    lo = chance(60) ? 0 : static_cast<int32_t>(between(-1, 2));
    hi = static_cast<int32_t>(n) -
         (chance(60) ? 0 : static_cast<int32_t>(between(-1, 2)));
  };
  window(op.n0, op.lo0, op.hi0);
  window(op.n1, op.lo1, op.hi1);
  window(op.n2, op.lo2, op.hi2);
  if (load.rows <= 4 && chance(40) && op.mode != isa::OperandMode::Select) {
    // Row groups of 4 or 2 rows; the results are n2 neighbours as before.
    op.groups = load.rows <= 2 && chance(50) ? 4 : 2;
    op.part = 0;
    op.validW = op.n2;
    op.n2 = (op.n2 + op.groups - 1) / op.groups;
    op.shift = static_cast<int32_t>(between(-3, 3));
    op.lo2 = std::max(op.lo2, 0);
  }
  isa::ActDrain drain;
  drain.mode = op.mode == isa::OperandMode::Select ? isa::DrainMode::Raw64
               : chance(80) ? isa::DrainMode::F32
                            : static_cast<isa::DrainMode>(between(1, 2));
  drain.n0 = op.n0;
  drain.n1 = op.n1;
  drain.n2 = op.groups > 1 ? op.validW : op.n2;
  drain.psumStride0 = op.psumStride0;
  drain.psumStride1 = op.psumStride1;
  drain.psumStride2 = op.psumStride2;
  drain.cols = op.cols;
  drain.xrA = op.xr;
  drain.xrS = load.xr;
  drain.shift = -static_cast<int32_t>(op.range + load.range);
  drain.dstType = type();
  if (drain.mode != isa::DrainMode::F32)
    drain.dstType = static_cast<ElemType>(between(3, 10));
  drain.dstMantissa = mantissa();
  drain.dstBlock = 8u << between(0, 2);
  drain.dstOffset = offset();
  drain.dstXr = xr();
  drain.dstXrClear = chance(50);
  strides({{drain.n0, drain.n1, drain.n2}},
          bytes(drain.dstType, drain.dstMantissa), stride);
  drain.dstStride0 = stride[0];
  drain.dstStride1 = stride[1];
  drain.dstStride2 = stride[2];
  if (drain.mode == isa::DrainMode::F32) {
    drain.function = static_cast<isa::Function>(between(0, 24));
    drain.alpha = number();
    drain.beta = number();
    drain.hasScale = chance(50);
    drain.hasBias = chance(50);
    drain.alphaFromParam = chance(20);
    drain.paramOffset = offset() & ~3u;
    drain.resMode = chance(40);
    drain.resType = type();
    drain.resMantissa = mantissa();
    drain.resOffset = offset();
    strides({{op.n0, op.n1, op.n2}}, bytes(drain.resType, drain.resMantissa),
            stride);
    drain.resStride0 = stride[0];
    drain.resStride1 = stride[1];
    drain.resStride2 = stride[2];
  }
  std::vector<Instruction> code = {load, isa::PeSwap(), op};
  if (chance(40)) {
    op.accumulate = true;
    code.push_back(op);
  }
  code.push_back(drain);
  return code;
}

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
  program.semaphores = 100;
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
    switch (between(0, 6)) {
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

static void comparePrograms(uint64_t firstSeed, unsigned count) {
  for (uint64_t seed = firstSeed; seed < firstSeed + count; ++seed) {
    Generator generator(seed);
    std::vector<Instruction> code = generator.program(12);
    container::Program program = makeProgram(generator.machine, code);
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
      for (unsigned threads : {1u, 2u}) {
        emulator::Options options;
        options.kernels = table->name.str();
        options.threads = threads;
        if (runProgram(program, inputs, options) != expected) {
          ADD_FAILURE() << "seed " << seed << ", kernels " << options.kernels
                        << ", threads " << threads << ": "
                        << firstDifference(generator.machine, code, inputs,
                                           options);
          return;
        }
      }
  }
}

TEST(Differential, RandomPrograms) { comparePrograms(1, 150); }
