// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From instruction fields to the arguments of the cycle formulas.

#include "Costs.h"
#include "../State/TensorView.h"
#include "ashlar/Isa/ElementBytes.h"
#include "ashlar/Machine/Dram.h"
#include "ashlar/Machine/PutCycles.h"
#include "ashlar/Machine/Transposes.h"
#include "llvm/Support/MathExtras.h"
#include <array>

using namespace ashlar;
using namespace ashlar::emulator;
using isa::ElemType;
using machine::VecCost;
using machine::VecStore;

Cost CostModel::operator()(const isa::Instruction &inst) {
  return std::visit([&](const auto &op) { return of(op); }, inst);
}

static Cost withWork(machine::Timing timing, uint64_t work) {
  Cost cost;
  cost.timing = timing;
  cost.work = work;
  return cost;
}

// One lane of the vector unit works on a register.

static Cost registerCost(machine::Timing timing) {
  return withWork(timing, timing.issue);
}

Cost CostModel::of(const isa::XrSet &) {
  return registerCost(machine::vecRegister());
}

Cost CostModel::of(const isa::XrMerge &) {
  return registerCost(machine::vecRegister());
}

Cost CostModel::of(const isa::XrPick &) {
  return registerCost(machine::vecRegister());
}

Cost CostModel::of(const isa::XrSelect &) {
  return registerCost(machine::vecSelect(machine, 0));
}

Cost CostModel::of(const isa::XrPredict &op) {
  return registerCost(machine::vecSelect(machine, op.depth));
}

//===- DMA ----------------------------------------------------------------===//

static uint64_t productOf(llvm::ArrayRef<uint64_t> counts) {
  uint64_t product = 1;
  for (uint64_t count : counts)
    product *= count;
  return product;
}

namespace {

/// One side of a transfer as the formulas take it.
struct Side {
  llvm::SmallVector<uint64_t, 5> counts;
  llvm::SmallVector<int64_t, 5> strides;
  machine::DmaSide side;

  Side(const machine::Description &machine, const isa::LinearOperand &operand)
      : counts(operand.counts()), strides(operand.strides()) {
    const bool rows =
        operand.mem == isa::Memory::Sb || operand.mem == isa::Memory::Xm;
    side = {operand.mem == isa::Memory::Dram,
            counts,
            strides,
            operand.bytes,
            rows ? machine.sb.bytesPerPartition : 0,
            operand.base};
  }
  Side(const Side &) = delete;
  Side &operator=(const Side &) = delete;

  uint64_t bytes() const { return productOf(counts) * side.elementBytes; }
};

} // namespace

Cost CostModel::of(const isa::DmaCopy &op) {
  const Side source(machine, operandSrc(op));
  const Side destination(machine, operandDst(op));
  const machine::DramTraffic read = machine::dramTraffic(machine, source.side);
  const machine::DramTraffic written =
      machine::dramTraffic(machine, destination.side);
  Cost cost = withWork(machine::dmaCopy(machine, source.side, destination.side),
                       source.bytes());
  cost.dramRead = read.burstBytes;
  cost.dramWrite = written.burstBytes;
  cost.dramUseful = read.usefulBytes + written.usefulBytes;
  cost.copied =
      source.side.inDram || destination.side.inDram ? 0 : source.bytes();
  return cost;
}

Cost CostModel::of(const isa::DmaFill &op) {
  const Side destination(machine, operandDst(op));
  const machine::DramTraffic written =
      machine::dramTraffic(machine, destination.side);
  Cost cost = withWork(machine::dmaFill(machine, destination.side),
                       destination.bytes());
  cost.dramWrite = written.burstBytes;
  cost.dramUseful = written.usefulBytes;
  return cost;
}

Cost CostModel::of(const isa::DmaUnpack &op) {
  const Side destination(machine, operandDst(op));
  const numerics::CodeStream codes = operandSrc(op).stream();
  const machine::StreamSide stream{codes.bytes(), codes.decoded(), op.srcBase};
  const machine::DramTraffic read = machine::streamTraffic(machine, stream);
  Cost cost = withWork(machine::dmaUnpack(machine, stream, destination.side),
                       destination.bytes());
  cost.dramRead = read.burstBytes;
  cost.dramUseful = read.usefulBytes;
  return cost;
}

