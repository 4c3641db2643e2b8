// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Merges per-channel constants that follow a convolution or matmul into its
// weights and bias. Input: conv + add/sub/mul/div of constants; output: conv.

#include "Rewrite.h"
#include "ashlar/Transforms/NN/Passes.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include <cmath>

namespace ashlar::nn {
#define GEN_PASS_DEF_MERGEBIAS
#include "lib/Transforms/NN/Passes.h.inc"
} // namespace ashlar::nn

using namespace mlir;
using namespace ashlar;
using namespace ashlar::nn;
using reference::Tensor;

namespace {

// Splits a commutative pair into (computed, constant); null if there is none.
std::pair<Value, Value> splitConstant(Value a, Value b, bool commutes) {
  if (isConstant(b))
    return {a, b};
  if (commutes && isConstant(a))
    return {b, a};
  return {};
}

// The convolution with other weights or another bias.
template <typename ConvLike>
ConvLike recreate(PatternRewriter &rewriter, Location loc, Type type,
                  ConvLike conv, Value w, Value bias) {
  return ConvLike::create(rewriter, loc, type, conv.getX(), w, bias,
                          conv.getStridesAttr(), conv.getPadsAttr(),
                          conv.getDilationsAttr(), conv.getGroupAttr());
}

// conv + constant, conv - constant.
template <typename SumOp, typename ConvLike>
struct MergeSum : OpRewritePattern<SumOp> {
  MergeSum(MLIRContext *context, Pass::Statistic &count)
      : OpRewritePattern<SumOp>(context), count(count) {}

  LogicalResult matchAndRewrite(SumOp op,
                                PatternRewriter &rewriter) const override {
    constexpr bool subtract = std::is_same_v<SumOp, SubOp>;
    auto [x, constant] = splitConstant(op.getA(), op.getB(), !subtract);
    auto conv = x ? x.template getDefiningOp<ConvLike>() : ConvLike();
    if (!conv || !x.hasOneUse() || op.getType() != x.getType() ||
        !isa<FloatType>(typeOf(x).getElementType()))
      return rewriter.notifyMatchFailure(op, "no convolution of one use");
    auto values = perAxisConstant(constant, shapeOf(x), 1);
    std::optional<Tensor> bias = floatConstant(conv.getBias());
    if (!values || (conv.getBias() && !bias))
      return rewriter.notifyMatchFailure(op, "no constant per channel");
    for (size_t c = 0; c < values->size(); ++c) {
      double start = bias ? bias->floats[c] : 0.0;
      (*values)[c] = subtract ? start - (*values)[c] : start + (*values)[c];
    }
    Location loc = fuseLocations(conv, {op});
    Value merged = makeConstant(rewriter, loc, vectorTensor(*values),
                                typeOf(x).getElementType());
    rewriter.replaceOp(
        op, recreate(rewriter, loc, op.getType(), conv, conv.getW(), merged));
    ++count;
    return success();
  }

  Pass::Statistic &count;
};

// x * constant, x / constant as factors per channel; nothing otherwise.
template <typename FactorOp>
std::optional<std::pair<Value, std::vector<double>>> factorsOf(FactorOp op,
                                                               bool lastAxis) {
  constexpr bool divide = std::is_same_v<FactorOp, DivOp>;
  auto [x, constant] = splitConstant(op.getA(), op.getB(), !divide);
  if (!x || !x.hasOneUse() || op.getType() != x.getType())
    return std::nullopt;
  ArrayRef<int64_t> shape = shapeOf(x);
  int64_t axis = lastAxis ? static_cast<int64_t>(shape.size()) - 1 : 1;
  if (axis < 0 || axis >= static_cast<int64_t>(shape.size()))
    return std::nullopt;
  auto values = perAxisConstant(constant, shape, axis);
  if (!values)
    return std::nullopt;
  return std::make_pair(x, std::move(*values));
}

// Multiplies or divides in binary64.
template <typename FactorOp>
double combine(double value, double factor) {
  return std::is_same_v<FactorOp, DivOp> ? value / factor : value * factor;
}

// Weights must stay encodable: a division by zero remains an operation.
bool allFinite(ArrayRef<double> values) {
  return llvm::all_of(values, [](double v) { return std::isfinite(v); });
}

// conv * constant, conv / constant.
template <typename FactorOp, typename ConvLike>
struct MergeFactor : OpRewritePattern<FactorOp> {
  MergeFactor(MLIRContext *context, Pass::Statistic &count)
      : OpRewritePattern<FactorOp>(context), count(count) {}

