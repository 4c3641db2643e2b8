// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Verifiers of the `nn` dialect. Labels such as conv_c3 are defined in the op
// descriptions. Element types are deliberately not compared: later phases put
// storage types on values.

#include "dialects/NN/NNOps.h"
#include "dialects/NN/NNShapes.h"
#include "mlir/IR/DialectResourceBlobManager.h"

using namespace mlir;
using namespace ashlar::nn;

namespace {

ArrayRef<int64_t> shapeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

LogicalResult check(Operation *op, llvm::Error error) {
  if (!error)
    return success();
  return op->emitOpError() << llvm::toString(std::move(error));
}

/// Compares the only result's shape with the inferred one.
LogicalResult checkResult(Operation *op, ShapeOr expected) {
  if (!expected)
    return check(op, expected.takeError());
  ArrayRef<int64_t> found = shapeOf(op->getResult(0));
  if (found == ShapeRef(*expected))
    return success();
  return op->emitOpError() << "result has shape " << shapeToString(found)
                           << ", expected " << shapeToString(*expected);
}

LogicalResult checkBias(Operation *op, Value bias, int64_t channels) {
  if (!bias || shapeOf(bias) == ArrayRef<int64_t>(channels))
    return success();
  return op->emitOpError() << "bias has shape " << shapeToString(shapeOf(bias))
                           << ", expected " << channels;
}

LogicalResult checkAxis(Operation *op, int64_t axis, size_t rank) {
  if (axis >= 0 && axis < static_cast<int64_t>(rank))
    return success();
  return op->emitOpError() << "axis " << axis << " is out of range for rank "
                           << rank;
}

template <class OpTy>
LogicalResult checkBinary(OpTy op) {
  return checkResult(op,
                     inferBroadcast(shapeOf(op.getA()), shapeOf(op.getB())));
}

/// Accepts the floor and the ceil count of windows: ceil_mode is resolved in
/// the result shape.
template <class OpTy>
LogicalResult checkPool(OpTy op) {
  ArrayRef<int64_t> x = shapeOf(op.getX()), y = shapeOf(op.getY());
  Window window = {op.getKernel(), op.getStrides(), op.getPads(),
                   op.getDilations()};
  ShapeOr least = inferPool(x, window, Rounding::Floor);
  if (!least)
    return check(op, least.takeError());
  bool fits = y.size() == least->size();
  for (size_t i = 0; fits && i < y.size(); ++i) {
    int64_t room = i < 2 ? 0 : (*least)[i] + 1;
    fits = y[i] == (*least)[i] || y[i] == room;
    if (i < 2 || y[i] != room)
      continue;
    size_t s = i - 2, rank = y.size() - 2;
    int64_t extent = (window.kernel[s] - 1) * window.dilations[s] + 1;
    int64_t padded = x[i] + window.pads[s] + window.pads[s + rank];
    fits = (padded - extent) % window.strides[s] != 0;
  }
  if (fits)
    return success();
  return op.emitOpError() << "result has shape " << shapeToString(y)
                          << ", expected " << shapeToString(*least)
                          << " or one window more where the last is cut";
}

} // namespace

/// Whoever reads a constant makes its elements: a few letters of text must not
/// stand for more memory than a host has.
LogicalResult ConstantOp::verify() { // constant_c2
  auto dense = dyn_cast<DenseElementsAttr>(getValue());
  if (!dense && !isa<DenseResourceElementsAttr>(getValue()))
    return emitOpError() << "value must be dense or dense_resource";
  if (dense && dense.isSplat() && dense.getNumElements() > kMostOfSplat)
    return emitOpError() << "repeats one number " << dense.getNumElements()
                         << " times, at most " << kMostOfSplat
                         << " are possible";
  return success();
}

LogicalResult ConvOp::verify() { // conv_c1..c5
  ArrayRef<int64_t> w = shapeOf(getW());
  if (failed(
          checkResult(*this, inferConv(shapeOf(getX()), w, getStrides(),
                                       getPads(), getDilations(), getGroup()))))
    return failure();
  return checkBias(*this, getBias(), w[0]);
}

LogicalResult ConvTransposeOp::verify() { // conv_transpose_c1..c5
  ArrayRef<int64_t> w = shapeOf(getW());
  if (failed(checkResult(
          *this, inferConvTranspose(shapeOf(getX()), w, getStrides(), getPads(),
                                    getDilations(), getGroup()))))
    return failure();
  return checkBias(*this, getBias(), w[1] * static_cast<int64_t>(getGroup()));
}

LogicalResult MatMulOp::verify() { // matmul_c1..c3
  return checkResult(*this, inferMatMul(shapeOf(getA()), shapeOf(getB())));
}

LogicalResult Im2ColOp::verify() { // im2col_c1, im2col_c2
  return checkResult(*this,
                     inferIm2Col(shapeOf(getX()), {getKernel(), getStrides(),
                                                   getPads(), getDilations()}));
}

LogicalResult MaxPoolOp::verify() { return checkPool(*this); }
LogicalResult AvgPoolOp::verify() { return checkPool(*this); }

