// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What stands between the products of a quantised network (docs/Numerics.md
// 12) as one pass over the elements for each function: dequantisation, the
// function, quantisation. Input: nn operations of the formulas, one by one.
// Output: bfp.requantise of equal bits; data movement and maxima of dequantised
// integers become those of the integers.

#include "ScalarConstant.h"
#include "Shapes.h"

#include "ashlar/Transforms/BFP/Passes.h"
#include "dialects/BFP/BFPOps.h"
#include "dialects/NN/NNOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/TypeUtilities.h"

#include <cmath>
#include <limits>

using namespace mlir;

namespace ashlar::bfp {

#define GEN_PASS_DEF_FUSEQUANTISEDMAPS
#include "ashlar/Transforms/BFP/Passes.h.inc"

namespace {

/// Scales up to here keep all that integers of 8 bits stand for, and their
/// sums, finite.
constexpr float largestScale = 0x1p100f;

/// The element type if it is an integer of 8 bits.
IntegerType byteType(Value value) {
  auto type = dyn_cast<IntegerType>(getElementTypeOrSelf(value.getType()));
  return type && type.getWidth() == 8 ? type : IntegerType();
}

double lowOf(IntegerType type) { return type.isUnsigned() ? 0 : -128; }

/// `(source - zero) * scale`; of floats zero is 0 and scale 1.
struct Operand {
  Value source;
  float scale = 1;
  int64_t zero = 0;
  SmallVector<Location> locations;

