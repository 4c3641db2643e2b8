// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pooling, reductions, argument reductions and softmax. Every order is by
// ascending index of the reduced dimensions (docs/Numerics.md).

#include "Kernels.h"
#include "ashlar/Numerics/Function.h"
#include "ashlar/Reference/Movement.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace ashlar;
using namespace ashlar::reference;
using llvm::ArrayRef;
using llvm::SmallVector;

namespace {

// One output element of a pool: folds the valid window positions in order.
// Returns the number of positions inside the input.
template <typename Visit>
int64_t visitWindow(const Window &w, int64_t od, int64_t oh, int64_t ow,
                    Visit visit) {
  int64_t count = 0;
  for (int64_t kd = 0; kd < w.kernel[0]; ++kd)
    for (int64_t kh = 0; kh < w.kernel[1]; ++kh)
      for (int64_t kw = 0; kw < w.kernel[2]; ++kw) {
        int64_t d = od * w.stride[0] + kd * w.dilation[0] - w.low[0];
        int64_t h = oh * w.stride[1] + kh * w.dilation[1] - w.low[1];
        int64_t v = ow * w.stride[2] + kw * w.dilation[2] - w.low[2];
        if (d < 0 || d >= w.in[0] || h < 0 || h >= w.in[1] || v < 0 ||
            v >= w.in[2])
          continue;
        visit((d * w.in[1] + h) * w.in[2] + v);
        ++count;
      }
  return count;
}

// Window positions inside the input or its declared padding: what
// count_include_pad divides by. Positions beyond the high padding (ceil mode)
// do not count.
int64_t paddedCount(const Window &w, const std::array<int64_t, 3> &out) {
  int64_t product = 1;
  for (int d = 0; d < 3; ++d) {
    int64_t count = 0;
    for (int64_t k = 0; k < w.kernel[d]; ++k)
      count += out[d] * w.stride[d] + k * w.dilation[d] <
               w.in[d] + w.low[d] + w.high[d];
    product *= count;
  }
  return product;
}

template <typename T>
void poolPlane(const T *plane, PoolKind kind, const Window &w, T *out) {
  for (int64_t od = 0; od < w.out[0]; ++od)
    for (int64_t oh = 0; oh < w.out[1]; ++oh)
      for (int64_t ow = 0; ow < w.out[2]; ++ow) {
        T sum = 0, best = std::numeric_limits<T>::lowest();
        if constexpr (std::is_floating_point_v<T>)
          best = -std::numeric_limits<T>::infinity();
        int64_t count = visitWindow(w, od, oh, ow, [&](int64_t i) {
          sum += plane[i];
          // Keeps a NaN once seen.
          bool isNaN = std::isunordered(plane[i], plane[i]);
          best = best < plane[i] || isNaN ? plane[i] : best;
        });
        if (kind == PoolKind::AverageIncludePad)
          count = paddedCount(w, {od, oh, ow});
        if (kind == PoolKind::Sum)
          count = 1;
        *out++ = kind == PoolKind::Max ? best : (count ? sum / T(count) : T(0));
      }
}

double exponential(double x) {
  return numerics::applyWide(numerics::Function::Exp, x);
}

// Splits `x` around one axis: `outer` x extent x `inner` elements.
struct Lines {
  int64_t outer = 1, extent = 1, inner = 1;
  Lines(ArrayRef<int64_t> shape, int64_t axis) {
    for (int64_t d = 0; d < static_cast<int64_t>(shape.size()); ++d)
      (d < axis ? outer : d == axis ? extent : inner) *= shape[d];
  }
  int64_t at(int64_t o, int64_t k, int64_t i) const {
    return (o * extent + k) * inner + i;
  }
};

template <typename T>
int64_t argBest(const std::vector<T> &data, const Lines &lines, int64_t o,
                int64_t i, bool isMax, bool selectLast) {
  int64_t best = 0;
  for (int64_t k = 1; k < lines.extent; ++k) {
    T value = data[lines.at(o, k, i)], current = data[lines.at(o, best, i)];
    bool better = isMax ? value > current : value < current;
    if (better || (selectLast && value == current))
      best = k;
  }
  return best;
}

} // namespace

