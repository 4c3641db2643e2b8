// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Verifiers of the work of the host; constraint labels of NPUHostOps.td.

#include "dialects/BFP/BFPTypes.h"
#include "dialects/NPU/NPUVerify.h"
#include "mlir/IR/Builders.h"

using namespace mlir;

namespace ashlar::npu {
namespace {

int64_t extentOf(Value value, size_t dim) {
  return dim < shapeOf(value).size() ? shapeOf(value)[dim] : 0;
}

LogicalResult checkPlain(Operation *op) {
  for (Value operand : op->getOperands())
    if (isa<bfp::BlockType>(tensorTypeOf(operand).getElementType()))
      return op->emitOpError()
             << "reads an encoded operand, " << operand.getType();
  return success();
}

LogicalResult checkIndices(Operation *op, nn::ShapeOr expected) {
  if (!expected)
    return op->emitOpError() << llvm::toString(expected.takeError());
  RankedTensorType type = tensorTypeOf(op->getResult(0));
  if (type.getElementType().isSignlessInteger(64) &&
      type.getShape() == ArrayRef<int64_t>(*expected))
    return success();
  return op->emitOpError() << "result is " << type << ", expected i64 of shape "
                           << nn::shapeToString(*expected);
}

} // namespace

LogicalResult HostNonzeroOp::verify() {
  if (failed(checkPlain(*this))) // npu_host_nonzero_c1
    return failure();
  return checkIndices(*this, nn::inferNonzero(shapeOf(getX())));
}

LogicalResult HostSortOp::verify() {
  if (failed(checkPlain(*this))) // npu_host_sort_c1
    return failure();
  return checkIndices(*this, nn::inferArgSort(shapeOf(getX()), getAxis(),
                                              extentOf(getY(), getAxis())));
}

LogicalResult HostUniqueOp::verify() {
  if (failed(checkPlain(*this))) // npu_host_unique_c1
    return failure();
  return checkIndices(*this, nn::inferUnique(shapeOf(getX())));
}

int64_t HostNmsOp::getKeep() {
  const int64_t lists = extentOf(getScores(), 0) * extentOf(getScores(), 1);
  return lists > 0 ? extentOf(getY(), 0) / lists : 0;
}

LogicalResult HostNmsOp::verify() { // npu_host_nms_c1
  for (Value operand : {getBoxes(), getScores(), getIou(), getLeast()})
    if (!tensorTypeOf(operand).getElementType().isF32())
      return emitOpError() << "expects boxes, scores and thresholds of f32, "
                              "found "
                           << operand.getType();
  if (!tensorTypeOf(getMost()).getElementType().isSignlessInteger(64))
    return emitOpError() << "expects a number of boxes of i64, found "
                         << getMost().getType();
  for (Value parameter : {getMost(), getIou(), getLeast()})
    if (nn::elementCount(shapeOf(parameter)) != 1)
      return emitOpError() << "expects parameters of one element, found "
                           << parameter.getType();
  return checkIndices(*this, nn::inferNms(shapeOf(getBoxes()),
                                          shapeOf(getScores()), getKeep()));
}

} // namespace ashlar::npu
