// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Fourier transforms of real signals by their sums, inverses of matrices by
// solving for each column, and slices of a dimension.

#include "lib/Frontend/OnnxReference/Registry.h"
#include "lib/Frontend/OnnxReference/Walk.h"

#include <cmath>
#include <complex>
#include <numbers>

using namespace ashlar;
using namespace ashlar::onnxref;

namespace {

/// The sum of turns of all dimensions of a signal, in radians.
double angleOf(ArrayRef<int64_t> frequency, ArrayRef<int64_t> place,
               ArrayRef<int64_t> extents) {
  double angle = 0;
  for (size_t d = 0; d < extents.size(); ++d)
    angle += 2 * std::numbers::pi *
             static_cast<double>(frequency[d] * place[d] % extents[d]) /
             static_cast<double>(extents[d]);
  return angle;
}

bool isPlain(Call &call) {
  return call.require(
      call.getInt("normalized", 0) == 0 && call.getInt("onesided", 1) == 1 &&
          call.operand(0).isFloat() && call.operand(0).size() > 0,
      "a form that is not defined");
}

void realTransform(Call &call) {
  const Tensor &x = call.operand(0);
  const int64_t count = call.getInt("signal_ndim", 1);
  if (!isPlain(call) ||
      !call.require(count > 0 && count <= rankOf(x), "dimensions"))
    return;
  const ArrayRef<int64_t> all = x.shape, extents = all.take_back(count);
  Shape bins(extents), shape(all);
  bins.back() = shape.back() = extents.back() / 2 + 1;
  shape.push_back(2);
  const int64_t size = elementCount(extents), half = elementCount(bins);
  Tensor y(x.type, shape);
  for (int64_t o = 0; o < x.size() / size; ++o)
    forEachIndex(bins, [&](ArrayRef<int64_t> k, int64_t to) {
      std::complex<double> sum = 0;
      forEachIndex(extents, [&](ArrayRef<int64_t> t, int64_t from) {
        sum += x.floats[o * size + from] *
               std::polar(1.0, -angleOf(k, t, extents));
      });
      y.floats[2 * (o * half + to)] = sum.real();
      y.floats[2 * (o * half + to) + 1] = sum.imag();
    });
  call.setResult(0, std::move(y));
}

/// Frequencies of the last dimension that the half does not have count with
/// their conjugates.
void inverseRealTransform(Call &call) {
  const Tensor &x = call.operand(0);
  const int64_t count = call.getInt("signal_ndim", 1);
  if (!isPlain(call) ||
      !call.require(count > 0 && count < rankOf(x) && x.shape.back() == 2,
                    "dimensions"))
    return;
  const ArrayRef<int64_t> all = x.shape,
                          bins = all.drop_back().take_back(count);
  Shape extents(bins), shape(all.drop_back());
  extents.back() = shape.back() = std::max<int64_t>(2 * (bins.back() - 1), 1);
  const int64_t size = elementCount(extents), half = elementCount(bins);
  Tensor y(x.type, shape);
  for (int64_t o = 0; o < y.size() / size; ++o)
    forEachIndex(extents, [&](ArrayRef<int64_t> t, int64_t to) {
      double sum = 0;
      forEachIndex(bins, [&](ArrayRef<int64_t> k, int64_t from) {
        const double *at = &x.floats[2 * (o * half + from)];
        const bool alone = k.back() == 0 || 2 * k.back() == extents.back();
        const std::complex<double> term =
            std::complex<double>(at[0], at[1]) *
            std::polar(1.0, angleOf(k, t, extents));
        sum += (alone ? 1 : 2) * term.real();
      });
      y.floats[o * size + to] = sum / static_cast<double>(size);
    });
  call.setResult(0, std::move(y));
}

/// The solution of m * x = right, for matrices of n rows.
std::vector<double> solve(std::vector<double> m, std::vector<double> right,
                          int64_t n) {
  for (int64_t c = 0; c < n; ++c) {
    int64_t pivot = c;
    for (int64_t r = c; r < n; ++r)
      if (std::fabs(m[r * n + c]) > std::fabs(m[pivot * n + c]))
        pivot = r;
    for (int64_t k = 0; k < n; ++k)
      std::swap(m[pivot * n + k], m[c * n + k]);
    std::swap(right[pivot], right[c]);
    for (int64_t r = c + 1; r < n; ++r) {
      const double factor = m[r * n + c] / m[c * n + c];
      for (int64_t k = c; k < n; ++k)
        m[r * n + k] -= factor * m[c * n + k];
      right[r] -= factor * right[c];
    }
  }
  for (int64_t r = n; r-- > 0;) {
    for (int64_t k = r + 1; k < n; ++k)
      right[r] -= m[r * n + k] * right[k];
    right[r] /= m[r * n + r];
  }
  return right;
}

void inverse(Call &call) {
  const Tensor &x = call.operand(0);
  const size_t rank = x.shape.size();
  if (!call.require(rank >= 2 && x.isFloat() && x.shape.back() > 0 &&
                        x.shape[rank - 1] == x.shape[rank - 2],
                    "no square matrices"))
    return;
  const int64_t n = x.shape.back();
  Tensor y(x.type, x.shape);
  for (int64_t first = 0; first < x.size(); first += n * n)
    for (int64_t c = 0; c < n; ++c) {
      std::vector<double> one(n, 0.0);
      one[c] = 1;
      const double *from = &x.floats[first];
      const std::vector<double> column = solve({from, from + n * n}, one, n);
      for (int64_t r = 0; r < n; ++r)
        y.floats[first + r * n + c] = column[r];
    }
  if (y.type != ElementType::F64)
    reference::roundToType(y, y.type); // From binary32.
  call.setResult(0, std::move(y));
}

void unfoldTensor(Call &call) {
  const Tensor &x = call.operand(0);
  const int64_t axis = call.normalAxis(call.getInt("dim", -1), rankOf(x)),
                size = call.getInt("size", 0), step = call.getInt("step", 1);
  if (call.failed() ||
      !call.require(size > 0 && step > 0 && size <= x.shape[axis],
                    "slices do not fit"))
    return;
  Shape shape(x.shape);
  shape[axis] = (x.shape[axis] - size) / step + 1;
  shape.push_back(size);
  call.setResult(0, rearranged(x, shape, [&](ArrayRef<int64_t> at) {
                   int64_t place = 0;
                   for (int64_t d = 0; d < rankOf(x); ++d)
                     place = place * x.shape[d] +
                             (d == axis ? at[d] * step + at.back() : at[d]);
                   return place;
                 }));
}

} // namespace

std::vector<EvaluatorRow> onnxref::transformEvaluators() {
  constexpr const char *domain = "com.microsoft";
  constexpr Continuity smooth = Continuity::Smooth;
  return {
      {"Rfft", {1}, 1, realTransform, smooth, domain},
      {"Irfft", {1}, 1, inverseRealTransform, smooth, domain},
      {"Inverse", {1}, 1, inverse, smooth, domain},
      {"UnfoldTensor", {1}, 1, unfoldTensor, smooth, domain},
  };
}
