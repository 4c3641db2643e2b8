// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds implicit changes of the partition dimension and makes them movements.

#include "AxisChanges.h"

#include "ashlar/Analysis/Tiles/TilingModel.h"
#include "dialects/NPU/AccessPattern.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/MapVector.h"

namespace ashlar::npu {

using namespace mlir;
using analysis::shapeOf;
using analysis::storageOf;

namespace {

bool isPlanned(Operation *op) {
  return op && isa_and_nonnull<NPUDialect>(op->getDialect());
}

/// True if what is mapped to partitions by `axis` is single elements of its
/// tensor in DRAM: neighbours there are in other partitions.
bool splitsRows(Value value, int64_t axis) {
  return llvm::all_of(shapeOf(value).drop_front(axis + 1),
                      [](int64_t extent) { return extent == 1; });
}

class AxisChanges {
public:
  explicit AxisChanges(const machine::Description &machine)
      : machine(machine) {}

  void find(Operation *op) {
    if (isa<DmaMoveOp>(op) || op->hasTrait<HostEngine>())
      return;
    findReads(op);
    if (op->getNumResults() == 1)
      findStores(op->getResult(0));
  }

  void expose() {
    for (auto &[change, uses] : reads)
      replaceUses(uses, change.first, change.second);
    // The axis of what is only stored is free; until it is chosen it is that of
    // the value.
    for (auto &[value, uses] : stores)
      replaceUses(uses, value, *axisOf(value.getDefiningOp()));
  }

private:
  using Uses = llvm::SmallVector<OpOperand *, 2>;

  /// Operands that are copied to another axis before they are read.
  void findReads(Operation *op) {
    const analysis::TilingModel model = analysis::buildTilingModel(op, machine);
    for (auto [i, operand] : llvm::enumerate(model.operands)) {
      Value value = op->getOperand(i);
      Operation *producer = value.getDefiningOp();
      if (operand.streamed || operand.direct || operand.padded ||
          operand.axis < 0 || operand.lanes.folded() ||
          storageOf(value).encoded || (producer && !isPlanned(producer)))
        continue;
      if (producer ? axisOf(producer).value_or(-1) == operand.axis
                   : !splitsRows(value, operand.axis))
        continue;
      reads[{value, operand.axis}].push_back(&op->getOpOperand(i));
    }
  }

  void findStores(Value value) {
    const int64_t axis = axisOf(value.getDefiningOp()).value_or(-1);
    if (storageOf(value).encoded || axis < 0 || !splitsRows(value, axis))
      return;
    for (OpOperand &use : value.getUses())
      if (isa<func::ReturnOp>(use.getOwner()))
        stores[value].push_back(&use);
  }

  void replaceUses(llvm::ArrayRef<OpOperand *> uses, Value value,
                   int64_t axis) {
    Operation *first = uses.front()->getOwner();
    for (OpOperand *use : uses)
      if (use->getOwner()->isBeforeInBlock(first))
        first = use->getOwner();
    OpBuilder builder(first);
    Location loc = isPlanned(first) ? first->getLoc() : value.getLoc();
    Value moved = movement(builder, loc, value, axis);
    for (OpOperand *use : uses)
      use->set(moved);
  }

  /// Every element to its own index.
  static Value movement(OpBuilder &builder, Location loc, Value value,
                        int64_t axis) {
    auto type = cast<RankedTensorType>(value.getType());
    AccessPattern pattern;
    for (auto [i, extent] : llvm::enumerate(type.getShape())) {
      auto own = static_cast<int64_t>(i);
      pattern.dims.push_back({extent, own, 1, own, 1});
    }
    pattern.sourceStart.assign(type.getRank(), 0);
    pattern.resultStart.assign(type.getRank(), 0);
    Attribute patterns =
        builder.getDenseI64ArrayAttr(pattern.toArray(type.getRank()));
    auto move = DmaMoveOp::create(builder, loc, type, value,
                                  builder.getStringAttr(kAxisChange),
                                  builder.getArrayAttr(patterns), FloatAttr());
    move.setOriginAttr(OriginAttr::get(builder.getContext(), StringAttr(),
                                       builder.getStringAttr(kAxisChange)));
    move.setLayoutAttr(LayoutAttr::get(builder.getContext(), axis));
    return move.getY();
  }

  const machine::Description &machine;
  llvm::MapVector<std::pair<Value, int64_t>, Uses> reads;
  llvm::MapVector<Value, Uses> stores;
};

} // namespace

void exposeAxisChanges(ModuleOp module, const machine::Description &machine) {
  AxisChanges changes(machine);
  module.walk([&](Operation *op) {
    if (isPlanned(op))
      changes.find(op);
  });
  changes.expose();
}

void dropAxisChange(DmaMoveOp move) {
  move.getY().replaceAllUsesWith(move.getInputs()[0]);
  move.erase();
}

} // namespace ashlar::npu
