// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks of single instructions.

#include "Checks.h"
#include "../State/TensorView.h"
#include "../State/Words.h"
#include "FieldRules.h"
#include "WordChecks.h"
#include "ashlar/Isa/PooledDrain.h"
#include "ashlar/Partition/Compress.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

using namespace ashlar;
using namespace ashlar::emulator;
using isa::ElemType;
using isa::OperandMode;
using machine::Description;

static std::string typeName(ElemType type) { return isa::name(type).str(); }

//===- Shared rules -------------------------------------------------------===//

Result emulator::checkChannels(const char *what, uint64_t part,
                               uint64_t channels, bool broadcast,
                               const Description &machine) {
  if (part >= machine.sb.partitions)
    return outside("{} starts at partition {}, the machine has {}", what, part,
                   machine.sb.partitions);
  if (!broadcast && part > 0 && part + channels > machine.sb.partitions)
    return bad("{} has {} channels from partition {}: a tensor of several "
               "channel tiles must start at partition 0",
               what, channels, part);
  return std::nullopt;
}

static Result checkEncoded(const isa::TensorOperand &result,
                           const Description &machine) {
  if (!result.encoded())
    return std::nullopt;
  if (Result finding = checkFormat(result.what, result.type, result.mantissa))
    return finding;
  if (result.block % machine.xmGroup != 0)
    return bad("block length {} is not a multiple of the {} partitions of an "
               "exponent cell",
               result.block, machine.xmGroup);
  const uint64_t unit = std::max<uint64_t>(8, machine.xmGroup);
  if (result.part % unit != 0)
    return bad("an encoded tensor starts at partition {}, expected a multiple "
               "of {}",
               result.part, unit);
  return std::nullopt;
}

/// Whether no element of a tensor of several channel tiles is named twice.
static bool isDistinct(const isa::TensorOperand &tensor,
                       const Description &machine) {
  isa::Dims loops = tensor.loops;
  loops.push_back(
      {(tensor.channels + machine.sb.partitions - 1) / machine.sb.partitions,
       tensor.tileStride});
  return isInjective(loops, tensor.bytes());
}

namespace {

/// The rules of every tensor of a VEC instruction, operand by operand.
class TensorChecker : public isa::OperandVisitor<TensorChecker> {
public:
  explicit TensorChecker(const Description &machine) : machine(machine) {}

  void tensor(const isa::TensorOperand &operand) {
    if (!finding)
      finding = operand.writes() ? checkResult(operand) : checkSource(operand);
  }

  Result finding;

private:
  /// "A", but "the source".
  static std::string subject(const isa::TensorOperand &operand) {
    return llvm::StringRef(operand.what).size() == 1
               ? operand.what
               : fmt::format("the {}", operand.what);
  }

  Result checkSource(const isa::TensorOperand &source) const {
    if (Result found = checkFormat(source.what, source.type, source.mantissa))
      return found;
    return checkChannels(subject(source).c_str(), source.part, source.channels,
                         source.broadcastPart, machine);
  }

  Result checkResult(const isa::TensorOperand &result) const {
    if (Result found = checkChannels(subject(result).c_str(), result.part,
                                     result.channels, false, machine))
      return found;
    if (Result found = checkEncoded(result, machine))
      return found;
    if (!isDistinct(result, machine))
      return bad("the strides of the {} let its elements overlap", result.what);
    return std::nullopt;
  }

  const Description &machine;
};

} // namespace

template <typename Op>
static Result checkTensors(const Op &op, const Description &machine) {
  TensorChecker checker(machine);
  visitOperands(op, checker);
  return checker.finding;
}

//===- Instructions -------------------------------------------------------===//

static Result check(const isa::SemWait &, const Description &) {
  return std::nullopt;
}
static Result check(const isa::SemSignal &, const Description &) {
  return std::nullopt;
}
static Result check(const isa::PeSwap &, const Description &) {
  return std::nullopt;
}
// Register numbers show in the footprint.
static Result check(const isa::XrSet &, const Description &) {
  return std::nullopt;
}
static Result check(const isa::XrMerge &, const Description &) {
  return std::nullopt;
}

