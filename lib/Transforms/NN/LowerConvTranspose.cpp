// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Transposed convolution as pad + convolution. Input: conv_transpose; output:
// pad (interior zeros), conv, and data movement of the weights.

#include "Rewrite.h"
#include "ashlar/Transforms/NN/Passes.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/Support/MathExtras.h"

namespace ashlar::nn {
#define GEN_PASS_DEF_LOWERCONVTRANSPOSE
#include "lib/Transforms/NN/Passes.h.inc"
} // namespace ashlar::nn

using namespace mlir;
using namespace ashlar;
using namespace ashlar::nn;

namespace {

// Weights [C, O/g, k...] as [O, C/g, k...] with every kernel mirrored.
Value turnWeights(OpBuilder &builder, Location loc, Value w, int64_t group) {
  ArrayRef<int64_t> shape = shapeOf(w);
  Type element = typeOf(w).getElementType();
  int64_t inPerGroup = shape[0] / group, outPerGroup = shape[1];
  SmallVector<int64_t> grouped{group, inPerGroup, outPerGroup};
  grouped.append(shape.begin() + 2, shape.end());
  Value value = makeReshape(builder, loc, w, grouped);

  SmallVector<int64_t> perm{0, 2, 1}, turned{group, outPerGroup, inPerGroup};
  turned.append(shape.begin() + 2, shape.end());
  for (size_t d = 3; d < grouped.size(); ++d)
    perm.push_back(static_cast<int64_t>(d));
  value = TransposeOp::create(
      builder, loc, RankedTensorType::get(turned, element), value, perm);

  SmallVector<int64_t> kernel{group * outPerGroup, inPerGroup};
  kernel.append(shape.begin() + 2, shape.end());
  value = makeReshape(builder, loc, value, kernel);

  SmallVector<int64_t> starts(kernel.size(), 0), steps(kernel.size(), 1);
  for (size_t d = 2; d < kernel.size(); ++d) {
    starts[d] = kernel[d] - 1;
    steps[d] = -1;
  }
  return SliceOp::create(builder, loc, typeOf(value), value, starts, steps);
}

/// Products of an element with a tap whose result is kept, along one spatial
/// dimension: element j and tap t meet at `j * stride + t * dilation - pad`.
int64_t keptProducts(ConvTransposeOp op, size_t dim) {
  const int64_t extent = shapeOf(op.getX())[dim + 2];
  const int64_t taps = shapeOf(op.getW())[dim + 2];
  const int64_t result = shapeOf(op.getY())[dim + 2];
  const int64_t stride = op.getStrides()[dim];
  int64_t kept = 0;
  for (int64_t t = 0; t < taps; ++t) {
    const int64_t shift = t * op.getDilations()[dim] - op.getPads()[dim];
    // 0 <= j * stride + shift < result
    const int64_t first =
        std::max<int64_t>(llvm::divideCeilSigned(-shift, stride), 0);
    const int64_t end = std::min<int64_t>(
        llvm::divideCeilSigned(result - shift, stride), extent);
    kept += std::max<int64_t>(end - first, 0);
  }
  return kept;
}

/// Multiply-accumulates of a transposed convolution: those of its own elements,
/// none of the zeros that the lowering puts between them.
int64_t macsOf(ConvTransposeOp op) {
  ArrayRef<int64_t> x = shapeOf(op.getX()), w = shapeOf(op.getW());
  int64_t macs = x[0] * w[0] * w[1];
  for (size_t dim = 0; dim + 2 < w.size(); ++dim)
    macs *= keptProducts(op, dim);
  return macs;
}

struct LowerConvTransposePattern : OpRewritePattern<ConvTransposeOp> {
  LowerConvTransposePattern(MLIRContext *context, Pass::Statistic &lowered)
      : OpRewritePattern(context), lowered(lowered) {}

  LogicalResult matchAndRewrite(ConvTransposeOp op,
                                PatternRewriter &rewriter) const override {
    ArrayRef<int64_t> kernel = shapeOf(op.getW()).drop_front(2);
    size_t rank = kernel.size() + 2;
    SmallVector<int64_t> low(rank, 0), high(rank, 0), interior(rank, 0);
    SmallVector<int64_t> padded(shapeOf(op.getX()));
    SmallVector<int64_t> convPads(2 * kernel.size(), 0);
    bool needsPad = false;
    for (size_t i = 0; i < kernel.size(); ++i) {
      // A kernel tap reaches back over its extent: full correlation, less what
      // the op cuts.
      int64_t reach = (kernel[i] - 1) * op.getDilations()[i];
      int64_t begin = reach - op.getPads()[i];
      int64_t end = reach - op.getPads()[i + kernel.size()];
      interior[i + 2] = op.getStrides()[i] - 1;
      low[i + 2] = std::min<int64_t>(0, begin);
      high[i + 2] = std::min<int64_t>(0, end);
      convPads[i] = std::max<int64_t>(0, begin);
      convPads[i + kernel.size()] = std::max<int64_t>(0, end);
      needsPad |= (interior[i + 2] != 0 && padded[i + 2] > 1) ||
                  low[i + 2] != 0 || high[i + 2] != 0;
      padded[i + 2] +=
          std::max<int64_t>(0, padded[i + 2] - 1) * interior[i + 2] +
          low[i + 2] + high[i + 2];
      if (padded[i + 2] < 1)
        return rewriter.notifyMatchFailure(op, "cuts more than the input");
    }
    Location loc = op.getLoc();
    Value x = op.getX();
    if (needsPad)
      x = PadOp::create(
          rewriter, loc,
          RankedTensorType::get(padded, typeOf(x).getElementType()), x, low,
          high, interior, PadMode::Constant, APFloat(0.0));
    SmallVector<int64_t> ones(kernel.size(), 1);
    Value w = turnWeights(rewriter, loc, op.getW(), op.getGroup());
    auto macs = rewriter.getI64IntegerAttr(macsOf(op));
    auto conv = rewriter.replaceOpWithNewOp<ConvOp>(
        op, op.getType(), x, w, op.getBias(),
        rewriter.getDenseI64ArrayAttr(ones),
        rewriter.getDenseI64ArrayAttr(convPads), op.getDilationsAttr(),
        op.getGroupAttr());
    conv->setAttr(macsAttr, macs);
    ++lowered;
    return success();
  }

  Pass::Statistic &lowered;
};

struct LowerConvTransposePass
    : ashlar::nn::impl::LowerConvTransposeBase<LowerConvTransposePass> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<LowerConvTransposePattern>(&getContext(), lowered);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
