// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Chooses the partition axis of every npu result. Input: npu operations on
// tensors with storage types. Output: the same with `layout`.

#include "AxisCost.h"

#include "ashlar/Analysis/Layout/MoveView.h"
#include "ashlar/Analysis/Tiles/TilingModel.h"
#include "ashlar/Machine/Cycles.h"
#include "ashlar/Transforms/NPU/Passes.h"
#include "dialects/NPU/NPUDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

namespace ashlar::npu {
#define GEN_PASS_DEF_ASSIGNAXIS
#include "ashlar/Transforms/NPU/Passes.h.inc"

using namespace mlir;
using analysis::shapeOf;
using analysis::storageOf;

namespace {

/// Axis that nothing dictates: the channels of a feature map, else the last.
int64_t defaultAxis(llvm::ArrayRef<int64_t> shape) {
  if (shape.empty())
    return -1;
  return shape.size() >= 4 ? 1 : static_cast<int64_t>(shape.size()) - 1;
}

/// Axis of an operand that is already laid out, or nothing.
std::optional<int64_t> producedAxis(Value value) {
  return axisOf(value.getDefiningOp());
}

/// True if windows are summed along the partitions in fewer cycles than within
/// them, operand and result laid anew: an addition for each tap but the first,
/// or the pool's pass with the axis that leaves least in a partition.
bool sumsAcross(VecPoolOp pool, int64_t axis,
                const machine::Description &machine) {
  const llvm::ArrayRef<int64_t> shape = shapeOf(pool.getY());
  const auto partitions = static_cast<int64_t>(machine.sb.partitions);
  int64_t taps = 1, elements = 1, least = -1;
  for (auto [tap, dilation] :
       llvm::zip(pool.getKernel(), pool.getDilations())) {
    taps *= tap;
    // A tap lies in the same channel tile or in the next one.
    if ((tap - 1) * dilation >= partitions)
      return false;
  }
  for (auto [other, extent] : llvm::enumerate(shape)) {
    elements *= extent;
    const int64_t depth = depthAcross(shape, other, partitions);
    if (!pool.reducesAlong(other) && (least < 0 || depth < least))
      least = depth;
  }
  return (taps - 1) * depthAcross(shape, axis, partitions) <=
         taps * least + 2 * anewCycles(elements, machine);
}

/// Maps of one size that fit a partition if each is expected to stay in the
/// chip, next to what it is made from and what is made of it.
constexpr int64_t kMapsInPartition = 4;

/// True if `value` is expected to stay in the chip across `axis`: single
/// elements in DRAM are bursts of their own.
bool staysInside(Value value, int64_t axis,
                 const machine::Description &machine) {
  return kMapsInPartition * analysis::bufferBytes(storageOf(value),
                                                  shapeOf(value), axis,
                                                  machine) <=
         static_cast<int64_t>(machine.sb.bytesPerPartition);
}

/// True if `op` can work with `axis` of its first operand across partitions.
bool worksAcross(Operation *op, int64_t axis,
                 const machine::Description &machine) {
  if (auto pool = dyn_cast<VecPoolOp>(op))
    return pool.worksAcross(axis) &&
           (!pool.reducesAlong(axis) || sumsAcross(pool, axis, machine));
  if (auto reduce = dyn_cast<VecReduceOp>(op))
    return !reduce.reducesAlong(axis) ||
           (staysInside(reduce.getX(), axis, machine) &&
            reducesThrough(reduce, axis, machine));
  return true;
}

int64_t poolAxis(VecPoolOp op, const machine::Description &machine) {
  auto shape = shapeOf(op.getY());
  auto allowed = [&](int64_t axis) { return worksAcross(op, axis, machine); };
  auto produced = producedAxis(op.getX());
  bool encoded = storageOf(op.getX()).encoded;
  if (produced && *produced >= 0 && allowed(*produced) &&
      (encoded || shape[*produced] > 1))
    return *produced;
  return longestAxis(shape, allowed);
}

int64_t reduceAxis(VecReduceOp op, const machine::Description &machine) {
  auto input = shapeOf(op.getX());
  bool keeps = shapeOf(op.getY()).size() == input.size();
  auto kept = [&](int64_t axis) { return !op.reducesAlong(axis); };
  auto resultAxis = [&](int64_t axis) {
    int64_t dropped = 0;
    for (int64_t reduced : op.getAxes())
      dropped += reduced < axis;
    return keeps ? axis : axis - dropped;
  };
  analysis::StorageType type = storageOf(op.getY());
  for (int64_t axis = 0; axis < static_cast<int64_t>(input.size()); ++axis)
    if (type.encoded && kept(axis) && resultAxis(axis) == type.blockAxis)
      return type.blockAxis;
  auto produced = producedAxis(op.getX());
  if (produced && *produced >= 0 && kept(*produced))
    return resultAxis(*produced);
  const int64_t axis = longestAxis(input, kept);
  if (produced && *produced >= 0 && reducesThrough(op, *produced, machine))
    return *produced;
  return axis < 0 ? axis : resultAxis(axis);
}

/// Rows of a softmax may lie within partitions or across them: both take the
/// same passes over the elements of a partition. Laying the input or the result
/// anew costs a move as well, so the axis that needs none wins a tie.
int64_t softmaxAxis(VecSoftmaxOp op, int64_t partitions) {
  llvm::ArrayRef<int64_t> shape = shapeOf(op.getY());
  analysis::StorageType type = storageOf(op.getY());
  auto produced = producedAxis(op.getX());
  auto moves = [&](int64_t axis) {
    return (type.encoded && axis != type.blockAxis) +
           (produced && *produced >= 0 && axis != *produced);
  };
  int64_t best = shape.empty() ? -1 : 0;
  for (int64_t axis = 1; axis < static_cast<int64_t>(shape.size()); ++axis)
    if (std::pair(depthAcross(shape, axis, partitions), moves(axis)) <
        std::pair(depthAcross(shape, best, partitions), moves(best)))
      best = axis;
  return best;
}

/// True if every reader of `value`, after up to `depth` element-wise
/// operations as well, can work with `axis` of it across partitions.
bool suitsReaders(Value value, int64_t axis,
                  const machine::Description &machine, int64_t depth = 3) {
  return llvm::all_of(value.getUsers(), [&](Operation *user) {
    auto map = dyn_cast<MapInterface>(user);
    bool follows = map && depth > 0 && shapeOf(map.getY()) == shapeOf(value) &&
                   !storageOf(map.getY()).encoded;
    return follows ? suitsReaders(map.getY(), axis, machine, depth - 1)
                   : worksAcross(user, axis, machine);
  });
}

/// A float tensor is laid across another axis than the default one where that
/// leaves so many times fewer elements in a partition.
constexpr int64_t kWorthAnotherAxis = 4;

/// True if no reader of `value`, after element-wise operations and views as
/// well, needs an axis of its own: all can work across `axis`.
bool isFree(Value value, int64_t axis, const machine::Description &machine,
            int64_t depth = 8) {
  return llvm::all_of(value.getUsers(), [&](Operation *user) {
    if (isa<func::ReturnOp>(user))
      return true;
    if (user->getNumResults() != 1 || depth == 0)
      return false;
    Value result = user->getResult(0);
    // Blocks have their axis as partition dimension; so should what becomes
    // them.
    if (storageOf(result).encoded)
      return false;
    if (auto move = dyn_cast<DmaMoveOp>(user)) {
      auto through = move.getInputs().size() == 1
                         ? analysis::viewAxis(move, axis)
                         : std::nullopt;
      return !through || isFree(result, *through, machine, depth - 1);
    }
    if (isa<MapInterface>(user))
      return !storageOf(result).encoded && shapeOf(result) == shapeOf(value) &&
             isFree(result, axis, machine, depth - 1);
    return user->hasTrait<OwnWorkAxis>() && worksAcross(user, axis, machine);
  });
}

/// Axis of a result that its operands do not dictate: the default one, or the
/// one across which partitions hold much less, if readers let it.
int64_t freeAxis(Value result, const machine::Description &machine) {
  const auto partitions = static_cast<int64_t>(machine.sb.partitions);
  llvm::ArrayRef<int64_t> shape = shapeOf(result);
  const int64_t axis = defaultAxis(shape);
  int64_t best = axis;
  for (int64_t other = 0; other < static_cast<int64_t>(shape.size()); ++other)
    if (depthAcross(shape, other, partitions) <
        depthAcross(shape, best, partitions))
      best = other;
  const bool worth = best != axis &&
                     kWorthAnotherAxis * depthAcross(shape, best, partitions) <=
                         depthAcross(shape, axis, partitions);
  return worth && isFree(result, best, machine) ? best : axis;
}

/// The axis across which an operation on a tensor and a reduction of the same
/// tensor works best (x - mean(x)), if that is not the tensor's own: the
/// reduction gets a copy across it anyway, and there the reduced values need
/// not be spread over partitions. Only where partitions then hold no more.
std::optional<int64_t> axisOfReduction(MapInterface op, int64_t partitions) {
  const llvm::ArrayRef<int64_t> shape = shapeOf(op.getY());
  auto inputs = op.getInputs();
  if (inputs.size() != 2)
    return std::nullopt;
  for (auto [whole, reduced] :
       {std::pair(inputs[0], inputs[1]), {inputs[1], inputs[0]}}) {
    const auto own = producedAxis(whole), other = producedAxis(reduced);
    if (!own || !other || *own < 0 || *other < 0 || *own == *other ||
        shapeOf(whole) != shape || shapeOf(reduced).size() != shape.size() ||
        shapeOf(reduced)[*other] != shape[*other] ||
        depthAcross(shape, *other, partitions) >
            depthAcross(shape, *own, partitions))
      continue;
    const bool copied =
        llvm::any_of(whole.getUsers(), [&, axis = *other](Operation *user) {
          auto reduce = dyn_cast<VecReduceOp>(user);
          return reduce && axisOf(reduce) == axis &&
                 shapeOf(reduce.getY()).size() == shape.size();
        });
    if (copied)
      return *other;
  }
  return std::nullopt;
}

int64_t mapAxis(MapInterface op, const machine::Description &machine) {
  const auto partitions = static_cast<int64_t>(machine.sb.partitions);
  auto shape = shapeOf(op.getY());
  int64_t rank = shape.size();
  if (auto axis = axisOfReduction(op, partitions))
    return *axis;
  std::optional<int64_t> single;
  for (Value input : op.getInputs()) {
    auto inputShape = shapeOf(input);
    auto axis = producedAxis(input);
    int64_t offset = rank - static_cast<int64_t>(inputShape.size());
    if (!axis || *axis < 0 || inputShape[*axis] != shape[*axis + offset])
      continue;
    if (shape[*axis + offset] > 1)
      return *axis + offset;
    single = single.value_or(*axis + offset);
  }
  if (single && !isWorthSpreading(shape, op.getOp(), machine))
    return *single;
  if (single)
    return longestAxis(shape, [](int64_t) { return true; });
  return freeAxis(op.getY(), machine);
}

/// A result that can be a view of its operand keeps that one's partitions,
/// unless a reader needs others.
int64_t moveAxis(DmaMoveOp op, const machine::Description &machine) {
  auto shape = shapeOf(op.getY());
  auto suits = [&](int64_t axis) {
    return suitsReaders(op.getY(), axis, machine);
  };
  if (op.getInputs().size() == 1)
    if (auto produced = producedAxis(op.getInputs()[0]))
      if (auto axis = analysis::viewAxis(op, *produced); axis && suits(*axis))
        return *axis;
  int64_t axis = freeAxis(op.getY(), machine);
  if (axis < 0 || suits(axis))
    return axis;
  int64_t longest = longestAxis(shape, suits);
  return longest < 0 ? axis : longest;
}

int64_t gatherAxis(VecGatherOp op) {
  auto allowed = [&](int64_t axis) {
    return axis != static_cast<int64_t>(op.getAxis());
  };
  auto produced = producedAxis(op.getX());
  if (produced && *produced >= 0 && allowed(*produced))
    return *produced;
  return longestAxis(shapeOf(op.getY()), allowed);
}

/// Axis that `op` works across.
int64_t chooseAxis(Operation *op, const machine::Description &machine) {
  Value result = op->getResult(0);
  analysis::StorageType type = storageOf(result);
  if (type.encoded && !op->hasTrait<OwnWorkAxis>())
    return type.blockAxis;
  if (isa<PeConvOp, TcuConvOp>(op))
    return 1;
  if (isa<PeMatmulOp>(op))
    return static_cast<int64_t>(shapeOf(result).size()) - 1;
  const auto partitions = static_cast<int64_t>(machine.sb.partitions);
  if (auto map = dyn_cast<MapInterface>(op))
    return mapAxis(map, machine);
  if (auto pool = dyn_cast<VecPoolOp>(op))
    return poolAxis(pool, machine);
  if (auto reduce = dyn_cast<VecReduceOp>(op))
    return reduceAxis(reduce, machine);
  if (auto softmax = dyn_cast<VecSoftmaxOp>(op))
    return softmaxAxis(softmax, partitions);
  if (auto move = dyn_cast<DmaMoveOp>(op))
    return moveAxis(move, machine);
  if (auto gather = dyn_cast<VecGatherOp>(op))
    return gatherAxis(gather);
  return defaultAxis(shapeOf(result));
}

struct AssignAxisPass : impl::AssignAxisBase<AssignAxisPass> {
  void runOnOperation() override {
    auto machine = boundMachineOf(getOperation());
    if (failed(machine))
      return signalPassFailure();
    getOperation().walk([&](DecisionInterface op) {
      analysis::StorageType type = storageOf(op->getResult(0));
      int64_t work = chooseAxis(op, *machine);
      int64_t stored = type.encoded ? type.blockAxis : work;
      op.setLayoutAttr(LayoutAttr::get(
          &getContext(), stored,
          work != stored ? std::optional(work) : std::nullopt, /*lanes=*/1,
          /*pitch=*/0, /*spread=*/{}, /*workSpread=*/{}));
    });
  }
};

} // namespace
} // namespace ashlar::npu
