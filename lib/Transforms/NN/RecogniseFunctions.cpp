// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds functions that exporters write out: GELU in both forms, squares and
// cubes as powers, divisions by a constant. Input and output: any `nn` function
// with constants folded.

#include "Rewrite.h"
#include "ashlar/Transforms/NN/Passes.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/ADT/STLExtras.h"
#include <array>
#include <cmath>

namespace ashlar::nn {
#define GEN_PASS_DEF_RECOGNISEFUNCTIONS
#include "lib/Transforms/NN/Passes.h.inc"
} // namespace ashlar::nn

using namespace mlir;
using namespace ashlar;
using namespace ashlar::nn;

namespace {

/// Coefficients of 1, x, x^2 and x^3.
using Polynomial = std::array<double, 4>;

bool isFloat(Value value) {
  return isa<FloatType>(typeOf(value).getElementType());
}

/// The value of a constant of one element.
std::optional<double> scalarOf(Value value) {
  if (typeOf(value).getNumElements() != 1)
    return std::nullopt;
  auto tensor = floatConstant(value);
  return tensor ? std::optional<double>(tensor->floats[0]) : std::nullopt;
}

/// Files hold the constants of formulas rounded to their element type.
bool isNear(double value, double ideal, Type element) {
  double tolerance = element.isF32() || element.isF64() ? 1e-6 : 4e-3;
  return std::abs(value - ideal) <= tolerance * std::abs(ideal);
}

std::optional<Polynomial> product(const Polynomial &a, const Polynomial &b) {
  Polynomial result{};
  for (size_t i = 0; i < a.size(); ++i)
    for (size_t k = 0; k < b.size(); ++k) {
      if (a[i] == 0 || b[k] == 0)
        continue;
      if (i + k >= result.size())
        return std::nullopt;
      result[i + k] += a[i] * b[k];
    }
  return result;
}

std::optional<Polynomial> scaled(std::optional<Polynomial> p, double factor) {
  return p ? product(*p, {factor, 0, 0, 0}) : std::nullopt;
}

/// `value` as a polynomial in `x` of degree 3 at most; nothing if it is none.
std::optional<Polynomial> polynomialOf(Value value, Value x, int depth = 8) {
  if (value == x)
    return Polynomial{0, 1, 0, 0};
  if (auto number = scalarOf(value))
    return Polynomial{*number, 0, 0, 0};
  Operation *op = value.getDefiningOp();
  if (depth == 0 || !isa_and_nonnull<AddOp, SubOp, MulOp, DivOp>(op))
    return std::nullopt;
  auto a = polynomialOf(op->getOperand(0), x, depth - 1);
  auto b = polynomialOf(op->getOperand(1), x, depth - 1);
  if (!a || !b)
    return std::nullopt;
  if (isa<MulOp>(op))
    return product(*a, *b);
  if (isa<DivOp>(op)) {
    auto divisor = scalarOf(op->getOperand(1));
    return divisor && *divisor != 0 ? scaled(a, 1 / *divisor) : std::nullopt;
  }
  double sign = isa<SubOp>(op) ? -1 : 1;
  for (size_t i = 0; i < a->size(); ++i)
    (*a)[i] += sign * (*b)[i];
  return a;
}

/// A product taken apart: what is no constant, and the constants' product.
struct Factors {
  SmallVector<Value, 4> values;
  SmallVector<Operation *, 4> parts; ///< products inside, outermost first
  double constant = 1;
};

Factors factorsOf(Value root) {
  Factors factors;
  SmallVector<Value> open{root};
  while (!open.empty()) {
    Value value = open.pop_back_val();
    Operation *op = value.getDefiningOp();
    if (auto number = scalarOf(value)) {
      factors.constant *= *number;
    } else if (isa_and_nonnull<MulOp>(op) &&
               (value == root || value.hasOneUse()) &&
               factors.parts.size() < 4) {
      factors.parts.push_back(op);
      open.append({op->getOperand(0), op->getOperand(1)});
    } else {
      factors.values.push_back(value);
    }
  }
  return factors;
}

/// `c * (1 + f)` as (c, f), where f is a function of a tensor.
std::optional<std::pair<double, UnaryOp>> onePlus(Value value) {
  auto add = value.getDefiningOp<AddOp>();
  if (!add || !value.hasOneUse())
    return std::nullopt;
  for (auto [one, rest] :
       {std::pair(add.getA(), add.getB()), std::pair(add.getB(), add.getA())}) {
    auto number = scalarOf(one);
    if (!number)
      continue;
    Factors factors = factorsOf(rest);
    auto function = factors.values.size() == 1
                        ? factors.values[0].getDefiningOp<UnaryOp>()
                        : UnaryOp();
    if (function && factors.constant == *number && function->hasOneUse())
      return std::pair(*number, function);
  }
  return std::nullopt;
}

/// Which GELU `function(polynomial(x))` is the core of.
std::optional<UnaryFunction> geluOf(UnaryOp function, Value x) {
  Type element = typeOf(x).getElementType();
  auto inner = polynomialOf(function.getX(), x);
  if (!inner || (*inner)[0] != 0 || (*inner)[2] != 0)
    return std::nullopt;
  if (function.getFunction() == UnaryFunction::Erf && (*inner)[3] == 0 &&
      isNear((*inner)[1], M_SQRT1_2, element))
    return UnaryFunction::Gelu;
  double linear = M_2_SQRTPI * M_SQRT1_2; // sqrt(2 / pi)
  if (function.getFunction() == UnaryFunction::Tanh &&
      isNear((*inner)[1], linear, element) &&
      isNear((*inner)[3], linear * 0.044715, element))
    return UnaryFunction::GeluTanh;
  return std::nullopt;
}

// x * 0.5 * (1 + erf(x / sqrt 2)), and the form with tanh, in any order.
struct RecogniseGelu : OpRewritePattern<MulOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(MulOp op,
                                PatternRewriter &rewriter) const override {
    if (!isFloat(op))
      return failure();
    Factors factors = factorsOf(op);
    if (factors.values.size() != 2)
      return failure();
    for (int i : {0, 1}) {
      Value x = factors.values[1 - i];
      auto core = onePlus(factors.values[i]);
      if (!core || x.getType() != op.getType() ||
          !isNear(factors.constant * core->first, 0.5,
                  typeOf(x).getElementType()))
        continue;
      auto function = geluOf(core->second, x);
      if (!function)
        continue;
      Location loc = fuseLocations(core->second, factors.parts);
      rewriter.replaceOp(op,
                         UnaryOp::create(rewriter, loc, x.getType(), *function,
                                         x, APFloat(0.0f), APFloat(0.0f)));
      return success();
    }
    return failure();
  }
};

// x^2 -> x * x, x^3 -> x * x * x.
struct PowerToProduct : OpRewritePattern<PowOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(PowOp op,
                                PatternRewriter &rewriter) const override {
    Value x = op.getA();
    auto exponent = isFloat(op) ? scalarOf(op.getB()) : std::nullopt;
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
    auto divisor = isFloat(op) ? scalarOf(op.getB()) : std::nullopt;
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
    Value factor =
        makeConstant(rewriter, op.getB().getLoc(), vectorTensor({1 / *divisor}),
                     typeOf(x).getElementType());
    rewriter.replaceOpWithNewOp<MulOp>(op, op.getType(), x, factor);
    return success();
  }
};

struct RecogniseFunctionsPass
    : ashlar::nn::impl::RecogniseFunctionsBase<RecogniseFunctionsPass> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<RecogniseGelu, PowerToProduct, DivisionToProduct>(
        &getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
