// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Merges movement. Input and output: any `nn` function. Identities disappear
// through the dialect's folders, which the greedy driver applies; the patterns
// here merge pairs.

#include "Rewrite.h"
#include "ashlar/Transforms/NN/Passes.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace ashlar::nn {
#define GEN_PASS_DEF_COMPOSEMOVEMENT
#include "lib/Transforms/NN/Passes.h.inc"
} // namespace ashlar::nn

using namespace mlir;
using namespace ashlar;
using namespace ashlar::nn;

namespace {

// reshape(reshape(x)) -> reshape(x).
struct MergeReshapes : OpRewritePattern<ReshapeOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ReshapeOp op,
                                PatternRewriter &rewriter) const override {
    auto inner = op.getX().getDefiningOp<ReshapeOp>();
    if (!inner)
      return failure();
    Location loc = fuseLocations(op, {inner});
    rewriter.replaceOpWithNewOp<ReshapeOp>(op, op.getType(), inner.getX())
        ->setLoc(loc);
    return success();
  }
};

// transpose(transpose(x)) -> transpose(x) with the composed permutation.
struct MergeTransposes : OpRewritePattern<TransposeOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(TransposeOp op,
                                PatternRewriter &rewriter) const override {
    auto inner = op.getX().getDefiningOp<TransposeOp>();
    if (!inner)
      return failure();
    SmallVector<int64_t> perm;
    for (int64_t d : op.getPerm())
      perm.push_back(inner.getPerm()[d]);
    Location loc = fuseLocations(op, {inner});
    rewriter
        .replaceOpWithNewOp<TransposeOp>(op, op.getType(), inner.getX(), perm)
        ->setLoc(loc);
    return success();
  }
};

// A transpose that keeps the order of all dimensions larger than one moves no
// element.
struct TransposeToReshape : OpRewritePattern<TransposeOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(TransposeOp op,
                                PatternRewriter &rewriter) const override {
    int64_t last = -1;
    for (int64_t d : op.getPerm()) {
      if (shapeOf(op.getX())[d] == 1)
        continue;
      if (d < last)
        return failure();
      last = d;
    }
    rewriter.replaceOpWithNewOp<ReshapeOp>(op, op.getType(), op.getX());
    return success();
  }
};

// slice(slice(x)): starts and steps compose.
struct MergeSlices : OpRewritePattern<SliceOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(SliceOp op,
                                PatternRewriter &rewriter) const override {
    auto inner = op.getX().getDefiningOp<SliceOp>();
    if (!inner)
      return failure();
    SmallVector<int64_t> starts, steps;
    for (size_t d = 0; d < op.getStarts().size(); ++d) {
      starts.push_back(inner.getStarts()[d] +
                       inner.getSteps()[d] * op.getStarts()[d]);
      steps.push_back(inner.getSteps()[d] * op.getSteps()[d]);
    }
    Location loc = fuseLocations(op, {inner});
    rewriter
        .replaceOpWithNewOp<SliceOp>(op, op.getType(), inner.getX(), starts,
                                     steps)
        ->setLoc(loc);
    return success();
  }
};

// unary(reshape(x)) -> reshape(unary(x)): the function meets the operation
// that computes x (and can become its epilogue), the reshape the next movement.
struct SinkReshape : OpRewritePattern<UnaryOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(UnaryOp op,
                                PatternRewriter &rewriter) const override {
    auto reshape = op.getX().getDefiningOp<ReshapeOp>();
    if (!reshape || !op.getX().hasOneUse() || isConstant(reshape.getX()))
      return failure();
    auto type = RankedTensorType::get(shapeOf(reshape.getX()),
                                      op.getType().getElementType());
    Value result =
        UnaryOp::create(rewriter, op.getLoc(), type, op.getFunctionAttr(),
                        reshape.getX(), op.getAlphaAttr(), op.getBetaAttr());
    Location loc = passedLocation(reshape, op);
    rewriter.replaceOpWithNewOp<ReshapeOp>(op, op.getType(), result)
        ->setLoc(loc);
    return success();
  }
};

