// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Moves transposes towards results, through operations that commute with a
// renaming of axes, so that they meet each other, a matrix product, or the
// store of a graph output. Input and output: any `nn` function.

#include "Rewrite.h"
#include "ashlar/Analysis/Layout/Permutation.h"
#include "ashlar/Analysis/Module/NodeNames.h"
#include "ashlar/Transforms/NN/Passes.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/ADT/STLExtras.h"

namespace ashlar::nn {
#define GEN_PASS_DEF_SINKTRANSPOSES
#include "lib/Transforms/NN/Passes.h.inc"
} // namespace ashlar::nn

using namespace mlir;
using namespace ashlar;
using namespace ashlar::nn;

namespace {

/// The transpose that computes `value` for `user` alone, or null.
TransposeOp ownTranspose(Value value, Operation *user) {
  auto transpose = value.getDefiningOp<TransposeOp>();
  if (!transpose || isConstant(transpose.getX()) ||
      llvm::any_of(value.getUsers(),
                   [&](Operation *other) { return other != user; }))
    return {};
  return transpose;
}

/// Shape before a transpose that gives `shape`.
SmallVector<int64_t> untransposed(ArrayRef<int64_t> shape,
                                  ArrayRef<int64_t> perm) {
  SmallVector<int64_t> source(shape.size());
  for (auto [i, axis] : llvm::enumerate(perm))
    source[axis] = shape[i];
  return source;
}

/// A constant operand as an operand of the operation before the transpose.
Value untransposeConstant(OpBuilder &builder, Value value,
                          ArrayRef<int64_t> perm) {
  SmallVector<int64_t> shape(shapeOf(value));
  if (llvm::all_of(shape, [](int64_t extent) { return extent == 1; }) &&
      shape.size() <= perm.size())
    return value;
  shape.insert(shape.begin(), perm.size() - shape.size(), 1);
  Value full = makeReshape(builder, value.getLoc(), value, shape);
  return TransposeOp::create(builder, value.getLoc(),
                             typeOf(full).clone(untransposed(shape, perm)),
                             full, analysis::inversePermutation(perm));
}

/// `op` on `operands`, with a result of `shape`, and the transpose after it.
/// The node's value is the transpose's: it may move on, or meet its inverse and
/// vanish, and then no operation has it.
void replaceTransposed(PatternRewriter &rewriter, Operation *op,
                       ValueRange operands, ArrayRef<int64_t> shape,
                       ArrayRef<int64_t> perm,
                       ArrayRef<NamedAttribute> changed = {}) {
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  OperationState state(op->getLoc(), op->getName());
  state.addOperands(operands);
  state.addTypes(RankedTensorType::get(shape, type.getElementType()));
  state.addAttributes(op->getAttrs());
  for (NamedAttribute attr : changed)
    state.attributes.set(attr.getName(), attr.getValue());
  Operation *moved = rewriter.create(state);
  analysis::markAltered(moved);
  rewriter.replaceOpWithNewOp<TransposeOp>(op, type, moved->getResult(0), perm);
}

// f(T(x), T(y), constant) -> T(f(x, y, T^-1(constant))).
struct SinkThroughElementwise : RewritePattern {
  explicit SinkThroughElementwise(MLIRContext *context)
      : RewritePattern(MatchAnyOpTypeTag(), /*benefit=*/1, context) {}

