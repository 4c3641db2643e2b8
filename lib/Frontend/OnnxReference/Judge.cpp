// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Comparison of one value. A type or a shape that differs is a difference of
// the whole value.

#include "Judge.h"
#include "Walk.h"

#include <cmath>

using namespace ashlar;
using namespace ashlar::onnxref;

namespace {

/// 0 for equal infinities and two NaN, infinite for one NaN.
double distance(const Tensor &a, const Tensor &b, int64_t i) {
  if (!a.isFloat())
    return a.ints[i] == b.ints[i] ? 0 : HUGE_VAL;
  const double x = a.floats[i], y = b.floats[i];
  if (x == y || (std::isnan(x) && std::isnan(y)))
    return 0;
  const double apart = std::abs(x - y);
  return apart >= 0 ? apart : HUGE_VAL;
}

double largestOf(const Tensor &x) {
  double top = 0;
  for (double value : x.floats)
    if (std::isfinite(value))
      top = std::max(top, std::abs(value));
  return top;
}

/// "[0, 3]" for element i.
std::string placeOf(ArrayRef<int64_t> shape, int64_t i) {
  Shape at(shape.size());
  for (size_t d = shape.size(); d-- > 0; i /= shape[d])
    at[d] = i % shape[d];
  return fmt::format("[{}]", fmt::join(at, ", "));
}

std::string textOf(const Tensor &x, int64_t i) {
  return x.isFloat() ? fmt::format("{:.9g}", x.floats[i])
                     : fmt::format("{}", x.ints[i]);
}

/// True if element i of `found` lies between the least and the largest of what
/// the variants define.
bool explained(const Tensor &defined, const Tensor &found, int64_t i,
               ArrayRef<Tensor> variants, double allowed) {
  double low = numberAt(defined, i), high = low;
  bool isNaN = std::isnan(low);
  for (const Tensor &variant : variants) {
    if (variant.size() != defined.size())
      continue;
    const double value = numberAt(variant, i);
    isNaN |= std::isnan(value);
    low = std::isnan(low) || value < low ? value : low;
    high = std::isnan(high) || value > high ? value : high;
  }
  const double is = numberAt(found, i);
  if (std::isnan(is))
    return isNaN;
  return is >= low - allowed && is <= high + allowed;
}

} // namespace

Tensor onnxref::moved(const Tensor &x, int move, uint64_t salt) {
  Tensor result = x;
  uint64_t state = salt * 0x9e3779b97f4a7c15 + static_cast<uint64_t>(move);
  for (double &value : result.floats) {
    state = state * 6364136223846793005 + 1442695040888963407;
    const bool up = move < 2 ? move == 0 : (state >> 60) % 2 == 0;
    value *= up ? 1 + 0x1p-22 : 1 - 0x1p-22;
  }
  return result;
}

Judgement onnxref::judge(const Tensor &defined, const Tensor &found,
                         double tolerance,
                         llvm::function_ref<std::vector<Tensor>()> variants) {
  Judgement result;
  // Where elements decide how long a result is, moved operands may explain
  // another length.
  if (defined.type == found.type && defined.shape != found.shape &&
      llvm::any_of(variants(), [&](const Tensor &variant) {
        return variant.shape == found.shape &&
               judge(variant, found, tolerance, [] {
                 return std::vector<Tensor>();
               }).text.empty();
      }))
    return result;
  if (defined.shape != found.shape || defined.type != found.type) {
    result.worst = HUGE_VAL;
    result.text = fmt::format("gives {}, ONNX defines {}",
                              support::describe(found.type, found.shape),
                              support::describe(defined.type, defined.shape));
    return result;
  }
  const double top = largestOf(defined);
  const double allowed = defined.isFloat() ? tolerance * top : 0;
  std::optional<std::vector<Tensor>> others;
  for (int64_t i = 0, e = defined.size(); i < e; ++i) {
    const double apart = distance(defined, found, i);
    if (apart > allowed) {
      if (!others)
        others = variants();
      if (explained(defined, found, i, *others, allowed))
        continue;
      if (result.text.empty())
        result.text =
            fmt::format("gives {} at {}, ONNX defines {}", textOf(found, i),
                        placeOf(defined.shape, i), textOf(defined, i));
    }
    if (apart > 0)
      result.worst = std::max(result.worst, apart / top);
  }
  return result;
}
