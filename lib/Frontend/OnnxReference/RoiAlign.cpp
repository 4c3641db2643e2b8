// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Regions of an image sampled to one size, one sample after the other.

#include "Registry.h"
#include "Walk.h"

#include <cmath>

using namespace ashlar;
using namespace ashlar::onnxref;

namespace {

/// The four weighted elements of a plane around (y, x); nothing beyond one
/// point outside of it.
void corners(const double *plane, int64_t height, int64_t width, double y,
             double x, double (&parts)[4]) {
  std::fill(std::begin(parts), std::end(parts), 0.0);
  if (y < -1 || x < -1 || y > static_cast<double>(height) ||
      x > static_cast<double>(width))
    return;
  auto split = [](double at, int64_t extent, int64_t (&index)[2],
                  double (&weight)[2]) {
    at = std::clamp(at, 0.0, static_cast<double>(extent - 1));
    index[0] = static_cast<int64_t>(at);
    index[1] = std::min(index[0] + 1, extent - 1);
    weight[1] = at - static_cast<double>(index[0]);
    weight[0] = 1 - weight[1];
  };
  int64_t rows[2], columns[2];
  double down[2], across[2];
  split(y, height, rows, down);
  split(x, width, columns, across);
  for (int i = 0; i < 4; ++i)
    parts[i] = plane[rows[i / 2] * width + columns[i % 2]] * down[i / 2] *
               across[i % 2];
}

void roiAlign(Call &call) {
  const Tensor &x = call.operand(0), &rois = call.operand(1);
  const SmallVector<int64_t> batches = call.integers(2);
  const bool half =
      call.opset() >= 16 && call.getString("coordinate_transformation_mode",
                                           "half_pixel") == "half_pixel";
  const bool maximum = call.getString("mode", "avg") == "max";
  const double scale = call.getFloat("spatial_scale", 1);
  const int64_t ratio = call.getInt("sampling_ratio", 0);
  const int64_t bins[2] = {call.getInt("output_height", 1),
                           call.getInt("output_width", 1)};
  if (!call.require(rankOf(x) == 4 && rankOf(rois) == 2 && x.isFloat() &&
                        rois.isFloat() && rois.shape[1] == 4,
                    "regions do not fit"))
    return;
  const int64_t channels = x.shape[1], height = x.shape[2], width = x.shape[3];
  Tensor y(x.type, {rois.shape[0], channels, bins[0], bins[1]});
  forEachIndex(y.shape, [&](ArrayRef<int64_t> at, int64_t i) {
    const double *roi = &rois.floats[at[0] * 4];
    double start[2], bin[2];
    int64_t samples[2];
    for (int d = 0; d < 2; ++d) {
      start[d] = roi[1 - d] * scale - (half ? 0.5 : 0);
      double size = (roi[3 - d] - roi[1 - d]) * scale;
      if (!half)
        size = std::max(size, 1.0);
      bin[d] = size / static_cast<double>(bins[d]);
      samples[d] =
          ratio > 0
              ? ratio
              : std::max<int64_t>(static_cast<int64_t>(std::ceil(bin[d])), 1);
    }
    int64_t batch = batches[at[0]];
    if (!call.require(batch >= 0 && batch < x.shape[0],
                      "a batch index is out of range"))
      return;
    const double *plane =
        &x.floats[(batch * channels + at[1]) * height * width];
    double sum = 0, top = -HUGE_VAL, parts[4];
    for (int64_t s = 0; s < samples[0] * samples[1]; ++s) {
      auto coordinate = [&](int d, int64_t k) {
        return start[d] + (static_cast<double>(at[d + 2]) +
                           (static_cast<double>(k) + 0.5) /
                               static_cast<double>(samples[d])) *
                              bin[d];
      };
      corners(plane, height, width, coordinate(0, s / samples[1]),
              coordinate(1, s % samples[1]), parts);
      for (double part : parts) {
        sum += part;
        top = std::max(top, part);
      }
    }
    y.floats[i] =
        maximum ? top : sum / static_cast<double>(samples[0] * samples[1]);
  });
  call.setResult(0, std::move(y));
}

/// The largest element of each bin; bins share the elements at their edges.
/// Edges are computed in binary32, as their rounding decides what is inside.
void maxRoiPool(Call &call) {
  const Tensor &x = call.operand(0), &rois = call.operand(1);
  const Shape bins = call.getInts("pooled_shape");
  const auto scale = static_cast<float>(call.getFloat("spatial_scale", 1));
  if (!call.require(rankOf(x) == 4 && rankOf(rois) == 2 && x.isFloat() &&
                        rois.isFloat() && rois.shape[1] == 5 &&
                        bins.size() == 2,
                    "regions do not fit"))
    return;
  Tensor y(x.type, {rois.shape[0], x.shape[1], bins[0], bins[1]});
  forEachIndex(y.shape, [&](ArrayRef<int64_t> at, int64_t i) {
    const double *roi = &rois.floats[at[0] * 5];
    const auto batch = static_cast<int64_t>(roi[0]);
    int64_t low[2], high[2];
    for (int d = 0; d < 2; ++d) {
      const float start = std::round(static_cast<float>(roi[2 - d]) * scale),
                  end = std::round(static_cast<float>(roi[4 - d]) * scale);
      const float bin =
          std::max(end - start + 1, 1.0f) / static_cast<float>(bins[d]);
      const auto place = static_cast<float>(at[d + 2]);
      const auto extent = static_cast<float>(x.shape[d + 2]);
      auto clipped = [&](float v) {
        return static_cast<int64_t>(std::min(std::max(v, 0.0f), extent));
      };
      low[d] = clipped(std::floor(place * bin) + start);
      high[d] = clipped(std::ceil((place + 1) * bin) + start);
    }
    if (!call.require(batch >= 0 && batch < x.shape[0],
                      "a batch index is out of range"))
      return;
    double top = -HUGE_VAL;
    for (int64_t r = low[0]; r < high[0]; ++r)
      for (int64_t c = low[1]; c < high[1]; ++c)
        top = std::max(
            top, x.floats[((batch * x.shape[1] + at[1]) * x.shape[2] + r) *
                              x.shape[3] +
                          c]);
    y.floats[i] = low[0] < high[0] && low[1] < high[1] ? top : 0;
  });
  call.setResult(0, std::move(y));
}

} // namespace

std::vector<EvaluatorRow> onnxref::regionEvaluators() {
  return {{"RoiAlign", {10, 16, 22}, 3, roiAlign, Continuity::Steps},
          {"MaxRoiPool", {1, 22}, 2, maxRoiPool, Continuity::Steps}};
}
