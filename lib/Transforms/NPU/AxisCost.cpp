// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Estimates for the choice of axes. Copies count as if every element were a
// run: that is what laying floats across another axis comes to.

#include "AxisCost.h"

#include "ashlar/Analysis/Cost/MovementQueues.h"
#include "ashlar/Machine/Cycles.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace ashlar::npu {

static int64_t elementsOf(llvm::ArrayRef<int64_t> shape) {
  int64_t elements = 1;
  for (int64_t extent : shape)
    elements *= extent;
  return elements;
}

/// Cycles of the vector unit for an element of each partition.
static int64_t elementCycles(llvm::StringRef function,
                             const machine::Description &machine) {
  const auto cost =
      machine::vecCostOf(function).value_or(machine::VecCost::VeryExpensive);
  return static_cast<int64_t>(
      machine::vecMap(machine, cost, machine::VecStore::Same, /*channels=*/1,
                      /*positions=*/1)
          .issue);
}

int64_t longestAxis(llvm::ArrayRef<int64_t> shape,
                    llvm::function_ref<bool(int64_t)> allowed) {
  int64_t best = -1;
  for (int64_t i = 0; i < static_cast<int64_t>(shape.size()); ++i)
    if (allowed(i) && (best < 0 || shape[i] > shape[best]))
      best = i;
  return best;
}

int64_t depthAcross(llvm::ArrayRef<int64_t> shape, int64_t axis,
                    int64_t partitions) {
  int64_t depth = llvm::divideCeil(shape[axis], partitions);
  for (auto [i, extent] : llvm::enumerate(shape))
    if (static_cast<int64_t>(i) != axis)
      depth *= extent;
  return depth;
}

int64_t anewCycles(int64_t elements, const machine::Description &machine) {
  const int64_t queues = analysis::movementQueues(machine);
  return static_cast<int64_t>(machine::dmaInside(
      machine, elements * 4 / queues, elements / queues, /*descriptors=*/1));
}

/// Cycles of the way there and back of a row of floats in one partition, with
/// the latencies that nothing hides.
static int64_t roundTrip(int64_t elements,
                         const machine::Description &machine) {
  return 2 * (anewCycles(elements, machine) +
              static_cast<int64_t>(machine.dma.onchipLatency));
}

bool isWorthSpreading(llvm::ArrayRef<int64_t> shape, llvm::StringRef function,
                      const machine::Description &machine) {
  const int64_t axis = longestAxis(shape, [](int64_t) { return true; });
  if (axis < 0)
    return false;
  const int64_t elements = elementsOf(shape);
  const int64_t depth =
      depthAcross(shape, axis, static_cast<int64_t>(machine.sb.partitions));
  return elementCycles(function, machine) * (elements - depth) >
         roundTrip(elements, machine);
}

/// Cycles of laying \p value, which lies across \p axis, anew, as far as
/// nothing hides them. A product's result is copied column tile by column tile
/// beside the product, but for the last one; where banks have ports, the
/// product waits for them instead.
static int64_t visibleCopy(Value value, int64_t axis,
                           const machine::Description &machine) {
  const llvm::ArrayRef<int64_t> shape =
      cast<RankedTensorType>(value.getType()).getShape();
  const int64_t cycles = anewCycles(elementsOf(shape), machine);
  const bool beside =
      machine.sb.banks == 0 &&
      isa_and_nonnull<PeConvOp, PeMatmulOp>(value.getDefiningOp());
  return beside ? cycles / static_cast<int64_t>(llvm::divideCeil(
                               shape[axis], machine.pe.columns))
                : cycles;
}

bool reducesThrough(VecReduceOp op, int64_t own,
                    const machine::Description &machine) {
  if (!op.worksAcross(own))
    return false;
  const llvm::ArrayRef<int64_t> shape = op.getX().getType().getShape();
  const auto partitions = static_cast<int64_t>(machine.sb.partitions);
  const int64_t other =
      longestAxis(shape, [&](int64_t axis) { return !op.reducesAlong(axis); });
  const int64_t elements = elementsOf(shape);
  // The difference that usually follows is computed across the same axis.
  const int64_t each =
      elementCycles(op.getKind(), machine) + elementCycles("sub", machine);
  const int64_t chain = shape[own] + static_cast<int64_t>(machine.vec.latency);
  const int64_t through = each * depthAcross(shape, own, partitions) + chain +
                          roundTrip(elements / shape[own], machine);
  const int64_t within =
      each * (other < 0 ? elements : depthAcross(shape, other, partitions)) +
      visibleCopy(op.getX(), own, machine) +
      static_cast<int64_t>(machine.dma.onchipLatency);
  return through < within;
}

} // namespace ashlar::npu
