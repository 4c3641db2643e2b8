// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pooling and the local response normalisation.

#include "Registry.h"
#include "Walk.h"
#include "Windows.h"

#include <cmath>
#include <limits>

using namespace ashlar;
using namespace ashlar::onnxref;

namespace {

/// Calls `fn(tap)` with the number of every element of a plane that the window
/// at `position` covers; returns how many of its places lie on the map or its
/// padding.
template <class Fn>
int64_t visit(const Window &w, int64_t position, Fn &&fn) {
  const int64_t at[3] = {position / w.out[2] / w.out[1],
                         position / w.out[2] % w.out[1], position % w.out[2]};
  int64_t covered = 0;
  for (int64_t tap = 0; tap < w.kernelSize(); ++tap) {
    const int64_t tapOf[3] = {tap / w.kernel[2] / w.kernel[1],
                              tap / w.kernel[2] % w.kernel[1],
                              tap % w.kernel[2]};
    bool inside = true, padded = true;
    int64_t place = 0;
    for (int d = 0; d < 3; ++d) {
      const int64_t index = w.at(d, at[d], tapOf[d]);
      inside &= w.inside(d, index);
      padded &= index < w.in[d] + w.high[d];
      place = place * w.in[d] + index;
    }
    covered += padded;
    if (inside)
      fn(place);
  }
  return covered;
}

Window poolWindow(Call &call, const Tensor &x) {
  if (!call.require(rankOf(x) >= 3, "no spatial dimension"))
    return {};
  return readWindow(call, ArrayRef<int64_t>(x.shape).drop_front(2),
                    call.getInts("kernel_shape"),
                    call.getInt("ceil_mode", 0) != 0);
}

/// Number of element k of a plane, rows first or, in column order, last.
int64_t placeOf(const Window &w, int64_t k, bool columns) {
  if (!columns)
    return k;
  const int64_t c = k % w.in[2], b = k / w.in[2] % w.in[1],
                a = k / w.in[2] / w.in[1];
  return (c * w.in[1] + b) * w.in[0] + a;
}

/// Where the largest elements lie in the whole operand; of equal ones the
/// first.
void setPlaces(Call &call, const Window &w, const Tensor &x) {
  const bool columns = call.getInt("storage_order", 0) != 0;
  Tensor y(ElementType::I64,
           resultShape(w, x.shape[0], x.shape[1], x.shape.size()));
  withKind(x, [&]<class T>() {
    const T *plane = elementsOf<T>(x).data();
    int64_t *out = y.ints.data();
    for (int64_t p = 0, e = x.shape[0] * x.shape[1]; p < e;
         ++p, plane += w.inSize())
      for (int64_t i = 0; i < w.outSize(); ++i) {
        int64_t best = -1;
        visit(w, i, [&](int64_t k) {
          best = best < 0 || plane[k] > plane[best] ? k : best;
        });
        *out++ = p * w.inSize() + placeOf(w, best, columns);
      }
  });
  call.setResult(1, std::move(y));
}

/// The largest element under each window; padding is none.
Tensor maxima(const Tensor &x, const Window &w) {
  Tensor y(x.type, resultShape(w, x.shape[0], x.shape[1], x.shape.size()));
  withKind(x, [&]<class T>() {
    using Limits = std::numeric_limits<T>;
    const T *plane = elementsOf<T>(x).data();
    T *out = elementsOf<T>(y).data();
    for (int64_t p = 0, e = x.shape[0] * x.shape[1]; p < e;
         ++p, plane += w.inSize())
      for (int64_t i = 0; i < w.outSize(); ++i) {
        T best = Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
        visit(w, i, [&](int64_t k) {
          best = best < plane[k] || plane[k] != plane[k] ? plane[k] : best;
        });
        *out++ = best;
      }
  });
  return wrapped(std::move(y));
}

void maxPool(Call &call) {
  const Tensor &x = call.operand(0);
  const Window w = poolWindow(call, x);
  if (call.failed())
    return;
  call.setResult(0, maxima(x, w));
  if (call.numResults() > 1)
    setPlaces(call, w, x);
}

/// [N, ...spatial, C].
void maxPoolOfLast(Call &call) {
  if (!call.require(rankOf(call.operand(0)) >= 3, "no spatial dimension"))
    return;
  const Tensor x = channelsFirst(call.operand(0));
  const Window w = poolWindow(call, x);
  if (!call.failed())
    call.setResult(0, channelsLast(maxima(x, w)));
}

/// (sum of |x|^p)^(1/p) of the elements under each window.
void lpPool(Call &call) {
  const Tensor &x = call.operand(0);
  const double p = call.opset() < 2 ? call.getFloat("p", 2)
                                    : static_cast<double>(call.getInt("p", 2));
  const Window w = poolWindow(call, x);
  if (call.failed() ||
      !call.require(x.isFloat(), "the operand is not of floats"))
    return;
  Tensor y(x.type, resultShape(w, x.shape[0], x.shape[1], x.shape.size()));
  double *out = y.floats.data();
  for (int64_t k = 0, e = x.shape[0] * x.shape[1]; k < e; ++k) {
    const double *plane = x.floats.data() + k * w.inSize();
    for (int64_t i = 0; i < w.outSize(); ++i) {
      double sum = 0;
      visit(w, i,
            [&](int64_t at) { sum += std::pow(std::fabs(plane[at]), p); });
      *out++ = std::pow(sum, 1 / p);
    }
  }
  call.setResult(0, std::move(y));
}

void globalLpPool(Call &call) {
  const Tensor &x = call.operand(0);
  const double p = call.opset() < 2 ? call.getFloat("p", 2)
                                    : static_cast<double>(call.getInt("p", 2));
  if (!call.require(rankOf(x) >= 3 && x.isFloat(), "no floats or no plane"))
    return;
  Shape shape(x.shape.size(), 1);
  shape[0] = x.shape[0];
  shape[1] = x.shape[1];
  Tensor y(x.type, shape);
  const int64_t size = elementCount(ArrayRef<int64_t>(x.shape).drop_front(2));
  for (size_t k = 0; k < y.floats.size(); ++k) {
    double sum = 0;
    for (int64_t i = 0; i < size; ++i)
      sum += std::pow(std::fabs(x.floats[k * size + i]), p);
    y.floats[k] = std::pow(sum, 1 / p);
  }
  call.setResult(0, std::move(y));
}

/// The mean of the elements under each window; with count_include_pad zeros of
/// the padding count, but nothing beyond it.
void averagePool(Call &call) {
  const Tensor &x = call.operand(0);
  const bool withPads = call.getInt("count_include_pad", 0) != 0;
  const Window w = poolWindow(call, x);
  if (call.failed() ||
      !call.require(x.isFloat(), "the operand is not of floats"))
    return;
  Tensor y(x.type, resultShape(w, x.shape[0], x.shape[1], x.shape.size()));
  double *out = y.floats.data();
  for (int64_t p = 0, e = x.shape[0] * x.shape[1]; p < e; ++p) {
    const double *plane = x.floats.data() + p * w.inSize();
    for (int64_t i = 0; i < w.outSize(); ++i) {
      double sum = 0;
      int64_t count = 0;
      const int64_t covered = visit(w, i, [&](int64_t k) {
        sum += plane[k];
        ++count;
      });
      count = withPads ? covered : count;
      *out++ = count == 0 ? 0 : sum / static_cast<double>(count);
    }
  }
  call.setResult(0, std::move(y));
}

/// One number per channel.
template <bool largest>
void globalPool(Call &call) {
  const Tensor &x = call.operand(0);
  if (!call.require(x.isFloat() && rankOf(x) >= 3, "no feature map of floats"))
    return;
  Shape shape(x.shape.size(), 1);
  shape[0] = x.shape[0];
  shape[1] = x.shape[1];
  Tensor y(x.type, shape);
  const int64_t inner = elementCount(ArrayRef<int64_t>(x.shape).drop_front(2));
  for (size_t i = 0; i < y.floats.size(); ++i) {
    double sum = 0, top = -HUGE_VAL;
    for (int64_t k = 0; k < inner; ++k) {
      const double value = x.floats[i * inner + k];
      sum += value;
      top = std::max(top, value);
    }
    y.floats[i] = largest      ? top
                  : inner == 0 ? 0
                               : sum / static_cast<double>(inner);
  }
  call.setResult(0, std::move(y));
}

/// x / (bias + alpha / size * sum of squares of the channels from c -
/// floor((size
/// - 1) / 2) to c + ceil((size - 1) / 2)) ^ beta.
void lrn(Call &call) {
  const Tensor &x = call.operand(0);
  const double alpha = call.getFloat("alpha", 0.0001f),
               beta = call.getFloat("beta", 0.75f),
               bias = call.getFloat("bias", 1);
  const int64_t size = call.getInt("size", 1);
  if (!call.require(x.isFloat() && rankOf(x) >= 2 && size > 0,
                    "no channels of floats"))
    return;
  const int64_t channels = x.shape[1];
  const int64_t inner = elementCount(ArrayRef<int64_t>(x.shape).drop_front(2));
  Tensor y(x.type, x.shape);
  for (int64_t i = 0, e = x.size(); i < e; ++i) {
    const int64_t c = i / inner % channels;
    const int64_t from = std::max<int64_t>(c - (size - 1) / 2, 0);
    const int64_t to = std::min(c + size / 2, channels - 1);
    double squares = 0;
    for (int64_t k = from; k <= to; ++k) {
      const double value = x.floats[i + (k - c) * inner];
      squares += value * value;
    }
    y.floats[i] =
        x.floats[i] /
        std::pow(bias + alpha / static_cast<double>(size) * squares, beta);
  }
  call.setResult(0, std::move(y));
}

} // namespace

std::vector<EvaluatorRow> onnxref::poolingEvaluators() {
  return {
      {"LpPool", {1, 2, 11, 18, 22}, 1, lpPool},
      {"GlobalLpPool", {1, 2, 22}, 1, globalLpPool},
      {"MaxPool", {1, 8, 10, 11, 12, 22}, 1, maxPool},
      {"NhwcMaxPool",
       {1},
       1,
       maxPoolOfLast,
       Continuity::Smooth,
       "com.microsoft"},
      {"AveragePool", {1, 7, 10, 11, 19, 22}, 1, averagePool},
      {"GlobalAveragePool", {1, 22}, 1, globalPool<false>},
      {"GlobalMaxPool", {1, 22}, 1, globalPool<true>},
      {"LRN", {1, 13}, 1, lrn},
  };
}
