// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Construction of products, windows and reductions.

#include "Emitter.h"

using namespace ashlar;
using namespace ashlar::frontend;
using namespace ashlar::nn;

bool Emitter::acceptBias(Value bias, int64_t channels) {
  if (!bias || shapeOf(bias) == ShapeRef(channels))
    return true;
  malformed("the bias has the shape {}, expected {}",
            shapeToString(shapeOf(bias)), channels);
  return false;
}

Value Emitter::conv(Value x, Value w, Value bias, const ConvAttributes &a,
                    Type result) {
  if (failed() || !x || !w)
    return nullptr;
  std::optional<Shape> shape = accept(inferConv(
      shapeOf(x), shapeOf(w), a.strides, a.pads, a.dilations, a.group));
  if (!shape)
    return nullptr;
  if (!acceptBias(bias, (*shape)[1]))
    return nullptr;
  return finish(
      ConvOp::create(b, loc, type(*shape, result ? result : elementOf(x)), x, w,
                     bias, a.strides, a.pads, a.dilations, a.group));
}

Value Emitter::convTranspose(Value x, Value w, Value bias,
                             const ConvAttributes &a) {
  if (failed() || !x || !w)
    return nullptr;
  std::optional<Shape> shape = accept(inferConvTranspose(
      shapeOf(x), shapeOf(w), a.strides, a.pads, a.dilations, a.group));
  if (!shape)
    return nullptr;
  if (!acceptBias(bias, (*shape)[1]))
    return nullptr;
  return finish(ConvTransposeOp::create(b, loc, type(*shape, elementOf(x)), x,
                                        w, bias, a.strides, a.pads, a.dilations,
                                        a.group));
}

Value Emitter::matmul(Value a, Value b2, Type result) {
  if (failed() || !a || !b2)
    return nullptr;
  if (!result && elementOf(a) != elementOf(b2))
    return malformed("operands have different types: {} and {}", typeText(a),
                     typeText(b2));
  std::optional<Shape> shape = accept(inferMatMul(shapeOf(a), shapeOf(b2)));
  if (!shape)
    return nullptr;
  return finish(MatMulOp::create(
      b, loc, type(*shape, result ? result : elementOf(a)), a, b2));
}

std::optional<Shape> Emitter::poolShape(Value x, const PoolAttributes &a) {
  if (failed() || !x)
    return std::nullopt;
  return accept(inferPool(
      shapeOf(x), {a.kernel, a.strides, a.pads, a.dilations}, a.rounding));
}

Value Emitter::maxPool(Value x, const PoolAttributes &a) {
  if (failed() || !x)
    return nullptr;
  std::optional<Shape> shape = accept(inferPool(
      shapeOf(x), {a.kernel, a.strides, a.pads, a.dilations}, a.rounding));
  if (!shape)
    return nullptr;
  return finish(MaxPoolOp::create(b, loc, type(*shape, elementOf(x)), x,
                                  a.kernel, a.strides, a.pads, a.dilations));
}

Value Emitter::avgPool(Value x, const PoolAttributes &a) {
  if (failed() || !x)
    return nullptr;
  std::optional<Shape> shape = accept(inferPool(
      shapeOf(x), {a.kernel, a.strides, a.pads, a.dilations}, a.rounding));
  if (!shape)
    return nullptr;
  return finish(AvgPoolOp::create(b, loc, type(*shape, elementOf(x)), x,
                                  a.kernel, a.strides, a.pads, a.dilations,
                                  a.countIncludePad, a.sums));
}

Value Emitter::reduce(ReduceKind kind, Value x, ArrayRef<int64_t> axes,
                      bool keepdims) {
  if (failed() || !x)
    return nullptr;
  SmallVector<int64_t> sorted(axes);
  llvm::sort(sorted);
  std::optional<Shape> shape =
      accept(inferReduce(shapeOf(x), sorted, keepdims));
  if (!shape)
    return nullptr;
  return finish(ReduceOp::create(b, loc, type(*shape, elementOf(x)), kind, x,
                                 sorted, keepdims));
}

Value Emitter::argReduce(ArgKind kind, Value x, int64_t axis, bool keepdims,
                         bool selectLast) {
  if (failed() || !x)
    return nullptr;
  std::optional<Shape> shape = accept(inferReduce(shapeOf(x), axis, keepdims));
  if (!shape)
    return nullptr;
  return finish(ArgReduceOp::create(b, loc, type(*shape, b.getI64Type()), kind,
                                    x, axis, keepdims, selectLast));
}

Value Emitter::softmax(Value x, int64_t axis, bool logarithm) {
  if (failed() || !x)
    return nullptr;
  if (logarithm)
    return finish(LogSoftmaxOp::create(b, loc, x.getType(), x, axis));
  return finish(SoftmaxOp::create(b, loc, x.getType(), x, axis));
}

Value Emitter::batchNorm(Value x, ArrayRef<Value> parameters, double epsilon) {
  if (failed() || !x || llvm::is_contained(parameters, Value()))
    return nullptr;
  if (rankOf(x) < 2)
    return malformed("the input has rank {}, expected at least 2", rankOf(x));
  for (Value parameter : parameters)
    if (shapeOf(parameter) != ShapeRef(shapeOf(x)[1]))
      return malformed("a parameter has the shape {}, expected {}",
                       shapeToString(shapeOf(parameter)), shapeOf(x)[1]);
  return finish(BatchNormOp::create(
      b, loc, x.getType(), x, parameters[0], parameters[1], parameters[2],
      parameters[3], llvm::APFloat(static_cast<float>(epsilon))));
}

bool Emitter::acceptHost(StringRef function) {
  if (!failed() && !useHost)
    unsupported("'{}' needs the host, which --no-host excludes",
                function.str());
  return !failed();
}

mlir::RankedTensorType Emitter::indices(nn::ShapeOr shape) {
  std::optional<Shape> accepted = accept(std::move(shape));
  if (!accepted)
    return nullptr;
  return type(*accepted, b.getI64Type());
}

Value Emitter::nonzero(Value x) {
  if (!x || !acceptHost("nonzero"))
    return nullptr;
  mlir::RankedTensorType result = indices(inferNonzero(shapeOf(x)));
  return result ? finish(NonzeroOp::create(b, loc, result, x)) : nullptr;
}

Value Emitter::argSort(Value x, int64_t axis, int64_t keep, bool descending) {
  if (!x || !acceptHost("sort"))
    return nullptr;
  mlir::RankedTensorType result = indices(inferArgSort(shapeOf(x), axis, keep));
  return result ? finish(ArgSortOp::create(b, loc, result, x, axis, descending))
                : nullptr;
}

Value Emitter::unique(Value x, bool sorted) {
  if (!x || !acceptHost("unique"))
    return nullptr;
  mlir::RankedTensorType result = indices(inferUnique(shapeOf(x)));
  return result ? finish(UniqueOp::create(b, loc, result, x, sorted)) : nullptr;
}

Value Emitter::nms(Value boxes, Value scores, Value most, Value iou,
                   Value least, bool center, bool filtered, int64_t keep) {
  if (!boxes || !scores || !most || !iou || !least || !acceptHost("nms"))
    return nullptr;
  mlir::RankedTensorType result =
      indices(inferNms(shapeOf(boxes), shapeOf(scores), keep));
  if (!result)
    return nullptr;
  return finish(NmsOp::create(b, loc, result, boxes, scores, most, iou, least,
                              center, filtered));
}
