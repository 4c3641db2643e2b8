// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Verifiers of the work of the host (NNHostOps.td).

#include "dialects/NN/NNOps.h"
#include "dialects/NN/NNShapes.h"

using namespace mlir;
using namespace ashlar::nn;

namespace {

ArrayRef<int64_t> shapeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

/// Extent `dim` of a value that may not have so many; then 0, which no rule
/// accepts.
int64_t extentOf(Value value, size_t dim) {
  ArrayRef<int64_t> shape = shapeOf(value);
  return dim < shape.size() ? shape[dim] : 0;
}

/// Results are indices of the inferred shape.
LogicalResult checkIndices(Operation *op, ShapeOr expected) {
  if (!expected)
    return op->emitOpError() << llvm::toString(expected.takeError());
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  if (type.getElementType().isSignlessInteger(64) &&
      type.getShape() == ArrayRef<int64_t>(*expected))
    return success();
  return op->emitOpError() << "result is " << type << ", expected i64 of shape "
                           << shapeToString(*expected);
}

} // namespace

LogicalResult NonzeroOp::verify() { // nonzero_c1, nonzero_c2
  return checkIndices(*this, inferNonzero(shapeOf(getX())));
}

LogicalResult ArgSortOp::verify() { // arg_sort_c1, arg_sort_c2
  return checkIndices(*this, inferArgSort(shapeOf(getX()), getAxis(),
                                          extentOf(getY(), getAxis())));
}

LogicalResult UniqueOp::verify() { // unique_c1, unique_c2
  return checkIndices(*this, inferUnique(shapeOf(getX())));
}

int64_t NmsOp::getKeep() {
  const int64_t lists = extentOf(getScores(), 0) * extentOf(getScores(), 1);
  return lists > 0 ? extentOf(getY(), 0) / lists : 0;
}

LogicalResult NmsOp::verify() {
  for (Value parameter : {getMost(), getIou(), getLeast()})
    if (elementCount(shapeOf(parameter)) != 1) // nms_c1
      return emitOpError() << "expects parameters of one element, found "
                           << parameter.getType();
  return checkIndices(
      *this, inferNms(shapeOf(getBoxes()), shapeOf(getScores()), getKeep()));
}
