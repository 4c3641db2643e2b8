// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// CropAndResize, point by point. Places are computed in binary32, which decides
// whether they are on the map.

#include "lib/Frontend/OnnxReference/Registry.h"
#include "lib/Frontend/OnnxReference/Walk.h"

#include <cmath>

using namespace ashlar;
using namespace ashlar::onnxref;

namespace {

/// Point i of `count` between two corners of a dimension.
float placeOf(float start, float end, int64_t i, int64_t count,
              int64_t extent) {
  const auto reach = static_cast<float>(extent - 1);
  if (count == 1)
    return (start + end) * 0.5f * reach;
  if (i == count - 1)
    return end * reach;
  const float step = (end - start) * reach / static_cast<float>(count - 1);
  return start * reach + static_cast<float>(i) * step;
}

/// One map of one image.
struct Plane {
  const double *first;
  int64_t width;

  double at(double line, double column) const {
    return first[static_cast<int64_t>(line) * width +
                 static_cast<int64_t>(column)];
  }
  double between(double line, double column) const {
    const double y = std::floor(line), x = std::floor(column),
                 below = std::ceil(line), beside = std::ceil(column);
    const double upper = at(y, x) + (at(y, beside) - at(y, x)) * (column - x),
                 lower = at(below, x) +
                         (at(below, beside) - at(below, x)) * (column - x);
    return upper + (lower - upper) * (line - y);
  }
};

void cropAndResize(Call &call) {
  const Tensor &x = call.operand(0), &boxes = call.operand(1),
               &images = call.operand(2);
  const SmallVector<int64_t> size = call.integers(3);
  const bool nearest = call.getString("mode", "bilinear") == "nearest";
  const double outside = call.getFloat("extrapolation_value", 0);
  if (!call.require(rankOf(x) == 4 && rankOf(boxes) == 2 &&
                        boxes.shape[1] == 4 && size.size() == 2 &&
                        images.size() == boxes.shape[0] && size[0] > 0 &&
                        size[1] > 0 && x.size() > 0,
                    "operands do not fit"))
    return;
  const int64_t height = x.shape[2], width = x.shape[3];
  Tensor y(x.type, {boxes.shape[0], x.shape[1], size[0], size[1]});
  forEachIndex(y.shape, [&](ArrayRef<int64_t> at, int64_t i) {
    auto corner = [&](int64_t k) {
      return static_cast<float>(boxes.floats[at[0] * 4 + k]);
    };
    const float line = placeOf(corner(0), corner(2), at[2], size[0], height),
                column = placeOf(corner(1), corner(3), at[3], size[1], width);
    const int64_t image = images.ints[at[0]];
    if (!call.require(image >= 0 && image < x.shape[0], "no such image"))
      return;
    if (line < 0 || line > static_cast<float>(height - 1) || column < 0 ||
        column > static_cast<float>(width - 1)) {
      y.floats[i] = outside;
      return;
    }
    const Plane plane{&x.floats[(image * x.shape[1] + at[1]) * height * width],
                      width};
    y.floats[i] = nearest ? plane.at(std::round(line), std::round(column))
                          : plane.between(line, column);
  });
  call.setResult(0, std::move(y));
}

} // namespace

std::vector<EvaluatorRow> onnxref::cropEvaluators() {
  return {{"CropAndResize",
           {1},
           4,
           cropAndResize,
           Continuity::OpenSteps,
           "com.microsoft"}};
}
