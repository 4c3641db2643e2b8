// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Convolutions whose weights are computed at run time in the forms that later
// phases know. Input: conv without constant weights; output: of floats one conv
// of a single group per group, of integers im2col and matmul; a sum for a bias
// that is computed, too. Assumption: constants are folded, so that what is not
// constant now never will be.

#include "Rewrite.h"
#include "ashlar/Transforms/NN/Passes.h"
#include "llvm/ADT/STLExtras.h"

namespace ashlar::nn {
#define GEN_PASS_DEF_LOWERDYNAMICCONV
#include "lib/Transforms/NN/Passes.h.inc"
} // namespace ashlar::nn

using namespace mlir;
using namespace ashlar;
using namespace ashlar::nn;

namespace {

/// Entries [start, start + size) of an axis.
Value sliceAxis(OpBuilder &builder, Location loc, Value x, int64_t axis,
                int64_t start, int64_t size) {
  SmallVector<int64_t> shape(shapeOf(x));
  if (start == 0 && size == shape[axis])
    return x;
  SmallVector<int64_t> starts(shape.size(), 0), steps(shape.size(), 1);
  starts[axis] = start;
  shape[axis] = size;
  return SliceOp::create(
      builder, loc, RankedTensorType::get(shape, typeOf(x).getElementType()), x,
      starts, steps);
}

/// Writes one convolution as one per group, or as matrix products.
class DynamicConv {
public:
  explicit DynamicConv(ConvOp op)
      : op(op), builder(op), loc(op.getLoc()),
        kernel(shapeOf(op.getW()).drop_front(2)),
        output(op.getType().getShape()) {}

  Value build() {
    const int64_t groups = op.getGroup();
    const int64_t inputs = shapeOf(op.getX())[1] / groups;
    const int64_t outputs = output[1] / groups;
    SmallVector<Value> parts;
    Value y;
    const bool floats = isa<FloatType>(typeOf(op.getW()).getElementType());
    for (int64_t g = 0; g < groups; ++g) {
      Value x = sliceAxis(builder, loc, op.getX(), 1, g * inputs, inputs);
      Value w = sliceAxis(builder, loc, op.getW(), 0, g * outputs, outputs);
      y = floats ? conv(x, w, g * outputs) : product(x, w);
      parts.push_back(y);
    }
    if (groups > 1) {
      SmallVector<int64_t> shape(shapeOf(y));
      shape[1] = output[1];
      y = ConcatOp::create(
          builder, loc, RankedTensorType::get(shape, elementType()), parts, 1);
    }
    y = makeReshape(builder, loc, y, output);
    const bool adds = op.getBias() && !(floats && isConstant(op.getBias()));
    return adds ? addBias(builder, loc, y, op.getBias()) : y;
  }

private:
  Type elementType() { return op.getType().getElementType(); }

  /// The part of the convolution whose first output is `first`. The array's
  /// drain adds a bias that is constant.
  Value conv(Value x, Value w, int64_t first) {
    SmallVector<int64_t> shape(output);
    shape[1] = shapeOf(w)[0];
    Value bias = op.getBias();
    if (bias)
      bias = isConstant(bias)
                 ? sliceAxis(builder, loc, bias, 0, first, shape[1])
                 : Value();
    return ConvOp::create(builder, loc,
                          RankedTensorType::get(shape, elementType()), x, w,
                          bias, op.getStridesAttr(), op.getPadsAttr(),
                          op.getDilationsAttr(), builder.getI64IntegerAttr(1));
  }

  /// [N, C, ...] by [O, C, k...]: the windows of the input as columns.
  Value product(Value x, Value w) {
    const int64_t terms = shapeOf(x)[1] * llvm::product_of(kernel);
    SmallVector<int64_t> windows(output);
    windows[1] = terms;
    x = Im2ColOp::create(
        builder, loc,
        RankedTensorType::get(windows, typeOf(x).getElementType()), x,
        builder.getDenseI64ArrayAttr(kernel), op.getStridesAttr(),
        op.getPadsAttr(), op.getDilationsAttr());
    const int64_t positions = llvm::product_of(output.drop_front(2));
    x = makeReshape(builder, loc, x, {output[0], terms, positions});
    w = makeReshape(builder, loc, w, {shapeOf(w)[0], terms});
    auto result = MatMulOp::create(
        builder, loc,
        RankedTensorType::get({output[0], shapeOf(w)[0], positions},
                              elementType()),
        w, x);
    result->setAttr(
        "ashlar.decision",
        builder.getDictionaryAttr(
            {builder.getNamedAttr("choice", builder.getStringAttr("pack-taps")),
             builder.getNamedAttr(
                 "reason",
                 builder.getStringAttr(
                     "the weights are computed: the machine maps the taps of "
                     "both operands to array rows"))}));
    return result;
  }

  ConvOp op;
  OpBuilder builder;
  Location loc;
  ArrayRef<int64_t> kernel, output;
};

/// The array convolves one group of floats with a kernel in its state buffer
/// as it does with one that it streams.
bool needsRewrite(ConvOp op) {
  return op.getGroup() != 1 ||
         !isa<FloatType>(typeOf(op.getW()).getElementType()) ||
         (op.getBias() && !isConstant(op.getBias()));
}

struct LowerDynamicConvPass
    : ashlar::nn::impl::LowerDynamicConvBase<LowerDynamicConvPass> {
  void runOnOperation() override {
    SmallVector<ConvOp> convs;
    getOperation().walk([&](ConvOp op) {
      if (!isConstant(op.getW()))
        convs.push_back(op);
    });
    for (ConvOp op : convs) {
      if (!needsRewrite(op))
        continue;
      op.replaceAllUsesWith(DynamicConv(op).build());
      op.erase();
      ++lowered;
    }
  }
};

} // namespace
