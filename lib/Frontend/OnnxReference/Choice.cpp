// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operators whose results are as long as the elements decide. Written from
// ONNX's definitions, in binary64.

#include "Registry.h"
#include "Walk.h"

#include <algorithm>
#include <cmath>
#include <map>

using namespace ashlar;
using namespace ashlar::onnxref;

namespace {

bool isZero(const Tensor &x, int64_t i) {
  return x.isFloat() ? x.floats[i] == 0 : x.ints[i] == 0;
}

/// numpy.nonzero, stacked.
void nonZero(Call &call) {
  const Tensor &x = call.operand(0);
  const Shape shape = x.shape.empty() ? Shape{1} : Shape(x.shape);
  std::vector<Shape> found;
  forEachIndex(shape, [&](ArrayRef<int64_t> at, int64_t i) {
    if (!isZero(x, i))
      found.emplace_back(at);
  });
  const auto count = static_cast<int64_t>(found.size());
  const auto rank = static_cast<int64_t>(shape.size());
  Tensor y(ElementType::I64, Shape{rank, count});
  for (int64_t k = 0; k < count; ++k)
    for (int64_t d = 0; d < rank; ++d)
      y.ints[d * count + k] = found[k][d];
  call.setResult(0, std::move(y));
}

/// The chosen slices along `axis`.
Tensor slicesOf(const Tensor &x, int64_t axis, ArrayRef<int64_t> chosen) {
  Shape shape(x.shape);
  shape[axis] = static_cast<int64_t>(chosen.size());
  const SmallVector<int64_t> strides = reference::rowMajorStrides(x.shape);
  return rearranged(x, shape, [&](ArrayRef<int64_t> at) {
    int64_t from = 0;
    for (int64_t d = 0; d < rankOf(x); ++d)
      from += (d == axis ? chosen[at[d]] : at[d]) * strides[d];
    return from;
  });
}

/// The operand and the attribute `axis`; without one, the operand flattened.
std::pair<Tensor, int64_t> operandAlongAxis(Call &call) {
  const Tensor &x = call.operand(0);
  if (call.hasAttribute("axis"))
    return {x, call.normalAxis(call.getInt("axis", 0), rankOf(x))};
  return {reshaped(x, Shape{x.size()}), 0};
}

void compress(Call &call) {
  const auto [x, axis] = operandAlongAxis(call);
  if (call.failed())
    return;
  const Tensor &condition = call.operand(1);
  SmallVector<int64_t> chosen;
  for (int64_t i = 0; i < condition.size(); ++i)
    if (!isZero(condition, i))
      chosen.push_back(i);
  if (!call.require(condition.size() <= x.shape[axis],
                    "the condition is longer than the axis"))
    return;
  call.setResult(0, slicesOf(x, axis, chosen));
}

/// A slice as a key: NaN after all numbers, all of them equal; no sign of zero.
std::vector<std::pair<bool, double>> floatKey(ArrayRef<double> slice) {
  std::vector<std::pair<bool, double>> key;
  for (double value : slice)
    key.push_back(std::isnan(value) ? std::pair(true, 0.0)
                                    : std::pair(false, value + 0.0));
  return key;
}

/// u64 counts from 0 up although its bits do not.
std::vector<int64_t> integerKey(ArrayRef<int64_t> slice, ElementType type) {
  std::vector<int64_t> key(slice.begin(), slice.end());
  if (type == ElementType::U64)
    for (int64_t &value : key)
      value ^= INT64_MIN;
  return key;
}

struct Distinct {
  SmallVector<int64_t> first, inverse, counts;
};

/// Numbers distinct keys in their order, or as they come.
template <class Key>
Distinct distinctOf(ArrayRef<Key> keys, bool sorted) {
  std::map<Key, int64_t> number;
  for (const Key &key : keys)
    number.try_emplace(key, static_cast<int64_t>(number.size()));
  if (sorted) {
    int64_t next = 0;
    for (auto &entry : number)
      entry.second = next++;
  }
  Distinct result;
  result.first.assign(number.size(), -1);
  result.counts.assign(number.size(), 0);
  for (auto [i, key] : llvm::enumerate(keys)) {
    const int64_t d = number[key];
    result.inverse.push_back(d);
    if (result.counts[d]++ == 0)
      result.first[d] = static_cast<int64_t>(i);
  }
  return result;
}

Tensor vectorOf(ArrayRef<int64_t> numbers) {
  Tensor y(ElementType::I64, Shape{static_cast<int64_t>(numbers.size())});
  y.ints.assign(numbers.begin(), numbers.end());
  return y;
}

/// The distinct slices of an axis.
Distinct distinctSlices(const Tensor &x, int64_t axis, bool sorted) {
  std::vector<std::vector<std::pair<bool, double>>> floats;
  std::vector<std::vector<int64_t>> integers;
  for (int64_t i = 0; i < x.shape[axis]; ++i) {
    const Tensor slice = slicesOf(x, axis, {i});
    if (x.isFloat())
      floats.push_back(floatKey(slice.floats));
    else
      integers.push_back(integerKey(slice.ints, x.type));
  }
  return x.isFloat() ? distinctOf(ArrayRef(floats), sorted)
                     : distinctOf(ArrayRef(integers), sorted);
}

/// The values of a vector as they come.
void uniqueInOrder(Call &call) {
  const Tensor &x = call.operand(0);
  if (!call.require(rankOf(x) == 1, "expected 1 dimension"))
    return;
  const Distinct found = distinctSlices(x, 0, /*sorted=*/false);
  call.setResult(0, slicesOf(x, 0, found.first));
  call.setResult(1, vectorOf(found.inverse));
  call.setResult(2, vectorOf(found.counts));
}

void unique(Call &call) {
  const bool sorted = call.getInt("sorted", 1) != 0;
  const auto [x, axis] = operandAlongAxis(call);
  if (call.failed())
    return;
  const Distinct found = distinctSlices(x, axis, sorted);
  call.setResult(0, slicesOf(x, axis, found.first));
  call.setResult(1, vectorOf(found.first));
  call.setResult(2, vectorOf(found.inverse));
  call.setResult(3, vectorOf(found.counts));
}

struct Box {
  double low[2], high[2];

