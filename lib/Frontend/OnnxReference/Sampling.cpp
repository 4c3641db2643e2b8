// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sampling at coordinates, one sample after the other.

#include "Registry.h"
#include "Walk.h"

#include <cmath>

using namespace ashlar;
using namespace ashlar::onnxref;

namespace {

/// Mirrors at both ends as often as needed.
double mirrored(double x, double low, double high) {
  const double range = high - low;
  if (range <= 0)
    return low;
  const bool below = x < low;
  if (!below && x <= high)
    return x;
  const double past = below ? low - x : x - high;
  const double turns = std::floor(past / range), rest = past - turns * range;
  const bool even = std::fmod(turns, 2) == 0;
  return below == even ? low + rest : high - rest;
}

class Sampler {
public:
  Sampler(Call &call, const Tensor &x) : x(x), dims(x.shape.size() - 2) {
    mode = call.getString("mode", "linear");
    padding = call.getString("padding_mode", "zeros");
    corners = call.getInt("align_corners", 0) != 0;
  }

  /// Of the plane that starts at element `plane`.
  double at(int64_t plane, const double *coordinates) const {
    SmallVector<double> place;
    for (size_t d = 0; d < dims; ++d)
      // The last coordinate is the first dimension's.
      place.push_back(position(d, coordinates[dims - 1 - d]));
    return sum(plane, place, 0, 0);
  }

private:
  double low() const { return corners ? 0 : -0.5; }
  double high(size_t d) const {
    return static_cast<double>(x.shape[d + 2]) - (corners ? 1 : 0.5);
  }

  double position(size_t d, double coordinate) const {
    const auto extent = static_cast<double>(x.shape[d + 2]);
    double p = corners ? (coordinate + 1) / 2 * (extent - 1)
                       : ((coordinate + 1) * extent - 1) / 2;
    if (mode == "nearest")
      p = std::nearbyint(p);
    const bool cubic = mode == "cubic" || mode == "bicubic";
    if (padding == "border" && !cubic)
      p = std::clamp(p, 0.0, extent - 1);
    else if (padding == "reflection")
      p = mirrored(p, low(), high(d));
    return mode == "nearest" ? std::nearbyint(p) : p;
  }

  /// The element index of one dimension, or -1 for a zero.
  int64_t index(size_t d, double p) const {
    const auto extent = static_cast<double>(x.shape[d + 2]);
    if (padding == "reflection")
      p = mirrored(p, low(), high(d));
    else if (padding == "zeros" && (p < 0 || p > extent - 1))
      return -1;
    return static_cast<int64_t>(std::clamp(p, 0.0, extent - 1));
  }

  static double cubic(double t) {
    constexpr double a = -0.75;
    t = std::fabs(t);
    if (t <= 1)
      return ((a + 2) * t - (a + 3)) * t * t + 1;
    return t < 2 ? ((a * t - 5 * a) * t + 8 * a) * t - 4 * a : 0;
  }

  /// The weighted sum over the taps of dimension d and those after it.
  double sum(int64_t plane, ArrayRef<double> place, size_t d,
             int64_t offset) const {
    if (d == dims)
      return x.floats[plane + offset];
    const double p = place[d], base = std::floor(p);
    const int from = mode == "cubic" || mode == "bicubic" ? -1 : 0,
              to = mode == "nearest" ? 0 : from + (from < 0 ? 3 : 1);
    double total = 0;
    for (int tap = from; tap <= to; ++tap) {
      const double distance = p - (base + tap);
      const double weight = mode == "nearest" ? 1
                            : from < 0        ? cubic(distance)
                                              : 1 - std::fabs(distance);
      const int64_t at = index(d, base + tap);
      if (at >= 0)
        total +=
            weight * sum(plane, place, d + 1, offset * x.shape[d + 2] + at);
    }
    return total;
  }

  const Tensor &x;
  size_t dims;
  std::string mode, padding;
  bool corners;
};

void gridSample(Call &call) {
  const Tensor &x = call.operand(0), &grid = call.operand(1);
  const int64_t dims = rankOf(x) - 2;
  if (!call.require(dims >= 1 && rankOf(grid) == rankOf(x) && x.isFloat() &&
                        grid.isFloat() && grid.shape.back() == dims &&
                        grid.shape[0] == x.shape[0],
                    "the grid does not fit"))
    return;
  const ArrayRef<int64_t> places =
      ArrayRef<int64_t>(grid.shape).drop_front().drop_back();
  Shape shape = {x.shape[0], x.shape[1]};
  shape.append(places.begin(), places.end());
  const Sampler sampler(call, x);
  const int64_t samples = elementCount(places),
                points = elementCount(ArrayRef<int64_t>(x.shape).drop_front(2));
  if (!call.require(points > 0, "no points"))
    return;
  Tensor y(x.type, shape);
  for (int64_t i = 0; i < y.size(); ++i) {
    const int64_t plane = i / samples, batch = plane / x.shape[1];
    y.floats[i] = sampler.at(
        plane * points, &grid.floats[(batch * samples + i % samples) * dims]);
  }
  call.setResult(0, std::move(y));
}

void affineGrid(Call &call) {
  const Tensor &theta = call.operand(0);
  const SmallVector<int64_t> size = call.integers(1);
  const bool corners = call.getInt("align_corners", 0) != 0;
  const auto dims = static_cast<int64_t>(size.size()) - 2;
  if (!call.require(dims >= 1 && theta.size() == size[0] * dims * (dims + 1) &&
                        theta.isFloat(),
                    "theta does not fit"))
    return;
  Shape shape = {size[0]};
  shape.append(size.begin() + 2, size.end());
  shape.push_back(dims);
  Tensor y(theta.type, shape);
  forEachIndex(shape, [&](ArrayRef<int64_t> at, int64_t i) {
    const double *row =
        &theta.floats[(at[0] * dims + at[dims + 1]) * (dims + 1)];
    double sum = row[dims];
    for (int64_t column = 0; column < dims; ++column) {
      const int64_t d = dims - 1 - column;
      const auto extent = static_cast<double>(size[d + 2]),
                 index = static_cast<double>(at[d + 1]);
      const double place = !corners      ? (2 * index + 1) / extent - 1
                           : extent == 1 ? 0
                                         : 2 * index / (extent - 1) - 1;
      sum += row[column] * place;
    }
    y.floats[i] = sum;
  });
  call.setResult(0, std::move(y));
}

} // namespace

std::vector<EvaluatorRow> onnxref::samplingEvaluators() {
  return {
      {"GridSample", {16, 20, 22}, 2, gridSample, Continuity::Steps},
      {"GridSample", {1}, 2, gridSample, Continuity::Steps, "com.microsoft"},
      {"AffineGrid", {20}, 2, affineGrid},
  };
}
