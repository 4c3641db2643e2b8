// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Extents that are equal although nodes of their own computed them, as those of
// two tensors that one mask chooses from.

#include "RunTimeExtents.h"

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"

#include <algorithm>

using namespace ashlar::frontend;
using mlir::Operation;
using mlir::Value;

namespace {

/// Operations to compare, at most: shared operands are met again and again.
constexpr unsigned kMostPairs = 256;

bool alike(Value a, Value b, unsigned &left) {
  if (a == b)
    return true;
  if (!a || !b || a.getType() != b.getType() || left == 0)
    return false;
  --left;
  Operation *x = a.getDefiningOp(), *y = b.getDefiningOp();
  if (!x || !y || x->getName() != y->getName() || x->getNumRegions() != 0 ||
      x->getNumOperands() != y->getNumOperands() ||
      mlir::cast<mlir::OpResult>(a).getResultNumber() !=
          mlir::cast<mlir::OpResult>(b).getResultNumber() ||
      x->getAttrDictionary() != y->getAttrDictionary())
    return false;
  for (unsigned i = 0; i < x->getNumOperands(); ++i)
    if (!alike(x->getOperand(i), y->getOperand(i), left))
      return false;
  return true;
}

} // namespace

bool ashlar::frontend::areComputedAlike(Value a, Value b) {
  unsigned left = kMostPairs;
  return alike(a, b, left);
}

bool RunTimeExtent::operator==(const RunTimeExtent &other) const {
  return axis == other.axis && areComputedAlike(count, other.count);
}

void RunTimeExtents::add(Value value, RunTimeExtent extent) {
  if (!value)
    return;
  extents[value] = extent;
  const int64_t capacity = mlir::cast<mlir::RankedTensorType>(value.getType())
                               .getDimSize(extent.axis);
  auto [known, added] = capacities.try_emplace(extent.count, capacity);
  if (!added)
    known->second = std::min(known->second, capacity);
}