  LogicalResult matchAndRewrite(Operation *op,
                                PatternRewriter &rewriter) const override {
    if (!worksByElement(op))
      return failure();
    auto out = cast<RankedTensorType>(op->getResult(0).getType()).getShape();
    TransposeOp first;
    for (Value operand : op->getOperands()) {
      if (isConstant(operand))
        continue;
      TransposeOp transpose = ownTranspose(operand, op);
      if (!transpose || shapeOf(operand).size() != out.size() ||
          (first && transpose.getPerm() != first.getPerm()))
        return failure();
      first = first ? first : transpose;
    }
    if (!first)
      return failure();
    ArrayRef<int64_t> perm = first.getPerm();
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(isConstant(operand)
                             ? untransposeConstant(rewriter, operand, perm)
                             : operand.getDefiningOp<TransposeOp>().getX());
    replaceTransposed(rewriter, op, operands, untransposed(out, perm), perm);
    return success();
  }
};

// reduce(T(x)) -> T'(reduce(x)): fewer elements are moved.
struct SinkThroughReduce : OpRewritePattern<ReduceOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ReduceOp op,
                                PatternRewriter &rewriter) const override {
    TransposeOp transpose = ownTranspose(op.getX(), op);
    if (!transpose)
      return failure();
    ArrayRef<int64_t> perm = transpose.getPerm();
    SmallVector<int64_t> axes, kept, moved;
    for (int64_t axis : op.getAxes())
      axes.push_back(perm[axis]);
    llvm::sort(axes);
    // Result axes by source axis, and the permutation of what is kept.
    for (int64_t axis = 0; axis < static_cast<int64_t>(perm.size()); ++axis)
      if (op.getKeepdims() || !llvm::is_contained(axes, axis))
        kept.push_back(axis);
    for (int64_t axis : perm)
      if (llvm::is_contained(kept, axis))
        moved.push_back(llvm::find(kept, axis) - kept.begin());
    replaceTransposed(
        rewriter, op, transpose.getX(),
        untransposed(op.getType().getShape(), moved), moved,
        rewriter.getNamedAttr("axes", rewriter.getDenseI64ArrayAttr(axes)));
    return success();
  }
};

// softmax(T(x), axis) -> T(softmax(x, perm[axis])).
template <typename Op>
struct SinkThroughAxis : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;

  LogicalResult matchAndRewrite(Op op,
                                PatternRewriter &rewriter) const override {
    TransposeOp transpose = ownTranspose(op.getX(), op);
    if (!transpose)
      return failure();
    ArrayRef<int64_t> perm = transpose.getPerm();
    replaceTransposed(
        rewriter, op, transpose.getX(), shapeOf(transpose.getX()), perm,
        rewriter.getNamedAttr("axis",
                              rewriter.getI64IntegerAttr(perm[op.getAxis()])));
    return success();
  }
};

// concat(T(x), T(y)) -> T(concat(x, y)).
struct SinkThroughConcat : OpRewritePattern<ConcatOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ConcatOp op,
                                PatternRewriter &rewriter) const override {
    SmallVector<Value> operands;
    TransposeOp first;
    for (Value operand : op.getInputs()) {
      TransposeOp transpose = ownTranspose(operand, op);
      if (!transpose || (first && transpose.getPerm() != first.getPerm()))
        return failure();
      first = transpose;
      operands.push_back(transpose.getX());
    }
    if (!first)
      return failure();
    ArrayRef<int64_t> perm = first.getPerm();
    replaceTransposed(rewriter, op, operands,
                      untransposed(op.getType().getShape(), perm), perm,
                      rewriter.getNamedAttr("axis", rewriter.getI64IntegerAttr(
                                                        perm[op.getAxis()])));
    return success();
  }
};

// slice(T(x)) -> T(slice(x)): fewer elements are moved.
struct SinkThroughSlice : OpRewritePattern<SliceOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(SliceOp op,
                                PatternRewriter &rewriter) const override {
    TransposeOp transpose = ownTranspose(op.getX(), op);
    if (!transpose)
      return failure();
    ArrayRef<int64_t> perm = transpose.getPerm();
    auto array = [&](ArrayRef<int64_t> values) {
      return rewriter.getDenseI64ArrayAttr(untransposed(values, perm));
    };
    replaceTransposed(rewriter, op, transpose.getX(),
                      untransposed(op.getType().getShape(), perm), perm,
                      {rewriter.getNamedAttr("starts", array(op.getStarts())),
                       rewriter.getNamedAttr("steps", array(op.getSteps()))});
    return success();
  }
};

struct SinkTransposesPass
    : ashlar::nn::impl::SinkTransposesBase<SinkTransposesPass> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<SinkThroughElementwise, SinkThroughReduce,
                 SinkThroughAxis<SoftmaxOp>, SinkThroughAxis<LogSoftmaxOp>,
                 SinkThroughConcat, SinkThroughSlice>(&getContext());
    // Those that meet move on as one.
    populateMergeTransposes(patterns);
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
