// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reductions and the indices of extremes.

#include "Registry.h"
#include "Walk.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>
#include <limits>

using namespace ashlar;
using namespace ashlar::onnxref;

namespace {

/// The values that each result is made of, one group after the other.
struct Groups {
  Shape shape;   ///< of the result
  Tensor values; ///< [results, values of each]
};

Groups groupsOf(const Tensor &x, ArrayRef<int64_t> axes, bool keepdims) {
  Groups groups;
  Shape kept, gone;
  for (int64_t d = 0; d < rankOf(x); ++d) {
    const bool reduced = llvm::is_contained(axes, d);
    (reduced ? gone : kept).push_back(d);
    if (!reduced || keepdims)
      groups.shape.push_back(reduced ? 1 : x.shape[d]);
  }
  Shape order(kept), extents;
  order.append(gone);
  for (int64_t d : order)
    extents.push_back(x.shape[d]);
  groups.values = rearranged(x, extents, [&](ArrayRef<int64_t> at) {
    Shape index(at.size());
    for (auto [place, d] : llvm::enumerate(order))
      index[d] = at[place];
    int64_t place = 0;
    for (int64_t d = 0; d < rankOf(x); ++d)
      place = place * x.shape[d] + index[d];
    return place;
  });
  int64_t each = 1, count = 1;
  for (int64_t d : gone)
    each *= x.shape[d];
  for (int64_t d : kept)
    count *= x.shape[d];
  groups.values.shape = {count, each};
  return groups;
}

/// Sums and products of integers are modulo 2^64, and cut to their type later.
template <class T>
using Modular = std::conditional_t<std::is_same_v<T, double>, double, uint64_t>;

template <class T>
T sumOf(ArrayRef<T> values) {
  Modular<T> sum = 0;
  for (T value : values)
    sum += static_cast<Modular<T>>(value);
  return static_cast<T>(sum);
}
template <class T>
T meanOf(ArrayRef<T> values) {
  return values.empty() ? sumOf(values)
                        : sumOf(values) / static_cast<T>(values.size());
}
template <class T>
T productOf(ArrayRef<T> values) {
  Modular<T> product = 1;
  for (T value : values)
    product *= static_cast<Modular<T>>(value);
  return static_cast<T>(product);
}
template <class T>
T magnitudesOf(ArrayRef<T> values) {
  Modular<T> sum = 0;
  for (T value : values)
    sum += value < 0 ? -static_cast<Modular<T>>(value)
                     : static_cast<Modular<T>>(value);
  return static_cast<T>(sum);
}
template <class T>
T squaresOf(ArrayRef<T> values) {
  Modular<T> sum = 0;
  for (T value : values)
    sum += static_cast<Modular<T>>(value) * static_cast<Modular<T>>(value);
  return static_cast<T>(sum);
}
/// Of no values: what no value can be beyond.
template <class T, bool least>
T extremeOf(ArrayRef<T> values) {
  using Limits = std::numeric_limits<T>;
  T best = least ? Limits::max() : Limits::lowest();
  if constexpr (Limits::has_infinity)
    best = least ? Limits::infinity() : -Limits::infinity();
  for (T value : values)
    best = (least ? value < best : best < value) ? value : best;
  return best;
}
template <class T>
T largestOf(ArrayRef<T> values) {
  return extremeOf<T, false>(values);
}
template <class T>
T smallestOf(ArrayRef<T> values) {
  return extremeOf<T, true>(values);
}
template <class T>
T normOf(ArrayRef<T> values) {
  return static_cast<T>(std::sqrt(static_cast<double>(squaresOf(values))));
}
template <class T>
T logSumOf(ArrayRef<T> values) {
  return static_cast<T>(std::log(static_cast<double>(sumOf(values))));
}
/// log(sum(exp)), with the largest taken out of the exponentials.
template <class T>
T logSumExpOf(ArrayRef<T> values) {
  double top = static_cast<double>(largestOf(values)), sum = 0;
  if (!std::isfinite(top))
    top = 0;
  for (T value : values)
    sum += std::exp(static_cast<double>(value) - top);
  return static_cast<T>(std::log(sum) + top);
}

template <auto onFloats, auto onIntegers>
Tensor reduced(const Tensor &x, const Groups &groups) {
  Tensor result(x.type, groups.shape);
  const size_t each = groups.values.shape[1];
  withKind(x, [&]<class T>() {
    const ArrayRef<T> values = elementsOf<T>(groups.values);
    auto &out = elementsOf<T>(result);
    for (size_t i = 0; i < out.size(); ++i)
      if constexpr (std::is_same_v<T, double>)
        out[i] = onFloats(values.slice(i * each, each));
      else
        out[i] = onIntegers(values.slice(i * each, each));
  });
  return wrapped(std::move(result));
}

/// The axes of version 13 (ReduceSum) or 18 are an operand; none are all, or
/// with noop_with_empty_axes groups of one element each.
template <auto onFloats, auto onIntegers, bool asOperand>
void reduce(Call &call) {
  const Tensor &x = call.operand(0);
  SmallVector<int64_t> axes;
  if (!asOperand)
    axes = call.getInts("axes");
  else if (call.has(1))
    axes = call.integers(1);
  axes = call.normalAxes(axes, rankOf(x));
  if (call.failed())
    return;
  const bool none = asOperand && call.getInt("noop_with_empty_axes", 0) != 0;
  if (axes.empty() && !none)
    for (int64_t d = 0; d < rankOf(x); ++d)
      axes.push_back(d);
  const bool keepdims = call.getInt("keepdims", 1) != 0;
  call.setResult(0,
                 reduced<onFloats, onIntegers>(x, groupsOf(x, axes, keepdims)));
}

/// The first index of an extreme, or the last one.
template <bool least>
void extremeIndex(Call &call) {
  const Tensor &x = call.operand(0);
  const int64_t axis = call.normalAxis(call.getInt("axis", 0), rankOf(x));
  if (call.failed())
    return;
  const bool last = call.getInt("select_last_index", 0) != 0;
  const Groups groups = groupsOf(x, axis, call.getInt("keepdims", 1) != 0);
  Tensor result(ElementType::I64, groups.shape);
  const int64_t each = groups.values.shape[1];
  withKind(x, [&]<class T>() {
    const ArrayRef<T> values = elementsOf<T>(groups.values);
    for (size_t i = 0; i < result.ints.size(); ++i) {
      const ArrayRef<T> group = values.slice(i * each, each);
      int64_t best = 0;
      for (int64_t k = 1; k < each; ++k)
        if ((least ? group[k] < group[best] : group[best] < group[k]) ||
            (last && group[k] == group[best]))
          best = k;
      result.ints[i] = best;
    }
  });
  call.setResult(0, std::move(result));
}

template <auto onFloats, auto onIntegers>
void addRows(std::vector<EvaluatorRow> &rows, const char *op,
             std::vector<int> attribute, std::vector<int> operand) {
  rows.push_back(
      {op, std::move(attribute), 1, reduce<onFloats, onIntegers, false>});
  rows.push_back(
      {op, std::move(operand), 1, reduce<onFloats, onIntegers, true>});
}

} // namespace