Cost CostModel::of(const isa::DmaGather &op) {
  const Side source(machine, operandSrc(op));
  const Side index(machine, operandIndex(op));
  const Side destination(machine, operandDst(op));
  // The indices choose where a row begins.
  machine::DmaSide rows = source.side;
  rows.address = 0;
  const machine::GatherIndices indices{index.strides, index.side.elementBytes};
  const machine::DramTraffic read =
      machine::gatherTraffic(machine, rows, indices);
  Cost cost =
      withWork(machine::dmaGather(machine, rows, indices, destination.side),
               destination.bytes());
  cost.dramRead = read.burstBytes;
  cost.dramUseful = read.usefulBytes;
  return cost;
}

// At place 0; the run measures where the number says.
Cost CostModel::of(const isa::DmaPut &op) {
  const Side index(machine, operandIndex(op));
  const Side source(machine, operandSrc(op));
  const Side destination(machine, operandDst(op));
  const machine::DramTraffic number = machine::dramTraffic(machine, index.side);
  const machine::DramTraffic read = machine::dramTraffic(machine, source.side);
  const machine::DramTraffic written =
      machine::dramTraffic(machine, destination.side);
  Cost cost = withWork(
      machine::dmaPut(machine, index.side, source.side, destination.side),
      destination.bytes());
  cost.dramRead = number.burstBytes + read.burstBytes;
  cost.dramWrite = written.burstBytes;
  cost.dramUseful = number.usefulBytes + read.usefulBytes + written.usefulBytes;
  return cost;
}

Cost emulator::gatherCost(const machine::Description &machine,
                          const isa::DmaGather &op, uint64_t bursts) {
  Cost cost = CostModel(machine)(op);
  const uint64_t expected = std::exchange(cost.dramRead, bursts);
  if (bursts != expected)
    cost.setDram(machine::dramCycles(machine, bursts, 0));
  return cost;
}

/// The feature map of a compressed transfer.
static machine::MapSide mapOf(const machine::Description &machine,
                              const isa::LinearOperand &operand) {
  const Side map(machine, operand);
  return {map.bytes(), machine::onchipRuns(map.side)};
}

Cost emulator::compressedCost(const machine::Description &machine,
                              const isa::DmaCompress &op, uint64_t bytes,
                              uint64_t bursts) {
  // The values of a tree start after its bits, whose number a first pass
  // finds; elsewhere all places are known before.
  const uint64_t passes = op.levels ? 2 : 1;
  const machine::MapSide map = mapOf(machine, operandSrc(op));
  Cost cost = withWork(machine::dmaCompress(machine, bursts, map, passes),
                       map.bytes * passes);
  cost.dramWrite = bursts;
  cost.dramUseful = bytes;
  return cost;
}

Cost emulator::compressedCost(const machine::Description &machine,
                              const isa::DmaExpand &op, uint64_t bytes,
                              uint64_t bursts) {
  const machine::MapSide map = mapOf(machine, operandDst(op));
  Cost cost = withWork(machine::dmaExpand(machine, bursts, map), map.bytes);
  cost.dramRead = bursts;
  cost.dramUseful = bytes;
  return cost;
}

Cost emulator::tileLoadCost(const machine::Description &machine,
                            const TileTraffic &traffic) {
  Cost cost = withWork(
      machine::tileLoad(machine, traffic.bytes, traffic.runs, traffic.most),
      traffic.bytes);
  cost.fmuBytes = traffic.written;
  return cost;
}

Cost emulator::tileOpenCost(const machine::Description &machine,
                            const KeptTiles &kept) {
  const KeptTraffic traffic = openedTraffic(kept);
  Cost cost = withWork(machine::tileOpen(machine, traffic.most), 0);
  cost.fmuBytes = traffic.written;
  return cost;
}

Cost emulator::keptCost(const machine::Description &machine, Cost cost,
                        const KeptTraffic &traffic) {
  cost.timing = machine::tileKeep(machine, cost.timing, traffic.most);
  cost.fmuBytes = traffic.written;
  return cost;
}

