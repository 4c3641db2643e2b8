// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds activation functions that exporters write as several operations.
// Input: products of a value with a function of it; output: nn.unary swish,
// gelu or hardSwish, which a drain applies in passing.

#include "Rewrite.h"
#include "ashlar/Transforms/NN/Passes.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include <array>
#include <cmath>

namespace ashlar::nn {
#define GEN_PASS_DEF_RECOGNISEACTIVATIONS
#include "lib/Transforms/NN/Passes.h.inc"
} // namespace ashlar::nn

using namespace mlir;
using namespace ashlar;
using namespace ashlar::nn;

namespace {

/// Constants of formulas are rounded to binary32, some to six digits.
bool isNear(double value, double expected) {
  return std::abs(value - expected) <= 2e-6 * std::abs(expected);
}

/// A product as its computed factors and one number. Inner products count if
/// nothing else reads them.
struct Product {
  double number = 1;
  SmallVector<Value, 4> factors;
  SmallVector<Operation *, 4> inner;

  void multiply(Value value, bool isRoot = false) {
    if (auto number = splatNumber(value)) {
      this->number *= *number;
      return;
    }
    Operation *op = value.getDefiningOp();
    if (!op || (!isRoot && !value.hasOneUse())) {
      factors.push_back(value);
      return;
    }
    if (auto mul = dyn_cast<MulOp>(op)) {
      inner.push_back(op);
      multiply(mul.getA());
      multiply(mul.getB());
      return;
    }
    auto div = dyn_cast<DivOp>(op);
    auto divisor = div ? splatNumber(div.getB()) : std::nullopt;
    if (!divisor || *divisor == 0) {
      factors.push_back(value);
      return;
    }
    inner.push_back(op);
    number /= *divisor;
    multiply(div.getA());
  }
};

/// `value` as `number * x`; nothing if it is another thing.
std::optional<double> factorOf(Value value, Value x) {
  if (value == x)
    return 1;
  Product product;
  product.multiply(value, /*isRoot=*/true);
  if (product.factors.size() == 1 && product.factors[0] == x)
    return product.number;
  return std::nullopt;
}

/// `value` as `x + number`.
std::optional<double> termOf(Value value, Value x) {
  auto add = value.getDefiningOp<AddOp>();
  if (!add)
    return std::nullopt;
  if (add.getA() == x)
    return splatNumber(add.getB());
  return add.getB() == x ? splatNumber(add.getA()) : std::nullopt;
}

/// Coefficients of 1, x, x^2 and x^3.
using Polynomial = std::array<double, 4>;

std::optional<Polynomial> times(const Polynomial &a, const Polynomial &b) {
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

/// `value` as a polynomial in `x` of degree 3 at most; nothing if it is none.
std::optional<Polynomial> polynomialOf(Value value, Value x, int depth = 8) {
  if (value == x)
    return Polynomial{0, 1, 0, 0};
  if (auto number = splatNumber(value))
    return Polynomial{*number, 0, 0, 0};
  Operation *op = value.getDefiningOp();
  if (depth == 0 || !isa_and_nonnull<AddOp, SubOp, MulOp, DivOp>(op))
    return std::nullopt;
  auto a = polynomialOf(op->getOperand(0), x, depth - 1);
  auto b = polynomialOf(op->getOperand(1), x, depth - 1);
  if (!a || !b)
    return std::nullopt;
  if (isa<MulOp>(op))
    return times(*a, *b);
  if (isa<DivOp>(op)) {
    auto divisor = splatNumber(op->getOperand(1));
    return divisor && *divisor != 0 ? times(*a, {1 / *divisor, 0, 0, 0})
                                    : std::nullopt;
  }
  double sign = isa<SubOp>(op) ? -1 : 1;
  for (size_t i = 0; i < a->size(); ++i)
    (*a)[i] += sign * (*b)[i];
  return a;
}

/// True for sqrt(2 / pi) * (x + 0.044715 * x^3).
bool isGeluArgument(Value value, Value x) {
  constexpr double linear = M_2_SQRTPI * M_SQRT1_2;
  auto inner = polynomialOf(value, x);
  return inner && (*inner)[0] == 0 && (*inner)[2] == 0 &&
         isNear((*inner)[1], linear) && isNear((*inner)[3], linear * 0.044715);
}

struct Activation {
  UnaryFunction function;
  double alpha;
};

/// x * number * gate as one function of x.
std::optional<Activation> match(Value x, Value gate, double number) {
  // A sum of one and erf of x / sqrt 2 or the approximation by tanh, one half
  // of it.
  if (auto add = gate.getDefiningOp<AddOp>(); add && isNear(number, 0.5)) {
    for (Value term : {add.getA(), add.getB()}) {
      auto erf = term.getDefiningOp<UnaryOp>();
      auto one = termOf(gate, term);
      if (erf && one && *one == 1 && erf.getFunction() == UnaryFunction::Tanh &&
          isGeluArgument(erf.getX(), x))
        return Activation{UnaryFunction::GeluTanh, 0};
      if (!erf || erf.getFunction() != UnaryFunction::Erf)
        continue;
      auto scale = factorOf(erf.getX(), x);
      if (scale && isNear(*scale, M_SQRT1_2) && one && *one == 1)
        return Activation{UnaryFunction::Gelu, 0};
    }
  }
  auto unary = gate.getDefiningOp<UnaryOp>();
  if (!unary)
    return std::nullopt;
  if (unary.getFunction() == UnaryFunction::Sigmoid && number == 1)
    if (auto alpha = factorOf(unary.getX(), x))
      return Activation{UnaryFunction::Swish, *alpha};
  double low = unary.getAlpha().convertToDouble();
  double high = unary.getBeta().convertToDouble();
  if (unary.getFunction() == UnaryFunction::HardSigmoid && number == 1 &&
      unary.getX() == x && isNear(low, 1.0 / 6) && high == 0.5)
    return Activation{UnaryFunction::HardSwish, 0};
  // A clip of x + 3 to [0, 6], a sixth of it.
  if (unary.getFunction() == UnaryFunction::Clip && low == 0 && high == 6 &&
      isNear(number, 1.0 / 6))
    if (auto three = termOf(unary.getX(), x); three && *three == 3)
      return Activation{UnaryFunction::HardSwish, 0};
  return std::nullopt;
}

template <typename Root>
struct Recognise : OpRewritePattern<Root> {
  Recognise(MLIRContext *context, Pass::Statistic &recognised)
      : OpRewritePattern<Root>(context), recognised(recognised) {}

  LogicalResult matchAndRewrite(Root op,
                                PatternRewriter &rewriter) const override {
    Product product;
    product.multiply(op.getResult(), /*isRoot=*/true);
    if (product.factors.size() != 2 ||
        !isa<FloatType>(typeOf(op.getResult()).getElementType()))
      return rewriter.notifyMatchFailure(op, "no product of two values");
    for (auto [x, gate] : {std::pair(product.factors[0], product.factors[1]),
                           std::pair(product.factors[1], product.factors[0])}) {
      auto activation = match(x, gate, product.number);
      if (!activation || x.getType() != op.getType())
        continue;
      SmallVector<Operation *, 4> absorbed(llvm::drop_begin(product.inner));
      absorbed.push_back(gate.getDefiningOp());
      auto unary = UnaryOp::create(
          rewriter, fuseLocations(op, absorbed), op.getType(),
          activation->function, x,
          APFloat(static_cast<float>(activation->alpha)), APFloat(0.0f));
      rewriter.replaceOp(op, unary);
      ++recognised;
      return success();
    }
    return rewriter.notifyMatchFailure(op, "no known function");
  }

  Pass::Statistic &recognised;
};

struct RecogniseActivationsPass
    : ashlar::nn::impl::RecogniseActivationsBase<RecogniseActivationsPass> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<Recognise<MulOp>, Recognise<DivOp>>(&getContext(), recognised);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
