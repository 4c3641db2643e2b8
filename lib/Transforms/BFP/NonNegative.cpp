// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Signs by the functions that make values, and by what operations keep.

#include "NonNegative.h"

#include "dialects/BFP/BFPOps.h"
#include "dialects/NN/NNOps.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace ashlar::bfp {

/// True if no result of the function is below zero. A clip of bounds in the
/// wrong order gives its upper one.
static bool isNonNegative(StringRef function, const APFloat &alpha,
                          const APFloat &beta) {
  if (function == "clip")
    return !alpha.isNegative() && !alpha.isNaN() && !beta.isNegative() &&
           !beta.isNaN();
  return llvm::is_contained(
      {"relu", "sigmoid", "abs", "exp", "sqrt", "softplus", "hardSigmoid"},
      function);
}

/// True if every operand of an operation is of floats without negative ones.
bool NonNegative::all(Operation *op) {
  return llvm::all_of(op->getOperands(), [&](Value v) { return holds(v); });
}

bool NonNegative::follows(Operation *op) {
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case<ConvOp, MatmulOp>([](auto product) {
        return isNonNegative(product.getFunction(), product.getAlpha(),
                             product.getBeta());
      })
      .Case([](nn::UnaryOp unary) {
        return isNonNegative(nn::stringifyUnaryFunction(unary.getFunction()),
                             unary.getAlpha(), unary.getBeta());
      })
      .Case<nn::SoftmaxOp>([](auto) { return true; })
      .Case([&](nn::ReduceOp reduce) {
        return reduce.getKind() == nn::ReduceKind::SumSquare ||
               reduce.getKind() == nn::ReduceKind::L1 || holds(reduce.getX());
      })
      .Case([&](nn::MaxOp most) {
        return holds(most.getA()) || holds(most.getB());
      })
      .Case<nn::MaxPoolOp, nn::AvgPoolOp, nn::ConcatOp, nn::InterleaveOp,
            nn::SliceOp, nn::ReshapeOp, nn::TransposeOp, nn::AddOp, nn::MulOp,
            nn::MinOp, nn::CastOp>([&](Operation *o) { return all(o); })
      .Default([](Operation *) { return false; });
}

bool NonNegative::holds(Value value) {
  auto [entry, isNew] = known.try_emplace(value, false);
  if (!isNew)
    return entry->second;
  Operation *op = value.getDefiningOp();
  // Integers wrap around.
  const bool isFloat = isa<FloatType>(getElementTypeOrSelf(value));
  const bool result = isFloat && op && follows(op);
  known[value] = result;
  return result;
}

} // namespace ashlar::bfp