// unary(interleave(x...)) -> interleave(unary(x)...), for the same reason.
struct SinkInterleave : OpRewritePattern<UnaryOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(UnaryOp op,
                                PatternRewriter &rewriter) const override {
    auto interleave = op.getX().getDefiningOp<InterleaveOp>();
    if (!interleave || !op.getX().hasOneUse())
      return failure();
    SmallVector<Value> parts;
    for (Value input : interleave.getInputs())
      parts.push_back(UnaryOp::create(
          rewriter, op.getLoc(),
          RankedTensorType::get(shapeOf(input), op.getType().getElementType()),
          op.getFunctionAttr(), input, op.getAlphaAttr(), op.getBetaAttr()));
    Location loc = passedLocation(interleave, op);
    rewriter
        .replaceOpWithNewOp<InterleaveOp>(op, op.getType(), parts,
                                          interleave.getFactors())
        ->setLoc(loc);
    return success();
  }
};

// f(broadcast(x), y) -> f(x, y) where the result has the same shape anyway.
struct DropBroadcast : RewritePattern {
  explicit DropBroadcast(MLIRContext *context)
      : RewritePattern(MatchAnyOpTypeTag(), /*benefit=*/1, context) {}

  LogicalResult matchAndRewrite(Operation *op,
                                PatternRewriter &rewriter) const override {
    if (!isa<AddOp, SubOp, MulOp, DivOp, MaxOp, MinOp, PowOp, PReluOp, ModOp,
             CompareOp, LogicalOp, WhereOp>(op))
      return failure();
    for (OpOperand &operand : op->getOpOperands()) {
      auto broadcast = operand.get().getDefiningOp<BroadcastOp>();
      if (!broadcast || !fitsWithout(op, operand, broadcast.getX()))
        continue;
      rewriter.modifyOpInPlace(op, [&] { operand.set(broadcast.getX()); });
      return success();
    }
    return failure();
  }

  // True if the operands still broadcast to the result's shape with
  // `replacement` in place of `changed`: every dimension that it loses must
  // come from another operand.
  static bool fitsWithout(Operation *op, OpOperand &changed,
                          Value replacement) {
    ArrayRef<int64_t> out = shapeOf(op->getResult(0));
    for (size_t back = 1; back <= out.size(); ++back) {
      int64_t extent = out[out.size() - back];
      bool covered = false;
      for (OpOperand &operand : op->getOpOperands()) {
        Value value = &operand == &changed ? replacement : operand.get();
        ArrayRef<int64_t> shape = shapeOf(value);
        covered |= back <= shape.size() && shape[shape.size() - back] == extent;
      }
      if (!covered)
        return false;
    }
    return true;
  }
};

// Parts without elements place nothing.
struct DropEmptyParts : OpRewritePattern<ConcatOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ConcatOp op,
                                PatternRewriter &rewriter) const override {
    SmallVector<Value> parts;
    for (Value input : op.getInputs())
      if (typeOf(input).getNumElements() != 0)
        parts.push_back(input);
    if (parts.empty() || parts.size() == op.getInputs().size())
      return failure();
    rewriter.modifyOpInPlace(op, [&] { op.getInputsMutable().assign(parts); });
    return success();
  }
};

struct ComposeMovementPass
    : ashlar::nn::impl::ComposeMovementBase<ComposeMovementPass> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns
        .add<DropEmptyParts, MergeReshapes, MergeTransposes, TransposeToReshape,
             MergeSlices, SinkReshape, SinkInterleave, DropBroadcast>(
            &getContext());
    // From the inputs on: what sinks meets the next movement at once. The other
    // way round, each would pass all functions after it by itself.
    GreedyRewriteConfig config;
    config.setUseTopDownTraversal(true);
    if (failed(
            applyPatternsGreedily(getOperation(), std::move(patterns), config)))
      signalPassFailure();
  }
};

} // namespace

void nn::populateMergeTransposes(RewritePatternSet &patterns) {
  patterns.add<MergeTransposes>(patterns.getContext());
}
