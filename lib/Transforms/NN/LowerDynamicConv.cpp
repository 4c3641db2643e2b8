// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Convolutions whose weights are computed at run time in the forms that later
// phases know. Input: conv without constant weights; output: one conv of a
// single group for each of its groups, and a sum for a bias that is computed,
// too. Assumption: constants are folded, so that what is not constant now never
// will be.

#include "Rewrite.h"
#include "ashlar/Transforms/NN/Passes.h"

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

/// Writes one convolution as one per group.
class DynamicConv {
public:
  explicit DynamicConv(ConvOp op)
      : op(op), builder(op), loc(op.getLoc()), output(op.getType().getShape()) {
  }

  Value build() {
    const int64_t groups = op.getGroup();
    const int64_t inputs = shapeOf(op.getX())[1] / groups;
    const int64_t outputs = output[1] / groups;
    SmallVector<Value> parts;
    for (int64_t g = 0; g < groups; ++g)
      parts.push_back(
          conv(sliceAxis(builder, loc, op.getX(), 1, g * inputs, inputs),
               sliceAxis(builder, loc, op.getW(), 0, g * outputs, outputs),
               g * outputs));
    Value y = groups == 1 ? parts.front()
                          : ConcatOp::create(builder, loc, op.getType(), parts,
                                             /*axis=*/1);
    return addsBias() ? addBias(builder, loc, y, op.getBias()) : y;
  }

private:
  /// The array's drain adds a bias that is constant.
  bool addsBias() { return op.getBias() && !isConstant(op.getBias()); }

  /// The group whose first output is `first`.
  Value conv(Value x, Value w, int64_t first) {
    SmallVector<int64_t> shape(output);
    shape[1] = shapeOf(w)[0];
    Value bias;
    if (op.getBias() && !addsBias())
      bias = sliceAxis(builder, loc, op.getBias(), 0, first, shape[1]);
    return ConvOp::create(
        builder, loc,
        RankedTensorType::get(shape, op.getType().getElementType()), x, w, bias,
        op.getStridesAttr(), op.getPadsAttr(), op.getDilationsAttr(),
        builder.getI64IntegerAttr(1));
  }

  ConvOp op;
  OpBuilder builder;
  Location loc;
  ArrayRef<int64_t> output;
};

/// The array loads the kernel of one group from its state buffer.
bool needsRewrite(ConvOp op) {
  return !isConstant(op.getW()) &&
         (op.getGroup() != 1 || (op.getBias() && !isConstant(op.getBias())));
}

struct LowerDynamicConvPass
    : ashlar::nn::impl::LowerDynamicConvBase<LowerDynamicConvPass> {
  void runOnOperation() override {
    SmallVector<ConvOp> convs;
    getOperation().walk([&](ConvOp op) {
      if (needsRewrite(op))
        convs.push_back(op);
    });
    for (ConvOp op : convs) {
      op.replaceAllUsesWith(DynamicConv(op).build());
      op.erase();
      ++lowered;
    }
  }
};

} // namespace
