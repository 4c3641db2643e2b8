// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whether the partitions after the channels of a map are free in the bytes
// that the map has in the others.

#include "../Generator.h"

#include "ashlar/Analysis/Layout/MoveView.h"
#include "ashlar/Analysis/Layout/StorageType.h"
#include "dialects/NN/NNOps.h"
#include "dialects/NPU/NPUDialect.h"

using namespace mlir;

namespace ashlar::codegen {
namespace {

/// Elements across partitions; 0 if that is not known.
int64_t channelsOf(Value map) {
  npu::LayoutAttr layout =
      map.getDefiningOp() ? npu::layoutAttrOf(map.getDefiningOp()) : nullptr;
  return layout && layout.getAxis() >= 0
             ? analysis::shapeOf(map)[layout.getAxis()]
             : 0;
}

/// True if `map` is alone in its memory, or shares it only with views and
/// concatenations that have no more channels.
bool isAlone(Value map) {
  Operation *op = map.getDefiningOp();
  if (!op)
    return true;
  auto isAloneIn = [&](Value whole) {
    return channelsOf(map) > 0 && channelsOf(whole) == channelsOf(map) &&
           isAlone(whole);
  };
  if (mlir::isa<nn::ConstantOp>(op) ||
      (analysis::isView(op) && !isAloneIn(op->getOperand(0))))
    return false;
  return llvm::all_of(op->getUsers(), [&](Operation *user) {
    return !npu::isAliased(user) || user->getNumOperands() == 1 ||
           isAloneIn(user->getResult(0));
  });
}

} // namespace

bool ownsPartitions(const TileContext &tile, unsigned operands) {
  const Value result = tile.op->getResult(0);
  const int64_t axis = tile.result.axis;
  // A tile of some channels is followed by the others.
  if (axis < 0 || axis >= static_cast<int64_t>(tile.out.start.size()) ||
      tile.out.start[axis] != 0 ||
      tile.out.size[axis] != analysis::shapeOf(result)[axis] ||
      tile.result.part != 0 || !isAlone(result))
    return false;
  for (unsigned i = 0; i < operands; ++i)
    if (analysis::Region::whole(tile.operands[i].shape).elements() > 1 &&
        (tile.operands[i].part != 0 || !isAlone(tile.op->getOperand(i))))
      return false;
  return true;
}

} // namespace ashlar::codegen