static Result checkRangeOf(unsigned mantissa) {
  if (mantissa < 3)
    return bad("mantissa is {}, expected 3 to 16 bits", mantissa);
  return std::nullopt;
}
static Result check(const isa::XrSelect &op, const Description &) {
  return checkRangeOf(op.mantissa);
}
static Result check(const isa::XrPick &, const Description &) {
  return std::nullopt;
}
static Result check(const isa::XrPredict &op, const Description &) {
  auto inHistory = [&](uint32_t xr) {
    return xr >= op.history && xr < op.history + 2 + 2 * op.depth;
  };
  if (inHistory(op.dst) || inHistory(op.observed))
    return bad("register {} is part of the history from {} on",
               inHistory(op.dst) ? op.dst : op.observed, op.history);
  if (op.dst == op.observed)
    return bad("dst and observed are both register {}", op.dst);
  return checkRangeOf(op.mantissa);
}

Result emulator::checkRegisters(const isa::LinearOperand &side) {
  if (side.mem != isa::Memory::Xr)
    return std::nullopt;
  if (side.bytes != 2)
    return bad("elements of {} bytes in xr, expected 2", side.bytes);
  if (side.base % 2 != 0)
    return bad("{} address {} in xr is odd", side.what, side.base);
  for (const isa::AccessDim &loop : side.loops)
    if (loop.stride % 2 != 0)
      return bad("{} stride {} in xr is odd", side.what, loop.stride);
  return std::nullopt;
}

static Result checkMemory(const char *what, isa::Memory memory) {
  if (memory == isa::Memory::Fmu || memory == isa::Memory::Wm)
    return bad("{} memory is {}, expected dram, sb, xm or xr", what,
               isa::name(memory).str());
  return std::nullopt;
}

static Result check(const isa::DmaCopy &op, const Description &machine) {
  if (Result finding = checkMemory("source", op.srcMem))
    return finding;
  const bool registers =
      op.srcMem == isa::Memory::Xr || op.dstMem == isa::Memory::Xr;
  const isa::Memory other =
      op.srcMem == isa::Memory::Xr ? op.dstMem : op.srcMem;
  if (registers && other != isa::Memory::Dram && other != isa::Memory::Sb)
    return bad("from {} to {}: xr exchanges with dram and sb only",
               isa::name(op.srcMem).str(), isa::name(op.dstMem).str());
  if (Result finding = checkRegisters(operandSrc(op)))
    return finding;
  // Streams come from constants: then the loader knows every coefficient.
  if (op.dstMem == isa::Memory::Wm && op.srcMem == isa::Memory::Dram)
    return checkDma(op, machine);
  if (Result finding = checkMemory("destination", op.dstMem))
    return finding;
  return checkDma(op, machine);
}

static Result check(const isa::DmaFill &op, const Description &machine) {
  if (Result finding = checkMemory("destination", op.dstMem))
    return finding;
  return checkDma(op, machine);
}

static Result check(const isa::DmaUnpack &op, const Description &machine) {
  const bool exponents = op.form == isa::CodeForm::Exponents;
  const uint32_t least = exponents ? 1 : 3;
  const uint32_t most =
      exponents ? numerics::kMostExponentBits : 8 * op.elemBytes;
  if (op.mantissa < least || op.mantissa > most)
    return bad("codes of {} bits in elements of {} bytes, expected {} to {}",
               op.mantissa, op.elemBytes, least, most);
  if (Result finding = checkSparseCodes(op, machine))
    return finding;
  return checkDma(op, machine);
}

static Result checkIndexType(ElemType type) {
  if (type != ElemType::I32 && type != ElemType::I64)
    return bad("indices of type {}, expected i32 or i64", typeName(type));
  return std::nullopt;
}

