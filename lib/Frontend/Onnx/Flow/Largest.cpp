// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bounds of integers, from results to operands.

#include "Largest.h"

#include "../Emitter.h"
#include "dialects/NN/NNOps.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/TypeSwitch.h"

#include <algorithm>

using namespace ashlar;
using namespace ashlar::frontend;
using mlir::Value;

namespace {

using Bound = std::optional<int64_t>;

/// Operations between a value and what bounds it, at most: the search goes
/// down the stack.
constexpr unsigned kDeepest = 64;

class Search {
public:
  Bound of(Value value, unsigned depth = 0) {
    if (auto found = known.find(value); found != known.end())
      return found->second;
    const Bound byType = ofType(elementOf(value));
    Bound bound = depth < kDeepest ? ofSource(value, depth + 1) : std::nullopt;
    if (!bound || (byType && *byType < *bound))
      bound = byType;
    return known[value] = bound;
  }

private:
  static Bound ofType(mlir::Type type) {
    auto integer = mlir::dyn_cast<mlir::IntegerType>(type);
    if (!integer || integer.getWidth() > 8)
      return std::nullopt;
    if (integer.getWidth() == 1)
      return 1;
    return integer.isUnsigned() ? 255 : 127;
  }
  static bool isInteger(Value value) {
    return mlir::isa<mlir::IntegerType>(elementOf(value));
  }

  /// The smallest of the bounds that there are.
  Bound least(mlir::OperandRange values, unsigned depth) {
    Bound bound;
    for (Value value : values)
      if (Bound own = of(value, depth); own && (!bound || *own < *bound))
        bound = own;
    return bound;
  }
  /// The largest, if all of them have one.
  Bound most(mlir::ValueRange values, unsigned depth) {
    Bound bound;
    for (Value value : values) {
      const Bound own = of(value, depth);
      if (!own)
        return std::nullopt;
      bound = bound ? std::max(*bound, *own) : *own;
    }
    return bound;
  }

  Bound ofSource(Value value, unsigned depth) {
    if (!isInteger(value))
      return std::nullopt;
    if (auto numbers = integersOf(value); numbers && !numbers->empty())
      return *std::max_element(numbers->begin(), numbers->end());
    mlir::Operation *op = value.getDefiningOp();
    if (!op)
      return std::nullopt;
    return llvm::TypeSwitch<mlir::Operation *, Bound>(op)
        .Case([&](nn::MinOp min) { return least(min->getOperands(), depth); })
        .Case([&](nn::WhereOp where) {
          return most({where.getA(), where.getB()}, depth);
        })
        .Case<nn::MaxOp, nn::ConcatOp>(
            [&](auto all) { return most(all->getOperands(), depth); })
        .Case<nn::ReshapeOp, nn::TransposeOp, nn::SliceOp, nn::BroadcastOp,
              nn::GatherOp, nn::TakeOp>(
            [&](auto move) { return of(move.getX(), depth); })
        .Case([&](nn::CastOp cast) -> Bound {
          return isInteger(cast.getX()) ? of(cast.getX(), depth) : std::nullopt;
        })
        .Case([&](nn::ReduceOp reduce) -> Bound {
          const bool picks = reduce.getKind() == nn::ReduceKind::Max ||
                             reduce.getKind() == nn::ReduceKind::Min;
          return picks ? of(reduce.getX(), depth) : std::nullopt;
        })
        .Case([&](nn::ArgReduceOp arg) -> Bound {
          return shapeOf(arg.getX())[arg.getAxis()] - 1;
        })
        .Default([](mlir::Operation *) { return Bound(); });
  }

  llvm::DenseMap<Value, Bound> known;
};

} // namespace

std::optional<int64_t> ashlar::frontend::largestOf(Value value) {
  return Search().of(value);
}
