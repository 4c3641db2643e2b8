// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Deformable convolution, one element of the result after the other.

#include "Registry.h"
#include "Walk.h"
#include "Windows.h"

#include <cmath>

using namespace ashlar;
using namespace ashlar::onnxref;

namespace {

/// A plane between its points, linear, 0 outside; `place` as many coordinates
/// as there are dimensions.
double between(const double *plane, ArrayRef<int64_t> extents,
               ArrayRef<double> place, int64_t offset = 0) {
  if (extents.empty())
    return plane[offset];
  const double base = std::floor(place[0]);
  double sum = 0;
  for (int side = 0; side < 2; ++side) {
    const double at = base + side;
    if (!(at >= 0 && at < static_cast<double>(extents[0])))
      continue;
    sum += (1 - std::fabs(place[0] - at)) *
           between(plane, extents.drop_front(), place.drop_front(),
                   offset * extents[0] + static_cast<int64_t>(at));
  }
  return sum;
}

class Deformed {
public:
  Deformed(Call &call, const Window &w)
      : x(call.operand(0)), weights(call.operand(1)), offset(call.operand(2)),
        mask(call.has(4) ? &call.operand(4) : nullptr), w(w),
        dims(rankOf(x) - 2), offsetGroups(call.getInt("offset_group", 1)),
        group(call.getInt("group", 1)) {}

  bool fits() const {
    const int64_t each =
        x.shape[0] * offsetGroups * w.kernelSize() * w.outSize();
    return group > 0 && offsetGroups > 0 && x.shape[1] % offsetGroups == 0 &&
           x.shape[1] == weights.shape[1] * group &&
           weights.shape[0] % group == 0 && offset.size() == each * dims &&
           (!mask || mask->size() == each);
  }

  /// The sum for result channel `channel` of sample n at position `position`.
  double at(int64_t n, int64_t channel, int64_t position) const {
    const int64_t own = weights.shape[1],
                  first = channel / (weights.shape[0] / group) * own;
    const ArrayRef<int64_t> extents = ArrayRef(x.shape).drop_front(2);
    double sum = 0;
    for (int64_t c = first; c < first + own; ++c)
      for (int64_t tap = 0; tap < w.kernelSize(); ++tap) {
        const int64_t row =
            (n * offsetGroups + c / (x.shape[1] / offsetGroups)) *
                w.kernelSize() +
            tap;
        const double factor =
            mask ? mask->floats[row * w.outSize() + position] : 1;
        sum +=
            weights.floats[(channel * own + c - first) * w.kernelSize() + tap] *
            factor *
            between(&x.floats[(n * x.shape[1] + c) * w.inSize()], extents,
                    placeOf(row, tap, position));
      }
    return sum;
  }

private:
  SmallVector<double> placeOf(int64_t row, int64_t tap,
                              int64_t position) const {
    SmallVector<double> place;
    const int64_t tapOf[3] = {tap / w.kernel[2] / w.kernel[1],
                              tap / w.kernel[2] % w.kernel[1],
                              tap % w.kernel[2]},
                  atOf[3] = {position / w.out[2] / w.out[1],
                             position / w.out[2] % w.out[1],
                             position % w.out[2]};
    for (int64_t i = 0; i < dims; ++i) {
      const auto d = static_cast<int>(3 - dims + i);
      place.push_back(static_cast<double>(w.at(d, atOf[d], tapOf[d])) +
                      offset.floats[(row * dims + i) * w.outSize() + position]);
    }
    return place;
  }

  const Tensor &x, &weights, &offset;
  const Tensor *mask;
  const Window &w;
  int64_t dims, offsetGroups, group;
};

void deformConv(Call &call) {
  const Tensor &x = call.operand(0), &weights = call.operand(1);
  if (!call.require(x.isFloat() && rankOf(x) >= 3 && rankOf(x) <= 5 &&
                        rankOf(weights) == rankOf(x),
                    "operands are no feature map and weights"))
    return;
  const Window w = readWindow(call, ArrayRef(x.shape).drop_front(2),
                              ArrayRef(weights.shape).drop_front(2), false);
  const Deformed deformed(call, w);
  if (call.failed() || !call.require(deformed.fits(), "operands do not fit"))
    return;
  const int64_t channels = weights.shape[0];
  Tensor y(x.type, resultShape(w, x.shape[0], channels, x.shape.size()));
  for (int64_t i = 0; i < y.size(); ++i) {
    const int64_t plane = i / w.outSize(), channel = plane % channels;
    y.floats[i] = deformed.at(plane / channels, channel, i % w.outSize()) +
                  (call.has(3) ? call.operand(3).floats[channel] : 0);
  }
  call.setResult(0, std::move(y));
}

} // namespace

std::vector<EvaluatorRow> onnxref::deformConvEvaluators() {
  return {{"DeformConv", {19, 22}, 3, deformConv}};
}