static Result check(const isa::DmaGather &op, const Description &machine) {
  if (Result finding = checkIndexType(op.indexType))
    return finding;
  return checkDma(op, machine);
}

static Result check(const isa::DmaPut &op, const Description &machine) {
  if (Result finding = checkIndexType(op.indexType))
    return finding;
  if (op.srcMem != isa::Memory::Dram && op.srcMem != isa::Memory::Sb)
    return bad("source memory is {}, expected dram or sb",
               isa::name(op.srcMem).str());
  return checkDma(op, machine);
}

/// The operand of the array as its fields describe it.
template <typename Op>
static Result checkOperand(const Op &op, const Description &machine) {
  if (op.rows > machine.pe.rows)
    return outside("{} rows, the array has {}", op.rows, machine.pe.rows);
  if (op.cols > machine.pe.columns)
    return outside("{} columns, the array has {}", op.cols, machine.pe.columns);
  if (Result finding = checkOrientation(op, machine))
    return finding;
  if (op.mode == OperandMode::Bfp) {
    if (!isa::isBlock(op.type))
      return bad("mode bfp with elements of type {}", typeName(op.type));
    if (!llvm::is_contained({0u, 1u, 3u, 7u, 15u}, op.range))
      return bad("range is {}, expected 0, 1, 3, 7 or 15 octaves", op.range);
    if (Result finding = checkFormat("operand", op.type, op.mantissa))
      return finding;
  }
  if (op.mode == OperandMode::Int) {
    const bool small = op.type == ElemType::I8 || op.type == ElemType::U8 ||
                       op.type == ElemType::I16 || op.type == ElemType::U16 ||
                       op.type == ElemType::Bool;
    if (!small)
      return bad("mode int with elements of type {}, expected integers of 8 or "
                 "16 bits",
                 typeName(op.type));
  }
  return checkZero(op.mode, op.type, op.zero);
}

static Result check(const isa::PeLoad &op, const Description &machine) {
  if (Result finding = checkOperand(op, machine))
    return finding;
  if (Result finding = checkPattern(op, machine))
    return finding;
  if (op.terms && op.mode != isa::OperandMode::Bfp &&
      op.mode != isa::OperandMode::Int)
    return bad("{} terms in mode {}", op.terms, isa::name(op.mode).str());
  return checkFormat("operand", op.type, op.mantissa);
}

/// Row groups divide the array evenly; what belongs to them is zero without.
static Result checkGroups(const isa::PeMatmul &op, const Description &machine) {
  if (op.groups == 1) {
    if (op.shift != 0 || op.validW != 0 || op.skip != 0)
      return bad("shift {}, {} valid results and {} pixels left out without "
                 "row groups",
                 op.shift, op.validW, op.skip);
    return std::nullopt;
  }
  if (op.pattern && op.skip != 0)
    return bad("{} pixels left out through N:M weights", op.skip);
  if (machine.pe.rows % op.groups != 0 ||
      machine.pe.rows / op.groups % machine.pe.rowGroupGranularity != 0)
    return bad("{} row groups, an array of {} rows divides into groups of "
               "multiples of {} rows",
               op.groups, machine.pe.rows, machine.pe.rowGroupGranularity);
  const uint64_t pitch = machine.pe.rows / op.groups;
  if (op.rows > pitch)
    return bad("{} rows in row groups of {}", op.rows, pitch);
  const uint64_t last = op.part + (op.groups - 1) * pitch + op.rows;
  if (last > machine.sb.partitions)
    return outside("row groups of {} rows, {} partitions apart, from "
                   "partition {}",
                   op.rows, pitch, op.part);
  if (holdsWords(op.mode))
    return bad("{} row groups in mode {}", op.groups, isa::name(op.mode).str());
  if (op.lo2 < 0)
    return bad("pixels from {} on, expected none before 0", op.lo2);
  if (op.validW == 0 || op.validW > uint64_t(op.n2) * op.groups)
    return bad("{} valid results, {} steps of {} row groups give {}", op.validW,
               op.n2, op.groups, uint64_t(op.n2) * op.groups);
  return std::nullopt;
}

