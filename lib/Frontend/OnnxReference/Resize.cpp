// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Resize and Upsample: every result is a sum of elements around its place in
// the operand, with weights that are products over the axes. ONNX does not say
// in which precision that place is computed, which decides where a nearest
// neighbour changes; it is binary32 here, as in the runtimes.

#include "Registry.h"
#include "Walk.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"

#include <cmath>

using namespace ashlar;
using namespace ashlar::onnxref;

namespace {

struct Rule {
  std::string mode, coordinates, nearest;
  double cubic = -0.75, extrapolation = 0;
  bool excludeOutside = false, antialias = false;
};

/// One axis of the operand and what becomes of it.
struct Axis {
  int64_t size = 1, result = 1;
  float scale = 1;
  float begin = 0, end = 1; ///< The region of tf_crop_and_resize.
};

/// An element that takes part in a result, and its weight along this axis.
struct Tap {
  int64_t index;
  double weight;
};

/// Taps of one position of a result; none if it lies outside of the region.
using Taps = SmallVector<Tap, 4>;

/// The length that align_corners divides: the one that a fractional scale asks
/// for, unless that is the result's up to rounding.
float wantedLength(const Axis &axis) {
  const float wanted = axis.scale * static_cast<float>(axis.size);
  const auto length = static_cast<float>(axis.result);
  return std::fabs(wanted - length) < 1e-4f * length ? length : wanted;
}

/// Where position `at` of the result lies on the axis of the operand.
float originalPlace(const Rule &rule, const Axis &axis, float at) {
  const auto size = static_cast<float>(axis.size),
             result = static_cast<float>(axis.result);
  const StringRef mode = rule.coordinates;
  if (mode == "tf_crop_and_resize") {
    if (axis.result == 1)
      return 0.5f * (axis.begin + axis.end) * (size - 1);
    return axis.begin * (size - 1) +
           at * (axis.end - axis.begin) * (size - 1) / (result - 1);
  }
  if (mode == "align_corners")
    return axis.result == 1 ? 0 : at * (size - 1) / (wantedLength(axis) - 1);
  if (mode == "asymmetric")
    return at / axis.scale;
  if (mode == "tf_half_pixel_for_nn")
    return (at + 0.5f) / axis.scale;
  if (mode == "pytorch_half_pixel" && axis.result == 1)
    return 0;
  const float place = (at + 0.5f) / axis.scale - 0.5f;
  if (mode != "half_pixel_symmetric")
    return place;
  const float adjustment = result / (axis.scale * size);
  return size / 2 * (1 - adjustment) + place;
}

Taps nearestTap(const Rule &rule, float place) {
  const float below = std::floor(place), rest = place - below;
  bool up = false;
  if (rule.nearest == "ceil")
    up = rest > 0;
  else if (rule.nearest == "round_prefer_floor")
    up = rest > 0.5f;
  else if (rule.nearest == "round_prefer_ceil")
    up = rest >= 0.5f;
  return {{static_cast<int64_t>(below) + up, 1}};
}

Taps cubicTaps(const Rule &rule, float place) {
  const float below = std::floor(place);
  const double a = rule.cubic, s = place - below;
  auto near = [&](double d) { return ((a + 2) * d - (a + 3)) * d * d + 1; };
  auto far = [&](double d) { return ((d - 5) * d + 8) * d * a - 4 * a; };
  const auto first = static_cast<int64_t>(below);
  return {{first - 1, far(1 + s)},
          {first, near(s)},
          {first + 1, near(1 - s)},
          {first + 2, far(2 - s)}};
}

/// The kernel stretched by the scale, over all elements that it reaches, so
/// that their weights sum to 1.
Taps stretchedTaps(const Rule &rule, const Axis &axis, float place) {
  const double scale = axis.scale, a = rule.cubic;
  const bool linear = rule.mode == "linear";
  auto kernel = [&](double d) {
    d = std::abs(d);
    if (linear)
      return std::max(1 - d, 0.0);
    if (d <= 1)
      return ((a + 2) * d - (a + 3)) * d * d + 1;
    return d < 2 ? ((d - 5) * d + 8) * d * a - 4 * a : 0;
  };
  const double reach = (linear ? 1 : 2) / scale;
  Taps taps;
  double sum = 0;
  for (auto i = static_cast<int64_t>(std::floor(place - reach));
       static_cast<double>(i) <= place + reach; ++i) {
    const double weight = kernel((static_cast<double>(i) - place) * scale);
    taps.push_back({i, weight});
    sum += weight;
  }
  for (Tap &tap : taps)
    tap.weight /= sum;
  return taps;
}

Taps tapsAt(const Rule &rule, const Axis &axis, int64_t at) {
  const float place = originalPlace(rule, axis, static_cast<float>(at));
  if (rule.coordinates == "tf_crop_and_resize" &&
      (place < 0 || place > static_cast<float>(axis.size - 1)))
    return {};
  Taps taps;
  if (rule.mode == "nearest") {
    taps = nearestTap(rule, place);
  } else if (rule.antialias && axis.scale < 1) {
    taps = stretchedTaps(rule, axis, place);
  } else if (rule.mode == "linear") {
    const float below = std::floor(place);
    const double rest = place - below;
    const auto first = static_cast<int64_t>(below);
    taps = {{first, 1 - rest}, {first + 1, rest}};
  } else {
    taps = cubicTaps(rule, place);
  }
  double sum = 0;
  for (Tap &tap : taps) {
    const int64_t index = std::clamp<int64_t>(tap.index, 0, axis.size - 1);
    if (rule.excludeOutside && index != tap.index && rule.mode != "nearest")
      tap.weight = 0;
    tap.index = index;
    sum += tap.weight;
  }
  if (rule.excludeOutside && sum != 0)
    for (Tap &tap : taps)
      tap.weight /= sum;
  return taps;
}

/// The sum over the taps of all axes from `axis` on.
double sumTaps(const std::vector<double> &x, ArrayRef<const Taps *> taps,
               ArrayRef<int64_t> strides, size_t axis, int64_t place) {
  if (axis == taps.size())
    return x[place];
  double sum = 0;
  for (const Tap &tap : *taps[axis])
    sum += tap.weight * sumTaps(x, taps, strides, axis + 1,
                                place + tap.index * strides[axis]);
  return sum;
}

void resizeTo(Call &call, const Rule &rule, ArrayRef<Axis> axes) {
  const Tensor &x = call.operand(0);
  Shape shape;
  std::vector<std::vector<Taps>> tapsOf;
  for (const Axis &axis : axes) {
    shape.push_back(axis.result);
    if (!call.require(axis.result >= 0 && (axis.size > 0 || axis.result == 0),
                      "an axis cannot be resized"))
      return;
    const bool stays = axis.result == axis.size && axis.scale == 1 &&
                       axis.begin == 0 && axis.end == 1;
    std::vector<Taps> &own = tapsOf.emplace_back();
    for (int64_t at = 0; at < axis.result; ++at)
      own.push_back(stays ? Taps{{at, 1}} : tapsAt(rule, axis, at));
  }
  const Shape strides = reference::rowMajorStrides(x.shape);
  Tensor y(x.type, shape);
  SmallVector<const Taps *> taps(shape.size());
  forEachIndex(shape, [&](ArrayRef<int64_t> at, int64_t i) {
    bool outside = false;
    int64_t first = 0;
    for (size_t d = 0; d < at.size(); ++d) {
      taps[d] = &tapsOf[d][at[d]];
      outside |= taps[d]->empty();
      first += outside ? 0 : taps[d]->front().index * strides[d];
    }
    if (!x.isFloat())
      y.ints[i] =
          outside ? static_cast<int64_t>(rule.extrapolation) : x.ints[first];
    else
      y.floats[i] =
          outside ? rule.extrapolation : sumTaps(x.floats, taps, strides, 0, 0);
  });
  call.setResult(0, std::move(y));
}

/// Results have floor(size * scale) elements.
void applyScales(ArrayRef<double> scales, SmallVector<Axis> &axes,
                 ArrayRef<int64_t> which) {
  for (auto [scale, axis] : llvm::zip(scales, which)) {
    Axis &own = axes[axis];
    own.scale = static_cast<float>(scale);
    own.result = static_cast<int64_t>(
        std::floor(static_cast<float>(own.size) * own.scale));
  }
}

/// Sizes as they are, or the one scale that keeps all of them within the wanted
/// ones or beyond.
void applySizes(ArrayRef<int64_t> sizes, StringRef policy,
                SmallVector<Axis> &axes, ArrayRef<int64_t> which) {
  float chosen = policy == "not_larger" ? HUGE_VALF : 0;
  for (auto [size, axis] : llvm::zip(sizes, which)) {
    Axis &own = axes[axis];
    own.result = size;
    own.scale = static_cast<float>(size) / static_cast<float>(own.size);
    chosen = policy == "not_larger" ? std::min(chosen, own.scale)
                                    : std::max(chosen, own.scale);
  }
  if (policy == "stretch")
    return;
  for (int64_t axis : which) {
    Axis &own = axes[axis];
    own.scale = chosen;
    own.result = static_cast<int64_t>(
        std::floor(chosen * static_cast<float>(own.size) + 0.5f));
  }
}

SmallVector<Axis> axesOf(const Tensor &x) {
  SmallVector<Axis> axes;
  for (int64_t size : x.shape)
    axes.push_back({size, size});
  return axes;
}

/// Upsample and Resize 10.
enum class ScalesFrom : std::uint8_t { HeightAndWidth, Attribute, Operand };

template <ScalesFrom from>
void upsample(Call &call) {
  const Tensor &x = call.operand(0);
  Rule rule;
  rule.mode = call.getString("mode", "nearest");
  if (rule.mode != "nearest")
    rule.mode = "linear";
  rule.coordinates = "asymmetric";
  rule.nearest = "floor";
  SmallVector<double> scales;
  if (from == ScalesFrom::HeightAndWidth)
    scales = {1, 1, call.getFloat("height_scale", 0),
              call.getFloat("width_scale", 0)};
  else if (from == ScalesFrom::Attribute)
    scales = call.getFloats("scales");
  else if (call.has(1))
    scales = call.numbers(1);
  if (!call.require(scales.size() == x.shape.size(), "no scale for each axis"))
    return;
  SmallVector<Axis> axes = axesOf(x);
  applyScales(scales, axes, llvm::to_vector(llvm::seq<int64_t>(0, rankOf(x))));
  resizeTo(call, rule, axes);
}

void resize(Call &call) {
  const Tensor &x = call.operand(0);
  Rule rule{call.getString("mode", "nearest"),
            call.getString("coordinate_transformation_mode", "half_pixel"),
            call.getString("nearest_mode", "round_prefer_floor"),
            call.getFloat("cubic_coeff_a", -0.75),
            call.getFloat("extrapolation_value", 0),
            call.getInt("exclude_outside", 0) != 0,
            call.getInt("antialias", 0) != 0};
  SmallVector<int64_t> which = call.normalAxes(call.getInts("axes"), rankOf(x));
  if (call.failed())
    return;
  if (which.empty())
    which = llvm::to_vector(llvm::seq<int64_t>(0, rankOf(x)));
  SmallVector<Axis> axes = axesOf(x);
  const size_t count = which.size();
  if (rule.coordinates == "tf_crop_and_resize") {
    const SmallVector<double> region =
        call.has(1) ? call.numbers(1) : SmallVector<double>();
    if (!call.require(region.size() == 2 * count, "roi is not a pair per axis"))
      return;
    for (auto [i, axis] : llvm::enumerate(which)) {
      axes[axis].begin = static_cast<float>(region[i]);
      axes[axis].end = static_cast<float>(region[i + count]);
    }
  }
  const bool byScale = call.has(2) && call.operand(2).size() != 0;
  if (!call.require(byScale || call.has(3), "neither scales nor sizes") ||
      !call.require(call.operand(byScale ? 2 : 3).size() ==
                        static_cast<int64_t>(count),
                    "no scale or size for each axis"))
    return;
  if (byScale)
    applyScales(call.numbers(2), axes, which);
  else
    applySizes(call.integers(3),
               call.getString("keep_aspect_ratio_policy", "stretch"), axes,
               which);
  if (!call.failed())
    resizeTo(call, rule, axes);
}

} // namespace

std::vector<EvaluatorRow> onnxref::resizeEvaluators() {
  return {
      {"Upsample", {1}, 1, upsample<ScalesFrom::HeightAndWidth>},
      {"Upsample", {7}, 1, upsample<ScalesFrom::Attribute>},
      {"Upsample", {9, 10}, 2, upsample<ScalesFrom::Operand>},
      {"Resize", {10}, 2, upsample<ScalesFrom::Operand>},
      {"Resize", {11, 13, 18, 19}, 1, resize},
  };
}
