// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random instructions, mostly legal, biased to small shapes.

#include "RandomProgram.h"
#include <cstring>

using namespace ashlar;
using namespace ashlar::test;

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

Instruction Generator::unpack() {
  isa::DmaUnpack op;
  op.elemBytes = 1u << between(0, 1);
  op.mantissa = static_cast<uint32_t>(between(3, 8 * op.elemBytes));
  op.srcBase = static_cast<uint64_t>(between(0, 60000));
  op.dstBase = static_cast<uint64_t>(between(0, 16000));
  op.n2 = static_cast<uint32_t>(between(1, 3));
  op.n3 = static_cast<uint32_t>(between(1, 4));
  op.n4 = static_cast<uint32_t>(between(1, 70));
  if (chance(30)) {
    // So few that no runs that the bytes may hold reach beyond the last code.
    op.form = isa::CodeForm::Runs;
    op.unit = static_cast<uint32_t>(between(1, 5));
    op.stored = static_cast<uint32_t>(
        between(0, static_cast<int64_t>(op.n2 * op.n3 * op.n4 >> op.unit)));
    op.zero = static_cast<int32_t>(between(-4, 3));
  }
  if (chance(20)) {
    op.form = isa::CodeForm::Exponents;
    op.mantissa = static_cast<uint32_t>(between(1, 5));
    op.unit =
        op.n4 <= 8 && chance(50) ? 1 : static_cast<uint32_t>(2 * chance(30));
    op.stored = 0;
    op.zero = static_cast<int32_t>(between(-90, 127));
    op.dstBase %= 1024;
  }
  op.dstStride4 = op.elemBytes * (chance(30) ? between(1, 3) : 1);
  op.dstStride3 = chance(50) ? 8192 : op.dstStride4 * op.n4;
  op.dstStride2 = chance(30)   ? 200
                  : chance(50) ? op.dstStride3 * op.n3
                               : 65536 - 3;
  return op;
}

Instruction Generator::registers() {
  isa::DmaCopy op;
  op.elemBytes = 2;
  op.srcMem = chance(50) ? isa::Memory::Sb : isa::Memory::Xr;
  op.dstMem = op.srcMem == isa::Memory::Xr ? isa::Memory::Sb : isa::Memory::Xr;
  const int64_t reg = 2 * between(0, 7), bytes = between(0, 60000);
  op.srcBase =
      static_cast<uint64_t>(op.srcMem == isa::Memory::Xr ? reg : bytes);
  op.dstBase =
      static_cast<uint64_t>(op.dstMem == isa::Memory::Xr ? reg : bytes);
  op.n4 = static_cast<uint32_t>(between(1, 8));
  op.srcStride4 = op.dstStride4 = 2;
  return op;
}

