// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// requantise_c1 to requantise_c5 (BFPOps.td).

#include "dialects/BFP/Requantise.h"

#include "dialects/BFP/BFPOps.h"
#include "llvm/ADT/STLExtras.h"

#include <cmath>

using namespace mlir;

namespace ashlar::bfp {

static RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

/// requantise_c1 and requantise_c4 of an operand or the result.
static LogicalResult verifySteps(Operation *op, StringRef name, Value value,
                                 const QuantSteps &steps) {
  Type element = typeOf(value).getElementType();
  auto integer = dyn_cast<IntegerType>(element);
  if (integer ? integer.getWidth() != 8 : !element.isF32())
    return op->emitOpError("expected ")
           << name << " of 8 bits or f32, found " << value.getType();
  int64_t low = integer ? (integer.isUnsigned() ? 0 : -128) : 0;
  if (steps.zero < low || steps.zero > (integer ? low + 255 : 0))
    return op->emitOpError("expected a zero point of the type of ")
           << name << ", found " << steps.zero << " for " << value.getType();
  if (!std::isfinite(steps.scale) || steps.scale <= 0)
    return op->emitOpError("expected a finite scale above 0 of ") << name;
  return success();
}

/// True if `from` broadcasts to `to` as numpy does.
static bool broadcastsTo(ArrayRef<int64_t> from, ArrayRef<int64_t> to) {
  if (from.size() > to.size())
    return false;
  return llvm::all_of(llvm::zip(from, to.take_back(from.size())),
                      [](auto extents) {
                        auto [own, whole] = extents;
                        return own == whole || own == 1;
                      });
}

LogicalResult verifyRequantise(Operation *op, const RequantiseRules &rules) {
  const unsigned count = op->getNumOperands();
  Value result = op->getResult(0);
  if (count != 1 && count != 2) // requantise_c3
    return op->emitOpError("expected one or two operands, found ") << count;
  if (failed(verifySteps(op, "a", op->getOperand(0), rules.a)) ||
      (count == 2 &&
       failed(verifySteps(op, "b", op->getOperand(1), rules.b))) ||
      failed(verifySteps(op, "the result", result, rules.result)))
    return failure();
  auto isFloat = [](Value value) {
    return isa<FloatType>(typeOf(value).getElementType());
  };
  if (isFloat(result) && llvm::all_of(op->getOperands(), isFloat))
    return op->emitOpError("expected a tensor of integers"); // requantise_c1
  for (Value input : op->getOperands())
    if (!broadcastsTo(typeOf(input).getShape(),
                      typeOf(result).getShape())) // requantise_c2
      return op->emitOpError("expected operands that broadcast to the result, "
                             "found ")
             << input.getType() << " for " << result.getType();
  bool known = count == 1
                   ? isEpilogueFunction(rules.function)
                   : llvm::is_contained({"add", "sub", "mul", "max", "min"},
                                        rules.function);
  if (!known) // requantise_c3
    return op->emitOpError("expected a function of ")
           << count << " operands, found '" << rules.function << "'";
  if (rules.limited && count == 1) // requantise_c5
    return op->emitOpError("expected no limits of a function of one operand");
  return success();
}

} // namespace ashlar::bfp
