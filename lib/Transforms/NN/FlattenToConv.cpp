// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Dense layers as convolutions: those on flattened feature maps, and those
// with pruned weights, since the sparse cluster has convolutions only.
// Input: (reshape +) matmul (+ add); output: (reshape +) conv + reshape.

#include "Rewrite.h"
#include "ashlar/Transforms/NN/Passes.h"
#include "dialects/NN/NNElements.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace ashlar::nn {
#define GEN_PASS_DEF_FLATTENTOCONV
#include "lib/Transforms/NN/Passes.h.inc"
} // namespace ashlar::nn

using namespace mlir;
using namespace ashlar;
using namespace ashlar::nn;

namespace {

// The feature map [N, C, s...] that was flattened to [N, C*s...], or null.
Value flattenedMap(Value flat) {
  auto reshape = flat.getDefiningOp<ReshapeOp>();
  if (!reshape || shapeOf(flat).size() != 2)
    return {};
  ArrayRef<int64_t> map = shapeOf(reshape.getX());
  if (map.size() < 3 || map.size() > 5 || map[0] != shapeOf(flat)[0])
    return {};
  return reshape.getX();
}

// True if at least three quarters of the weights are zero. With fewer zeros the
// sparse cluster does not pay: it has fewer multipliers than the array, and a
// coefficient with its place takes two to three bytes where a dense one takes
// one.
bool isPruned(Value weights) {
  if (!isa<FloatType>(typeOf(weights).getElementType()))
    return false;
  // A large constant is neither copied nor widened.
  ElementsAttr elements = constantOp(weights).getValue();
  const std::vector<float> values = floatElements(elements);
  const auto zeros = llvm::count(values, 0.0f);
  return !values.empty() && static_cast<size_t>(zeros) * 4 >= values.size() * 3;
}

// Weights [C*s..., M] as [M, C, s...].
Value kernelOf(OpBuilder &builder, Location loc, Value weights,
               ArrayRef<int64_t> map) {
  ArrayRef<int64_t> shape = shapeOf(weights);
  Type element = typeOf(weights).getElementType();
  auto turnedType = RankedTensorType::get({shape[1], shape[0]}, element);
  Value transposed = TransposeOp::create(builder, loc, turnedType, weights,
                                         ArrayRef<int64_t>{1, 0});
  SmallVector<int64_t> kernel(map);
  kernel[0] = shape[1];
  return makeReshape(builder, loc, transposed, kernel);
}

struct FlattenToConvPattern : OpRewritePattern<MatMulOp> {
  FlattenToConvPattern(MLIRContext *context, Pass::Statistic &converted)
      : OpRewritePattern(context), converted(converted) {}

  LogicalResult matchAndRewrite(MatMulOp op,
                                PatternRewriter &rewriter) const override {
    if (shapeOf(op.getA()).size() < 2 || shapeOf(op.getB()).size() != 2 ||
        !isConstant(op.getB()))
      return rewriter.notifyMatchFailure(op, "no dense layer");
    Value map = flattenedMap(op.getA());
    const bool flattened = static_cast<bool>(map);
    if (!flattened && !isPruned(op.getB()))
      return rewriter.notifyMatchFailure(
          op, "no flattened feature map, no pruned weights");

    Operation *root = op;
    Value bias = absorbedBias(op, root, rewriter);
    Location loc = op.getLoc();
    if (root != op)
      loc = fuseLocations(op, {root});
    // Convolve where the sum is: an absorbed constant may come after the
    // product.
    rewriter.setInsertionPoint(root);
    if (!flattened)
      map = makeReshape(rewriter, loc, op.getA(), positionsOf(op.getA()));
    ArrayRef<int64_t> shape = shapeOf(map);
    size_t spatial = shape.size() - 2;
    SmallVector<int64_t> ones(spatial, 1), zeros(2 * spatial, 0);
    SmallVector<int64_t> outShape(shape.size(), 1);
    outShape[0] = shape[0];
    outShape[1] = shapeOf(op.getB())[1];
    auto outType =
        RankedTensorType::get(outShape, op.getType().getElementType());
    auto conv = ConvOp::create(
        rewriter, loc, outType, map, kernelOf(rewriter, loc, op.getB(), shape),
        bias, rewriter.getDenseI64ArrayAttr(ones),
        rewriter.getDenseI64ArrayAttr(zeros),
        rewriter.getDenseI64ArrayAttr(ones), rewriter.getI64IntegerAttr(1));
    Value flat = makeReshape(rewriter, loc, conv, shapeOf(root->getResult(0)));
    rewriter.replaceOp(root, flat);
    ++converted;
    return success();
  }

  // Rows [..., K] as a feature map [rows, K, 1, 1].
  static SmallVector<int64_t> positionsOf(Value rows) {
    ArrayRef<int64_t> shape = shapeOf(rows);
    return {llvm::product_of(shape.drop_back()), shape.back(), 1, 1};
  }

  // If the only use of the product adds a constant per column, makes that add
  // the `root` of the rewrite and returns the bias.
  static Value absorbedBias(MatMulOp op, Operation *&root,
                            PatternRewriter &rewriter) {
    if (!op->hasOneUse())
      return {};
    auto add = dyn_cast<AddOp>(*op->user_begin());
    if (!add || add.getType() != op.getType() ||
        !isa<FloatType>(op.getType().getElementType()))
      return {};
    Value constant = add.getA() == op.getResult() ? add.getB() : add.getA();
    ArrayRef<int64_t> shape = shapeOf(op.getY());
    auto values = perAxisConstant(constant, shape,
                                  static_cast<int64_t>(shape.size()) - 1);
    if (!values)
      return {};
    root = add;
    rewriter.setInsertionPoint(add);
    return makeConstant(rewriter, add.getLoc(), vectorTensor(*values),
                        op.getType().getElementType());
  }

  Pass::Statistic &converted;
};

// reshape(conv) + b as reshape(conv + reshape(b)): the convolution's epilogue
// adds a residual connection, which the reshape would keep apart.
struct ResidualPattern : OpRewritePattern<AddOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(AddOp op,
                                PatternRewriter &rewriter) const override {
    for (auto [own, other] :
         {std::pair(op.getA(), op.getB()), std::pair(op.getB(), op.getA())}) {
      auto reshape = own.getDefiningOp<ReshapeOp>();
      auto conv = reshape ? reshape.getX().getDefiningOp<ConvOp>() : ConvOp();
      // A convolution at the other operand adds by itself; two convolutions
      // would pass the reshape to each other for ever.
      if (!conv || !reshape->hasOneUse() || !conv->hasOneUse() ||
          isConstant(other) || other.getDefiningOp<ConvOp>() ||
          own.getType() != op.getType() || other.getType() != op.getType())
        continue;
      Value view =
          makeReshape(rewriter, op.getLoc(), other, shapeOf(conv.getResult()));
      Value sum = AddOp::create(rewriter, op.getLoc(), conv.getType(),
                                conv.getResult(), view);
      rewriter.replaceOp(
          op, makeReshape(rewriter, op.getLoc(), sum, shapeOf(op.getResult())));
      return success();
    }
    return rewriter.notifyMatchFailure(op, "no reshaped convolution");
  }
};

struct FlattenToConvPass
    : ashlar::nn::impl::FlattenToConvBase<FlattenToConvPass> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<FlattenToConvPattern>(&getContext(), converted);
    patterns.add<ResidualPattern>(&getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
