// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Absorbs batch_norm with constant parameters. Input: batch_norm ops; output:
// scaled weights with bias, or mul + add. Assumes that per-channel adds next to
// convolutions are merged already (merge-bias), else they stand between.

#include "Rewrite.h"
#include "ashlar/Transforms/NN/Passes.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include <cmath>

namespace ashlar::nn {
#define GEN_PASS_DEF_FOLDBATCHNORM
#include "lib/Transforms/NN/Passes.h.inc"
} // namespace ashlar::nn

using namespace mlir;
using namespace ashlar;
using namespace ashlar::nn;
using reference::Tensor;

namespace {

// y = x * scale + shift per channel, in binary64.
struct ChannelAffine {
  std::vector<double> scale, shift;
};

std::optional<ChannelAffine> affineOf(BatchNormOp op) {
  auto scale = floatConstant(op.getScale());
  auto bias = floatConstant(op.getBias());
  auto mean = floatConstant(op.getMean());
  auto var = floatConstant(op.getVar());
  if (!scale || !bias || !mean || !var)
    return std::nullopt;
  double epsilon = op.getEpsilon().convertToFloat();
  ChannelAffine result;
  for (int64_t c = 0, e = scale->size(); c < e; ++c) {
    // sqrt is correctly rounded by IEEE 754: the same on every host.
    double s = scale->floats[c] / std::sqrt(var->floats[c] + epsilon);
    result.scale.push_back(s);
    result.shift.push_back(bias->floats[c] - mean->floats[c] * s);
  }
  return result;
}

// The affine map after a bias (or after nothing): bias * scale + shift.
Tensor shiftBias(const std::optional<Tensor> &bias,
                 const ChannelAffine &affine) {
  Tensor result = vectorTensor(affine.shift);
  if (bias)
    for (size_t c = 0; c < affine.shift.size(); ++c)
      result.floats[c] = bias->floats[c] * affine.scale[c] + affine.shift[c];
  return result;
}

struct FoldBatchNormPattern : OpRewritePattern<BatchNormOp> {
  FoldBatchNormPattern(MLIRContext *context, Pass::Statistic &absorbed,
                       Pass::Statistic &expanded)
      : OpRewritePattern(context), absorbed(absorbed), expanded(expanded) {}

  LogicalResult matchAndRewrite(BatchNormOp op,
                                PatternRewriter &rewriter) const override {
    std::optional<ChannelAffine> affine = affineOf(op);
    if (!affine)
      return rewriter.notifyMatchFailure(op, "parameters are not constant");
    Operation *producer = op.getX().getDefiningOp();
    bool done = false;
    if (producer && op.getX().hasOneUse()) {
      if (auto conv = dyn_cast<ConvOp>(producer))
        done = absorb(op, conv, *affine, rewriter);
      else if (auto conv = dyn_cast<ConvTransposeOp>(producer))
        done = absorb(op, conv, *affine, rewriter);
      else
        done = absorbMatMul(op, producer, *affine, rewriter);
    }
    if (done) {
      ++absorbed;
      return success();
    }
    expand(op, *affine, rewriter);
    ++expanded;
    return success();
  }

  template <typename ConvLike>
  bool absorb(BatchNormOp op, ConvLike conv, const ChannelAffine &affine,
              PatternRewriter &rewriter) const {
    std::optional<Tensor> bias = floatConstant(conv.getBias());
    if (conv.getBias() && !bias)
      return false;
    Location loc = fuseLocations(conv, {op});
    Type element = typeOf(conv.getW()).getElementType();
    Value w = scaleWeights(rewriter, loc, conv, affine.scale);
    if (!w)
      return false;
    Value b = makeConstant(rewriter, loc, shiftBias(bias, affine), element);
    auto fused = ConvLike::create(rewriter, loc, op.getType(), conv.getX(), w,
                                  b, conv.getStridesAttr(), conv.getPadsAttr(),
                                  conv.getDilationsAttr(), conv.getGroupAttr());
    rewriter.replaceOp(op, fused);
    rewriter.eraseOp(conv);
    return true;
  }

  // matmul, or matmul + add of a constant per column, of rank 2: columns are
  // what batch_norm calls channels.
  bool absorbMatMul(BatchNormOp op, Operation *producer,
                    const ChannelAffine &affine,
                    PatternRewriter &rewriter) const {
    SmallVector<Operation *> between;
    std::optional<Tensor> bias;
    ArrayRef<int64_t> shape = shapeOf(op.getX());
    if (auto add = dyn_cast<AddOp>(producer)) {
      auto values = perAxisConstant(add.getB(), shape, 1);
      producer = add.getA().getDefiningOp();
      if (!values || !producer || !add.getA().hasOneUse())
        return false;
      bias = vectorTensor(*values);
      between.push_back(add);
    }
    auto matmul = dyn_cast<MatMulOp>(producer);
    if (!matmul || shape.size() != 2 || shapeOf(matmul.getB()).size() != 2)
      return false;
    SmallVector<Operation *> absorbedOps(between);
    absorbedOps.push_back(op);
    Location loc = fuseLocations(matmul, absorbedOps);
    Type element = typeOf(matmul.getB()).getElementType();
    Value w = scaleWeights(rewriter, loc, matmul, affine.scale);
    if (!w)
      return false;
    Value b = makeConstant(rewriter, loc, shiftBias(bias, affine), element);
    Value product =
        MatMulOp::create(rewriter, loc, op.getType(), matmul.getA(), w);
    rewriter.replaceOpWithNewOp<AddOp>(op, op.getType(), product, b)
        ->setLoc(loc);
    return true;
  }

  void expand(BatchNormOp op, const ChannelAffine &affine,
              PatternRewriter &rewriter) const {
    // [C, 1, ...] broadcasts along channels.
    SmallVector<int64_t> shape(shapeOf(op.getX()).size() - 1, 1);
    shape[0] = static_cast<int64_t>(affine.scale.size());
    Tensor scale = vectorTensor(affine.scale);
    Tensor shift = vectorTensor(affine.shift);
    scale.shape = shift.shape = shape;
    Type element = typeOf(op.getX()).getElementType();
    Value s = makeConstant(rewriter, op.getLoc(), scale, element);
    Value t = makeConstant(rewriter, op.getLoc(), shift, element);
    Value product =
        MulOp::create(rewriter, op.getLoc(), op.getType(), op.getX(), s);
    rewriter.replaceOpWithNewOp<AddOp>(op, op.getType(), product, t);
  }

  Pass::Statistic &absorbed;
  Pass::Statistic &expanded;
};

struct FoldBatchNormPass
    : ashlar::nn::impl::FoldBatchNormBase<FoldBatchNormPass> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<FoldBatchNormPattern>(&getContext(), absorbed, expanded);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
