// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writes operations without an engine, or too large for one, as compositions of
// operations that have one. Input: where, mod with fmod, max_pool of any
// window; output: none of the first two, and no max_pool whose window costs
// more than one pass per dimension does.

#include "MachineView.h"
#include "Rewrite.h"
#include "ashlar/Transforms/NN/Passes.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace ashlar::nn {
#define GEN_PASS_DEF_LOWERCOMPOSITES
#include "lib/Transforms/NN/Passes.h.inc"
} // namespace ashlar::nn

using namespace mlir;
using namespace ashlar;
using namespace ashlar::nn;

namespace {

/// Operations at one location, results typed by what they read.
class Composer {
public:
  Composer(OpBuilder &builder, Location loc) : builder(builder), loc(loc) {}

  Value cast(Value x, Type element) {
    auto type = typeOf(x).clone(element);
    return type == x.getType() ? x
                               : CastOp::create(builder, loc, type, x).getY();
  }

  Value unary(UnaryFunction function, Value x) {
    return UnaryOp::create(builder, loc, x.getType(), function, x,
                           APFloat(0.0f), APFloat(0.0f));
  }

  template <typename Op, typename... Args>
  Value binary(Value a, Value b, Args... args) {
    return Op::create(builder, loc, broadcastType(a, b), a, b, args...);
  }

  Value logical(LogicalKind kind, Value a, Value b) {
    return LogicalOp::create(builder, loc, broadcastType(a, b), kind, a, b);
  }

private:
  OpBuilder &builder;
  Location loc;
};

/// Type to compute a choice or a remainder in: binary32 holds the narrower
/// floats, int64 every unsigned integer (bit for bit).
Type workType(Type element, OpBuilder &builder) {
  if (isa<FloatType>(element))
    return element.isF64() ? element : builder.getF32Type();
  return element.isUnsignedInteger() ? builder.getI64Type() : element;
}

// `prelu(s, v)` with s = -1 where v is chosen and s = -0 elsewhere is -v or -0,
// and x + -0 is x for every x: the negated sum of two such terms is the chosen
// operand, signed zeros and infinities included. Integers have one zero.
struct LowerWhere : OpRewritePattern<WhereOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(WhereOp op,
                                PatternRewriter &rewriter) const override {
    Composer make(rewriter, op.getLoc());
    Value condition = make.cast(op.getCondition(), rewriter.getI1Type());
    Value otherwise = make.unary(UnaryFunction::Not, condition);
    Type element = op.getType().getElementType();
    Value result;
    if (element.isInteger(1)) {
      result = make.logical(
          LogicalKind::Or, make.logical(LogicalKind::And, condition, op.getA()),
          make.logical(LogicalKind::And, otherwise, op.getB()));
    } else {
      Type work = workType(element, rewriter);
      auto term = [&](Value chosen, Value operand) {
        Value sign = make.unary(UnaryFunction::Neg, make.cast(chosen, work));
        return make.binary<PReluOp>(sign, make.cast(operand, work));
      };
      Value sum = make.binary<AddOp>(term(condition, op.getA()),
                                     term(otherwise, op.getB()));
      result = make.cast(make.unary(UnaryFunction::Neg, sum), element);
    }
    rewriter.replaceOp(op, result);
    return success();
  }
};

// The remainder with the sign of the dividend: floats by the remainder of the
// magnitudes, integers by the truncated quotient (their magnitude may wrap).
struct LowerFmod : OpRewritePattern<ModOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ModOp op,
                                PatternRewriter &rewriter) const override {
    if (!op.getFmod())
      return failure();
    Composer make(rewriter, op.getLoc());
    Type element = op.getType().getElementType();
    Type work = workType(element, rewriter);
    Value a = make.cast(op.getA(), work), b = make.cast(op.getB(), work);
    Value result;
    if (isa<FloatType>(element)) {
      Value remainder = make.binary<ModOp>(make.unary(UnaryFunction::Abs, a),
                                           make.unary(UnaryFunction::Abs, b),
                                           /*fmod=*/false);
      result =
          make.binary<MulOp>(remainder, make.unary(UnaryFunction::Sign, a));
    } else {
      Value quotient = make.binary<DivOp>(a, b);
      result = make.binary<SubOp>(a, make.binary<MulOp>(quotient, b));
    }
    rewriter.replaceOp(op, make.cast(result, element));
    return success();
  }
};

