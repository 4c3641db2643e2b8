// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From instruction fields to the arguments of the cycle formulas.

#include "Costs.h"
#include "Tensor.h"
#include "ashlar/Machine/Transposes.h"
#include <array>

using namespace ashlar;
using namespace ashlar::emulator;
using isa::ElemType;
using machine::VecCost;
using machine::VecStore;

Cost CostModel::operator()(const isa::Instruction &inst) {
  return std::visit([&](const auto &op) { return of(op); }, inst);
}

Cost CostModel::of(const isa::XrSet &) {
  return {machine::vecRegister(), 0, 0, 0};
}

Cost CostModel::of(const isa::XrMerge &) {
  return {machine::vecRegister(), 0, 0, 0};
}

Cost CostModel::of(const isa::XrPick &) {
  return {machine::vecRegister(), 0, 0, 0};
}

Cost CostModel::of(const isa::XrSelect &) {
  return {machine::vecSelect(machine, 0), 0, 0, 0};
}

Cost CostModel::of(const isa::XrPredict &op) {
  return {machine::vecSelect(machine, op.depth), 0, 0, 0};
}

//===- DMA ----------------------------------------------------------------===//

static uint64_t productOf(llvm::ArrayRef<uint64_t> counts) {
  uint64_t product = 1;
  for (uint64_t count : counts)
    product *= count;
  return product;
}

using Counts = std::array<uint64_t, 5>;
using Strides = std::array<int64_t, 5>;

/// Loop counts and byte strides of a DMA instruction, outermost first.
template <typename Op>
static Counts countsOf(const Op &op) {
  return {op.n0, op.n1, op.n2, op.n3, op.n4};
}

template <typename Op>
static Strides sourceStrides(const Op &op) {
  return {op.srcStride0, op.srcStride1, op.srcStride2, op.srcStride3,
          op.srcStride4};
}

template <typename Op>
static Strides destinationStrides(const Op &op) {
  return {op.dstStride0, op.dstStride1, op.dstStride2, op.dstStride3,
          op.dstStride4};
}

Cost CostModel::of(const isa::DmaCopy &op) {
  const Counts counts = countsOf(op);
  const Strides src = sourceStrides(op);
  const Strides dst = destinationStrides(op);
  machine::DmaSide source{op.srcMem == isa::Memory::Dram, counts, src,
                          op.elemBytes};
  machine::DmaSide destination{op.dstMem == isa::Memory::Dram, counts, dst,
                               op.elemBytes};
  const bool inside =
      op.srcMem != isa::Memory::Dram && op.dstMem != isa::Memory::Dram;
  return {machine::dmaCopy(machine, source, destination),
          machine::dramTraffic(machine, source).burstBytes,
          machine::dramTraffic(machine, destination).burstBytes, 0,
          inside ? productOf(counts) * op.elemBytes : 0};
}

Cost CostModel::of(const isa::DmaFill &op) {
  const Counts counts = countsOf(op);
  const Strides dst = destinationStrides(op);
  machine::DmaSide destination{op.dstMem == isa::Memory::Dram, counts, dst,
                               op.elemBytes};
  return {machine::dmaFill(machine, destination), 0,
          machine::dramTraffic(machine, destination).burstBytes, 0};
}

Cost CostModel::of(const isa::DmaUnpack &op) {
  const Counts counts = countsOf(op);
  const Strides dst = destinationStrides(op);
  machine::DmaSide destination{false, counts, dst, op.elemBytes};
  return {machine::dmaUnpack(machine, op.mantissa, destination),
          machine::streamTraffic(machine, op.mantissa, counts).burstBytes, 0,
          0};
}

Cost CostModel::of(const isa::DmaGather &op) {
  const Counts counts = countsOf(op);
  const Strides src = sourceStrides(op);
  const Strides index = {op.indexStride0, op.indexStride1, op.indexStride2,
                         op.indexStride3, op.indexStride4};
  machine::DmaSide source{true, counts, src, op.elemBytes};
  machine::GatherIndices indices{index, storedBytes(op.indexType, 0)};
  return {machine::dmaGather(machine, source, indices),
          machine::gatherTraffic(machine, source, indices).burstBytes, 0, 0};
}

Cost emulator::compressedCost(const machine::Description &machine,
                              const isa::DmaCompress &op, uint64_t bursts) {
  // The values of a tree start behind its bits, whose number a first pass
  // finds; elsewhere all places are known before.
  const uint64_t passes = op.levels ? 2 : 1;
  return {machine::dmaCompress(machine, bursts,
                               productOf(countsOf(op)) * op.elemBytes, passes),
          0, bursts, 0};
}

Cost emulator::compressedCost(const machine::Description &machine,
                              const isa::DmaExpand &op, uint64_t bursts) {
  return {machine::dmaExpand(machine, bursts,
                             productOf(countsOf(op)) * op.elemBytes),
          bursts, 0, 0};
}

/// Whole bursts of all cells if each takes what is typical.
template <typename Op>
static uint64_t typicalBursts(const machine::Description &machine,
                              const Op &op) {
  const uint64_t bytes = op.typicalBytes ? op.typicalBytes : op.cellBytes;
  return machine::wholeBursts(machine, bytes) * op.n0 * op.n1;
}

Cost CostModel::of(const isa::DmaCompress &op) {
  return compressedCost(machine, op, typicalBursts(machine, op));
}