  bool isQuantised() const { return !isF32(source); }
};

/// The constant operand of a function of two, for all elements the same, if the
/// other one has the shape of the result.
std::optional<float> scalarBeside(Operation *op, unsigned constant) {
  if (shapeOf(op->getOperand(1 - constant)) != shapeOf(op->getResult(0)) ||
      !isF32(op->getResult(0)))
    return std::nullopt;
  return scalarConstant(op->getOperand(constant));
}

/// The formula of DequantizeLinear that ends in `value`, or nothing.
std::optional<Operand> matchDequantise(Value value) {
  Operand result;
  auto pass = [&](Operation *op, unsigned operand) {
    result.locations.push_back(op->getLoc());
    value = op->getOperand(operand);
  };
  if (auto mul = value.getDefiningOp<nn::MulOp>())
    for (unsigned i : {1, 0})
      if (std::optional<float> scale = scalarBeside(mul, i)) {
        if (!(*scale > 0) || *scale > largestScale)
          return std::nullopt;
        result.scale = *scale;
        pass(mul, 1 - i);
        break;
      }
  std::optional<float> zero;
  if (auto sub = value.getDefiningOp<nn::SubOp>()) {
    zero = scalarBeside(sub, 1);
    if (!zero)
      return std::nullopt;
    pass(sub, 0);
  }
  auto cast = value.getDefiningOp<nn::CastOp>();
  IntegerType type = cast ? byteType(cast.getX()) : IntegerType();
  if (!type || !isF32(cast.getY()))
    return std::nullopt;
  double shift = zero.value_or(0) - lowOf(type);
  if (shift != std::trunc(shift) || shift < 0 || shift > 255)
    return std::nullopt;
  result.zero = static_cast<int64_t>(zero.value_or(0));
  pass(cast, 0);
  result.source = value;
  return result;
}

/// The dequantisation that makes `value`, or the floats themselves.
Operand operandOf(Value value) {
  if (std::optional<Operand> found = matchDequantise(value))
    return *found;
  return {value, 1, 0, {}};
}

/// Function, limits, quantisation.
struct Requantisation {
  std::string function = "copy";
  APFloat alpha = APFloat(0.0f), beta = APFloat(0.0f);
  bool limited = false;
  SmallVector<Operand, 2> operands;
  float step = 1;
  int64_t zero = 0;
  SmallVector<Location> locations;
};

Value makeRequantise(OpBuilder &builder, const Requantisation &formula,
                     RankedTensorType type) {
  SmallVector<Value, 2> inputs;
  SmallVector<Location> parts;
  for (const Operand &operand : formula.operands) {
    inputs.push_back(operand.source);
    parts.append(operand.locations.rbegin(), operand.locations.rend());
  }
  parts.append(formula.locations.rbegin(), formula.locations.rend());
  const Operand &a = formula.operands.front(), &b = formula.operands.back();
  bool binary = formula.operands.size() > 1;
  auto number = [&](float v) { return builder.getF32FloatAttr(v); };
  auto integer = [&](int64_t v) { return builder.getI64IntegerAttr(v); };
  return RequantiseOp::create(
      builder, FusedLoc::get(builder.getContext(), parts), type, inputs,
      builder.getStringAttr(formula.function),
      builder.getFloatAttr(builder.getF32Type(), formula.alpha),
      builder.getFloatAttr(builder.getF32Type(), formula.beta),
      formula.limited ? builder.getUnitAttr() : UnitAttr(), number(a.scale),
      integer(a.zero), number(binary ? b.scale : 1.0f),
      integer(binary ? b.zero : 0), number(formula.step),
      integer(formula.zero));
}

/// The formula of QuantizeLinear that ends in a cast: where its floats come
/// from, step and zero point.
struct Quantise {
  nn::CastOp last;
  Value floats;
  float step = 1;
  int64_t zero = 0;
  SmallVector<Location> locations;
};

/// The operation that makes `value`, if it has no other reader.
template <typename OpTy>
OpTy soleProducer(Value value) {
  return value.hasOneUse() ? value.getDefiningOp<OpTy>() : OpTy();
}

/// `/ step`, or the multiplication by a power of two that is the same.
void matchStep(Quantise &found) {
  auto take = [&](Operation *op, float step) {
    if (!(step > 0) || !std::isfinite(step) || !std::isfinite(1 / step))
      return;
    found.step = step;
    found.floats = op->getOperand(0);
    found.locations.push_back(op->getLoc());
  };
  if (auto div = soleProducer<nn::DivOp>(found.floats)) {
    if (auto step = scalarBeside(div, 1))
      take(div, *step);
  } else if (auto mul = soleProducer<nn::MulOp>(found.floats)) {
    auto factor = scalarBeside(mul, 1);
    int exponent = 0;
    if (factor && std::frexp(*factor, &exponent) == 0.5f &&
        !matchDequantise(mul.getResult()))
      take(mul, 1 / *factor);
  }
}

std::optional<Quantise> matchQuantise(nn::CastOp cast) {
  IntegerType type = byteType(cast.getY());
  auto clip = soleProducer<nn::UnaryOp>(cast.getX());
  if (!type || !clip || !isF32(clip.getResult()) ||
      clip.getFunction() != nn::UnaryFunction::Clip ||
      clip.getAlpha().convertToDouble() != lowOf(type) ||
      clip.getBeta().convertToDouble() != lowOf(type) + 255)
    return std::nullopt;
  Quantise found;
  found.last = cast;
  found.locations = {cast.getLoc(), clip.getLoc()};
  Value at = clip.getX();
  if (auto add = soleProducer<nn::AddOp>(at)) {
    std::optional<float> zero = scalarBeside(add, 1);
    if (!zero || *zero != std::trunc(*zero) || *zero < lowOf(type) ||
        *zero > lowOf(type) + 255)
      return std::nullopt;
    found.zero = static_cast<int64_t>(*zero);
    found.locations.push_back(add.getLoc());
    at = add.getA();
  }
  auto round = soleProducer<nn::UnaryOp>(at);
  if (!round || round.getFunction() != nn::UnaryFunction::Round)
    return std::nullopt;
  found.locations.push_back(round.getLoc());
  found.floats = round.getX();
  if (found.zero < lowOf(type) || found.zero > lowOf(type) + 255)
    return std::nullopt; // no zero point: 0, which a signed type has too
  matchStep(found);
  return found;
}

/// A sum (or the like) of which an operand is dequantised.
bool matchBinary(Value value, Requantisation &formula) {
  Operation *op = value.hasOneUse() ? value.getDefiningOp() : nullptr;
  if (!isa_and_nonnull<nn::AddOp, nn::SubOp, nn::MulOp, nn::MaxOp, nn::MinOp>(
          op) ||
      matchDequantise(value))
    return false;
  SmallVector<Operand, 2> operands = {operandOf(op->getOperand(0)),
                                      operandOf(op->getOperand(1))};
  // Only then none of the values is a NaN, which relu and clip treat apart.
  if (!llvm::all_of(operands, [](const Operand &operand) {
        return operand.isQuantised();
      }))
    return false;
  formula.function = op->getName().stripDialect().str();
  formula.operands = std::move(operands);
  formula.locations.push_back(op->getLoc());
  return true;
}

/// What is quantised: a function of dequantised integers or of floats.
Requantisation formulaOf(const Quantise &quantise) {
  Requantisation formula;
  formula.step = quantise.step;
  formula.zero = quantise.zero;
  formula.locations = quantise.locations;
  if (matchBinary(quantise.floats, formula))
    return formula;
  Value floats = quantise.floats;
  if (auto unary = soleProducer<nn::UnaryOp>(floats);
      unary && isF32(unary.getX())) {
    bool relu = unary.getFunction() == nn::UnaryFunction::Relu;
    bool clip = unary.getFunction() == nn::UnaryFunction::Clip;
    formula.locations.push_back(unary.getLoc());
    if ((relu || clip) && matchBinary(unary.getX(), formula)) {
      formula.limited = true;
      formula.alpha = relu ? APFloat(0.0f) : unary.getAlpha();
      formula.beta = relu ? APFloat(std::numeric_limits<float>::infinity())
                          : unary.getBeta();
      return formula;
    }
    formula.function = nn::stringifyUnaryFunction(unary.getFunction()).str();
    formula.alpha = unary.getAlpha();
    formula.beta = unary.getBeta();
    floats = unary.getX();
  }
  formula.operands = {operandOf(floats)};
  return formula;
}

struct FuseQuantisedMaps : impl::FuseQuantisedMapsBase<FuseQuantisedMaps> {
protected:
  void runOnOperation() override {
    getOperation().walk([&](func::FuncOp function) {
      for (Block &block : function.getBody())
        run(block);
    });
  }

private:
  void run(Block &block) {
    for (Operation &op : llvm::make_early_inc_range(block))
      if (isa<nn::MaxPoolOp, nn::ReshapeOp, nn::TransposeOp>(op))
        sink(&op);
    SmallVector<nn::CastOp> casts;
    for (auto cast : block.getOps<nn::CastOp>())
      if (byteType(cast.getY()))
        casts.push_back(cast);
    for (nn::CastOp cast : casts)
      if (std::optional<Quantise> found = matchQuantise(cast))
        fuse(*found);
    // From the end: what is read in binary32 by others, and what nothing reads.
    SmallVector<Operation *> rest;
    for (Operation &op : block)
      if (isa<nn::CastOp, nn::MulOp, nn::SubOp, nn::ConstantOp>(op))
        rest.push_back(&op);
    for (Operation *op : llvm::reverse(rest)) {
      if (!op->use_empty() && isa<nn::MulOp, nn::SubOp>(op))
        dequantise(op);
      if (op->use_empty())
        op->erase();
    }
  }