// The largest of a window is the largest of the largest of its rows.
struct SplitMaxPool : OpRewritePattern<MaxPoolOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(MaxPoolOp op,
                                PatternRewriter &rewriter) const override {
    ArrayRef<int64_t> kernel = op.getKernel();
    int64_t taps = 1, rows = 0;
    for (int64_t extent : kernel) {
      taps *= extent;
      rows += extent;
    }
    // A pass per dimension writes and reads what lies between the passes;
    // below a factor of four that eats the gain.
    if (llvm::count_if(kernel, [](int64_t k) { return k > 1; }) < 2 ||
        taps < 4 * rows)
      return failure();
    size_t spatial = kernel.size();
    Value x = op.getX();
    for (size_t axis = spatial; axis-- > 0;) {
      SmallVector<int64_t> window(spatial, 1), strides(spatial, 1),
          dilations(spatial, 1), pads(2 * spatial, 0);
      window[axis] = kernel[axis];
      strides[axis] = op.getStrides()[axis];
      dilations[axis] = op.getDilations()[axis];
      pads[axis] = op.getPads()[axis];
      pads[axis + spatial] = op.getPads()[axis + spatial];
      SmallVector<int64_t> shape(shapeOf(x));
      shape[2 + axis] = op.getType().getShape()[2 + axis];
      x = MaxPoolOp::create(rewriter, op.getLoc(), op.getType().clone(shape), x,
                            window, strides, pads, dilations);
    }
    rewriter.replaceOp(op, x);
    return success();
  }
};

/// Maximal ranges of reduced axes that only unit axes interrupt.
int64_t countRanges(ArrayRef<int64_t> shape, ArrayRef<int64_t> axes) {
  int64_t ranges = 0;
  bool inside = false;
  for (int64_t axis = 0; axis < static_cast<int64_t>(shape.size()); ++axis) {
    if (shape[axis] == 1)
      continue;
    bool reduced = llvm::is_contained(axes, axis);
    ranges += reduced && !inside;
    inside = reduced;
  }
  return ranges;
}

// An instruction reduces two ranges of axes: more are moved together, in
// order, so that the order of the elements stays.
struct GatherReducedAxes : OpRewritePattern<ReduceOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ReduceOp op,
                                PatternRewriter &rewriter) const override {
    ArrayRef<int64_t> shape = shapeOf(op.getX());
    if (countRanges(shape, op.getAxes()) <= 2)
      return failure();
    SmallVector<int64_t> perm, moved, axes;
    for (bool reduced : {false, true})
      for (int64_t axis = 0; axis < static_cast<int64_t>(shape.size()); ++axis)
        if (llvm::is_contained(op.getAxes(), axis) == reduced) {
          if (reduced)
            axes.push_back(static_cast<int64_t>(perm.size()));
          perm.push_back(axis);
          moved.push_back(shape[axis]);
        }
    Value x = TransposeOp::create(
        rewriter, op.getLoc(), typeOf(op.getX()).clone(moved), op.getX(), perm);
    Value y = reduceTo(rewriter, op.getLoc(), op.getKind(), x, axes);
    rewriter.replaceOpWithNewOp<ReshapeOp>(op, op.getType(), y);
    return success();
  }
};

/// The largest divisor of `count` up to `limit`.
int64_t divisorUpTo(int64_t count, int64_t limit) {
  for (int64_t divisor = std::min(count, limit); divisor > 1; --divisor)
    if (count % divisor == 0)
      return divisor;
  return 1;
}

// What is reduced lies in one partition: more than fits is reduced in steps,
// innermost axis first, a long axis as rows of a matrix.
struct SplitReduce : OpRewritePattern<ReduceOp> {
  SplitReduce(MLIRContext *context, int64_t limit)
      : OpRewritePattern(context), limit(limit) {}

  LogicalResult matchAndRewrite(ReduceOp op,
                                PatternRewriter &rewriter) const override {
    ArrayRef<int64_t> shape = shapeOf(op.getX());
    int64_t count = 1;
    SmallVector<int64_t> axes;
    for (int64_t axis : op.getAxes())
      if (shape[axis] != 1) {
        axes.push_back(axis);
        count *= shape[axis];
      }
    if (count <= limit)
      return failure();
    llvm::sort(axes);
    Value x = op.getX();
    if (axes.size() == 1) {
      int64_t axis = axes.front(), inner = divisorUpTo(count, limit);
      if (inner == 1)
        return rewriter.notifyMatchFailure(op, "prime extent");
      SmallVector<int64_t> rows(shape);
      rows[axis] = count / inner;
      rows.insert(rows.begin() + axis + 1, inner);
      x = makeReshape(rewriter, op.getLoc(), x, rows);
      axes.push_back(axis + 1);
    }
    Value inner = reduceTo(rewriter, op.getLoc(), op.getKind(), x, axes.back());
    axes.pop_back();
    Value outer =
        reduceTo(rewriter, op.getLoc(), outerKind(op.getKind()), inner, axes);
    if (outer.getType() == op.getType())
      rewriter.replaceOp(op, outer);
    else
      rewriter.replaceOpWithNewOp<ReshapeOp>(op, op.getType(), outer);
    return success();
  }

