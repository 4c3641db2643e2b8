// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Normalisations that no product has absorbed, and the function after them, as
// one pass over the elements. Input: nn.mul and nn.add of numbers per channel,
// nn.unary or nn.pow with a constant, all in binary32. Output: bfp.affine of
// equal bits.

#include "Shapes.h"
#include "ashlar/Transforms/BFP/Passes.h"
#include "dialects/BFP/BFPOps.h"
#include "dialects/NN/NNOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;

namespace ashlar::bfp {

#define GEN_PASS_DEF_FUSEAFFINE
#include "ashlar/Transforms/BFP/Passes.h.inc"

namespace {

/// Operations that follow each other, and what they become.
struct Formula {
  Value x, scale, bias, exponent;
  nn::UnaryOp function;
  SmallVector<Operation *> parts; ///< in program order
};

/// Axes with more than one element.
int64_t axesOf(Value value) {
  return llvm::count_if(shapeOf(value), [](int64_t n) { return n != 1; });
}

/// The operand of an operation of two in binary32 that varies along one axis at
/// most and is a constant or varies along fewer axes than the result, if the
/// other operand has the shape of the result.
std::optional<unsigned> parameterOf(Operation *op) {
  if (!isF32(op->getResult(0)))
    return std::nullopt;
  for (unsigned i : {1, 0}) {
    Value parameter = op->getOperand(i), other = op->getOperand(1 - i);
    const bool constant = bool(parameter.getDefiningOp<nn::ConstantOp>());
    if (!other.getDefiningOp<nn::ConstantOp>() && isF32(parameter) &&
        isF32(other) && shapeOf(other) == shapeOf(op->getResult(0)) &&
        axesOf(parameter) <= 1 &&
        (constant || axesOf(parameter) < axesOf(other)))
      return i;
  }
  return std::nullopt;
}

/// The only reader of the last part, if it is an `Op` of the same block.
template <typename Op>
Op nextOf(const Formula &formula) {
  Operation *last = formula.parts.back();
  if (!last->hasOneUse())
    return Op();
  auto next = dyn_cast<Op>(*last->user_begin());
  return next && next->getBlock() == last->getBlock() ? next : Op();
}

/// The formula that begins with `first`; nothing if it is no more than that.
std::optional<Formula> formulaFrom(Operation *first) {
  Formula formula;
  auto take = [&](Operation *op, Value &parameter) {
    std::optional<unsigned> index = op ? parameterOf(op) : std::nullopt;
    if (!index)
      return false;
    Value own = op->getOperand(1 - *index);
    // The last part may be the number per channel of another tensor.
    if (!formula.parts.empty() && own != formula.parts.back()->getResult(0))
      return false;
    if (formula.parts.empty())
      formula.x = own;
    parameter = op->getOperand(*index);
    formula.parts.push_back(op);
    return true;
  };
  if (auto mul = dyn_cast<nn::MulOp>(first)) {
    if (!take(mul, formula.scale))
      return std::nullopt;
    take(nextOf<nn::AddOp>(formula), formula.bias);
  } else if (!isa<nn::AddOp>(first) || !take(first, formula.bias)) {
    return std::nullopt;
  }
  if (auto unary = nextOf<nn::UnaryOp>(formula); unary && isF32(unary)) {
    formula.function = unary;
    formula.parts.push_back(unary);
  } else if (auto power = nextOf<nn::PowOp>(formula);
             power && parameterOf(power) == 1u) {
    formula.exponent = power->getOperand(1);
    formula.parts.push_back(power);
  }
  if (formula.parts.size() < 2)
    return std::nullopt;
  return formula;
}

struct FuseAffine : impl::FuseAffineBase<FuseAffine> {
protected:
  void runOnOperation() override;

private:
  void fuse(const Formula &formula);
};

} // namespace

void FuseAffine::fuse(const Formula &formula) {
  Operation *last = formula.parts.back();
  OpBuilder builder(last);
  SmallVector<Location> locations;
  for (Operation *part : formula.parts)
    locations.push_back(part->getLoc());
  auto zero = builder.getF32FloatAttr(0.0f);
  nn::UnaryOp function = formula.function;
  Value result = AffineOp::create(
      builder, FusedLoc::get(&getContext(), locations),
      last->getResult(0).getType(), formula.x, formula.scale, formula.bias,
      formula.exponent,
      builder.getStringAttr(
          function ? nn::stringifyUnaryFunction(function.getFunction())
          : formula.exponent ? StringRef("pow")
                             : StringRef("copy")),
      function ? function.getAlphaAttr() : zero,
      function ? function.getBetaAttr() : zero);
  last->getResult(0).replaceAllUsesWith(result);
  for (Operation *part : llvm::reverse(formula.parts))
    part->erase();
  ++numFused;
}

void FuseAffine::runOnOperation() {
  // Collected first: a formula that begins inside another one is gone then.
  SmallVector<Operation *> starts;
  getOperation().walk([&](Operation *op) {
    if (isa<nn::MulOp, nn::AddOp>(op))
      starts.push_back(op);
  });
  llvm::DenseSet<Operation *> gone;
  for (Operation *op : starts) {
    if (gone.contains(op))
      continue;
    std::optional<Formula> formula = formulaFrom(op);
    if (!formula)
      continue;
    gone.insert(formula->parts.begin(), formula->parts.end());
    fuse(*formula);
  }
}

} // namespace ashlar::bfp