  /// Maxima and data movement of dequantised integers: the integers first.
  void sink(Operation *op) {
    std::optional<Operand> x = matchDequantise(op->getOperand(0));
    if (!x || !isF32(op->getResult(0)))
      return;
    OpBuilder builder(op);
    auto type = cast<RankedTensorType>(op->getResult(0).getType());
    Operation *moved = builder.clone(*op);
    moved->setOperand(0, x->source);
    moved->getResult(0).setType(
        type.clone(getElementTypeOrSelf(x->source.getType())));
    x->source = moved->getResult(0);
    op->getResult(0).replaceAllUsesWith(chainOf(builder, *x, type));
    op->erase();
    ++numMoved;
  }

  /// The formula of a dequantisation again, for those who match it.
  static Value chainOf(OpBuilder &builder, const Operand &x,
                       RankedTensorType type) {
    Location loc = FusedLoc::get(builder.getContext(), x.locations);
    auto scalar = [&](float value) -> Value {
      auto scalarType = RankedTensorType::get({}, builder.getF32Type());
      return nn::ConstantOp::create(
          builder, loc, scalarType,
          DenseElementsAttr::get(scalarType, ArrayRef<float>(value)));
    };
    Value result = nn::CastOp::create(builder, loc, type, x.source);
    if (x.zero != 0)
      result = nn::SubOp::create(builder, loc, type, result,
                                 scalar(static_cast<float>(x.zero)));
    if (x.scale != 1)
      result = nn::MulOp::create(builder, loc, type, result, scalar(x.scale));
    return result;
  }

  void fuse(const Quantise &found) {
    nn::CastOp last = found.last;
    auto type = cast<RankedTensorType>(last.getY().getType());
    OpBuilder builder(last);
    Value result = concatenated(builder, found, type);
    if (!result)
      result = makeRequantise(builder, formulaOf(found), type);
    last.getY().replaceAllUsesWith(result);
    eraseBackwards(last);
    ++numFused;
  }

  /// Parts that are quantised before they are put together, or null.
  Value concatenated(OpBuilder &builder, const Quantise &found,
                     RankedTensorType type) {
    auto concat = soleProducer<nn::ConcatOp>(found.floats);
    if (!concat || !llvm::all_of(concat.getInputs(), [](Value part) {
          return matchDequantise(part).has_value();
        }))
      return {};
    SmallVector<Value> parts;
    for (Value part : concat.getInputs()) {
      Requantisation formula;
      formula.step = found.step;
      formula.zero = found.zero;
      formula.locations = found.locations;
      formula.operands = {operandOf(part)};
      parts.push_back(makeRequantise(
          builder, formula, type.clone(shapeOf(part), type.getElementType())));
    }
    return nn::ConcatOp::create(builder, concat.getLoc(), type, parts,
                                concat.getAxisAttr());
  }

  void dequantise(Operation *op) {
    Value result = op->getResult(0);
    std::optional<Operand> x = matchDequantise(result);
    if (!x)
      return;
    OpBuilder builder(op);
    Requantisation formula;
    formula.operands = {*x};
    result.replaceAllUsesWith(makeRequantise(
        builder, formula, cast<RankedTensorType>(result.getType())));
    ++numFused;
  }

  /// Erases `op` and what nothing else reads of its operands.
  static void eraseBackwards(Operation *op) {
    SmallVector<Operation *> dead{op};
    while (!dead.empty()) {
      Operation *last = dead.pop_back_val();
      if (!last->use_empty())
        continue;
      SmallVector<Value> operands(last->getOperands());
      last->erase();
      for (Value operand : operands)
        if (Operation *before = operand.getDefiningOp();
            before && before->use_empty() && !llvm::is_contained(dead, before))
          dead.push_back(before);
    }
  }
};

} // namespace
} // namespace ashlar::bfp
