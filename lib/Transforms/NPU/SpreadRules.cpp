// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which operations can work with a second axis across partitions, and which
// results can lie so.

#include "ashlar/Analysis/Tiles/TileSequence.h"
#include "ashlar/Analysis/Tiles/TilingModel.h"
#include "ashlar/Transforms/NPU/Passes.h"
#include "dialects/NPU/AccessPattern.h"
#include "dialects/NPU/NPUDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/STLExtras.h"

namespace ashlar::npu {

using namespace mlir;
using analysis::Lanes;
using analysis::shapeOf;
using analysis::storageOf;
using analysis::StorageType;

namespace {

/// True if groups of `lanes.pitch` partitions hold whole blocks of `type`, and
/// whole exponent cells.
bool keepsBlocks(const StorageType &type, int64_t across, const Lanes &lanes,
                 const machine::Description &machine) {
  if (!type.encoded)
    return true;
  const int64_t block = type.format.block;
  return block > 0 && type.blockAxis == across && lanes.pitch % block == 0 &&
         lanes.pitch % static_cast<int64_t>(machine.xmGroup) == 0;
}

/// True if a feature map of `shape` across `axis` has whole groups in `lanes`.
bool fits(llvm::ArrayRef<int64_t> shape, int64_t axis, const Lanes &lanes) {
  const auto rank = static_cast<int64_t>(shape.size());
  return lanes.spread() && lanes.across == axis && axis < rank &&
         lanes.axis < rank && lanes.axis != axis &&
         lanes.pitch == shape[axis] && shape[lanes.axis] % lanes.count == 0 &&
         shape[lanes.axis] > 0;
}

bool mapWorks(MapInterface map, int64_t axis, const Lanes &lanes,
              const machine::Description &machine) {
  auto goesIn = [&](Value operand) {
    auto shape = shapeOf(operand);
    const int64_t own =
        axis - static_cast<int64_t>(shapeOf(map.getY()).size() - shape.size());
    return analysis::broadcastLanes(shape, shapeOf(map.getY()), lanes) &&
           keepsBlocks(storageOf(operand), own, lanes, machine);
  };
  return map.hasParametersAlong(axis) &&
         llvm::all_of(map->getOperands(), goesIn);
}

/// A data movement that moves nothing: one pattern, of all elements in their
/// order.
bool isCopy(DmaMoveOp move) {
  if (move.getInputs().size() != 1 || move.getPatterns().size() != 1 ||
      move.getFill() || move.getRoute() != Route::Copy ||
      move.getInputs()[0].getType() != move.getY().getType())
    return false;
  auto pattern = AccessPattern::fromArray(
      cast<DenseI64ArrayAttr>(move.getPatterns()[0]).asArrayRef());
  auto isZero = [](int64_t start) { return start == 0; };
  int64_t elements = 1, moved = 1;
  for (int64_t extent : shapeOf(move.getY()))
    elements *= extent;
  for (const PatternDim &dim : pattern->dims) {
    moved *= dim.extent;
    if (dim.sourceAxis != dim.resultAxis || dim.sourceStep != dim.resultStep)
      return false;
  }
  return moved == elements && llvm::all_of(pattern->sourceStart, isZero) &&
         llvm::all_of(pattern->resultStart, isZero);
}

/// True if the tiles of the result may be made in scratch memory.
bool writesTiles(Operation *op) {
  if (auto move = dyn_cast<DmaMoveOp>(op))
    return isCopy(move) && !analysis::lanesOf(move.getInputs()[0]).folded();
  return (isa<PeConvOp, TcuConvOp>(op) && !hasStationaryActivations(op)) ||
         isa<MapInterface, VecReduceOp, VecPoolOp>(op);
}

} // namespace

bool mayWorkSpread(Operation *op, const Lanes &lanes,
                   const machine::Description &machine) {
  LayoutAttr layout = layoutAttrOf(op);
  if (!layout || layout.getWorkAxis() || layout.isFolded())
    return false;
  Value result = op->getResult(0);
  const int64_t axis = layout.getAxis();
  if (!fits(shapeOf(result), axis, lanes) ||
      !keepsBlocks(storageOf(result), axis, lanes, machine))
    return false;
  if (auto map = dyn_cast<MapInterface>(op))
    return mapWorks(map, axis, lanes, machine);
  auto reduce = dyn_cast<VecReduceOp>(op);
  return reduce && !storageOf(reduce.getX()).encoded &&
         !reduce.reducesThroughPartitions();
}

bool mayLieSpread(Operation *op, const Lanes &lanes,
                  const machine::Description &machine) {
  LayoutAttr layout = layoutAttrOf(op);
  if (!layout || layout.getWorkAxis() || layout.isFolded() || !writesTiles(op))
    return false;
  Value result = op->getResult(0);
  if (!fits(shapeOf(result), layout.getAxis(), lanes) ||
      !keepsBlocks(storageOf(result), layout.getAxis(), lanes, machine))
    return false;
  return llvm::all_of(analysis::readsOf(result), [&](OpOperand *use) {
    Operation *reader = use->getOwner();
    if (!isa<DecisionInterface>(reader) || !layoutAttrOf(reader))
      return false;
    const analysis::TilingModel model =
        analysis::buildTilingModel(reader, machine);
    const unsigned index = use->getOperandNumber();
    return index < model.operands.size() && !model.operands[index].streamed &&
           !model.operands[index].direct;
  });
}

} // namespace ashlar::npu