/// Cells multiply two moving mantissas at a time only if these are narrow.
static Result checkNarrow(const isa::PeMatmul &op, const Description &machine) {
  if (!op.narrow)
    return std::nullopt;
  if (machine.pe.narrowBits == 0)
    return bad(
        "narrow operands, the array of machine {} multiplies one element "
        "at a time (pe.narrow_bits is 0)",
        machine.name);
  if (op.mode != OperandMode::Bfp)
    return bad("narrow operands in mode {}", isa::name(op.mode).str());
  if (op.mantissa > machine.pe.narrowBits)
    return bad("narrow operands of {} bits, expected at most pe.narrow_bits {}",
               op.mantissa, machine.pe.narrowBits);
  return std::nullopt;
}

static Result check(const isa::PeMatmul &op, const Description &machine) {
  if (Result finding = checkGroups(op, machine))
    return finding;
  if (Result finding = checkNarrow(op, machine))
    return finding;
  if (Result finding = checkPattern(op, machine))
    return finding;
  if (op.pattern && machine.pe.rows / op.groups % machine.pe.patternGroup != 0)
    return bad("N:M weights in row groups of {} rows, expected a multiple of "
               "pe.pattern_group {}",
               machine.pe.rows / op.groups, machine.pe.patternGroup);
  if (!isInjective(operandPsum(op).loops, 1))
    return bad("the PSUM strides let entries overlap");
  if (op.mode == OperandMode::Select && isa::isBlock(op.type))
    return bad("encoded elements select words");
  if (Result finding = checkWindow(op))
    return finding;
  return checkOperand(op, machine);
}

/// A given exponent is for encoded results only, and is not merged.
template <typename Op>
static Result checkGivenExponent(const Op &op, bool integer) {
  if (op.cellFromXr && !isa::isBlock(op.dstType))
    return bad("an exponent is given for a result of type {}",
               typeName(op.dstType));
  if (op.cellFromXr && op.dstXrClear && !op.keepOwn)
    return bad("register {} gives the exponent and is cleared", op.dstXr);
  if ((op.keepOwn || op.repair) && !op.cellFromXr)
    return bad("blocks keep their own exponents without a given one");
  if (op.keepOwn && op.ownXr == op.dstXr)
    return bad("register {} gives the exponent and collects others", op.dstXr);
  if (op.repair && op.overflow == isa::Overflow::Wrap)
    return bad("blocks beyond the given exponent are repaired and wrap");
  if (op.overflow == isa::Overflow::Wrap && !op.cellFromXr && !integer)
    return bad("overflow wraps without a given exponent");
  return std::nullopt;
}

static Result check(const isa::ActDrain &op, const Description &machine) {
  if (Result finding = checkGivenExponent(op, op.mode == isa::DrainMode::Int))
    return finding;
  if (Result finding = checkCluster(op, machine))
    return finding;
  if (op.typed && op.mode != isa::DrainMode::Raw64)
    return bad("typed words in drain mode {}", isa::name(op.mode).str());
  if (Result finding = checkBlocksAlong(op, machine))
    return finding;
  if (op.biasAligned && (!op.hasBias || op.mode == isa::DrainMode::Int))
    return bad("an aligned bias needs a bias and mode f32 or block");
  const isa::TensorOperand result = operandDst(op);
  if (!op.unstored && !isInjective(result.loops, result.bytes()))
    return bad("the strides of the result let its elements overlap");
  if (op.mode == isa::DrainMode::Block) {
    const Result finding = checkBlockFields(op);
    return finding ? finding : checkEncoded(result, machine);
  }
  if (op.mode == isa::DrainMode::Raw64)
    if (Result finding = checkWordDrain(op, machine); finding || !op.typed)
      return finding;
  if (op.mode == isa::DrainMode::F32 || op.typed) {
    if (isa::isBlock(op.dstType) && op.dstBlock == 0)
      return bad("an encoded result needs a block length");
    if (op.resMode || op.typed)
      if (Result finding = checkFormat("residual", op.resType, op.resMantissa))
        return finding;
    return checkEncoded(operandDst(op), machine);
  }
  const bool requantises = op.hasScale &&
                           op.overflow == isa::Overflow::Saturate &&
                           (op.function == isa::Function::Copy ||
                            op.function == isa::Function::Relu);
  if (op.hasExp || op.alphaFromParam || op.resMode ||
      (!requantises && (op.hasScale || op.function != isa::Function::Copy)))
    return bad("an integer drain has no epilogue but its bias and a scale");
  if (!isInteger(op.dstType))
    return bad("drain mode {} with a result of type {}",
               isa::name(op.mode).str(), typeName(op.dstType));
  return std::nullopt;
}

