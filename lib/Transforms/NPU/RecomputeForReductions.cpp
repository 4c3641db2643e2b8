// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Computes the operand of a reduction where the reduction needs it. Input: npu
// operations with `layout`. Output: the same, some element-wise operations
// twice, across two axes.
//
// A variance reduces (x - mean(x))^2 along the channels, which lie across
// partitions; so does the mean. The mean has a copy of x across the positions
// already. From it the vector unit makes the squares across the positions in
// fewer cycles than their own copy would take.

#include "ashlar/Analysis/Cost/CopyNest.h"
#include "ashlar/Analysis/Cost/OperationCycles.h"
#include "ashlar/Analysis/Layout/StorageType.h"
#include "ashlar/Analysis/Layout/View.h"
#include "ashlar/Transforms/NPU/Passes.h"
#include "dialects/NPU/NPUDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/MathExtras.h"

namespace ashlar::npu {
#define GEN_PASS_DEF_RECOMPUTEFORREDUCTIONS
#include "ashlar/Transforms/NPU/Passes.h.inc"

using namespace mlir;
using analysis::shapeOf;
using analysis::storageOf;

namespace {

/// Operations on the way from a copy that exists to the reduction.
constexpr size_t kMostRecomputed = 4;

/// A copy takes so many times the cycles of what replaces it: the vector unit
/// is busier than the queues.
constexpr int64_t kLeastGain = 2;

/// The element-wise operations that make the operand of a reduction from
/// tensors that are there across the axis the reduction needs.
class Chain {
public:
  Chain(VecReduceOp reduce, int64_t axis, const machine::Description &machine)
      : reduce(reduce), axis(axis), machine(machine) {}

  /// False if some operand of the chain is not there.
  bool find() { return follow(reduce.getX()) && !operations.empty(); }

  /// True if the vector unit takes clearly less for the operations than the
  /// queues for a copy of the operand.
  bool pays() {
    int64_t more = 0;
    for (Operation *op : operations) {
      more += cyclesAcross(op, axis);
      if (servesAlone(op))
        more -= cyclesAcross(op, *axisOf(op));
    }
    return kLeastGain * more < copyCycles();
  }

  /// Makes the chain anew across the axis; what nothing else reads goes.
  int64_t recompute() {
    OpBuilder builder(reduce);
    IRMapping mapping;
    for (Operation *op : llvm::reverse(operations)) {
      Operation *made = builder.clone(*op, mapping);
      auto decided = cast<DecisionInterface>(made);
      decided.setLayoutAttr(LayoutAttr::get(op->getContext(), axis));
      if (OriginAttr origin = decided.getOriginAttr())
        decided.setOriginAttr(OriginAttr::get(builder.getContext(),
                                              StringAttr(), origin.getOp()));
    }
    reduce.getXMutable().assign(mapping.lookup(reduce.getX()));
    int64_t kept = 0;
    for (Operation *op : operations) {
      if (!op->use_empty()) {
        ++kept;
        continue;
      }
      auto made = mapping.lookup(op->getResult(0)).getDefiningOp();
      cast<DecisionInterface>(made).setOriginAttr(originOf(op));
      op->erase();
    }
    return kept;
  }

private:
  static LayoutAttr acrossOf(Operation *op, int64_t axis) {
    return LayoutAttr::get(op->getContext(), axis);
  }

  /// True if another reduction has a copy of \p value across the axis.
  bool hasCopy(Value value) {
    return llvm::any_of(value.getUsers(), [&](Operation *user) {
      auto other = dyn_cast<VecReduceOp>(user);
      return other && other != reduce && axisOf(other) == axis &&
             other.getAxes() == reduce.getAxes() &&
             shapeOf(other.getY()).size() == shapeOf(value).size() &&
             other->isBeforeInBlock(reduce);
    });
  }

  bool follow(Value value) {
    Operation *op = value.getDefiningOp();
    if (!op || op->getBlock() != reduce->getBlock())
      return false;
    if (shapeOf(value) != shapeOf(reduce.getX()))
      return axisOf(op) == axis &&
             shapeOf(value).size() == shapeOf(reduce.getX()).size();
    if (axisOf(op) == axis || hasCopy(value))
      return true;
    auto map = dyn_cast<VecMapOp>(op);
    if (!map || map.getScale() || map.getBias() || storageOf(value).encoded)
      return false;
    // Users stand before what they use.
    operations.remove(op);
    operations.insert(op);
    return operations.size() <= kMostRecomputed &&
           llvm::all_of(map.getInputs(),
                        [&](Value input) { return follow(input); });
  }

  /// True if nothing but the chain reads \p op.
  bool servesAlone(Operation *op) const {
    return llvm::all_of(op->getUsers(), [&](Operation *user) {
      return user == reduce || (operations.contains(user) && servesAlone(user));
    });
  }

  int64_t cyclesAcross(Operation *op, int64_t across) const {
    const llvm::ArrayRef<int64_t> shape = shapeOf(op->getResult(0));
    auto map = cast<VecMapOp>(op);
    const auto channels = static_cast<uint64_t>(shape[across]);
    const auto elements = static_cast<uint64_t>(
        cast<RankedTensorType>(op->getResult(0).getType()).getNumElements());
    return static_cast<int64_t>(
        machine::vecMap(machine,
                        machine::vecCostOf(map.getOp())
                            .value_or(machine::VecCost::VeryExpensive),
                        machine::VecStore::Same, channels, elements / channels)
            .issue);
  }

  int64_t copyCycles() {
    const Value value = reduce.getX();
    const llvm::ArrayRef<int64_t> shape = shapeOf(value);
    const int64_t from = *axisOf(value.getDefiningOp());
    const int64_t bytes =
        analysis::bufferBytes(storageOf(value), shape, from, machine);
    machine::TransferCosts costs(machine);
    analysis::OperationCycles cycles;
    cycles.copies = analysis::copyCost(
        analysis::denseBufferView(storageOf(value), shape, from, 0, machine),
        analysis::denseBufferView(storageOf(value), shape, axis,
                                  llvm::alignTo(bytes, 64), machine),
        analysis::identityPattern(shape), costs);
    cycles.latency = static_cast<int64_t>(machine.dma.onchipLatency);
    return cycles.copied(machine);
  }

  VecReduceOp reduce;
  int64_t axis;
  const machine::Description &machine;
  llvm::SetVector<Operation *> operations; ///< Users before what they use.
};

struct RecomputeForReductionsPass
    : impl::RecomputeForReductionsBase<RecomputeForReductionsPass> {
  void runOnOperation() override {
    auto machine = assignedMachineOf(getOperation());
    if (failed(machine))
      return signalPassFailure();
    SmallVector<VecReduceOp> reductions;
    getOperation().walk([&](VecReduceOp op) { reductions.push_back(op); });
    for (VecReduceOp reduce : reductions) {
      Operation *producer = reduce.getX().getDefiningOp();
      const auto axis = axisOf(reduce), own = axisOf(producer);
      // Of a result of fewer dimensions the axis has another number.
      if (!axis || !own || *axis < 0 || *own < 0 || *axis == *own ||
          shapeOf(reduce.getY()).size() != shapeOf(reduce.getX()).size() ||
          !llvm::is_contained(reduce.getAxes(), *own))
        continue;
      Chain chain(reduce, *axis, *machine);
      if (chain.find() && chain.pays())
        numRecomputed += chain.recompute();
    }
  }
};

} // namespace
} // namespace ashlar::npu