Instruction Generator::dma() {
  if (chance(30))
    return unpack();
  if (chance(20))
    return registers();
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

Instruction Generator::scale() {
  const Shape s = shape();
  int32_t stride[3];
  auto source = [&](auto op, ElemType elements) {
    op.n0 = s.n[0];
    op.n1 = s.n[1];
    op.n2 = s.n[2];
    op.channels = static_cast<uint32_t>(between(1, 20));
    op.type = elements;
    op.mantissa = mantissa();
    op.offset = offset();
    op.clear = chance(50);
    strides(s, bytes(elements, op.mantissa), stride);
    op.stride0 = stride[0];
    op.stride1 = stride[1];
    op.stride2 = stride[2];
    op.tileStride = stride[0] * static_cast<int32_t>(s.n[0]);
    return op;
  };
  const auto lead = static_cast<isa::Lead>(between(0, 1));
  switch (between(0, 3)) {
  case 0: {
    isa::VecStat op = source(isa::VecStat(), ElemType::Bfp);
    op.sr = static_cast<uint32_t>(between(0, 1));
    return op;
  }
  case 1: {
    isa::VecMeasure op =
        source(isa::VecMeasure(), static_cast<ElemType>(between(0, 2)));
    op.xr = xr();
    op.lead = lead;
    return op;
  }
  case 2: {
    isa::XrSelect op;
    op.dst = xr();
    op.sr = static_cast<uint32_t>(between(0, 1));
    op.k = static_cast<uint32_t>(between(0, 255));
    op.mantissa = mantissa();
    op.lead = lead;
    op.rule = static_cast<isa::SelectRule>(between(0, 2));
    return op;
  }
  default:
    isa::XrPick op;
    op.dst = xr();
    op.preferred = xr();
    op.fallback = xr();
    return op;
  }
}

Instruction Generator::map() {
  isa::VecMap op;
  const Shape s = shape();
  op.n0 = s.n[0];
  op.n1 = s.n[1];
  op.n2 = s.n[2];
  op.channels = static_cast<uint32_t>(between(1, chance(30) ? 40 : 8));
  const bool exact = chance(20);
  const bool binary = exact || chance(50);
  op.op = static_cast<isa::Function>(exact    ? between(81, 84)
                                     : binary ? between(64, 80)
                                              : between(0, 24));
  op.aType = exact ? ElemType::Bfp : type();
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
    op.bMode = exact || chance(70) ? isa::BMode::Tensor : isa::BMode::Immediate;
    op.bType = exact || chance(40) ? op.aType : type();
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
  op.dstType = exact || chance(30) ? op.aType : type();
  op.dstMantissa = mantissa();
  op.dstBlock = block();
  op.dstOffset = offset();
  op.dstXr = xr();
  encodeTarget(op, 30, !exact);
  strides(s, bytes(op.dstType, op.dstMantissa), stride);
  op.dstStride0 = stride[0];
  op.dstStride1 = stride[1];
  op.dstStride2 = stride[2];
  op.dstTileStride = stride[0] * static_cast<int32_t>(s.n[0]);
  quantise(op);
  return op;
}

/// Sometimes the steps of quantisation around the function, where legal.
void Generator::quantise(isa::VecMap &op) {
  const bool tensorB = op.bMode == isa::BMode::Tensor;
  auto wide = [](ElemType type) { return type == ElemType::F64; };
  if (static_cast<unsigned>(op.op) >= 81 || wide(op.aType) ||
      wide(op.dstType) || (tensorB && wide(op.bType)) || !chance(50))
    return;
  op.hasScale = chance(30);
  op.hasBias = chance(30);
  op.scaleOffset = offset(), op.biasOffset = offset();
  op.scaleTileStride = static_cast<int32_t>(between(-64, 64));
  op.biasTileStride = static_cast<int32_t>(between(-64, 64));
  op.scaleBroadcastPart = chance(20);
  op.biasBroadcastPart = chance(20);
  op.affine = chance(70);
  op.limited = tensorB && chance(50);
  op.rounded =
      op.dstType >= ElemType::I8 && op.dstType < ElemType::Bool && chance(70);
  op.aScale = number(), op.bScale = number(), op.step = number();
  op.aZero = static_cast<int32_t>(between(-128, 255));
  op.bZero = static_cast<int32_t>(between(-32768, 32767));
  op.zero = static_cast<int32_t>(between(-128, 255));
}

Instruction Generator::reduce() {
  isa::VecReduce op;
  op.kind = static_cast<isa::ReduceKind>(between(0, 8));
  op.selectLast = chance(30);
  op.channels = static_cast<uint32_t>(between(1, 12));
  op.o0 = static_cast<uint32_t>(between(1, 3));
  op.o1 = static_cast<uint32_t>(between(1, 5));
  op.r0 = static_cast<uint32_t>(between(1, 4));
  op.r1 = static_cast<uint32_t>(chance(10) ? between(250, 350) : between(1, 9));
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
  encodeTarget(op, 30, true);
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

/// A zero point of the elements where there may be one.
template <typename Op>
void Generator::zeroPoint(Op &op) {
  if (op.mode != isa::OperandMode::Int || chance(40))
    return;
  if (op.type == ElemType::I8)
    op.zero = static_cast<int32_t>(between(-128, 127));
  if (op.type == ElemType::U8)
    op.zero = static_cast<int32_t>(between(0, 255));
}

static constexpr uint32_t ranges[] = {0, 1, 3, 7, 15};

ElemType Generator::operandType(isa::OperandMode mode) {
  static constexpr ElemType small[] = {
      ElemType::I8, ElemType::U8, ElemType::I16, ElemType::U16, ElemType::Bool};
  if (mode == isa::OperandMode::Bfp)
    return ElemType::Bfp;
  return mode == isa::OperandMode::Int ? small[between(0, 4)]
                                       : static_cast<ElemType>(between(0, 12));
}

isa::PeLoad Generator::arrayLoad() {
  isa::PeLoad load;
  load.mode = chance(70)   ? isa::OperandMode::Bfp
              : chance(70) ? isa::OperandMode::Int
                           : isa::OperandMode::Select;
  load.type = operandType(load.mode);
  zeroPoint(load);
  load.mantissa = mantissa();
  load.range = ranges[between(0, 4)];
  load.xr = xr();
  load.rows = static_cast<uint32_t>(between(1, 8));
  load.part = static_cast<uint32_t>(between(0, 8 - load.rows));
  load.cols = static_cast<uint32_t>(between(1, 4));
  if (load.mode != isa::OperandMode::Select && chance(30))
    load.terms = static_cast<uint32_t>(between(1, 9));
  load.offset = offset();
  load.colStride = static_cast<int32_t>(bytes(load.type, load.mantissa)) +
                   (chance(30) ? static_cast<int32_t>(between(0, 4)) : 0);
  return load;
}

isa::PeMatmul Generator::arrayMatmul(const isa::PeLoad &load) {
  isa::PeMatmul op;
  op.mode = load.mode == isa::OperandMode::Select ? load.mode
            : chance(80)                          ? load.mode
            : load.mode == isa::OperandMode::Bfp  ? isa::OperandMode::Int
                                                  : isa::OperandMode::Bfp;
  op.type = operandType(op.mode);
  zeroPoint(op);
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
    // A tile may begin at a later row of each group.
    op.part = static_cast<uint32_t>(between(0, 8 / op.groups - load.rows));
    op.validW = op.n2;
    op.n2 = (op.n2 + op.groups - 1) / op.groups;
    op.shift = static_cast<int32_t>(between(-3, 3));
    op.skip = chance(50) ? 0 : static_cast<uint32_t>(between(1, 4));
    op.lo2 = std::max(op.lo2, 0);
  }
  return op;
}

isa::ActDrain Generator::arrayDrain(const isa::PeLoad &load,
                                    const isa::PeMatmul &op) {
  int32_t stride[3];
  isa::ActDrain drain;
  drain.mode = op.mode == isa::OperandMode::Select ? isa::DrainMode::Raw64
               : chance(80) ? isa::DrainMode::F32
                            : static_cast<isa::DrainMode>(between(1, 3));
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
  if (drain.mode == isa::DrainMode::Block)
    drain.dstType = ElemType::Bfp;
  else if (drain.mode != isa::DrainMode::F32)
    drain.dstType = static_cast<ElemType>(between(3, 10));
  drain.dstMantissa = mantissa();
  drain.dstBlock = 8u << between(0, 2);
  drain.dstOffset = offset();
  drain.dstXr = xr();
  encodeTarget(drain, 30, true);
  if (drain.mode == isa::DrainMode::Int)
    drain.overflow = static_cast<isa::Overflow>(between(0, 1));
  drain.hasBias = drain.mode != isa::DrainMode::Raw64 && chance(50);
  if (drain.mode == isa::DrainMode::Int && chance(50)) {
    drain.hasScale = true;
    drain.overflow = isa::Overflow::Saturate;
    drain.shift = between(-200, 200);
    drain.function = chance(50) ? isa::Function::Relu : isa::Function::Copy;
  }
  drain.biasAligned =
      drain.hasBias && (drain.mode == isa::DrainMode::Block ||
                        (drain.mode == isa::DrainMode::F32 && chance(40)));
  drain.paramOffset = offset() & ~3u;
  // The columns of several results along dimension 1.
  const uint32_t groups = static_cast<uint32_t>(between(2, 4));
  if (drain.mode != isa::DrainMode::Raw64 && drain.cols % groups == 0 &&
      chance(60)) {
    drain.groupLanes = drain.cols / groups;
    drain.validN1 =
        drain.n1 * groups - static_cast<uint32_t>(between(0, groups - 1));
  }
  if (drain.mode == isa::DrainMode::Block) {
    const isa::Function functions[] = {isa::Function::Copy, isa::Function::Relu,
                                       isa::Function::Clip};
    drain.function = functions[between(0, 2)];
    drain.alpha = number();
    drain.beta = number();
    arrayResidual(drain, op);
    drain.resType = ElemType::Bfp;
  }
  strides({{drain.n0, drain.n1 * (drain.groupLanes ? groups : 1), drain.n2}},
          bytes(drain.dstType, drain.dstMantissa), stride);
  drain.dstStride0 = stride[0];
  drain.dstStride1 = stride[1];
  drain.dstStride2 = stride[2];
  if (drain.mode == isa::DrainMode::F32)
    arrayEpilogue(drain, op);
  if (drain.mode == isa::DrainMode::F32 || drain.mode == isa::DrainMode::Block)
    alongSteps(drain);
  return drain;
}

void Generator::arrayEpilogue(isa::ActDrain &drain, const isa::PeMatmul &op) {
  drain.function = static_cast<isa::Function>(between(0, 26));
  drain.alpha = number();
  drain.beta = number();
  drain.hasScale = chance(50);
  drain.alphaFromParam = chance(20);
  arrayResidual(drain, op);
}

void Generator::arrayResidual(isa::ActDrain &drain, const isa::PeMatmul &op) {
  int32_t stride[3];
  drain.resMode = chance(40);
  drain.resType = type();
  drain.resMantissa = mantissa();
  drain.resOffset = offset();
  const uint32_t groups = drain.groupLanes ? drain.cols / drain.groupLanes : 1;
  strides({{op.n0, op.n1 * groups, op.n2}},
          bytes(drain.resType, drain.resMantissa), stride);
  drain.resStride0 = stride[0];
  drain.resStride1 = stride[1];
  drain.resStride2 = stride[2];
}

/// Blocks along the steps, where there is one run of them.
void Generator::alongSteps(isa::ActDrain &drain) {
  if (drain.n0 == 1 && drain.n1 == 1 && drain.groupLanes == 0 &&
      drain.dstType == ElemType::Bfp && chance(50)) {
    const unsigned size = bytes(drain.dstType, drain.dstMantissa);
    drain.dstOrientation = isa::Orientation::F;
    drain.dstStride2 = static_cast<int32_t>(size);
    drain.dstOffset = drain.dstOffset / (8 * size) * (8 * size);
  }
}

std::vector<Instruction> Generator::array() {
  isa::PeLoad load = arrayLoad();
  isa::PeMatmul op = arrayMatmul(load);
  // Blocks along the free axis, at places of whole elements.
  if (load.mode == isa::OperandMode::Bfp && chance(25)) {
    load.orientation = isa::Orientation::F;
    load.offset &= ~1u;
    load.colStride *= 2;
  }
  if (op.mode == isa::OperandMode::Bfp && op.groups == 1 && chance(25)) {
    op.orientation = isa::Orientation::F;
    op.offset &= ~1;
    op.stride0 &= ~1;
    op.stride1 &= ~1;
    op.stride2 &= ~1;
  }
  const isa::ActDrain drain = arrayDrain(load, op);
  std::vector<Instruction> code = {load, isa::PeSwap(), op};
  if (chance(40)) {
    op.accumulate = true;
    code.push_back(op);
  }
  const bool pools =
      drain.n0 == 1 && drain.psumStride2 == 1 && !drain.resMode &&
      !drain.biasAligned && !drain.paramAlongSteps && drain.groupLanes == 0 &&
      (drain.mode == isa::DrainMode::F32 || drain.mode == isa::DrainMode::Int);
  if (pools && chance(60))
    code.push_back(pooledDrain(drain));
  else
    code.push_back(drain);
  return code;
}