LogicalResult AddOp::verify() { return checkBinary(*this); }
LogicalResult SubOp::verify() { return checkBinary(*this); }
LogicalResult MulOp::verify() { return checkBinary(*this); }
LogicalResult DivOp::verify() { return checkBinary(*this); }
LogicalResult MaxOp::verify() { return checkBinary(*this); }
LogicalResult MinOp::verify() { return checkBinary(*this); }
LogicalResult PowOp::verify() { return checkBinary(*this); }
LogicalResult PReluOp::verify() { return checkBinary(*this); }
LogicalResult ModOp::verify() { return checkBinary(*this); }
LogicalResult CompareOp::verify() { return checkBinary(*this); }
LogicalResult LogicalOp::verify() { return checkBinary(*this); }

LogicalResult WhereOp::verify() { // where_c1
  ShapeOr values = inferBroadcast(shapeOf(getA()), shapeOf(getB()));
  if (!values)
    return check(*this, values.takeError());
  return checkResult(*this, inferBroadcast(*values, shapeOf(getCondition())));
}

LogicalResult ReduceOp::verify() { // reduce_c1, reduce_c2
  return checkResult(*this,
                     inferReduce(shapeOf(getX()), getAxes(), getKeepdims()));
}

LogicalResult ArgReduceOp::verify() { // arg_reduce_c1, arg_reduce_c2
  int64_t axis = getAxis();
  return checkResult(*this, inferReduce(shapeOf(getX()), axis, getKeepdims()));
}

LogicalResult SoftmaxOp::verify() { // softmax_c1
  return checkAxis(*this, getAxis(), shapeOf(getX()).size());
}

LogicalResult LogSoftmaxOp::verify() { // log_softmax_c1
  return checkAxis(*this, getAxis(), shapeOf(getX()).size());
}

LogicalResult BatchNormOp::verify() {
  ArrayRef<int64_t> x = shapeOf(getX());
  if (x.size() < 2) // batch_norm_c1
    return emitOpError() << "input has rank " << x.size()
                         << ", expected at least 2";
  if (failed(checkResult(*this, Shape(x))))
    return failure();
  for (Value operand : getOperands().drop_front()) // batch_norm_c2
    if (shapeOf(operand) != ArrayRef<int64_t>(x[1]))
      return emitOpError() << "parameter has shape "
                           << shapeToString(shapeOf(operand)) << ", expected "
                           << x[1];
  return success();
}

LogicalResult ConcatOp::verify() { // concat_c1, concat_c2
  SmallVector<Shape> shapes;
  for (Value input : getInputs())
    shapes.emplace_back(shapeOf(input));
  return checkResult(*this, inferConcat(shapes, getAxis()));
}

LogicalResult InterleaveOp::verify() { // interleave_c1, interleave_c2
  SmallVector<Shape> shapes;
  for (Value input : getInputs())
    shapes.emplace_back(shapeOf(input));
  return checkResult(*this, inferInterleave(shapes, getFactors()));
}

SmallVector<int64_t> InterleaveOp::startOf(int64_t phase) {
  SmallVector<int64_t> start(getFactors().size(), 0);
  for (size_t dim = start.size(); dim-- > 0;) {
    start[dim] = phase % getFactors()[dim];
    phase /= getFactors()[dim];
  }
  return start;
}

LogicalResult SliceOp::verify() { // slice_c1, slice_c2
  return check(*this, checkSlice(shapeOf(getX()), getStarts(), getSteps(),
                                 shapeOf(getY())));
}

LogicalResult PadOp::verify() {
  ArrayRef<int64_t> x = shapeOf(getX());
  // pad_c1, pad_c3
  if (failed(
          checkResult(*this, inferPad(x, getLow(), getHigh(), getInterior()))))
    return failure();
  if (getMode() == PadMode::Constant)
    return success();
  for (auto [i, size] : llvm::enumerate(x)) {
    if (interiorAt(i) != 0) // pad_c2
      return emitOpError() << "interior padding needs mode constant, found "
                           << stringifyPadMode(getMode());
    int64_t low = getLow()[i], high = getHigh()[i];
    int64_t kept =
        size + std::min<int64_t>(low, 0) + std::min<int64_t>(high, 0);
    int64_t most = std::max(low, high);
    if (most > 0 && (kept < 1 || (getMode() == PadMode::Reflect &&
                                  most > kept - 1))) // pad_c4
      return emitOpError() << "mode " << stringifyPadMode(getMode())
                           << " cannot add " << most << " elements to the "
                           << kept << " of dimension " << i;
  }
  return success();
}

LogicalResult ReshapeOp::verify() { // reshape_c1
  ArrayRef<int64_t> x = shapeOf(getX()), y = shapeOf(getY());
  if (elementCount(x) == elementCount(y))
    return success();
  return emitOpError() << "operand has " << elementCount(x)
                       << " elements, result " << elementCount(y);
}

LogicalResult TransposeOp::verify() { // transpose_c1
  return checkResult(*this, inferTranspose(shapeOf(getX()), getPerm()));
}

LogicalResult BroadcastOp::verify() { // broadcast_c1
  return check(*this, checkBroadcastTo(shapeOf(getX()), shapeOf(getY())));
}

LogicalResult GatherOp::verify() { // gather_c1, gather_c2
  return checkResult(*this,
                     inferGather(shapeOf(getX()), getAxis(), getIndices()));
}

LogicalResult TakeOp::verify() { // take_c1..c3
  return checkResult(
      *this, inferTake(shapeOf(getX()), shapeOf(getIndices()), getAxis()));
}
