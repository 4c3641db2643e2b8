// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Follows the rows of a cache that are not filled yet through the network. They
// may reach sums only as factors of weights that are exactly zero.

#include "States.h"

#include "ashlar/Support/Error.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/TypeSwitch.h"

#include <limits>
#include <map>

using namespace ashlar;
using namespace ashlar::frontend;
using llvm::Error;

namespace {

/// A value and its axis of which some indices have no meaning, or are zero.
struct Tracked {
  Value value;
  int64_t axis = 0;
  bool zero = false; ///< What has no meaning there is exactly zero.
};

/// The axis of a reshape's result that counts the same elements; -1: none.
int64_t throughReshape(ShapeRef from, ShapeRef to, int64_t axis) {
  int64_t before = 1;
  for (int64_t i = 0; i < axis; ++i)
    before *= from[i];
  int64_t done = 1;
  for (auto [i, extent] : llvm::enumerate(to)) {
    if (done == before && extent == from[axis])
      return static_cast<int64_t>(i);
    done *= extent;
  }
  return -1;
}

class Follower {
public:
  Follower(Value position, int64_t capacity, mlir::OpBuilder &builder,
           support::Budget &budget)
      : position(position), builder(builder), budget(budget),
        capacity(capacity) {}

  void add(const JoinedCache &cache) {
    push({cache.joined->getResult(0), cache.axis, false});
  }
  Error run() {
    while (!work.empty()) {
      const Tracked next = work.pop_back_val();
      for (mlir::OpOperand &use :
           llvm::make_early_inc_range(next.value.getUses()))
        if (Error error = step(next, use))
          return error;
    }
    return checkProducts();
  }

private:
  void push(Tracked tracked) {
    if (tracked.axis >= 0 &&
        seen.insert({tracked.value, tracked.axis * 2 + tracked.zero}).second)
      work.push_back(tracked);
  }
  Error refuse(mlir::Operation *op) const;
  Error step(const Tracked &from, mlir::OpOperand &use);
  /// The axis of the result of an operation that only moves or maps elements;
  /// -1: it is no such operation.
  int64_t carried(const Tracked &from, mlir::OpOperand &use) const;
  Error product(const Tracked &from, nn::MatMulOp op, bool first);
  void maskSoftmax(nn::SoftmaxOp op, int64_t axis);
  /// Terms that exclude unfilled rows, along `axis` of `rank`.
  Value terms(Value scores, int64_t axis);
  Error checkProducts() const;

  /// A sum along the axis, with what its other operand has to be there.
  struct Sum {
    mlir::Operation *op;
    Value other;
    int64_t axis;
    bool zero;
  };

