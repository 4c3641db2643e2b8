// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random loads, streams and drains, and whole programs of them.

#include "Programs.h"
#include "ashlar/Emulator/Emulator.h"
#include "ashlar/Machine/Cycles.h"
#include <algorithm>

using namespace ashlar;
using namespace ashlar::rtl;
using isa::ElemType;
using isa::OperandMode;
using machine::Description;

static uint32_t positive(Dice &dice, int64_t high) {
  return static_cast<uint32_t>(dice.between(1, std::max<int64_t>(high, 1)));
}

static int64_t bytesOf(ElemType type, uint32_t mantissa) {
  switch (type) {
  case ElemType::Bfp:
    return mantissa <= 8 ? 1 : 2;
  case ElemType::I8:
  case ElemType::U8:
  case ElemType::Bool:
    return 1;
  case ElemType::F16:
  case ElemType::Bf16:
  case ElemType::I16:
  case ElemType::U16:
    return 2;
  case ElemType::I64:
  case ElemType::U64:
  case ElemType::F64:
    return 8;
  default:
    return 4;
  }
}

bool rtl::place(Dice &dice, const Loops &loops, int64_t bytes, int64_t room,
                int64_t &offset) {
  int64_t low = 0, high = bytes;
  for (int d = 0; d < 3; ++d) {
    const int64_t reach = int64_t(loops.stride[d]) * (loops.n[d] - 1);
    (reach < 0 ? low : high) += reach;
  }
  if (high - low > room)
    return false;
  const int64_t slots = (room - (high - low)) / bytes;
  offset = -low + bytes * dice.between(0, slots);
  return true;
}

/// Loops whose elements do not overlap, sometimes with gaps.
static Loops drawApart(Dice &dice, const uint32_t n[3], int64_t bytes) {
  Loops loops;
  int64_t span = bytes;
  for (int d = 2; d >= 0; --d) {
    loops.n[d] = n[d];
    loops.stride[d] =
        static_cast<int32_t>(span + (dice.chance(15) ? bytes : 0));
    span = int64_t(loops.stride[d]) * n[d];
  }
  return loops;
}

/// An operand of the array, on some machines often a narrow one.
template <typename Op>
static void drawOperand(Dice &dice, const Description &machine, Op &op) {
  switch (op.mode) {
  case OperandMode::Bfp:
    op.type = ElemType::Bfp;
    op.mantissa =
        dice.chance(50) ? 8 : static_cast<uint32_t>(dice.between(3, 16));
    if (machine.pe.narrowBits && dice.chance(70))
      op.mantissa = static_cast<uint32_t>(
          dice.between(3, static_cast<int64_t>(machine.pe.narrowBits)));
    op.range = static_cast<uint32_t>(dice.of({0, 1, 3, 7, 15}));
    op.xr = static_cast<uint32_t>(dice.between(0, 7));
    if (dice.chance(20))
      op.orientation = isa::Orientation::F;
    return;
  case OperandMode::Int:
    op.type = dice.of({ElemType::I8, ElemType::U8, ElemType::I16, ElemType::U16,
                       ElemType::Bool});
    if (dice.chance(40) && op.type == ElemType::I8)
      op.zero = static_cast<int32_t>(dice.between(-128, 127));
    if (dice.chance(40) && op.type == ElemType::U8)
      op.zero = static_cast<int32_t>(dice.between(0, 255));
    return;
  default:
    op.type = static_cast<ElemType>(dice.between(0, 12));
  }
}

isa::PeLoad rtl::drawLoad(Dice &dice, const Description &machine) {
  isa::PeLoad op;
  op.mode = dice.of({OperandMode::Bfp, OperandMode::Bfp, OperandMode::Int,
                     OperandMode::Select});
  drawOperand(dice, machine, op);
  if (op.mode == OperandMode::Select && dice.chance(40)) {
    op.type = ElemType::Bfp;
    op.mantissa = dice.chance(70) ? 8 : 12;
  }
  const auto rows = static_cast<int64_t>(machine.pe.rows);
  op.rows =
      dice.chance(40) ? static_cast<uint32_t>(rows) : positive(dice, rows);
  op.cols = positive(dice, static_cast<int64_t>(machine.pe.columns));
  op.part = static_cast<uint32_t>(
      dice.between(0, static_cast<int64_t>(machine.sb.partitions) - op.rows));
  if (op.type == ElemType::Bfp && op.mode == OperandMode::Select)
    op.part -= op.part % static_cast<uint32_t>(machine.xmGroup);
  const int64_t bytes = bytesOf(op.type, op.mantissa);
  const Loops loops = {
      {1, 1, op.cols},
      {0, 0,
       static_cast<int32_t>(bytes *
                            (dice.chance(70) ? 1 : dice.between(-3, 5)))}};
  int64_t offset = 0;
  place(dice, loops, bytes, static_cast<int64_t>(machine.sb.bytesPerPartition),
        offset);
  op.offset = static_cast<uint32_t>(offset);
  op.colStride = loops.stride[2];
  if (op.mode != OperandMode::Select && dice.chance(20))
    op.terms = positive(dice, op.rows);
  return op;
}

