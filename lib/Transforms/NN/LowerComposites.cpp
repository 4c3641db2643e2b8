// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writes operations without an engine as exact compositions of operations that
// have one. Input: where, mod with fmod, max_pool of any window, concat of
// empty parts; output: none of the first two, no empty parts, and no max_pool
// whose window costs more than one pass per dimension does.

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
  /// Shape that two operands broadcast to, with the element type of `a`.
  static RankedTensorType broadcastType(Value a, Value b) {
    ArrayRef<int64_t> longer = shapeOf(a), shorter = shapeOf(b);
    if (longer.size() < shorter.size())
      std::swap(longer, shorter);
    SmallVector<int64_t> shape(longer);
    size_t lead = longer.size() - shorter.size();
    for (size_t i = 0; i < shorter.size(); ++i)
      if (shape[lead + i] == 1)
        shape[lead + i] = shorter[i];
    return RankedTensorType::get(shape, typeOf(a).getElementType());
  }

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

struct LowerCompositesPass
    : ashlar::nn::impl::LowerCompositesBase<LowerCompositesPass> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<LowerWhere, LowerFmod, SplitMaxPool, DropEmptyParts>(
        &getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