  int64_t limit;
};

/// Reduces `axis` of x, which keeps one element, as rows of at most `limit`
/// elements where its extent has such a divisor.
Value reduceRows(OpBuilder &builder, Location loc, ReduceKind kind, Value x,
                 int64_t axis, int64_t limit) {
  SmallVector<int64_t> shape(shapeOf(x));
  const int64_t inner = divisorUpTo(shape[axis], limit);
  if (inner == 1 || inner == shape[axis])
    return reduceTo(builder, loc, kind, x, axis);
  SmallVector<int64_t> rows(shape);
  rows[axis] = shape[axis] / inner;
  rows.insert(rows.begin() + axis + 1, inner);
  Value y = makeReshape(builder, loc, x, rows);
  y = reduceTo(builder, loc, kind, y, axis + 1);
  y = reduceTo(builder, loc, outerKind(kind), y, axis);
  shape[axis] = 1;
  return makeReshape(builder, loc, y, shape);
}

// The steps of docs/Numerics.md 9 one by one, where a row and its two
// intermediate forms do not fit into a partition together. Its reductions come
// in rows that would fit: whole, they would take one lane where a smaller
// partition takes several.
template <typename Op>
struct ExpandSoftmax : OpRewritePattern<Op> {
  ExpandSoftmax(MLIRContext *context, int64_t limit)
      : OpRewritePattern<Op>(context), limit(limit) {}

  LogicalResult matchAndRewrite(Op op,
                                PatternRewriter &rewriter) const override {
    int64_t axis = op.getAxis();
    if (shapeOf(op.getX())[axis] <= limit / 2)
      return failure();
    Composer make(rewriter, op.getLoc());
    Value x = op.getX();
    auto reduce = [&](ReduceKind kind, Value of) {
      return reduceRows(rewriter, op.getLoc(), kind, of, axis, limit / 2);
    };
    Value most = reduce(ReduceKind::Max, x);
    Value shifted = make.template binary<SubOp>(x, most);
    Value powers = make.unary(UnaryFunction::Exp, shifted);
    Value sum = reduce(ReduceKind::Sum, powers);
    if (isa<LogSoftmaxOp>(op))
      rewriter.replaceOp(op, make.template binary<SubOp>(
                                 shifted, make.unary(UnaryFunction::Log, sum)));
    else
      rewriter.replaceOp(op, make.template binary<DivOp>(powers, sum));
    return success();
  }

  int64_t limit;
};

// The epilogue reads its bias from a record that is written at compile time: a
// bias that is computed at run time is a sum of its own.
struct SplitRuntimeBias : OpRewritePattern<ConvOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ConvOp op,
                                PatternRewriter &rewriter) const override {
    Value bias = op.getBias();
    if (!bias || isConstant(bias))
      return failure();
    SmallVector<int64_t> shape(op.getType().getShape().size(), 1);
    shape[1] = op.getType().getShape()[1];
    rewriter.setInsertionPointAfter(op);
    Value column = makeReshape(rewriter, op.getLoc(), bias, shape);
    auto sum =
        AddOp::create(rewriter, op.getLoc(), op.getType(), op.getY(), column);
    rewriter.replaceAllUsesExcept(op.getY(), sum.getY(), sum);
    rewriter.modifyOpInPlace(op, [&] { op.getBiasMutable().clear(); });
    return success();
  }
};

struct LowerCompositesPass
    : ashlar::nn::impl::LowerCompositesBase<LowerCompositesPass> {
  using LowerCompositesBase::LowerCompositesBase;

  void runOnOperation() override {
    FailureOr<MachineView> machine = MachineView::of(getOperation());
    if (failed(machine))
      return signalPassFailure();
    RewritePatternSet patterns(&getContext());
    // Half of a partition holds this many elements of the widest type.
    int64_t limit = std::max<int64_t>(2, machine->partitionBytes / 2 / 8);
    patterns.add<SplitReduce, ExpandSoftmax<SoftmaxOp>,
                 ExpandSoftmax<LogSoftmaxOp>>(&getContext(), limit);
    patterns.add<GatherReducedAxes, SplitRuntimeBias>(&getContext());
    patterns.add<LowerWhere, LowerFmod, SplitMaxPool>(&getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