static bool isBlockFunction(isa::Function function) {
  return function >= isa::Function::BlockAdd &&
         function <= isa::Function::BlockDiv;
}

/// The steps before and after the function of vec.map.
static Result checkQuantised(const isa::VecMap &op) {
  if (op.limited && op.bMode != isa::BMode::Tensor)
    return bad("limits of a function of one operand");
  if (op.rounded && !isInteger(op.dstType))
    return bad("rounded results of type {}", typeName(op.dstType));
  const bool wide =
      op.aType == ElemType::F64 || op.dstType == ElemType::F64 ||
      (op.bMode == isa::BMode::Tensor && op.bType == ElemType::F64);
  if ((op.hasScale || op.hasBias) && (wide || isBlockFunction(op.op)))
    return bad("a scale or a bias before {}",
               wide ? "binary64" : isa::name(op.op).str());
  if ((op.affine || op.limited || op.rounded) &&
      (wide || isBlockFunction(op.op)))
    return bad("steps of quantisation around {}",
               wide ? "binary64" : isa::name(op.op).str());
  return std::nullopt;
}

static Result check(const isa::VecMap &op, const Description &machine) {
  if (Result finding = checkQuantised(op))
    return finding;
  if (Result finding = checkGivenExponent(op, false))
    return finding;
  if (isBlockFunction(op.op) &&
      (!isa::isBlock(op.aType) || op.bMode != isa::BMode::Tensor ||
       !isa::isBlock(op.bType) || !isa::isBlock(op.dstType)))
    return bad("function {} needs encoded A, B and result",
               isa::name(op.op).str());
  const bool binary = static_cast<unsigned>(op.op) >= 64;
  if (binary != (op.bMode != isa::BMode::None))
    return bad("function {} {} a second operand", isa::name(op.op).str(),
               binary ? "needs" : "has no place for");
  return checkTensors(op, machine);
}

/// More results times window positions than this no network needs; it keeps
/// the run time of hostile programs in proportion to their size.
static constexpr uint64_t maxWindowWork = uint64_t(1) << 32;

static Result checkWork(uint64_t window, uint64_t results,
                        const Description &machine) {
  if (results > machine.sb.bytesPerPartition ||
      window > maxWindowWork / results)
    return bad("{} window positions for each of {} results", window, results);
  return std::nullopt;
}

/// Entries that a drain would store as values, and the windows of these.
template <typename Op>
static Result checkPooled(const Op &op, const Description &machine) {
  if (op.mode != isa::DrainMode::F32 && op.mode != isa::DrainMode::Int)
    return bad("pooled entries in drain mode {}, expected f32 or int",
               isa::name(op.mode).str());
  // The rules of the drain hold for the entries: what it would store is the
  // value.
  if (Result finding = check(isa::entriesDrain(op), machine))
    return finding;
  if (Result finding = checkFormat("entry", op.srcType, op.srcMantissa))
    return finding;
  if (isa::isBlock(op.dstType) && op.dstBlock == 0)
    return bad("an encoded result needs a block length");
  if (Result finding = checkWork(uint64_t(op.kH) * op.kW,
                                 uint64_t(op.outH) * op.outW, machine))
    return finding;
  return checkTensors(op, machine);
}

