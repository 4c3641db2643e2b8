// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a plan costs, for the choice between plans where memory is short: bytes
// that cross DRAM's bus more or less often, and streams of the array, which a
// lost lane fold or small tiles make longer. What all plans of a module share
// is omitted.

#include "MemoryPlanner.h"

#include "ashlar/Analysis/Cost/OperationCycles.h"
#include "ashlar/Machine/Cycles.h"
#include "ashlar/Machine/Dram.h"
#include "dialects/NPU/NPUDialect.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

namespace ashlar::npu {

using namespace mlir;
using analysis::ProductShape;
using analysis::Region;

/// What a plan moves that another one may not: results in DRAM, written and
/// read, and copies within the state buffer, in cycles of DMA.
double Planner::movement() const {
  double cycles = 0;
  for (const OpPlan &plan : plans) {
    if (!plan.resident) {
      const auto readers = static_cast<double>(
          std::distance(plan.op->use_begin(), plan.op->use_end()));
      cycles += (1 + readers) *
                static_cast<double>(machine::dramStreamCycles(
                    machine, analysis::dramBytes(plan.model.resultType,
                                                 plan.model.resultShape)));
    } else if (auto move = dyn_cast<DmaMoveOp>(plan.op);
               move && plan.shares < 0) {
      cycles += static_cast<double>(
          analysis::moveCycles(move, plan.model.homeLanes, machine)
              .copied(machine));
    }
  }
  return cycles;
}

/// Positions of a result, one for all its channels.
static int64_t positionsOf(const Shape &shape, int64_t axis) {
  int64_t positions = 1;
  for (auto [i, extent] : llvm::enumerate(shape))
    if (static_cast<int64_t>(i) != axis)
      positions *= extent;
  return positions;
}

/// Tiles of the same outputs.
static int64_t positionTiles(const OpPlan &plan) {
  Shape shape = plan.model.resultShape;
  if (plan.model.outputAxis >= 0)
    shape[plan.model.outputAxis] = plan.choice.tile[plan.model.outputAxis];
  return tileCount(shape, plan.choice.tile);
}

/// Cycles of DRAM for results written there and for regions of tiles read from
/// there.
double Planner::stagedCycles(const OpPlan &plan) const {
  if (plan.shares >= 0)
    return 0;
  const int64_t tiles = tileCount(plan.model.resultShape, plan.choice.tile);
  const Region out{Shape(plan.choice.tile.size(), 0), plan.choice.tile};
  uint64_t bytes = 0;
  for (auto [i, operand] : llvm::enumerate(plan.model.operands)) {
    const OpPlan *source = producer(plan.op->getOperand(i));
    if (operand.streamed || (source && source->resident))
      continue;
    // What is read directly is read once.
    const analysis::StorageType type =
        analysis::storageOf(plan.op->getOperand(i));
    bytes +=
        operand.direct || !operand.region
            ? analysis::dramBytes(plan.model.resultType, plan.model.resultShape)
            : tiles * analysis::dramBytes(type, operand.region(out).size);
  }
  if (!plan.resident)
    bytes += analysis::dramBytes(plan.model.resultType, plan.model.resultShape);
  return static_cast<double>(machine::dramStreamCycles(machine, bytes));
}

/// Cycles of DRAM for the weights of a product, as often as they are streamed
/// through a ring of `ringBytes`.
double Planner::weightCycles(const OpPlan &plan, int64_t ringBytes) const {
  if (!plan.weights.streams)
    return 0;
  const ProductShape product = analysis::productShape(plan.op);
  const int64_t axis = plan.model.resultAxis;
  const bool outputsCut = plan.model.outputAxis >= 0;
  const int64_t held =
      outputsCut ? plan.weights.bytes * plan.choice.tile[axis] /
                       std::max<int64_t>(plan.model.resultShape[axis], 1)
                 : plan.weights.bytes;
  int64_t uses = positionTiles(plan);
  if (plan.weights.cut && !product.weightsMove)
    uses *=
        llvm::divideCeil(positionsOf(plan.choice.tile, axis),
                         std::max<int64_t>(machine.psum.banks / 2, 1) *
                             static_cast<int64_t>(machine.psum.entriesPerBank));
  const int64_t reads = held <= ringBytes / 2 ? 1 : uses;
  const int64_t bits = product.outputs * product.taps *
                       (product.channels / product.groups) *
                       product.weightFormat.mantissa;
  return static_cast<double>(reads) *
         static_cast<double>(
             machine::dramStreamCycles(machine, llvm::divideCeil(bits, 8)));
}

/// Streams of a product, or the loads of its stationary tiles where those take
/// longer.
double Planner::arrayCycles(const OpPlan &plan) const {
  if (plan.weights.tiles == 0 || hasStationaryActivations(plan.op))
    return 0;
  const analysis::StorageType x = analysis::activationStorage(plan.op);
  const analysis::StorageType w = analysis::weightStorage(plan.op);
  const auto passes = static_cast<int64_t>(
      machine::pePasses(machine, x.digitBits(), w.digitBits()));
  const int64_t lanes =
      std::max<int64_t>(plan.model.operands.front().lanes.count, 1);
  machine::PeStreamShape shape;
  shape.positions = static_cast<uint64_t>(llvm::divideCeil(
      positionsOf(plan.choice.tile, plan.model.resultAxis), lanes));
  shape.passes = static_cast<uint64_t>(passes);
  int64_t steps = static_cast<int64_t>(shape.positions) * passes;
  if (analysis::isNarrow(x, w, machine)) {
    shape.groups = static_cast<uint64_t>(
        plan.model.operands.front().lanes.spread() ? 1 : lanes);
    shape.narrow = true;
    steps = std::min(
        steps, static_cast<int64_t>(machine::peSteps(machine, shape).cycles));
  }
  const auto load = static_cast<int64_t>(
      machine::peLoad(machine, machine.pe.rows, w.bytes()).issue);
  return static_cast<double>(positionTiles(plan)) *
         static_cast<double>(plan.weights.tiles) *
         static_cast<double>(std::max(steps, load));
}

/// Weights run ahead of the array; maps that come from DRAM or go there are
/// waited for.
double Planner::predictedCycles() const {
  const std::vector<int64_t> rings = ringBases();
  const auto capacity = static_cast<int64_t>(machine.sb.bytesPerPartition);
  double maps = 0, weights = 0, array = 0;
  for (auto [i, plan] : llvm::enumerate(plans)) {
    maps += stagedCycles(plan);
    weights += weightCycles(plan, capacity - records - rings[i]);
    array += arrayCycles(plan);
  }
  return maps + std::max(weights, array);
}

} // namespace ashlar::npu
