// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The k largest or smallest elements. In short rows every element counts how
// many go before it, and each place of the result finds the element with its
// count; the host sorts long ones. Equal elements keep the order of their
// indices, NaN is larger than every number.

#include "lib/Frontend/Onnx/Registry.h"

#include <limits>

using namespace ashlar;
using namespace ashlar::frontend;
using namespace ashlar::nn;

namespace {

/// Comparisons of pairs, at most, without the host; and from how many on the
/// host sorts (docs/decisions/machine/2026-11-22-host-queue.md).
constexpr int64_t kMostPairs = int64_t(1) << 24;
constexpr int64_t kPairsForHost = int64_t(1) << 16;

/// The k of a node.
struct Asked {
  int64_t keep = 0; ///< Room for it.
  Value count;      ///< It itself, an i64, if data decide it.
  bool largest = true;
};

/// The order of x [rows, extent]: floats without NaN, and places that decide
/// between equal ones.
struct Order {
  Value key, place;
};

/// NaN becomes infinity, whose place is before all other infinities or after
/// them.
Order orderOf(Node &n, Value x, bool largest) {
  const int64_t extent = shapeOf(x)[1];
  const Type type = mlir::IntegerType::get(n.context(), 32);
  Value place = n.iota(extent, 1, 2, type);
  if (!isFloatElement(x))
    return {x, place};
  Value isNan =
      n.unary(UnaryFunction::Not, n.compare(CompareKind::Equal, x, x));
  Value infinity = n.splat(std::numeric_limits<double>::infinity(),
                           elementOf(x), Shape(2, 1));
  Value shift =
      n.binary<MulOp>(n.cast(isNan, type),
                      n.integers(largest ? -extent : extent, {1, 1}, type));
  return {n.where(isNan, infinity, x), n.binary<AddOp>(place, shift)};
}

/// Ranks of the elements of x [rows, extent] in the order of the result.
Value ranksOf(Node &n, Value x, bool largest) {
  const int64_t extent = shapeOf(x)[1];
  const Order order = orderOf(n, x, largest);
  if (!order.key || !order.place)
    return nullptr;
  auto asSelf = [&](Value v) {
    return n.reshape(v, {shapeOf(v)[0], extent, 1});
  };
  auto asOther = [&](Value v) {
    return n.reshape(v, {shapeOf(v)[0], 1, extent});
  };
  Value self = asSelf(order.key), other = asOther(order.key);
  Value before = n.compare(largest ? CompareKind::Greater : CompareKind::Less,
                           other, self);
  Value equal = n.compare(CompareKind::Equal, other, self);
  Value earlier =
      n.compare(CompareKind::Less, asOther(order.place), asSelf(order.place));
  Value goes = n.logical(LogicalKind::Or, before,
                         n.logical(LogicalKind::And, equal, earlier));
  return n.reduce(ReduceKind::Sum,
                  n.cast(goes, mlir::IntegerType::get(n.context(), 32)), 2,
                  /*keepdims=*/false);
}

/// Rows that engines sort by comparing all pairs.
void sortPairs(Node &n, Value x, int64_t axis, const Asked &asked) {
  const Shape shape(shapeOf(x));
  const int64_t extent = shape[axis];
  const int64_t rows = extent == 0 ? 0 : elementCount(shape) / extent;
  SmallVector<int64_t> last, back(shape.size());
  for (int64_t d = 0; d < rankOf(x); ++d)
    if (d != axis)
      last.push_back(d);
  last.push_back(axis);
  for (auto [to, from] : llvm::enumerate(last))
    back[from] = static_cast<int64_t>(to);
  Value flat = n.reshape(n.transpose(x, last), {rows, extent});
  if (!flat)
    return;
  const Type type = mlir::IntegerType::get(n.context(), 32);
  Value ranks = ranksOf(n, flat, asked.largest);
  Value found =
      n.compare(CompareKind::Equal, n.reshape(ranks, {rows, 1, extent}),
                n.iota(asked.keep, 1, 3, type));
  Value index = n.argReduce(ArgKind::Max, n.cast(found, type), 2,
                            /*keepdims=*/false, /*selectLast=*/false);
  Value chosen = n.takeAt(flat, index, 1);
  Shape moved;
  for (int64_t d : ArrayRef<int64_t>(last).drop_back())
    moved.push_back(shape[d]);
  moved.push_back(asked.keep);
  n.setOutput(0, n.transpose(n.reshape(chosen, moved), back));
  if (n.outputUsed(1))
    n.setOutput(1, n.transpose(n.reshape(index, moved), back));
}

/// Rows that the host sorts.
void sortOnHost(Node &n, Value x, int64_t axis, const Asked &asked) {
  // A vector has no axis next to the sorted one.
  const bool vector = rankOf(x) == 1;
  Value whole = vector ? n.reshape(x, {shapeOf(x)[0], 1}) : x;
  Value index = n.argSort(whole, axis, asked.keep, asked.largest);
  Value chosen = n.takeAt(whole, index, axis);
  if (!chosen)
    return;
  n.setOutput(0, vector ? n.reshape(chosen, {asked.keep}) : chosen);
  if (n.outputUsed(1))
    n.setOutput(1, vector ? n.reshape(index, {asked.keep}) : index);
  for (size_t i = 0; asked.count && i < 2; ++i)
    n.setExtent(i, {axis, asked.count});
}

/// The most that a run-time k of up to `extent` elements can be.
int64_t mostOf(Node &n, Value k, int64_t extent) {
  const auto most = n.rangeOf(k).most;
  return most && *most > 0 ? std::min(*most, extent) : extent;
}

void topK(Node &n, Asked asked) {
  Value x = n.input(0);
  int64_t axis = n.getInt("axis", -1);
  n.ignore("sorted"); // A sorted result is one of those that are not.
  if (!x || n.failed())
    return;
  axis = n.normalAxis(axis, rankOf(x));
  if (n.failed())
    return;
  const int64_t extent = shapeOf(x)[axis], elements = elementCount(shapeOf(x));
  if (asked.count)
    asked.keep = mostOf(n, asked.count, extent);
  if (asked.keep < 0 || asked.keep > extent) {
    n.malformed("k is {}, of {} elements", asked.keep, extent);
    return;
  }
  auto exceeds = [&](int64_t pairs) {
    return elements > pairs / std::max<int64_t>(extent, 1);
  };
  const bool nothing = elements == 0 || asked.keep == 0;
  if (asked.count || (n.useHost && !nothing && exceeds(kPairsForHost)))
    return sortOnHost(n, x, axis, asked);
  if (exceeds(kMostPairs)) {
    n.unsupported("{} elements in rows of {} take more than {} comparisons; "
                  "the host could sort them, and --no-host leaves it out",
                  elements, extent, kMostPairs);
    return;
  }
  sortPairs(n, x, axis, asked);
}

void topKAttribute(Node &n) { topK(n, {n.getInt("k", 0), nullptr, true}); }

void topKInput(Node &n) {
  Value k = n.input(1);
  const bool largest = n.getInt("largest", 1) != 0;
  if (!k)
    return;
  if (constantOf(k) || elementCount(shapeOf(k)) != 1 || isFloatElement(k)) {
    if (auto count = n.constantNumber(1, "K"))
      topK(n, {static_cast<int64_t>(*count), nullptr, largest});
    return;
  }
  const Type type = mlir::IntegerType::get(n.context(), 64);
  topK(n, {0, n.reshape(n.cast(k, type), {1}), largest});
}

} // namespace

std::vector<OperatorRow> ashlar::frontend::sortingRows() {
  const char *note =
      "comparisons of all pairs, up to 2^16 (with --no-host 2^24); beyond, and "
      "for a run-time k, the host sorts; NaN is larger than every number";
  return {
      {"TopK", {1}, topKAttribute, note},
      {"TopK", {10, 11, 24}, topKInput, note},
  };
}
