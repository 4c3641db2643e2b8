// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds the masks of a softmax that is written out.

#include "Unread.h"

#include "dialects/NN/NNOps.h"

#include "llvm/ADT/TypeSwitch.h"

#include <limits>

using namespace ashlar;
using namespace ashlar::frontend;
using namespace ashlar::nn;

namespace {

/// Operations between a product and its masks, at most.
constexpr unsigned kDeepest = 16;

/// Whether a value of floats may have -inf by which a mask excludes: an input
/// of the graph, a constant with it, logarithms, and what moves, chooses or
/// adds these.
bool mayExclude(Value value, unsigned depth = 0) {
  if (!value || !isFloatElement(value) || depth == kDeepest)
    return false;
  if (auto numbers = numbersOf(value))
    return llvm::is_contained(*numbers, kExcluded);
  mlir::Operation *op = value.getDefiningOp();
  if (!op)
    return true;
  return llvm::TypeSwitch<mlir::Operation *, bool>(op)
      .Case<ReshapeOp, TransposeOp, SliceOp, BroadcastOp, GatherOp, CastOp,
            PadOp>(
          [&](auto move) { return mayExclude(move.getX(), depth + 1); })
      .Case<AddOp, WhereOp>([&](auto two) {
        return mayExclude(two.getA(), depth + 1) ||
               mayExclude(two.getB(), depth + 1);
      })
      .Case([](UnaryOp unary) {
        return unary.getFunction() == UnaryFunction::Log;
      })
      .Default(false);
}

/// The part of `scores` that excludes, 0 elsewhere: sums without the terms that
/// do not. Null if nothing does.
Value maskOf(Node &n, Value scores, unsigned depth = 0) {
  if (!mayExclude(scores, depth))
    return nullptr;
  mlir::Operation *op = scores.getDefiningOp();
  if (auto sum = mlir::dyn_cast_or_null<AddOp>(op)) {
    Value a = maskOf(n, sum.getA(), depth + 1),
          b = maskOf(n, sum.getB(), depth + 1);
    return a && b ? n.binary<AddOp>(a, b) : a ? a : b;
  }
  if (auto where = mlir::dyn_cast_or_null<WhereOp>(op)) {
    const Type type = elementOf(scores);
    auto arm = [&](Value value) {
      Value mask = maskOf(n, value, depth + 1);
      return mask ? mask : n.splat(0, type);
    };
    return n.where(where.getCondition(), arm(where.getA()), arm(where.getB()));
  }
  if (auto cast = mlir::dyn_cast_or_null<CastOp>(op))
    return maskOf(n, cast.getX(), depth + 1);
  return scores;
}

/// The softmax along the last axis whose result the weights are, but for the
/// type and rows of which no key has weight.
SoftmaxOp softmaxOf(Value weights) {
  for (unsigned step = 0; step < kDeepest && weights; ++step) {
    if (auto cast = weights.getDefiningOp<CastOp>()) {
      weights = cast.getX();
    } else if (auto where = weights.getDefiningOp<WhereOp>()) {
      auto zero = [](Value value) {
        auto numbers = numbersOf(value);
        return numbers &&
               llvm::all_of(*numbers, [](double x) { return x == 0; });
      };
      if (!zero(where.getA()) && !zero(where.getB()))
        return nullptr;
      weights = zero(where.getA()) ? where.getB() : where.getA();
    } else {
      break;
    }
  }
  auto softmax = weights ? weights.getDefiningOp<SoftmaxOp>() : SoftmaxOp();
  return softmax &&
                 static_cast<int64_t>(softmax.getAxis()) == rankOf(weights) - 1
             ? softmax
             : SoftmaxOp();
}

/// Whether values are rows that a cache holds, or reads at run-time places:
/// large, and the model's own.
bool areKept(Value values) {
  for (unsigned step = 0; step < kDeepest; ++step) {
    mlir::Operation *op = values.getDefiningOp();
    if (!op || mlir::isa<TakeOp>(op))
      return op != nullptr;
    if (auto parts = mlir::dyn_cast<ConcatOp>(op))
      return llvm::any_of(parts.getInputs(),
                          [](Value part) { return !part.getDefiningOp(); });
    if (!mlir::isa<ReshapeOp, TransposeOp, BroadcastOp, CastOp>(op))
      return false;
    values = op->getOperand(0);
  }
  return true;
}

/// Whether a constant mask leaves every key to some query of each entry of the
/// axes that are not `shared`. Constants may be too large to fold.
bool leavesAll(Value mask, ArrayRef<int64_t> shared) {
  auto numbers = numbersOf(mask);
  if (!numbers)
    return false;
  const ShapeRef shape = shapeOf(mask);
  const auto rank = static_cast<int64_t>(shape.size());
  Shape strides(rank, 0);
  int64_t count = 1;
  for (int64_t axis = rank; axis-- > 0;) {
    if (axis == rank - 2 || llvm::is_contained(shared, axis))
      continue;
    strides[axis] = count;
    count *= shape[axis];
  }
  std::vector<bool> read(count, false);
  SmallVector<int64_t> at(rank, 0);
  for (double number : *numbers) {
    int64_t key = 0;
    for (int64_t axis = 0; axis < rank; ++axis)
      key += at[axis] * strides[axis];
    read[key] = read[key] || number > kExcluded;
    for (int64_t axis = rank; axis-- > 0;) {
      if (++at[axis] < shape[axis])
        break;
      at[axis] = 0;
    }
  }
  return llvm::all_of(read, [](bool one) { return one; });
}

} // namespace

Value ashlar::frontend::keysRead(Node &n, Value mask, ArrayRef<int64_t> shared,
                                 Type element) {
  if (!mask || leavesAll(mask, shared))
    return nullptr;
  const int64_t rank = rankOf(mask);
  SmallVector<int64_t> axes(shared), perm;
  axes.push_back(rank - 2);
  Value best = n.reduce(ReduceKind::Max, mask, axes, /*keepdims=*/true);
  if (!best)
    return nullptr;
  Value read = n.compare(CompareKind::Greater, best,
                         n.splat(kExcluded, elementOf(best)));
  for (int64_t axis = 0; axis < rank; ++axis)
    perm.push_back(axis);
  std::swap(perm[rank - 2], perm[rank - 1]);
  return n.transpose(n.cast(read, element), perm);
}

Value ashlar::frontend::withoutUnread(Node &n, Value weights, Value values) {
  SoftmaxOp softmax = softmaxOf(weights);
  if (!softmax || !values || rankOf(weights) < 2 || rankOf(values) < 2 ||
      areKept(values))
    return values;
  Value mask = maskOf(n, softmax.getX());
  const int64_t rank = rankOf(values);
  if (!mask || rankOf(mask) > rank)
    return values;
  Shape shape(rank - rankOf(mask), 1);
  llvm::append_range(shape, shapeOf(mask));
  const ShapeRef own = shapeOf(values);
  SmallVector<int64_t> shared;
  for (int64_t axis = 0; axis < rank - 2; ++axis)
    if (shape[axis] != own[axis])
      shared.push_back(axis);
  if (shape[rank - 1] != own[rank - 2])
    return values;
  Value read = keysRead(n, n.reshape(mask, shape), shared, elementOf(values));
  return read ? n.binary<MulOp>(values, read) : values;
}
