// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writes squares, cubes and divisions by a constant as products, and sums of
// squares as one reduction. Input and output: any `nn` function with constants
// folded.

#include "Rewrite.h"
#include "ashlar/Transforms/NN/Passes.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include <cmath>

namespace ashlar::nn {
#define GEN_PASS_DEF_SIMPLIFYARITHMETIC
#include "lib/Transforms/NN/Passes.h.inc"
} // namespace ashlar::nn

using namespace mlir;
using namespace ashlar;
using namespace ashlar::nn;

namespace {

bool isFloat(Value value) {
  return isa<FloatType>(typeOf(value).getElementType());
}

// x^2 -> x * x, x^3 -> x * x * x.
struct PowerToProduct : OpRewritePattern<PowOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(PowOp op,
                                PatternRewriter &rewriter) const override {
    Value x = op.getA();
    auto exponent = isFloat(op) ? splatNumber(op.getB()) : std::nullopt;
    if (!exponent || (*exponent != 2 && *exponent != 3) ||
        x.getType() != op.getType())
      return failure();
    Location loc = op.getLoc();
    Value square = MulOp::create(rewriter, loc, op.getType(), x, x);
    rewriter.replaceOp(
        op, *exponent == 2
                ? square
                : MulOp::create(rewriter, loc, op.getType(), square, x).getY());
    return success();
  }
};

// x / c -> x * (1 / c) where that is exact, or where a product in front takes
// the factor into its epilogue.
struct DivisionToProduct : OpRewritePattern<DivOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(DivOp op,
                                PatternRewriter &rewriter) const override {
    Value x = op.getA();
    auto divisor = isFloat(op) ? splatNumber(op.getB()) : std::nullopt;
    if (!divisor || x.getType() != op.getType() || !std::isfinite(*divisor))
      return failure();
    int exponent = 0;
    double fraction = std::frexp(std::abs(*divisor), &exponent);
    // Divisor and reciprocal are normal in every type that is computed in.
    if (fraction == 0 || exponent < -12 || exponent > 14)
      return failure();
    bool absorbed = x.hasOneUse() && x.getDefiningOp<MatMulOp>();
    if (fraction != 0.5 && !absorbed)
      return failure();
    reference::Tensor reciprocal = vectorTensor({1 / *divisor});
    // A factor of rank 1 would give a scalar a dimension.
    if (shapeOf(x).empty())
      reciprocal.shape.clear();
    Value factor = makeConstant(rewriter, op.getB().getLoc(), reciprocal,
                                typeOf(x).getElementType());
    rewriter.replaceOpWithNewOp<MulOp>(op, op.getType(), x, factor);
    return success();
  }
};

// With x = a - b: sum(x * x) -> sumSquare(x), mean(x * x) -> sumSquare(x) * (1
// / count): the squares are no tensor. Of a variance nothing else reads x once
// the normalisation is composed. Where x is a map that others read, as for a
// root mean square, the reduction would copy it to a layout of its own, and
// what it scales back again.
struct SquaresInReduction : OpRewritePattern<ReduceOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ReduceOp op,
                                PatternRewriter &rewriter) const override {
    const bool mean = op.getKind() == ReduceKind::Mean;
    auto square = op.getX().getDefiningOp<MulOp>();
    if ((!mean && op.getKind() != ReduceKind::Sum) || !square ||
        !square->hasOneUse() || square.getA() != square.getB() ||
        !square.getA().getDefiningOp<SubOp>() ||
        !op.getType().getElementType().isF32())
      return failure();
    Value sum = ReduceOp::create(rewriter, op.getLoc(), op.getType(),
                                 ReduceKind::SumSquare, square.getA(),
                                 op.getAxes(), op.getKeepdims());
    if (mean) {
      double count = 1;
      for (int64_t axis : op.getAxes())
        count *= static_cast<double>(shapeOf(op.getX())[axis]);
      reference::Tensor factor = vectorTensor({1 / count});
      factor.shape.clear();
      Value number = makeConstant(rewriter, op.getLoc(), factor,
                                  op.getType().getElementType());
      sum = MulOp::create(rewriter, op.getLoc(), op.getType(), sum, number);
    }
    rewriter.replaceOp(op, sum);
    return success();
  }
};

struct SimplifyArithmeticPass
    : ashlar::nn::impl::SimplifyArithmeticBase<SimplifyArithmeticPass> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<PowerToProduct, DivisionToProduct, SquaresInReduction>(
        &getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
