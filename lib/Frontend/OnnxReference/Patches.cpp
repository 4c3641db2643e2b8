// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Windows put together, cuts of the middle, reversed rows, determinants.

#include "Registry.h"
#include "Walk.h"

using namespace ashlar;
using namespace ashlar::onnxref;

namespace {

/// Every element of the patches is added where its window lies in the image.
void col2Im(Call &call) {
  const Tensor &x = call.operand(0);
  const SmallVector<int64_t> image = call.integers(1), block = call.integers(2);
  SmallVector<int64_t> strides = call.getInts("strides"),
                       dilations = call.getInts("dilations"),
                       pads = call.getInts("pads");
  const size_t dims = image.size();
  strides.resize(dims, 1);
  dilations.resize(dims, 1);
  pads.resize(2 * dims, 0);
  const int64_t taps = elementCount(block);
  if (!call.require(x.isFloat() && rankOf(x) == 3 && block.size() == dims &&
                        taps > 0 && x.shape[1] % taps == 0,
                    "patches do not fit"))
    return;
  Shape shape = {x.shape[0], x.shape[1] / taps}, blocks;
  shape.append(image.begin(), image.end());
  for (size_t d = 0; d < dims; ++d)
    blocks.push_back((image[d] + pads[d] + pads[dims + d] -
                      dilations[d] * (block[d] - 1) - 1) /
                         strides[d] +
                     1);
  Shape loop = {shape[0], shape[1]};
  loop.append(block.begin(), block.end());
  loop.append(blocks);
  if (!call.require(elementCount(loop) == x.size(), "patches do not fit"))
    return;
  Tensor y(x.type, shape);
  forEachIndex(loop, [&](ArrayRef<int64_t> at, int64_t i) {
    int64_t place = at[0] * shape[1] + at[1];
    bool inside = true;
    for (size_t d = 0; d < dims; ++d) {
      const int64_t index =
          at[2 + dims + d] * strides[d] + at[2 + d] * dilations[d] - pads[d];
      inside &= index >= 0 && index < image[d];
      place = place * image[d] + index;
    }
    if (inside)
      y.floats[place] += x.floats[i];
  });
  call.setResult(0, std::move(y));
}

void centerCropPad(Call &call) {
  const Tensor &x = call.operand(0);
  const SmallVector<int64_t> target = call.integers(1);
  SmallVector<int64_t> axes = call.getInts("axes");
  if (!call.hasAttribute("axes"))
    for (int64_t d = 0; d < rankOf(x); ++d)
      axes.push_back(d);
  axes = call.normalAxes(axes, rankOf(x));
  if (call.failed() ||
      !call.require(axes.size() == target.size(), "extents do not fit"))
    return;
  Shape shape(x.shape), first(x.shape.size(), 0);
  for (size_t i = 0; i < axes.size(); ++i) {
    const int64_t axis = axes[i], had = x.shape[axis];
    shape[axis] = target[i];
    // Where the result starts in the operand.
    first[axis] =
        target[i] < had ? (had - target[i]) / 2 : -((target[i] - had) / 2);
  }
  call.setResult(0, rearranged(x, shape, [&](ArrayRef<int64_t> at) {
                   int64_t place = 0;
                   for (size_t d = 0; d < at.size(); ++d) {
                     const int64_t index = at[d] + first[d];
                     if (index < 0 || index >= x.shape[d])
                       return int64_t(-1);
                     place = place * x.shape[d] + index;
                   }
                   return place;
                 }));
}

void reverseSequence(Call &call) {
  const Tensor &x = call.operand(0);
  const SmallVector<int64_t> lengths = call.integers(1);
  const int64_t batch = call.getInt("batch_axis", 1),
                time = call.getInt("time_axis", 0);
  if (!call.require(rankOf(x) >= 2 && batch + time == 1 && batch * time == 0 &&
                        static_cast<int64_t>(lengths.size()) == x.shape[batch],
                    "lengths do not fit"))
    return;
  call.setResult(0, rearranged(x, x.shape, [&](ArrayRef<int64_t> at) {
                   int64_t place = 0;
                   const int64_t length = lengths[at[batch]];
                   for (int64_t d = 0; d < rankOf(x); ++d) {
                     const bool turns = d == time && at[d] < length;
                     place = place * x.shape[d] +
                             (turns ? length - 1 - at[d] : at[d]);
                   }
                   return place;
                 }));
}

/// By elimination with the largest pivot of each column.
double determinant(std::vector<double> m, int64_t n) {
  double product = 1;
  for (int64_t c = 0; c < n; ++c) {
    int64_t pivot = c;
    for (int64_t r = c + 1; r < n; ++r)
      if (std::abs(m[r * n + c]) > std::abs(m[pivot * n + c]))
        pivot = r;
    if (m[pivot * n + c] == 0)
      return 0;
    if (pivot != c) {
      product = -product;
      for (int64_t k = 0; k < n; ++k)
        std::swap(m[pivot * n + k], m[c * n + k]);
    }
    product *= m[c * n + c];
    for (int64_t r = c + 1; r < n; ++r) {
      const double factor = m[r * n + c] / m[c * n + c];
      for (int64_t k = c; k < n; ++k)
        m[r * n + k] -= factor * m[c * n + k];
    }
  }
  return product;
}

void det(Call &call) {
  const Tensor &x = call.operand(0);
  const size_t rank = x.shape.size();
  if (!call.require(rank >= 2 && x.isFloat() &&
                        x.shape[rank - 1] == x.shape[rank - 2],
                    "no square matrices"))
    return;
  const int64_t n = x.shape.back();
  Tensor y(x.type, ArrayRef<int64_t>(x.shape).drop_back(2));
  for (size_t i = 0; i < y.floats.size(); ++i) {
    const double *from = x.floats.data() + i * n * n;
    y.floats[i] = determinant({from, from + n * n}, n);
  }
  call.setResult(0, std::move(y));
}

} // namespace

std::vector<EvaluatorRow> onnxref::patchEvaluators() {
  return {
      {"Col2Im", {18}, 3, col2Im},
      {"CenterCropPad", {18}, 2, centerCropPad},
      {"ReverseSequence", {10}, 2, reverseSequence},
      {"Det", {11, 22}, 1, det},
  };
}