std::vector<EvaluatorRow> onnxref::reductionEvaluators() {
  std::vector<EvaluatorRow> rows = {
      {"ArgMax", {1, 11, 12, 13}, 1, extremeIndex<false>, Continuity::Steps},
      {"ArgMin", {1, 11, 12, 13}, 1, extremeIndex<true>, Continuity::Steps},
  };
  using F = double;
  using I = int64_t;
  addRows<sumOf<F>, sumOf<I>>(rows, "ReduceSum", {1, 11}, {13});
  addRows<meanOf<F>, meanOf<I>>(rows, "ReduceMean", {1, 11, 13}, {18});
  addRows<largestOf<F>, largestOf<I>>(rows, "ReduceMax", {1, 11, 12, 13},
                                      {18, 20});
  addRows<smallestOf<F>, smallestOf<I>>(rows, "ReduceMin", {1, 11, 12, 13},
                                        {18, 20});
  addRows<productOf<F>, productOf<I>>(rows, "ReduceProd", {1, 11, 13}, {18});
  addRows<magnitudesOf<F>, magnitudesOf<I>>(rows, "ReduceL1", {1, 11, 13},
                                            {18});
  addRows<squaresOf<F>, squaresOf<I>>(rows, "ReduceSumSquare", {1, 11, 13},
                                      {18});
  addRows<normOf<F>, normOf<I>>(rows, "ReduceL2", {1, 11, 13}, {18});
  addRows<logSumOf<F>, logSumOf<I>>(rows, "ReduceLogSum", {1, 11, 13}, {18});
  addRows<logSumExpOf<F>, logSumExpOf<I>>(rows, "ReduceLogSumExp", {1, 11, 13},
                                          {18});
  return rows;
}
