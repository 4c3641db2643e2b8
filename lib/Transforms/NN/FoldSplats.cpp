// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Folds of constants that are one number repeated.

#include "FoldSplats.h"
#include "Rewrite.h"
#include "ashlar/Reference/Constants.h"
#include "ashlar/Reference/Interpreter.h"
#include "dialects/NN/NNTypes.h"

using namespace mlir;
using namespace ashlar;
using namespace ashlar::nn;

SplatElementsAttr ashlar::nn::splatOf(Value value) {
  ConstantOp constant = constantOp(value);
  return constant ? dyn_cast<SplatElementsAttr>(constant.getValue())
                  : SplatElementsAttr();
}

namespace {

/// Movement that puts elements elsewhere and adds none.
bool isPlainMovement(Operation *op) {
  return isa<ReshapeOp, TransposeOp, BroadcastOp, SliceOp, GatherOp, ConcatOp,
             InterleaveOp>(op);
}

bool evaluatesElementwise(Operation *op) {
  return isa<UnaryOp, CastOp, AddOp, SubOp, MulOp, DivOp, MaxOp, MinOp, PowOp,
             ModOp, CompareOp, LogicalOp, WhereOp>(op);
}

/// The operation on one element of each operand.
std::optional<ElementsAttr> evaluateOnce(Operation *op) {
  SmallVector<reference::Tensor> values;
  for (Value operand : op->getOperands()) {
    SplatElementsAttr splat = splatOf(operand);
    auto one = RankedTensorType::get({}, splat.getElementType());
    auto host = reference::readElements(splat.resizeSplat(one));
    auto value = host ? reference::fromHost(*host)
                      : llvm::Expected<reference::Tensor>(host.takeError());
    if (!value) {
      llvm::consumeError(value.takeError());
      return std::nullopt;
    }
    values.push_back(std::move(*value));
  }
  SmallVector<const reference::Tensor *> operands;
  for (const reference::Tensor &value : values)
    operands.push_back(&value);
  // Evaluators take the shape of the result from the operation.
  RankedTensorType type = typeOf(op->getResult(0));
  auto scalar = RankedTensorType::get({}, type.getElementType());
  Operation *once = op->clone();
  once->getResult(0).setType(scalar);
  llvm::Expected<reference::Tensor> result =
      reference::evaluateOp(once, operands);
  once->destroy();
  if (!result) {
    // No evaluator for these types: the operation stays.
    llvm::consumeError(result.takeError());
    return std::nullopt;
  }
  auto dense = dyn_cast<DenseElementsAttr>(reference::makeElements(
      scalar, reference::toHost(*result, result->type)));
  if (!dense)
    return std::nullopt;
  return cast<ElementsAttr>(dense.resizeSplat(type));
}

} // namespace

std::optional<ElementsAttr> ashlar::nn::foldSplat(Operation *op) {
  if (op->getNumOperands() == 0 ||
      llvm::any_of(op->getOperands(),
                   [](Value operand) { return !splatOf(operand); }))
    return std::nullopt;
  RankedTensorType type = typeOf(op->getResult(0));
  if (type.getNumElements() > kMostOfSplat)
    return std::nullopt;
  if (evaluatesElementwise(op))
    return evaluateOnce(op);
  SplatElementsAttr first = splatOf(op->getOperand(0));
  auto sameNumber = [&](Value operand) {
    SplatElementsAttr splat = splatOf(operand);
    return splat.resizeSplat(first.getType()) == first;
  };
  if (!isPlainMovement(op) || !llvm::all_of(op->getOperands(), sameNumber))
    return std::nullopt;
  return cast<ElementsAttr>(first.resizeSplat(type));
}