  LogicalResult matchAndRewrite(FactorOp op,
                                PatternRewriter &rewriter) const override {
    auto factors = factorsOf(op, /*lastAxis=*/false);
    if (!factors)
      return rewriter.notifyMatchFailure(op, "no factor per channel");
    auto conv = factors->first.template getDefiningOp<ConvLike>();
    std::optional<Tensor> bias =
        conv ? floatConstant(conv.getBias()) : std::nullopt;
    if (!conv || (conv.getBias() && !bias))
      return rewriter.notifyMatchFailure(op, "no constant weights");
    std::vector<double> scale;
    for (double factor : factors->second)
      scale.push_back(combine<FactorOp>(1.0, factor));
    if (!allFinite(scale))
      return rewriter.notifyMatchFailure(op, "a factor is not finite");
    Location loc = fuseLocations(conv, {op});
    Value w = scaleWeights(rewriter, loc, conv, scale);
    if (!w)
      return rewriter.notifyMatchFailure(op, "no constant weights");
    Type element = typeOf(conv.getW()).getElementType();
    Value merged;
    if (bias) {
      for (size_t c = 0; c < scale.size(); ++c)
        bias->floats[c] =
            combine<FactorOp>(bias->floats[c], factors->second[c]);
      merged = makeConstant(rewriter, loc, *bias, element);
    }
    rewriter.replaceOp(op,
                       recreate(rewriter, loc, op.getType(), conv, w, merged));
    ++count;
    return success();
  }

  Pass::Statistic &count;
};

// matmul * constant per column.
template <typename FactorOp>
struct MergeColumnFactor : OpRewritePattern<FactorOp> {
  MergeColumnFactor(MLIRContext *context, Pass::Statistic &count)
      : OpRewritePattern<FactorOp>(context), count(count) {}

  LogicalResult matchAndRewrite(FactorOp op,
                                PatternRewriter &rewriter) const override {
    auto factors = factorsOf(op, /*lastAxis=*/true);
    auto matmul = factors ? factors->first.template getDefiningOp<MatMulOp>()
                          : MatMulOp();
    if (!matmul)
      return rewriter.notifyMatchFailure(op, "no matmul");
    std::vector<double> scale;
    for (double factor : factors->second)
      scale.push_back(combine<FactorOp>(1.0, factor));
    if (!allFinite(scale))
      return rewriter.notifyMatchFailure(op, "a factor is not finite");
    Location loc = fuseLocations(matmul, {op});
    Value w = scaleWeights(rewriter, loc, matmul, scale);
    if (!w)
      return rewriter.notifyMatchFailure(op, "no constant weights");
    auto fused =
        MatMulOp::create(rewriter, loc, op.getType(), matmul.getA(), w);
    rewriter.replaceOp(op, fused);
    ++count;
    return success();
  }

  Pass::Statistic &count;
};

struct MergeBiasPass : ashlar::nn::impl::MergeBiasBase<MergeBiasPass> {
  void runOnOperation() override {
    MLIRContext *context = &getContext();
    RewritePatternSet patterns(context);
    patterns.add<MergeSum<AddOp, ConvOp>, MergeSum<SubOp, ConvOp>,
                 MergeSum<AddOp, ConvTransposeOp>,
                 MergeSum<SubOp, ConvTransposeOp>>(context, biases);
    patterns.add<MergeFactor<MulOp, ConvOp>, MergeFactor<DivOp, ConvOp>,
                 MergeFactor<MulOp, ConvTransposeOp>,
                 MergeFactor<DivOp, ConvTransposeOp>, MergeColumnFactor<MulOp>,
                 MergeColumnFactor<DivOp>>(context, scales);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