Cost CostModel::of(const isa::DmaExpand &op) {
  return compressedCost(machine, op, typicalBursts(machine, op));
}

//===- PE array -----------------------------------------------------------===//

/// Bits that an operand passes through the digit multipliers: of floating-point
/// elements the significand; in select mode the cells pass whole words, one
/// pass.
template <typename Op>
static uint64_t operandBits(const Op &op) {
  if (op.mode == isa::OperandMode::Select)
    return 1;
  if (op.mode == isa::OperandMode::Bfp)
    return op.mantissa;
  if (op.mode == isa::OperandMode::Float)
    return op.type == ElemType::F32 ? 24 : op.type == ElemType::F16 ? 11 : 8;
  return 8 * storedBytes(op.type, op.mantissa);
}

Cost CostModel::of(const isa::PeLoad &op) {
  shadowBits = operandBits(op);
  return {machine::peLoad(machine, op.rows, storedBytes(op.type, op.mantissa)),
          0, 0, 0};
}

Cost CostModel::of(const isa::PeSwap &) {
  activeBits = shadowBits;
  return {};
}

Cost CostModel::of(const isa::PeMatmul &op) {
  const uint64_t steps = uint64_t(op.n0) * op.n1 * op.n2;
  const uint64_t passes =
      machine::pePasses(machine, operandBits(op), activeBits);
  return {machine::peMatmul(machine, steps, passes, op.cols), 0, 0,
          steps * op.groups * op.rows * op.cols};
}

//===- ACT and VEC --------------------------------------------------------===//

Cost CostModel::of(const isa::ActDrain &op) {
  if (op.order == isa::DrainOrder::Partition)
    return {machine::actDrainColumns(machine, op.cols,
                                     uint64_t(op.n0) * op.n1 * op.n2),
            0, 0, 0};
  return {machine::actDrain(machine, op.cols, uint64_t(op.n0) * op.n1 * op.n2),
          0, 0, 0};
}

static VecStore storeOf(ElemType from, ElemType to) {
  if (to == ElemType::Bfp)
    return VecStore::Encode;
  return from == to ? VecStore::Same : VecStore::Convert;
}

/// Names of the instruction set are the names of the cost table; one that the
/// table does not know would be the most expensive.
static VecCost costOf(llvm::StringRef name) {
  return machine::vecCostOf(name).value_or(VecCost::VeryExpensive);
}

Cost CostModel::of(const isa::VecMap &op) {
  VecCost cost = costOf(isa::name(op.op));
  // Scales are stages of the pipeline, each as fast as a multiplication; a
  // constant divisor is one too (docs/Machine.md).
  const bool changes = op.affine || op.limited || op.rounded;
  if (changes)
    cost = std::max(cost, VecCost::Medium);
  const VecStore store = storeOf(op.aType, op.dstType);
  const uint64_t positions = uint64_t(op.n0) * op.n1 * op.n2;
  const bool copies =
      op.op == isa::Function::Copy && store == VecStore::Same && !changes;
  return {
      machine::vecMap(machine, cost, store, op.channels, positions), 0, 0, 0,
      copies ? positions * op.channels * storedBytes(op.dstType, op.dstMantissa)
             : 0};
}

Cost CostModel::of(const isa::VecPool &op) {
  machine::PoolShape shape;
  const uint64_t in[] = {static_cast<uint64_t>(op.inD),
                         static_cast<uint64_t>(op.inH),
                         static_cast<uint64_t>(op.inW)};
  const uint64_t out[] = {op.outD, op.outH, op.outW};
  const uint64_t kernel[] = {op.kD, op.kH, op.kW};
  for (unsigned i = 0; i < 3; ++i) {
    shape.in[i] = in[i];
    shape.out[i] = out[i];
    shape.kernel[i] = kernel[i];
  }
  return {machine::vecPool(machine, static_cast<machine::PoolKind>(op.kind),
                           storeOf(op.srcType, op.dstType), op.channels, shape),
          0, 0, 0};
}

Cost CostModel::of(const isa::VecReduce &op) {
  return {machine::vecReduce(machine, costOf(isa::name(op.kind)),
                             storeOf(op.srcType, op.dstType), op.channels,
                             uint64_t(op.o0) * op.o1, uint64_t(op.r0) * op.r1,
                             op.kind == isa::ReduceKind::Mean),
          0, 0, 0};
}

Cost CostModel::of(const isa::VecReduceChannels &op) {
  return {machine::vecReduceChannels(machine, costOf(isa::name(op.kind)),
                                     storeOf(op.srcType, op.dstType),
                                     op.channels,
                                     uint64_t(op.n0) * op.n1 * op.n2,
                                     op.kind == isa::ReduceKind::Mean),
          0, 0, 0};
}

Cost CostModel::of(const isa::VecStat &op) {
  return {
      machine::vecScan(machine, op.channels, uint64_t(op.n0) * op.n1 * op.n2),
      0, 0, 0};
}

Cost CostModel::of(const isa::VecMeasure &op) {
  return {
      machine::vecScan(machine, op.channels, uint64_t(op.n0) * op.n1 * op.n2),
      0, 0, 0};
}

Cost CostModel::of(const isa::VecGather &op) {
  return {
      machine::vecGather(machine, op.channels, uint64_t(op.n0) * op.n1 * op.n2),
      0, 0, 0};
}
