// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operators that choose elements by a tensor of indices.

#include "Registry.h"
#include "Walk.h"

using namespace ashlar;
using namespace ashlar::onnxref;

namespace {

/// numpy.take: the shape of the indices replaces the axis.
void gather(Call &call) {
  const Tensor &x = call.operand(0), &where = call.operand(1);
  const int64_t axis = call.normalAxis(call.getInt("axis", 0), rankOf(x));
  if (call.failed())
    return;
  const SmallVector<int64_t> indices = call.integers(1);
  SmallVector<int64_t> chosen;
  for (int64_t index : indices)
    chosen.push_back(call.normalIndex(index, x.shape[axis]));
  if (call.failed())
    return;
  const ArrayRef<int64_t> shape = x.shape;
  const int64_t inner = elementCount(shape.drop_front(axis + 1));
  const int64_t count = where.size();
  Shape result(shape.take_front(axis));
  result.append(where.shape.begin(), where.shape.end());
  result.append(shape.begin() + axis + 1, shape.end());
  const Shape parts = {elementCount(shape.take_front(axis)), count, inner};
  Tensor y = rearranged(x, parts, [&](ArrayRef<int64_t> at) {
    return (at[0] * shape[axis] + chosen[at[1]]) * inner + at[2];
  });
  call.setResult(0, reshaped(y, result));
}

/// Every result has an index of its own along the axis.
void gatherElements(Call &call) {
  const Tensor &x = call.operand(0), &where = call.operand(1);
  const int64_t axis = call.normalAxis(call.getInt("axis", 0), rankOf(x));
  if (call.failed() ||
      !call.require(rankOf(where) == rankOf(x), "indices have another rank"))
    return;
  int64_t next = 0;
  Tensor y = rearranged(x, where.shape, [&](ArrayRef<int64_t> at) {
    int64_t place = 0;
    for (int64_t d = 0; d < rankOf(x); ++d) {
      const int64_t index =
          d == axis ? call.normalIndex(where.ints[next++], x.shape[d]) : at[d];
      place = place * x.shape[d] + index;
    }
    return call.failed() ? -1 : place;
  });
  call.setResult(0, std::move(y));
}

/// The last dimension of the indices holds tuples that choose from the
/// dimensions after `batch_dims`.
void gatherND(Call &call) {
  const Tensor &x = call.operand(0), &where = call.operand(1);
  const int64_t batch = call.getInt("batch_dims", 0);
  if (!call.require(rankOf(where) > 0 && batch < rankOf(where) && batch >= 0,
                    "indices are no tuples"))
    return;
  const ArrayRef<int64_t> shape = x.shape, tuples = where.shape;
  const int64_t depth = tuples.back();
  if (!call.require(batch + depth <= rankOf(x), "tuples are too long"))
    return;
  const ArrayRef<int64_t> rest = shape.drop_front(batch + depth);
  const int64_t inner = elementCount(rest);
  const int64_t batches = elementCount(tuples.take_front(batch));
  const int64_t count = elementCount(tuples.drop_back());
  Shape result(tuples.drop_back());
  result.append(rest.begin(), rest.end());
  Tensor y = rearranged(x, {count, inner}, [&](ArrayRef<int64_t> at) {
    int64_t place = at[0] / std::max<int64_t>(count / batches, 1);
    for (int64_t k = 0; k < depth; ++k) {
      const int64_t extent = shape[batch + k];
      place = place * extent +
              call.normalIndex(where.ints[at[0] * depth + k], extent);
    }
    return call.failed() ? -1 : place * inner + at[1];
  });
  call.setResult(0, reshaped(y, result));
}

/// The first k of the elements along the axis in descending or ascending order;
/// of equal ones the one with the smaller index.
void topK(Call &call, int64_t count, bool largest) {
  const Tensor &x = call.operand(0);
  const int64_t axis = call.normalAxis(call.getInt("axis", -1), rankOf(x));
  if (call.failed() ||
      !call.require(count >= 0 && count <= x.shape[axis], "k is out of range"))
    return;
  Shape shape(x.shape);
  shape[axis] = count;
  const ArrayRef<int64_t> all = x.shape;
  const int64_t inner = elementCount(all.drop_front(axis + 1)),
                outer = elementCount(all.take_front(axis)), extent = all[axis];
  Tensor values(x.type, shape), indices(ElementType::I64, shape);
  withKind(x, [&]<class T>() {
    const std::vector<T> &from = elementsOf<T>(x);
    for (int64_t o = 0; o < outer; ++o)
      for (int64_t i = 0; i < inner; ++i) {
        auto at = [&](int64_t k) { return (o * extent + k) * inner + i; };
        std::vector<int64_t> order(extent);
        for (int64_t k = 0; k < extent; ++k)
          order[k] = k;
        // NaN is larger than every number, as numpy sorts it.
        auto isBelow = [](T left, T right) {
          return left < right || (left == left && right != right);
        };
        // Of equal elements the one with the lowest index.
        llvm::sort(order, [&](int64_t a, int64_t b) {
          const T left = from[at(a)], right = from[at(b)];
          const bool below = isBelow(left, right);
          return below == isBelow(right, left) ? a < b : below != largest;
        });
        for (int64_t k = 0; k < count; ++k) {
          const int64_t to = (o * count + k) * inner + i;
          elementsOf<T>(values)[to] = from[at(order[k])];
          indices.ints[to] = order[k];
        }
      }
  });
  call.setResult(0, std::move(values));
  call.setResult(1, std::move(indices));
}

void topKAttribute(Call &call) { topK(call, call.getInt("k", 0), true); }
void topKOperand(Call &call) {
  const SmallVector<int64_t> count = call.integers(1);
  if (call.require(count.size() == 1, "K is not one number"))
    topK(call, count[0], call.getInt("largest", 1) != 0);
}

} // namespace

std::vector<EvaluatorRow> onnxref::indexingEvaluators() {
  return {
      {"Gather", {1, 11, 13}, 2, gather},
      {"GatherElements", {11, 13}, 2, gatherElements},
      {"GatherND", {11, 12, 13}, 2, gatherND},
      {"GatherND", {1}, 2, gatherND, Continuity::Smooth, "com.microsoft"},
      {"TopK", {1}, 1, topKAttribute, Continuity::Steps},
      {"TopK", {10, 11, 24}, 2, topKOperand, Continuity::Steps},
  };
}