Tensor reference::evalPool(const Tensor &x, PoolKind kind, const Window &window,
                           ArrayRef<int64_t> outShape) {
  Tensor result(x.type, outShape);
  int64_t planes = x.shape[0] * x.shape[1];
  for (int64_t p = 0; p < planes; ++p) {
    if (x.isFloat())
      poolPlane(x.floats.data() + p * window.inSize(), kind, window,
                result.floats.data() + p * window.outSize());
    else
      poolPlane(x.ints.data() + p * window.inSize(), kind, window,
                result.ints.data() + p * window.outSize());
  }
  return result;
}

Tensor reference::evalReduce(const Tensor &x, ArrayRef<int64_t> axes,
                             ArrayRef<int64_t> outShape, FloatReducer onFloats,
                             IntReducer onInts) {
  // Kept dims first, reduced dims last: each output reads one contiguous run.
  SmallVector<int64_t> perm;
  int64_t extent = 1;
  for (int64_t d = 0; d < static_cast<int64_t>(x.shape.size()); ++d)
    if (!llvm::is_contained(axes, d))
      perm.push_back(d);
  for (int64_t d = 0; d < static_cast<int64_t>(x.shape.size()); ++d)
    if (llvm::is_contained(axes, d)) {
      perm.push_back(d);
      extent *= x.shape[d];
    }
  std::vector<int64_t> map = transposeMap(x.shape, perm).flatten();
  Tensor result(x.type, outShape);
  std::vector<double> floats(x.isFloat() ? extent : 0);
  std::vector<int64_t> ints(x.isFloat() ? 0 : extent);
  for (int64_t o = 0, e = result.size(); o < e; ++o) {
    const int64_t *sources = map.data() + o * extent;
    for (int64_t k = 0; k < extent; ++k)
      if (x.isFloat())
        floats[k] = x.floats[sources[k]];
      else
        ints[k] = x.ints[sources[k]];
    if (x.isFloat())
      result.floats[o] = onFloats(floats);
    else
      result.ints[o] = onInts(ints);
  }
  return result;
}

Tensor reference::evalArgReduce(const Tensor &x, int64_t axis, bool isMax,
                                bool selectLast, ElementType type,
                                ArrayRef<int64_t> outShape) {
  Tensor result(type, outShape);
  Lines lines(x.shape, axis);
  for (int64_t o = 0; o < lines.outer; ++o)
    for (int64_t i = 0; i < lines.inner; ++i)
      result.ints[o * lines.inner + i] =
          x.isFloat() ? argBest(x.floats, lines, o, i, isMax, selectLast)
                      : argBest(x.ints, lines, o, i, isMax, selectLast);
  return result;
}

Tensor reference::evalSoftmax(const Tensor &x, int64_t axis, bool logarithm) {
  Tensor result(x.type, x.shape);
  Lines lines(x.shape, axis);
  for (int64_t o = 0; o < lines.outer; ++o)
    for (int64_t i = 0; i < lines.inner; ++i) {
      double top = -std::numeric_limits<double>::infinity(), sum = 0;
      for (int64_t k = 0; k < lines.extent; ++k)
        top = std::max(top, x.floats[lines.at(o, k, i)]);
      for (int64_t k = 0; k < lines.extent; ++k)
        sum += exponential(x.floats[lines.at(o, k, i)] - top);
      double logSum = numerics::applyWide(numerics::Function::Log, sum);
      for (int64_t k = 0; k < lines.extent; ++k) {
        double shifted = x.floats[lines.at(o, k, i)] - top;
        result.floats[lines.at(o, k, i)] =
            logarithm ? shifted - logSum : exponential(shifted) / sum;
      }
    }
  return result;
}
