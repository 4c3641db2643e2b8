// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The k largest or smallest elements: every element counts how many go before
// it, and each place of the result finds the element with its count. Exact for
// all values but NaN, equal ones in order of their indices.

#include "lib/Frontend/Onnx/Registry.h"

using namespace ashlar;
using namespace ashlar::frontend;
using namespace ashlar::nn;

namespace {

/// Comparisons of pairs, at most.
constexpr int64_t kMostPairs = int64_t(1) << 24;

/// Ranks of the elements of x [rows, extent] in the order of the result.
Value ranksOf(Node &n, Value x, bool largest) {
  const int64_t rows = shapeOf(x)[0], extent = shapeOf(x)[1];
  const Type type = mlir::IntegerType::get(n.context(), 32);
  Value self = n.reshape(x, {rows, extent, 1});
  Value other = n.reshape(x, {rows, 1, extent});
  Value before = n.compare(largest ? CompareKind::Greater : CompareKind::Less,
                           other, self);
  Value equal = n.compare(CompareKind::Equal, other, self);
  Value earlier = n.compare(CompareKind::Less, n.iota(extent, 1, 2, type),
                            n.iota(extent, 0, 2, type));
  Value goes = n.logical(LogicalKind::Or, before,
                         n.logical(LogicalKind::And, equal, earlier));
  return n.reduce(ReduceKind::Sum, n.cast(goes, type), 2, /*keepdims=*/false);
}

void topK(Node &n, int64_t count, bool largest) {
  Value x = n.input(0);
  int64_t axis = n.getInt("axis", -1);
  n.ignore("sorted"); // A sorted result is one of those that are not.
  if (!x || n.failed())
    return;
  axis = n.normalAxis(axis, rankOf(x));
  if (n.failed())
    return;
  const Shape shape(shapeOf(x));
  const int64_t extent = shape[axis];
  if (count < 0 || count > extent) {
    n.malformed("k is {}, of {} elements", count, extent);
    return;
  }
  const int64_t rows = extent == 0 ? 0 : elementCount(shape) / extent;
  if (elementCount(shape) > kMostPairs / std::max<int64_t>(extent, 1)) {
    n.unsupported("{} elements in rows of {} take more than {} comparisons",
                  elementCount(shape), extent, kMostPairs);
    return;
  }
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
  Value found =
      n.compare(CompareKind::Equal,
                n.reshape(ranksOf(n, flat, largest), {rows, 1, extent}),
                n.iota(count, 1, 3, type));
  Value index = n.argReduce(ArgKind::Max, n.cast(found, type), 2,
                            /*keepdims=*/false, /*selectLast=*/false);
  Value chosen = n.takeAt(flat, index, 1);
  Shape moved;
  for (int64_t d : ArrayRef<int64_t>(last).drop_back())
    moved.push_back(shape[d]);
  moved.push_back(count);
  n.setOutput(0, n.transpose(n.reshape(chosen, moved), back));
  if (n.outputUsed(1))
    n.setOutput(1, n.transpose(n.reshape(index, moved), back));
}

void topKAttribute(Node &n) { topK(n, n.getInt("k", 0), true); }

void topKInput(Node &n) {
  std::optional<double> count = n.constantNumber(1, "K");
  const bool largest = n.getInt("largest", 1) != 0;
  if (count)
    topK(n, static_cast<int64_t>(*count), largest);
}

} // namespace

std::vector<OperatorRow> ashlar::frontend::sortingRows() {
  const char *note = "comparisons of all pairs, up to 2^24; k must be constant";
  return {
      {"TopK", {1}, topKAttribute, note},
      {"TopK", {10, 11, 24}, topKInput, note},
  };
}
