// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Chains of reshapes and transposes become what they amount to: nothing, one
// reshape, a gather along one axis, or one transpose between reshapes. Input
// and output: any `nn` function.

#include "Rewrite.h"
#include "ashlar/Analysis/Layout/Permutation.h"
#include "ashlar/Transforms/NN/Passes.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/ADT/STLExtras.h"

namespace ashlar::nn {
#define GEN_PASS_DEF_CANONICALISETRANSPOSES
#include "lib/Transforms/NN/Passes.h.inc"
} // namespace ashlar::nn

using namespace mlir;
using namespace ashlar;
using namespace ashlar::nn;

namespace {

/// A chain of reshapes and transposes, the first one first.
struct MovementChain {
  Value source;
  SmallVector<Operation *> ops;
  int64_t transposes = 0;
};

MovementChain chainOf(Operation *last) {
  MovementChain chain;
  for (Operation *op = last; isa_and_nonnull<TransposeOp, ReshapeOp>(op);
       op = chain.source.getDefiningOp()) {
    chain.ops.insert(chain.ops.begin(), op);
    chain.transposes += isa<TransposeOp>(op);
    chain.source = op->getOperand(0);
  }
  return chain;
}

/// The order of elements that `ops` leave of a tensor of `shape`; nothing if a
/// reshape mixes digits.
std::optional<analysis::ElementOrder> orderOf(ArrayRef<Operation *> ops,
                                              ArrayRef<int64_t> shape) {
  analysis::ElementOrder order(shape);
  for (Operation *op : ops)
    if (auto transpose = dyn_cast<TransposeOp>(op))
      order.transpose(transpose.getPerm());
    else if (!order.reshape(shapeOf(op->getResult(0))))
      return std::nullopt;
  return order;
}

/// The axis along which the order only permutes indices, with the indices.
std::optional<std::pair<int64_t, analysis::Axes>>
shuffleOf(const analysis::ElementOrder &order, ArrayRef<int64_t> shape) {
  for (int64_t axis = 0; axis < static_cast<int64_t>(shape.size()); ++axis)
    if (auto indices = order.alongAxis(shape, axis))
      return std::pair(axis, *indices);
  return std::nullopt;
}

struct ComposeChain : RewritePattern {
  explicit ComposeChain(MLIRContext *context)
      : RewritePattern(MatchAnyOpTypeTag(), /*benefit=*/1, context) {}

  LogicalResult matchAndRewrite(Operation *op,
                                PatternRewriter &rewriter) const override {
    if (!isa<TransposeOp, ReshapeOp>(op) ||
        isa_and_nonnull<ConstantOp>(op->getOperand(0).getDefiningOp()))
      return failure();
    MovementChain chain = chainOf(op);
    // A reshape that mixes digits hides what lies before it.
    while (!chain.ops.empty() && chain.transposes > 0) {
      ArrayRef<int64_t> shape = shapeOf(chain.source);
      if (llvm::is_contained(shape, 0))
        return failure();
      if (auto order = orderOf(chain.ops, shape))
        return rewrite(op, chain, *order, rewriter);
      chain.transposes -= isa<TransposeOp>(chain.ops.front());
      chain.source = chain.ops.front()->getResult(0);
      chain.ops.erase(chain.ops.begin());
    }
    return failure();
  }

private:
  static LogicalResult rewrite(Operation *op, const MovementChain &chain,
                               const analysis::ElementOrder &order,
                               PatternRewriter &rewriter) {
    Value source = chain.source;
    auto type = cast<RankedTensorType>(op->getResult(0).getType());
    Location loc = fuseLocations(op, ArrayRef(chain.ops).drop_back());
    analysis::CanonicalTranspose form = order.canonical();
    if (form.isIdentity()) {
      rewriter.replaceOp(op,
                         makeReshape(rewriter, loc, source, type.getShape()));
      return success();
    }
    if (shapeOf(source) == type.getShape())
      if (auto shuffle = shuffleOf(order, type.getShape())) {
        rewriter.replaceOpWithNewOp<GatherOp>(op, type, source, shuffle->first,
                                              shuffle->second);
        return success();
      }
    if (chain.transposes < 2)
      return failure();
    Value x = makeReshape(rewriter, loc, source, form.shape);
    x = TransposeOp::create(
        rewriter, loc,
        RankedTensorType::get(form.resultShape(), type.getElementType()), x,
        form.perm);
    rewriter.replaceOp(op, makeReshape(rewriter, loc, x, type.getShape()));
    return success();
  }
};

/// True if a slice leaves every axis but `axis` whole.
bool slicesOnly(SliceOp slice, int64_t axis) {
  ArrayRef<int64_t> source = shapeOf(slice.getX()),
                    result = slice.getType().getShape();
  for (int64_t i = 0; i < static_cast<int64_t>(source.size()); ++i)
    if (i != axis && (source[i] != result[i] || slice.getSteps()[i] != 1))
      return false;
  return true;
}

// slice(gather(x)) along the same axis -> gather(x) with fewer indices.
struct SliceOfGather : OpRewritePattern<SliceOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(SliceOp op,
                                PatternRewriter &rewriter) const override {
    auto gather = op.getX().getDefiningOp<GatherOp>();
    if (!gather || !slicesOnly(op, gather.getAxis()))
      return failure();
    int64_t axis = gather.getAxis();
    SmallVector<int64_t> indices;
    for (int64_t i = 0; i < op.getType().getShape()[axis]; ++i)
      indices.push_back(
          gather.getIndices()[op.getStarts()[axis] + i * op.getSteps()[axis]]);
    Location loc = fuseLocations(op, {gather});
    rewriter
        .replaceOpWithNewOp<GatherOp>(op, op.getType(), gather.getX(), axis,
                                      indices)
        ->setLoc(loc);
    return success();
  }
};

// gather(gather(x)) along the same axis -> gather(x).
struct MergeGathers : OpRewritePattern<GatherOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(GatherOp op,
                                PatternRewriter &rewriter) const override {
    auto inner = op.getX().getDefiningOp<GatherOp>();
    if (!inner || inner.getAxis() != op.getAxis())
      return failure();
    SmallVector<int64_t> indices;
    for (int64_t index : op.getIndices())
      indices.push_back(inner.getIndices()[index]);
    Location loc = fuseLocations(op, {inner});
    rewriter
        .replaceOpWithNewOp<GatherOp>(op, op.getType(), inner.getX(),
                                      op.getAxis(), indices)
        ->setLoc(loc);
    return success();
  }
};

struct CanonicaliseTransposesPass
    : ashlar::nn::impl::CanonicaliseTransposesBase<CanonicaliseTransposesPass> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<ComposeChain, SliceOfGather, MergeGathers>(&getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