  Value position;
  mlir::OpBuilder &builder;
  support::Budget &budget;
  int64_t capacity;
  SmallVector<Tracked> work;
  llvm::DenseSet<std::pair<Value, int64_t>> seen;
  SmallVector<Sum> sums;
};

Error Follower::refuse(mlir::Operation *op) const {
  std::string node = "?";
  if (auto name = mlir::dyn_cast<mlir::NameLoc>(op->getLoc()))
    node = name.getName().str();
  return makeError(
      ErrorClass::Unsupported,
      "node '{}' ({}) mixes rows of a kept cache that are not filled yet with "
      "the others; what reads a cache may be element by element, move it, or "
      "be "
      "products and a softmax along its rows",
      printable(node), op->getName().stripDialect().str());
}

int64_t Follower::carried(const Tracked &from, mlir::OpOperand &use) const {
  mlir::Operation *op = use.getOwner();
  const Value result = op->getResult(0);
  const int64_t rank = rankOf(from.value);
  return llvm::TypeSwitch<mlir::Operation *, int64_t>(op)
      .Case([&](nn::ReshapeOp) {
        return throughReshape(shapeOf(from.value), shapeOf(result), from.axis);
      })
      .Case([&](nn::TransposeOp t) -> int64_t {
        auto perm = t.getPerm();
        return llvm::find(perm, from.axis) - perm.begin();
      })
      .Case<nn::BroadcastOp, nn::AddOp, nn::SubOp, nn::MulOp, nn::DivOp,
            nn::MaxOp, nn::MinOp, nn::PowOp, nn::PReluOp, nn::ModOp,
            nn::CompareOp, nn::LogicalOp, nn::WhereOp>(
          [&](auto) { return from.axis + rankOf(result) - rank; })
      .Case<nn::UnaryOp, nn::CastOp>([&](auto) { return from.axis; })
      .Case([&](nn::SliceOp slice) -> int64_t {
        return slice.getStarts()[from.axis] == 0 &&
                       shapeOf(result)[from.axis] ==
                           shapeOf(from.value)[from.axis]
                   ? from.axis
                   : -1;
      })
      .Case([&](nn::ConcatOp concat) -> int64_t {
        return static_cast<int64_t>(concat.getAxis()) == from.axis ? -1
                                                                   : from.axis;
      })
      .Case<nn::SoftmaxOp, nn::LogSoftmaxOp>([&](auto op) -> int64_t {
        return static_cast<int64_t>(op.getAxis()) == from.axis ? -1 : from.axis;
      })
      .Default([](mlir::Operation *) { return int64_t(-1); });
}

/// Zeros times anything finite are zeros; other functions may not keep them.
static bool keepsZeros(mlir::Operation *op) {
  return mlir::isa<nn::ReshapeOp, nn::TransposeOp, nn::BroadcastOp, nn::SliceOp,
                   nn::CastOp, nn::MulOp>(op);
}

Error Follower::step(const Tracked &from, mlir::OpOperand &use) {
  mlir::Operation *op = use.getOwner();
  if (op->hasTrait<mlir::OpTrait::IsTerminator>())
    return from.zero ? Error::success() : refuse(op);
  if (auto matmul = mlir::dyn_cast<nn::MatMulOp>(op))
    return product(from, matmul, use.getOperandNumber() == 0);
  if (auto softmax = mlir::dyn_cast<nn::SoftmaxOp>(op);
      softmax && static_cast<int64_t>(softmax.getAxis()) == from.axis) {
    maskSoftmax(softmax, from.axis);
    return Error::success();
  }
  const int64_t axis = carried(from, use);
  if (axis < 0)
    return refuse(op);
  push({op->getResult(0), axis, from.zero && keepsZeros(op)});
  return Error::success();
}

Error Follower::product(const Tracked &from, nn::MatMulOp op, bool first) {
  const int64_t rank = rankOf(from.value), results = rankOf(op.getY());
  const int64_t summed = first ? rank - 1 : rank - 2;
  if (from.axis == summed) {
    Value other = first ? op.getB() : op.getA();
    sums.push_back({op, other, rankOf(other) - (first ? 2 : 1), from.zero});
    return Error::success();
  }
  // Rows of one operand are rows of the result; leading dimensions broadcast.
  push({op.getY(), from.axis + results - rank, false});
  return Error::success();
}

Value Follower::terms(Value scores, int64_t axis) {
  Emitter e(builder, scores.getLoc(), std::numeric_limits<int64_t>::max(),
            budget, /*useHost=*/false);
  const mlir::Type wide = builder.getI64Type(), element = elementOf(scores);
  const int64_t rank = rankOf(scores), keys = shapeOf(scores)[axis];
  Value index = e.iota(keys, axis, rank, wide);
  Value place = e.reshape(position, Shape(rank, 1));
  Value filled = e.compare(nn::CompareKind::Less, index, place);
  Value added = e.compare(nn::CompareKind::GreaterOrEqual, index,
                          e.integers(capacity, {}, wide));
  Value kept = e.logical(nn::LogicalKind::Or, filled, added);
  return e.where(kept, e.splat(0, element),
                 e.splat(-std::numeric_limits<double>::infinity(), element));
}

/// Once for each softmax, however many ways lead to it.
void Follower::maskSoftmax(nn::SoftmaxOp op, int64_t axis) {
  if (!seen.insert({op.getY(), axis * 2 + 1}).second)
    return;
  mlir::OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(op);
  Value scores = op.getX();
  if (Value added = terms(scores, axis))
    op->setOperand(0, nn::AddOp::create(builder, op.getLoc(), scores.getType(),
                                        scores, added));
  work.push_back({op.getY(), axis, true});
}

/// Unfilled rows add nothing to a sum if they meet zeros.
Error Follower::checkProducts() const {
  for (const Sum &sum : sums)
    if (!sum.zero && !seen.contains({sum.other, sum.axis * 2 + 1}))
      return refuse(sum.op);
  return Error::success();
}

} // namespace

Error ashlar::frontend::maskUnfilled(ArrayRef<JoinedCache> caches,
                                     Value position, mlir::OpBuilder &builder,
                                     support::Budget &budget) {
  std::map<int64_t, Follower> byCapacity;
  for (const JoinedCache &cache : caches)
    byCapacity
        .try_emplace(cache.capacity, position, cache.capacity, builder, budget)
        .first->second.add(cache);
  for (auto &[capacity, follower] : byCapacity)
    if (Error error = follower.run())
      return error;
  return Error::success();
}
