// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Matrix products of more axes than the array's loops: neighbouring batch axes
// that both operands step along alike become one. Input and output: any `nn`
// function.

#include "Rewrite.h"
#include "ashlar/Transforms/NN/Passes.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace ashlar::nn {
#define GEN_PASS_DEF_MERGEBATCHAXES
#include "lib/Transforms/NN/Passes.h.inc"
} // namespace ashlar::nn

using namespace mlir;
using namespace ashlar;
using namespace ashlar::nn;

namespace {

/// Batch axes and rows that pe.matmul and act.drain have loops for, and the
/// columns.
constexpr size_t kMostAxes = 5;

/// A run of batch axes: what it is of the result, and whether an operand has it
/// or is repeated along it.
struct Group {
  int64_t extent = 1;
  bool inA = true, inB = true;
};

/// `shape` with leading axes of 1 up to `rank`.
SmallVector<int64_t> padded(ArrayRef<int64_t> shape, size_t rank) {
  SmallVector<int64_t> result(rank - shape.size(), 1);
  llvm::append_range(result, shape);
  return result;
}

/// The fewest groups that the batch axes of a product form.
SmallVector<Group> groupsOf(MatMulOp op) {
  ArrayRef<int64_t> out = op.getType().getShape();
  SmallVector<int64_t> a = padded(shapeOf(op.getA()), out.size());
  SmallVector<int64_t> b = padded(shapeOf(op.getB()), out.size());
  SmallVector<Group> groups;
  for (size_t i = 0; i + 2 < out.size(); ++i) {
    if (out[i] == 1)
      continue;
    const Group own{out[i], a[i] != 1, b[i] != 1};
    if (!groups.empty() && groups.back().inA == own.inA &&
        groups.back().inB == own.inB)
      groups.back().extent *= own.extent;
    else
      groups.push_back(own);
  }
  return groups;
}

struct MergeAxes : OpRewritePattern<MatMulOp> {
  MergeAxes(MLIRContext *context, Pass::Statistic &count)
      : OpRewritePattern(context), count(count) {}

  LogicalResult matchAndRewrite(MatMulOp op,
                                PatternRewriter &rewriter) const override {
    ArrayRef<int64_t> out = op.getType().getShape();
    if (out.size() <= kMostAxes || op.getType().getNumElements() == 0)
      return failure();
    SmallVector<Group> groups = groupsOf(op);
    Value a = op.getA(), b = op.getB();
    if (groups.size() + 2 > kMostAxes) {
      // Operands that are repeated in turn: written out, they step alike.
      a = repeated(rewriter, op, a);
      b = repeated(rewriter, op, b);
      Group all;
      for (const Group &group : groups)
        all.extent *= group.extent;
      groups = {all};
    }
    SmallVector<int64_t> shape;
    for (const Group &group : groups)
      shape.push_back(group.extent);
    shape.append(out.end() - 2, out.end());
    auto merge = [&](Value value, bool Group::*has) {
      SmallVector<int64_t> merged;
      for (const Group &group : groups)
        if (group.*has || !merged.empty())
          merged.push_back(group.*has ? group.extent : 1);
      merged.append(shapeOf(value).end() - 2, shapeOf(value).end());
      return makeReshape(rewriter, op.getLoc(), value, merged);
    };
    auto type = RankedTensorType::get(shape, op.getType().getElementType());
    Value product =
        MatMulOp::create(rewriter, op.getLoc(), type, merge(a, &Group::inA),
                         merge(b, &Group::inB));
    rewriter.replaceOpWithNewOp<ReshapeOp>(op, op.getType(), product);
    ++count;
    return success();
  }

private:
  /// `value` with all batch axes of the result.
  static Value repeated(PatternRewriter &rewriter, MatMulOp op, Value value) {
    auto type = cast<RankedTensorType>(value.getType());
    SmallVector<int64_t> shape(op.getType().getShape().drop_back(2));
    shape.append(type.getShape().end() - 2, type.getShape().end());
    if (type.getShape() == ArrayRef<int64_t>(shape))
      return value;
    return BroadcastOp::create(rewriter, op.getLoc(),
                               type.clone(ArrayRef<int64_t>(shape)), value);
  }

  Pass::Statistic &count;
};

struct MergeBatchAxesPass
    : ashlar::nn::impl::MergeBatchAxesBase<MergeBatchAxesPass> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<MergeAxes>(&getContext(), numMerged);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
