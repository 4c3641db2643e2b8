// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operators of positions: triangles, unit matrices, one-hot rows, prefix sums.

#include "Registry.h"
#include "Walk.h"
#include "lib/Frontend/Onnx/Tensors.h"

using namespace ashlar;
using namespace ashlar::onnxref;

namespace {

void trilu(Call &call) {
  const Tensor &x = call.operand(0);
  const bool upper = call.getInt("upper", 1) != 0;
  const int64_t k = call.has(1) ? call.integers(1)[0] : 0;
  if (!call.require(rankOf(x) >= 2, "no matrix"))
    return;
  int64_t next = 0;
  const size_t rank = x.shape.size();
  call.setResult(0, rearranged(x, x.shape, [&](ArrayRef<int64_t> at) {
                   const int64_t place = next++,
                                 diagonal = at[rank - 1] - at[rank - 2];
                   return (upper ? diagonal >= k : diagonal <= k) ? place : -1;
                 }));
}

void eyeLike(Call &call) {
  const Tensor &x = call.operand(0);
  const int64_t k = call.getInt("k", 0);
  ElementType type = x.type;
  if (call.hasAttribute("dtype")) {
    auto given = frontend::elementTypeOf(
        static_cast<int32_t>(call.getInt("dtype", 0)), "the result");
    if (!given) {
      call.fail("{}", llvm::toString(given.takeError()));
      return;
    }
    type = *given;
  }
  if (!call.require(rankOf(x) == 2, "no matrix"))
    return;
  Tensor y(type, x.shape);
  withKind(y, [&]<class T>() {
    for (int64_t row = 0; row < x.shape[0]; ++row)
      if (row + k >= 0 && row + k < x.shape[1])
        elementsOf<T>(y)[row * x.shape[1] + row + k] = 1;
  });
  call.setResult(0, std::move(y));
}

void oneHot(Call &call) {
  const Tensor &values = call.operand(2);
  const SmallVector<int64_t> indices = call.integers(0);
  const int64_t depth = call.integers(1)[0];
  const auto rank = rankOf(call.operand(0)) + 1;
  const int64_t axis = call.normalAxis(call.getInt("axis", -1), rank);
  if (call.failed() || !call.require(values.size() == 2, "not two values"))
    return;
  Shape shape(call.operand(0).shape);
  shape.insert(shape.begin() + axis, depth);
  const int64_t inner =
      elementCount(ArrayRef<int64_t>(shape).drop_front(axis + 1));
  int64_t next = 0;
  call.setResult(0, rearranged(values, shape, [&](ArrayRef<int64_t> at) {
                   const int64_t place = next++;
                   const int64_t index =
                       indices[place / (depth * inner) * inner + place % inner];
                   return int64_t((index < 0 ? index + depth : index) ==
                                  at[axis]);
                 }));
}

/// Before version 13 the axes from `axis` on count as one.
void hardmax(Call &call) {
  const Tensor &x = call.operand(0);
  const bool flat = call.opset() < 13;
  int64_t axis = call.getInt("axis", flat ? 1 : -1);
  axis = flat && axis == rankOf(x) ? axis : call.normalAxis(axis, rankOf(x));
  if (call.failed() || !call.require(x.isFloat(), "no floats"))
    return;
  const ArrayRef<int64_t> shape = x.shape;
  const int64_t extent =
                    flat ? elementCount(shape.drop_front(axis)) : shape[axis],
                inner = flat ? 1 : elementCount(shape.drop_front(axis + 1)),
                outer = elementCount(shape.take_front(axis));
  Tensor y(x.type, shape);
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t i = 0; i < inner; ++i) {
      auto at = [&](int64_t k) { return (o * extent + k) * inner + i; };
      int64_t best = 0;
      for (int64_t k = 1; k < extent; ++k)
        if (x.floats[at(k)] > x.floats[at(best)])
          best = k;
      if (extent > 0)
        y.floats[at(best)] = 1;
    }
  call.setResult(0, std::move(y));
}

template <bool product>
void prefix(Call &call) {
  const Tensor &x = call.operand(0);
  const int64_t axis = call.normalAxis(call.integers(1)[0], rankOf(x));
  const bool exclusive = call.getInt("exclusive", 0) != 0,
             backwards = call.getInt("reverse", 0) != 0;
  if (call.failed())
    return;
  const ArrayRef<int64_t> shape = x.shape;
  const int64_t extent = shape[axis],
                inner = elementCount(shape.drop_front(axis + 1)),
                outer = elementCount(shape.take_front(axis));
  Tensor y(x.type, shape);
  withKind(x, [&]<class T>() {
    for (int64_t o = 0; o < outer; ++o)
      for (int64_t i = 0; i < inner; ++i) {
        T sum = product ? 1 : 0;
        for (int64_t k = 0; k < extent; ++k) {
          const int64_t step = backwards ? extent - 1 - k : k,
                        at = (o * extent + step) * inner + i;
          const T before = sum;
          sum =
              product ? sum * elementsOf<T>(x)[at] : sum + elementsOf<T>(x)[at];
          elementsOf<T>(y)[at] = exclusive ? before : sum;
        }
      }
  });
  call.setResult(0, wrapped(std::move(y)));
}

} // namespace

std::vector<EvaluatorRow> onnxref::maskEvaluators() {
  return {
      {"Trilu", {14}, 1, trilu},
      {"Trilu", {1}, 1, trilu, Continuity::Smooth, "com.microsoft"},
      {"EyeLike", {9, 22}, 1, eyeLike},
      {"OneHot", {9, 11}, 3, oneHot, Continuity::Steps},
      {"Hardmax", {1, 11, 13}, 1, hardmax, Continuity::Steps},
      {"CumSum", {11, 14}, 2, prefix<false>},
      {"CumProd", {26}, 2, prefix<true>},
  };
}