/// Row groups: lanes of pixels, some of them padding.
static void drawGroups(Dice &dice, const Description &machine,
                       isa::PeMatmul &op, const isa::PeLoad &load) {
  uint64_t most = machine.pe.rows / machine.pe.rowGroupGranularity;
  if (load.pattern)
    most = std::min(most, machine.pe.rows / machine.pe.patternGroup);
  if (op.mode == OperandMode::Select || most < 2 || !dice.chance(45) ||
      op.orientation == isa::Orientation::F ||
      machine.sb.partitions < machine.pe.rows)
    return;
  uint32_t groups = 2;
  while (groups * 2 <= most && dice.chance(50))
    groups *= 2;
  const uint64_t pitch = machine.pe.rows / groups;
  op.groups = groups;
  op.rows = positive(
      dice, static_cast<int64_t>(std::min<uint64_t>(pitch, load.rows)));
  // A tile may begin at a later row of each group, and of a cell.
  op.part = static_cast<uint32_t>(
      dice.between(0, static_cast<int64_t>(pitch - op.rows)) / machine.xmGroup *
      machine.xmGroup);
  op.n2 = positive(dice, 5);
  op.validW = positive(dice, int64_t(op.n2) * groups);
  op.shift = static_cast<int32_t>(dice.between(-2, 4));
  op.skip = !load.pattern && dice.chance(40) ? positive(dice, 4) : 0;
  op.lo2 = static_cast<int32_t>(dice.between(0, 2));
  op.hi2 = static_cast<int32_t>(dice.between(op.lo2, 12));
  op.stride2 = static_cast<int32_t>(bytesOf(op.type, op.mantissa));
}

isa::PeMatmul rtl::drawMatmul(Dice &dice, const Description &machine,
                              const isa::PeLoad &load) {
  isa::PeMatmul op;
  op.mode = load.mode == OperandMode::Select ? OperandMode::Select
            : dice.chance(80)                ? load.mode
            : load.mode == OperandMode::Bfp  ? OperandMode::Int
                                             : OperandMode::Bfp;
  drawOperand(dice, machine, op);
  op.pattern = load.pattern;
  op.narrow = op.mode == OperandMode::Bfp && load.mode == OperandMode::Bfp &&
              machine::isNarrow(machine, op.mantissa, load.mantissa) &&
              dice.chance(75);
  op.rows = load.rows;
  op.cols = dice.chance(80)
                ? load.cols
                : positive(dice, static_cast<int64_t>(machine.pe.columns));
  op.n0 = dice.chance(70) ? 1 : positive(dice, 3);
  op.n1 = dice.chance(50) ? 1 : positive(dice, 4);
  op.n2 = positive(dice, dice.chance(20) ? 30 : 8);
  const int64_t bytes = bytesOf(op.type, op.mantissa);
  auto stride = [&] {
    return static_cast<int32_t>(bytes * dice.between(-2, 7));
  };
  op.stride0 = stride();
  op.stride1 = stride();
  op.stride2 = stride();
  op.part = static_cast<uint32_t>(
      dice.between(0, static_cast<int64_t>(machine.sb.partitions) - op.rows));
  auto window = [&](int32_t &lo, int32_t &hi, uint32_t n) {
    lo = dice.chance(80) ? 0 : static_cast<int32_t>(dice.between(-1, 2));
    hi = dice.chance(80) ? static_cast<int32_t>(n)
                         : static_cast<int32_t>(dice.between(0, n + 1));
  };
  window(op.lo0, op.hi0, op.n0);
  window(op.lo1, op.hi1, op.n1);
  window(op.lo2, op.hi2, op.n2);
  drawGroups(dice, machine, op, load);
  const Loops loops = {{op.n0, op.n1, op.groups > 1 ? 8 : op.n2},
                       {op.stride0, op.stride1, op.stride2}};
  int64_t offset = 0;
  place(dice, loops, bytes, static_cast<int64_t>(machine.sb.bytesPerPartition),
        offset);
  op.offset = static_cast<int32_t>(offset);
  const uint32_t n[3] = {op.n0, op.n1, op.groups > 1 ? op.validW : op.n2};
  const Loops entries = drawApart(dice, n, 1);
  int64_t first = 0;
  place(dice, entries, 1, static_cast<int64_t>(machine.psum.entries()), first);
  op.psum = static_cast<uint32_t>(first);
  op.psumStride0 = entries.stride[0];
  op.psumStride1 = entries.stride[1];
  op.psumStride2 = entries.stride[2];
  op.accumulate = dice.chance(40);
  return op;
}