static Result check(const isa::VecPool &op, const Description &machine) {
  if (op.inD < 1 || op.inH < 1 || op.inW < 1)
    return bad("the source is {}x{}x{}, expected extents of at least 1", op.inD,
               op.inH, op.inW);
  if (Result finding =
          checkWork(uint64_t(op.kD) * op.kH * op.kW,
                    uint64_t(op.outD) * op.outH * op.outW, machine))
    return finding;
  if (Result finding = checkGivenExponent(op, false))
    return finding;
  return checkTensors(op, machine);
}

static Result check(const isa::VecDrain &op, const Description &machine) {
  if (machine.vec.psumLanes == 0)
    return bad("the vector unit of machine {} does not read PSUM "
               "(vec.psum_lanes is 0)",
               machine.name);
  if (uint64_t(op.inH) * op.inW > machine.psum.entries())
    return bad("{} entries, PSUM has {}", uint64_t(op.inH) * op.inW,
               machine.psum.entries());
  return checkPooled(op, machine);
}

static Result check(const isa::ActPool &op, const Description &machine) {
  if (Result finding = checkCluster(op, machine))
    return finding;
  return checkPooled(op, machine);
}

static Result check(const isa::VecReduce &op, const Description &machine) {
  // Beyond 2^24 an index is no longer exact in binary32.
  const uint64_t reduced = uint64_t(op.r0) * op.r1;
  if (reduced > uint64_t(1) << 24)
    return bad("{} elements are reduced into one, at most 2^24 may be",
               reduced);
  if (Result finding = checkGivenExponent(op, false))
    return finding;
  return checkTensors(op, machine);
}

static Result check(const isa::VecReduceChannels &op,
                    const Description &machine) {
  return checkTensors(op, machine);
}

/// Every element once: the counters of a register are proven for that.
template <typename Op>
static Result checkSource(const Op &op, const Description &machine) {
  const isa::TensorOperand source = operandOf(op);
  if (!isDistinct(source, machine))
    return bad("the strides of the source read an element twice");
  return checkChannels("the source", op.part, op.channels, false, machine);
}

static Result check(const isa::VecStat &op, const Description &machine) {
  if (!isa::isBlock(op.type))
    return bad("statistics of elements of type {}, expected encoded ones",
               typeName(op.type));
  if (Result finding = checkFormat("source", op.type, op.mantissa))
    return finding;
  return checkSource(op, machine);
}

static Result check(const isa::VecMeasure &op, const Description &machine) {
  if (op.type != ElemType::F32 && op.type != ElemType::F16 &&
      op.type != ElemType::Bf16 && op.type != ElemType::F64)
    return bad("range of elements of type {}, expected f32, f16, bf16 or f64",
               typeName(op.type));
  if (Result finding = checkRangeOf(op.mantissa))
    return finding;
  return checkSource(op, machine);
}

/// Instructions of the sparse cluster.
template <typename Op>
static auto check(const Op &op, const Description &machine)
    -> decltype(checkCluster(op, machine)) {
  return checkCluster(op, machine);
}

/// Copies of compressed cells.
template <typename Op>
static auto check(const Op &op, const Description &machine)
    -> decltype(checkCells(op, machine)) {
  return checkCells(op, machine);
}

/// Functions of the host.
template <typename Op>
static auto check(const Op &op, const Description &machine)
    -> decltype(checkHost(op, machine)) {
  return checkHost(op, machine);
}

static Result check(const isa::VecGather &op, const Description &machine) {
  if (isa::isBlock(op.type))
    return bad("gather of encoded elements");
  if (Result finding = checkIndexType(op.indexType))
    return finding;
  return checkTensors(op, machine);
}

Result emulator::checkFields(const isa::Instruction &inst,
                             const Description &machine) {
  return std::visit([&](const auto &op) { return check(op, machine); }, inst);
}