  Box(const double *at, bool center) {
    for (int d = 0; d < 2; ++d) {
      low[d] = center ? at[d] - at[d + 2] / 2 : std::min(at[d], at[d + 2]);
      high[d] = center ? at[d] + at[d + 2] / 2 : std::max(at[d], at[d + 2]);
    }
  }
  double area() const { return (high[0] - low[0]) * (high[1] - low[1]); }
};

double intersectionOverUnion(const Box &a, const Box &b) {
  double shared = 1;
  for (int d = 0; d < 2; ++d)
    shared *= std::max(0.0, std::min(a.high[d], b.high[d]) -
                                std::max(a.low[d], b.low[d]));
  const double all = a.area() + b.area() - shared;
  return shared > 0 && all > 0 ? shared / all : 0;
}

/// What one class of a batch keeps.
SmallVector<int64_t> keptBoxes(ArrayRef<double> boxes, ArrayRef<double> scores,
                               bool center, int64_t most, double iou,
                               std::optional<double> least) {
  std::vector<int64_t> order;
  for (auto [i, score] : llvm::enumerate(scores))
    if (!std::isnan(score) && (!least || score > *least))
      order.push_back(static_cast<int64_t>(i));
  // Of equal scores the first box.
  llvm::sort(order, [&](int64_t a, int64_t b) {
    return scores[a] > scores[b] || (scores[a] == scores[b] && a < b);
  });
  SmallVector<int64_t> kept;
  for (int64_t candidate : order) {
    if (static_cast<int64_t>(kept.size()) >= most)
      break;
    const Box box(boxes.data() + 4 * candidate, center);
    if (llvm::none_of(kept, [&](int64_t other) {
          return intersectionOverUnion(
                     box, Box(boxes.data() + 4 * other, center)) > iou;
        }))
      kept.push_back(candidate);
  }
  return kept;
}

void nonMaxSuppression(Call &call) {
  const Tensor &boxes = call.operand(0), &scores = call.operand(1);
  if (!call.require(rankOf(boxes) == 3 && rankOf(scores) == 3 &&
                        boxes.isFloat() && scores.isFloat() &&
                        boxes.shape[2] == 4 &&
                        boxes.shape[0] == scores.shape[0] &&
                        boxes.shape[1] == scores.shape[2],
                    "boxes and scores do not belong together"))
    return;
  auto number = [&](size_t i) -> std::optional<double> {
    if (!call.has(i))
      return std::nullopt;
    const SmallVector<double> all = call.numbers(i);
    call.require(all.size() == 1, "a parameter is not one number");
    return all.empty() ? 0 : all.front();
  };
  const auto most = static_cast<int64_t>(number(2).value_or(0));
  const double iou = number(3).value_or(0);
  const std::optional<double> least = number(4);
  const bool center = call.getInt("center_point_box", 0) != 0;
  if (call.failed())
    return;
  const int64_t count = boxes.shape[1], classes = scores.shape[1];
  SmallVector<int64_t> rows;
  for (int64_t b = 0; b < boxes.shape[0]; ++b)
    for (int64_t c = 0; c < classes; ++c)
      for (int64_t kept : keptBoxes(
               ArrayRef(boxes.floats).slice(b * count * 4, count * 4),
               ArrayRef(scores.floats).slice((b * classes + c) * count, count),
               center, most, iou, least))
        rows.append({b, c, kept});
  Tensor y(ElementType::I64, Shape{static_cast<int64_t>(rows.size() / 3), 3});
  y.ints.assign(rows.begin(), rows.end());
  call.setResult(0, std::move(y));
}

} // namespace

std::vector<EvaluatorRow> onnxref::choiceEvaluators() {
  return {
      {"NonZero", {9, 13}, 1, nonZero, Continuity::Steps},
      {"Compress", {9, 11}, 2, compress},
      {"Unique", {11}, 1, unique, Continuity::Steps},
      {"Unique", {1}, 1, uniqueInOrder, Continuity::Steps, "com.microsoft"},
      // The rounding of an overlap is left open.
      {"NonMaxSuppression",
       {10, 11},
       2,
       nonMaxSuppression,
       Continuity::OpenSteps},
  };
}