/// The cost if each cell takes what is typical.
template <typename Op>
static Cost typicalCost(const machine::Description &machine, const Op &op,
                        const isa::LinearOperand &cells) {
  const uint64_t bytes = op.typicalBytes ? op.typicalBytes : op.cellBytes;
  const llvm::SmallVector<uint64_t, 5> counts = cells.counts();
  const uint64_t bursts =
      machine::runsBursts(machine, cells.base, counts, cells.strides(), bytes);
  return compressedCost(machine, op, bytes * productOf(counts),
                        bursts * machine.dram.burstBytes);
}

Cost CostModel::of(const isa::DmaCompress &op) {
  return typicalCost(machine, op, operandDst(op));
}

Cost CostModel::of(const isa::DmaExpand &op) {
  return typicalCost(machine, op, operandSrc(op));
}

//===- PE array -----------------------------------------------------------===//

template <typename Op>
static uint64_t digitBits(const Op &op) {
  return isa::multipliedBits(op.mode, op.type, op.mantissa);
}

Cost CostModel::of(const isa::PeLoad &op) {
  shadowBits = digitBits(op);
  const uint64_t bytes = storedBytes(op.type, op.mantissa);
  const uint64_t words =
      op.pattern ? machine::patternWords(machine, op.rows) : op.rows;
  return withWork(machine::peLoad(machine, op.rows, bytes, op.pattern),
                  words * bytes);
}

uint64_t emulator::stepPositions(const machine::Description &machine,
                                 const isa::PeMatmul &op) {
  return machine::stepPositions(machine, op.pattern, op.narrow);
}

uint64_t emulator::streamSteps(const machine::Description &machine,
                               const isa::PeMatmul &op) {
  const uint64_t side = stepPositions(machine, op);
  return uint64_t(op.n0) * op.n1 * ((op.n2 + side - 1) / side);
}

uint64_t emulator::rowGroups(const machine::Description &machine,
                             const isa::PeMatmul &op) {
  return op.groups * (op.pattern ? machine.pe.patternPositions() : 1);
}

Cost CostModel::of(const isa::PeSwap &) {
  activeBits = shadowBits;
  return {};
}

Cost CostModel::of(const isa::PeMatmul &op) {
  const uint64_t steps = uint64_t(op.n0) * op.n1 * op.n2;
  const uint64_t passes = machine::pePasses(machine, digitBits(op), activeBits);
  Cost cost;
  cost.timing = machine::peMatmul(machine, streamSteps(machine, op), passes,
                                  op.cols, op.groups, 1 + uint64_t(op.skip),
                                  stepPositions(machine, op));
  // No row keeps a stream, however short, for the next pass over it.
  cost.passes = passes;
  // Selecting cells pass words and multiply nothing. Groups past the end of a
  // row rest.
  if (op.mode == isa::OperandMode::Select)
    return cost;
  const uint64_t results =
      op.groups > 1 ? uint64_t(op.n0) * op.n1 * op.validW : steps;
  const uint64_t words =
      op.pattern ? machine::patternWords(machine, op.rows) : op.rows;
  cost.macs = results * words * op.cols;
  cost.work = cost.macs * passes;
  return cost;
}

//===- ACT and VEC --------------------------------------------------------===//

/// Names of the instruction set are the names of the cost table; one that the
/// table does not know would be the most expensive.
static VecCost costOf(llvm::StringRef name) {
  return machine::vecCostOf(name).value_or(VecCost::VeryExpensive);
}

machine::VecCost emulator::functionCost(isa::Function function) {
  return costOf(isa::name(function));
}

Cost CostModel::of(const isa::ActDrain &op) {
  const uint64_t entries = uint64_t(op.n0) * op.n1 * op.n2;
  const VecCost function = functionCost(op.function);
  const machine::Timing timing =
      op.order == isa::DrainOrder::Partition
          ? machine::actDrainColumns(machine, op.cols, entries, function)
          : machine::actDrain(machine, op.cols, entries, function);
  return withWork(timing, op.cols * entries);
}

Cost emulator::tileDrainCost(const machine::Description &machine,
                             const isa::ActDrain &op, uint64_t steps,
                             uint64_t results) {
  return withWork(
      machine::tileDrain(machine, op.cols, steps, functionCost(op.function)),
      op.cols * results);
}