//===----------------------------------------------------------------------===//
// Drains
//===----------------------------------------------------------------------===//

static float drawNumber(Dice &dice) {
  return static_cast<float>(dice.between(-64, 64)) / 8;
}

/// The result's type, and its block.
static void drawResult(Dice &dice, isa::ActDrain &op) {
  if (op.mode == isa::DrainMode::Int) {
    op.dstType =
        dice.of({ElemType::I8, ElemType::U8, ElemType::I16, ElemType::U16,
                 ElemType::I32, ElemType::U32, ElemType::I64});
    return;
  }
  if (op.mode != isa::DrainMode::Block && dice.chance(50)) {
    op.dstType = static_cast<ElemType>(dice.between(0, 12));
    return;
  }
  op.dstType = ElemType::Bfp;
  op.dstMantissa =
      dice.chance(50) ? 8 : static_cast<uint32_t>(dice.between(3, 16));
  op.dstBlock = static_cast<uint32_t>(dice.of({8, 16, 32}));
  op.dstXr = static_cast<uint32_t>(dice.between(8, 15));
  op.dstXrClear = dice.chance(30);
}

/// Partitions of a result, and results along dimension 1.
static int64_t lanesOf(const isa::ActDrain &op) {
  return op.groupLanes ? op.groupLanes : op.cols;
}
static uint32_t rowsOf(const isa::ActDrain &op) {
  return op.groupLanes ? op.validN1 : op.n1;
}

/// Sometimes several results side by side in the columns, the last step with
/// fewer than the others.
static void drawResultGroups(Dice &dice, isa::ActDrain &op) {
  if (op.mode == isa::DrainMode::Raw64 || !dice.chance(30))
    return;
  const uint32_t groups = positive(dice, op.cols);
  if (op.cols % groups != 0)
    return;
  op.groupLanes = op.cols / groups;
  op.validN1 = (op.n1 - 1) * groups + positive(dice, groups);
}

/// A residual of type `op.resType`.
static void drawResidual(Dice &dice, const Description &machine,
                         isa::ActDrain &op) {
  op.resMode = true;
  if (op.resType == ElemType::Bfp)
    op.resMantissa = static_cast<uint32_t>(dice.between(3, 16));
  const uint32_t n[3] = {op.n0, rowsOf(op), op.n2};
  const int64_t bytes = bytesOf(op.resType, op.resMantissa);
  const Loops loops = drawApart(dice, n, bytes);
  int64_t offset = 0;
  place(dice, loops, bytes, static_cast<int64_t>(machine.sb.bytesPerPartition),
        offset);
  op.resOffset = static_cast<uint32_t>(offset);
  op.resStride0 = loops.stride[0];
  op.resStride1 = loops.stride[1];
  op.resStride2 = loops.stride[2];
  op.resPart = static_cast<uint32_t>(dice.between(
      0, static_cast<int64_t>(machine.sb.partitions) - lanesOf(op)));
}

/// Scale, bias, residual and function of mode f32.
static void drawEpilogue(Dice &dice, const Description &machine,
                         isa::ActDrain &op) {
  using isa::Function;
  op.hasScale = dice.chance(40);
  op.hasBias = dice.chance(50);
  op.biasAligned = op.hasBias && dice.chance(25);
  op.hasExp = dice.chance(30);
  op.function =
      dice.of({Function::Copy, Function::Copy, Function::Relu, Function::Neg,
               Function::Abs, Function::LeakyRelu, Function::Clip,
               Function::HardSigmoid, Function::Sign, Function::Not});
  op.alphaFromParam = dice.chance(20);
  op.alpha = drawNumber(dice);
  op.beta = drawNumber(dice);
  if (!dice.chance(35))
    return;
  op.resType = dice.chance(40) ? ElemType::Bfp
                               : static_cast<ElemType>(dice.between(0, 11));
  // A byte that is neither 0 nor 1 is not a bool, and memory holds any.
  if (op.resType == ElemType::Bool)
    op.resType = ElemType::U8;
  drawResidual(dice, machine, op);
}

