// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ashlar/Analysis/Cost/FunctionCycles.h"

#include "ashlar/Analysis/Array/StationaryPlan.h"
#include "ashlar/Analysis/Cost/DenseCycles.h"
#include "ashlar/Analysis/Cost/OperationCycles.h"
#include "ashlar/Analysis/Layout/StorageType.h"
#include "ashlar/Analysis/Layout/View.h"
#include "ashlar/Analysis/Tiles/SharedScratch.h"
#include "ashlar/Analysis/Tiles/TilingModel.h"
#include "ashlar/Partition/SharedDrain.h"
#include "dialects/BFP/EncodeEvents.h"
#include "dialects/NPU/NPUDialect.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace ashlar::analysis {

/// Of what takes `whole` cycles, a share takes only its part of `less`.
static int64_t blend(int64_t whole, int64_t less, int64_t share) {
  constexpr int64_t all = partition::kDrainShares;
  return (whole * (all - share) + less * share) / all;
}

int64_t sharedDrain(const machine::Description &machine, int64_t columns,
                    int64_t positions, machine::VecCost function,
                    int64_t share) {
  auto cycles = [&](machine::VecCost cost) {
    return static_cast<int64_t>(
        machine::actDrain(machine, static_cast<uint64_t>(columns),
                          static_cast<uint64_t>(positions), cost)
            .issue);
  };
  const int64_t whole = cycles(function);
  return share == 0 ? whole
                    : blend(whole, cycles(machine::VecCost::Cheap), share);
}

int64_t FunctionCycles::sharedToEnd(int64_t share) const {
  constexpr int64_t all = partition::kDrainShares;
  const int64_t act = blend(drain, plain, share);
  const int64_t vec = vector * share / all;
  return std::max({array, act, vec}) +
         std::max(act / drainEnds, vec / sharedEnds);
}

int64_t FunctionCycles::bestShare() const {
  // Where the array decides as well: less is left to do after it.
  FunctionCycles drains = *this;
  drains.array = 0;
  int64_t best = 0;
  for (int64_t share = 1; share < partition::kDrainShares; ++share)
    if (drains.sharedToEnd(share) < drains.sharedToEnd(best))
      best = share;
  return best;
}

/// Lanes lie side by side: one instruction has the channels of all of them.
static int64_t vectorOf(Operation *op, int64_t outputs, int64_t positions,
                        const Lanes &lanes,
                        const machine::Description &machine) {
  const Value y = op->getResult(0);
  int64_t channels = outputs;
  if (lanes.folded() && outputs % lanes.pitch == 0) {
    channels *= lanes.count;
    positions = llvm::divideCeilSigned(positions, lanes.count);
  }
  return static_cast<int64_t>(
      machine::vecMap(
          machine, drainFunction(op), storeOf(f32Storage(), storageOf(y)),
          static_cast<uint64_t>(channels), static_cast<uint64_t>(positions))
          .issue);
}

FunctionCycles functionCycles(Operation *op, const Lanes &lanes,
                              const machine::Description &machine) {
  const ProductShape product = productShape(op);
  const machine::VecCost function = drainFunction(op);
  const int64_t positions =
      cast<RankedTensorType>(op->getResult(0).getType()).getNumElements() /
      product.outputs;
  const StorageType x = activationStorage(op), w = weightStorage(op);
  machine::PeStreamShape stream;
  stream.positions = static_cast<uint64_t>(positions);
  stream.passes = machine::pePasses(machine, x.digitBits(), w.digitBits());
  stream.narrow = isNarrow(x, w, machine);
  FunctionCycles cycles;
  const auto columns = planStationary(product, machine);
  const int64_t windows = std::max<int64_t>(
      positions / static_cast<int64_t>(machine.psum.entriesPerBank), 1);
  cycles.drainEnds = windows * static_cast<int64_t>(columns.size());
  // The vector unit works on channel tiles, with a share from the drains of
  // their last column on.
  cycles.vectorEnds = llvm::divideCeilSigned(
      product.outputs, static_cast<int64_t>(machine.sb.partitions));
  cycles.sharedEnds = columns.size() > 1 ? 2 * sharedTiles(positions, machine) *
                                               cycles.vectorEnds
                                         : windows;
  for (const ColumnTile &column : columns) {
    const auto cols = static_cast<uint64_t>(column.cols);
    cycles.array +=
        static_cast<int64_t>(machine::peSteps(machine, stream).cycles) *
        static_cast<int64_t>(column.tiles.size());
    cycles.drain += static_cast<int64_t>(
        machine::actDrain(machine, cols, stream.positions, function).issue);
    cycles.plain += static_cast<int64_t>(
        machine::actDrain(machine, cols, stream.positions).issue);
  }
  // Row groups take fewer steps than the formula above has.
  if (auto conv = dyn_cast<npu::PeConvOp>(op))
    if (const Lanes read = widthLanesOf(conv.getX()); read.folded())
      cycles.array = denseCycles({conv}, read, machine, lanes).array;
  cycles.vector = vectorOf(op, product.outputs, positions, lanes, machine);
  return cycles;
}

/// Drains write the result where it stays.
static bool drainsInPlace(Operation *op) {
  const npu::LayoutAttr layout = npu::layoutAttrOf(op);
  const Lanes lanes = workLanesOf(op);
  return layout && !lanes.spread() && lanes == lanesOf(op) &&
         layout.getWorkAxis().value_or(layout.getAxis()) == layout.getAxis();
}

template <typename Op>
static bool mayShare(Op op, const machine::Description &machine) {
  const StorageType y = storageOf(op.getY());
  const ArrayRef<int64_t> shape = shapeOf(op.getY());
  const int64_t channels =
      shape[llvm::isa<npu::PeConvOp>(op.getOperation()) ? 1 : shape.size() - 1];
  return op.getFunction() != "copy" && !op.getSlope() && !op.getQuant() &&
         !op.getIntegerEpilogue() && !npu::poolingOf(op) &&
         !npu::hasStationaryActivations(op) && hasStreamedWeights(op) &&
         bfp::getScalePolicy(op) == numerics::ScalePolicy() &&
         (y.encoded ? drainEncodes(y, channels, machine)
                    : llvm::isa<FloatType>(
                          getElementTypeOrSelf(op.getY().getType())));
}

bool mayShareFunction(Operation *op, const machine::Description &machine) {
  if (!drainsInPlace(op))
    return false;
  if (auto conv = dyn_cast<npu::PeConvOp>(op))
    return conv.getPackedRows() == 1 && mayShare(conv, machine);
  auto matmul = dyn_cast<npu::PeMatmulOp>(op);
  return matmul && mayShare(matmul, machine);
}

} // namespace ashlar::analysis