Cost CostModel::of(const isa::ActPool &op) {
  const machine::PoolShape shape{
      {1, op.inH, op.inW}, {1, op.outH, op.outW}, {1, op.kH, op.kW}};
  const uint64_t steps =
      machine::tilePoolSteps(shape, {op.sH, op.sW}, {op.pH, op.pW});
  return withWork(
      machine::tilePool(machine, op.cols, steps, functionCost(op.function)),
      uint64_t(op.cols) * op.inH * op.inW);
}

/// Blocks whose exponent is given do not wait for their maximum.
template <typename Op>
static VecStore storeOf(const Op &op, ElemType from) {
  bool given = false;
  if constexpr (requires { op.cellFromXr; })
    given = op.cellFromXr;
  if (isa::isBlock(op.dstType))
    return given ? VecStore::Convert : VecStore::Encode;
  return from == op.dstType ? VecStore::Same : VecStore::Convert;
}

/// Lanes times cycles of an instruction that takes as long for every lane step.
Cost CostModel::vecCost(machine::Timing timing, uint64_t channels) const {
  const uint64_t steps =
      std::max<uint64_t>(1, machine::vecLaneSteps(machine, channels));
  return withWork(timing,
                  llvm::SaturatingMultiply(timing.issue / steps, channels));
}

Cost CostModel::of(const isa::VecMap &op) {
  VecCost cost = functionCost(op.op);
  // Scales are stages of the pipeline, each as fast as a multiplication; a
  // constant divisor is one too (docs/Machine.md).
  const bool changes =
      op.affine || op.limited || op.rounded || op.hasScale || op.hasBias;
  if (changes)
    cost = std::max(cost, VecCost::Medium);
  const VecStore store = storeOf(op, op.aType);
  const uint64_t positions = uint64_t(op.n0) * op.n1 * op.n2;
  const bool copies =
      op.op == isa::Function::Copy && store == VecStore::Same && !changes;
  Cost result =
      vecCost(machine::vecMap(machine, cost, store, op.channels, positions),
              op.channels);
  if (copies)
    result.copied =
        positions * op.channels * storedBytes(op.dstType, op.dstMantissa);
  return result;
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
  return vecCost(machine::vecPool(machine,
                                  static_cast<machine::PoolKind>(op.kind),
                                  storeOf(op, op.srcType), op.channels, shape),
                 op.channels);
}

Cost CostModel::of(const isa::VecDrain &op) {
  const machine::PoolShape shape{
      {1, op.inH, op.inW}, {1, op.outH, op.outW}, {1, op.kH, op.kW}};
  return vecCost(machine::vecDrain(machine,
                                   static_cast<machine::PoolKind>(op.kind),
                                   storeOf(op, op.srcType),
                                   functionCost(op.function), op.cols, shape),
                 op.cols);
}

Cost CostModel::of(const isa::VecReduce &op) {
  return vecCost(machine::vecReduce(machine, costOf(isa::name(op.kind)),
                                    storeOf(op, op.srcType), op.channels,
                                    uint64_t(op.o0) * op.o1,
                                    uint64_t(op.r0) * op.r1,
                                    op.kind == isa::ReduceKind::Mean),
                 op.channels);
}

Cost CostModel::of(const isa::VecReduceChannels &op) {
  const uint64_t positions = uint64_t(op.n0) * op.n1 * op.n2;
  const VecCost cost = costOf(isa::name(op.kind));
  const machine::Timing sums = machine::vecReduceChannels(
      machine, cost, VecStore::Same, op.channels, positions, false);
  Cost result = vecCost(sums, op.channels);
  result.timing = machine::vecReduceChannels(
      machine, cost, storeOf(op, op.srcType), op.channels, positions,
      op.kind == isa::ReduceKind::Mean);
  // One lane divides and stores the sum.
  result.work += result.timing.issue - sums.issue;
  return result;
}

Cost CostModel::of(const isa::VecStat &op) {
  return vecCost(
      machine::vecScan(machine, op.channels, uint64_t(op.n0) * op.n1 * op.n2),
      op.channels);
}

Cost CostModel::of(const isa::VecMeasure &op) {
  return vecCost(
      machine::vecScan(machine, op.channels, uint64_t(op.n0) * op.n1 * op.n2),
      op.channels);
}

Cost CostModel::of(const isa::VecGather &op) {
  return vecCost(
      machine::vecGather(machine, op.channels, uint64_t(op.n0) * op.n1 * op.n2),
      op.channels);
}