static void drawPlace(Dice &dice, const Description &machine,
                      isa::ActDrain &op) {
  const int64_t bytes = bytesOf(op.dstType, op.dstMantissa);
  const uint32_t n[3] = {op.n0, rowsOf(op), op.n2};
  Loops loops = drawApart(dice, n, bytes);
  if (op.dstOrientation == isa::Orientation::F)
    loops.stride[2] = static_cast<int32_t>(bytes);
  // The last bytes of a partition keep the parameter records.
  int64_t offset = 0;
  place(dice, loops, bytes,
        static_cast<int64_t>(machine.sb.bytesPerPartition) - 128, offset);
  int64_t part = dice.between(0, static_cast<int64_t>(machine.sb.partitions) -
                                     lanesOf(op));
  if (op.dstType == ElemType::Bfp)
    part -= part % std::max<int64_t>(8, static_cast<int64_t>(machine.xmGroup));
  if (op.dstOrientation == isa::Orientation::F)
    offset -= offset % (static_cast<int64_t>(machine.xmGroup) * bytes);
  op.dstPart = static_cast<uint32_t>(part);
  op.dstOffset = static_cast<uint32_t>(offset);
  op.dstStride0 = loops.stride[0];
  op.dstStride1 = loops.stride[1];
  op.dstStride2 = loops.stride[2];
}

static bool isIdentity(const isa::PeMatmul &matmul) {
  return matmul.window == isa::Window::Identity;
}

isa::ActDrain rtl::drawDrain(Dice &dice, const Description &machine,
                             const isa::PeLoad &load,
                             const isa::PeMatmul &matmul) {
  isa::ActDrain op;
  op.psum = matmul.psum;
  op.psumStride0 = matmul.psumStride0;
  op.psumStride1 = matmul.psumStride1;
  op.psumStride2 = matmul.psumStride2;
  op.n0 = matmul.n0;
  op.n1 = matmul.n1;
  op.n2 = matmul.groups > 1 ? matmul.validW : matmul.n2;
  op.cols = matmul.cols;
  const bool words = matmul.mode == OperandMode::Select;
  op.mode = words ? isa::DrainMode::Raw64
                  : dice.of({isa::DrainMode::F32, isa::DrainMode::F32,
                             isa::DrainMode::F32, isa::DrainMode::Int,
                             isa::DrainMode::Block, isa::DrainMode::Raw64});
  drawResultGroups(dice, op);
  op.paramPart = 0;
  op.paramOffset = static_cast<uint32_t>(machine.sb.bytesPerPartition - 128 +
                                         16 * dice.between(0, 7));
  op.xrA = static_cast<uint32_t>(dice.between(0, 7));
  op.xrS = static_cast<uint32_t>(dice.between(0, 7));
  op.shift = static_cast<int32_t>(dice.between(-30, 0));
  drawResult(dice, op);
  if (op.mode == isa::DrainMode::Raw64 && op.dstType == ElemType::Bfp) {
    const bool encoded = isIdentity(matmul) && load.type == ElemType::Bfp;
    if (!encoded) {
      op.dstType = ElemType::I64;
      op.dstMantissa = op.dstBlock = op.dstXr = 0;
      op.dstXrClear = false;
    } else {
      op.dstMantissa = load.mantissa;
      op.dstOrientation = load.orientation == isa::Orientation::P
                              ? isa::Orientation::F
                              : isa::Orientation::P;
      op.dstBlock = op.dstXr = 0;
      op.dstXrClear = false;
    }
  }
  if (op.mode == isa::DrainMode::F32) {
    drawEpilogue(dice, machine, op);
    if (op.dstType == ElemType::Bfp && op.groupLanes == 0 && op.n0 == 1 &&
        op.n1 == 1 && dice.chance(40))
      op.dstOrientation = isa::Orientation::F;
  } else if (op.mode == isa::DrainMode::Int) {
    op.hasBias = dice.chance(50);
    op.hasScale = dice.chance(50);
    op.shift = op.hasScale ? static_cast<int32_t>(dice.between(-128, 127)) : 0;
    if (op.hasScale)
      op.function = dice.of({isa::Function::Copy, isa::Function::Relu});
    else if (dice.chance(30))
      op.overflow = isa::Overflow::Wrap;
    if (op.hasScale &&
        (op.dstType == ElemType::I64 || op.dstType == ElemType::U32 ||
         op.dstType == ElemType::I32))
      op.dstType = ElemType::I16;
  } else if (op.mode == isa::DrainMode::Block) {
    op.hasBias = op.biasAligned = dice.chance(40);
    op.hasExp = dice.chance(30);
    op.function = dice.of(
        {isa::Function::Copy, isa::Function::Relu, isa::Function::Clip});
    op.alpha = drawNumber(dice);
    op.beta = drawNumber(dice);
    op.resType = ElemType::Bfp;
    if (dice.chance(40))
      drawResidual(dice, machine, op);
    else
      op.resType = ElemType::F32;
    if (op.groupLanes == 0 && op.n0 == 1 && op.n1 == 1 && dice.chance(30))
      op.dstOrientation = isa::Orientation::F;
  }
  drawPlace(dice, machine, op);
  // A drain may follow the stream directly before it.
  if (matmul.groups == 1)
    op.order = dice.of({isa::DrainOrder::Block, isa::DrainOrder::Block,
                        isa::DrainOrder::Row, isa::DrainOrder::Partition});
  return op;
}
