// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Resize and Upsample. Interpolation is separable: along each axis a result is
// a weighted sum of a few elements at constant positions, so an axis becomes
// gathers, products with constant weights, and additions. Coordinates are
// computed in binary32, as the peers do.

#include "lib/Frontend/Onnx/Registry.h"

#include "dialects/NN/NNElements.h"

#include <cmath>

using namespace ashlar;
using namespace ashlar::frontend;
using namespace ashlar::nn;

namespace {

/// What the attributes say.
struct Interpolation {
  std::string mode = "nearest", coordinates = "asymmetric", nearest = "floor";
  float cubicA = -0.75f;
  bool excludeOutside = false;
  bool antialias = false; ///< Kernels as wide as the elements they skip.
  /// tf_crop_and_resize: part of each axis (begin, end) that is shown, and the
  /// value of results outside the tensor.
  SmallVector<std::pair<float, float>> region;
  float extrapolation = 0;
};

/// One axis: result element i is added[i] plus the sum of
/// weights[t][i] * x[indices[t][i]].
struct Taps {
  SmallVector<SmallVector<int64_t>> indices;
  SmallVector<SmallVector<float>> weights;
  SmallVector<float> added;
};

/// The length that align_corners divides by: the one that a fractional scale
/// asks for, as in ONNX's reference and its test cases; the integer length
/// where the scale came from it.
float exactLength(float scale, int64_t size, int64_t result) {
  float wanted = scale * static_cast<float>(size);
  auto length = static_cast<float>(result);
  return std::fabs(wanted - length) < 1e-4f * length ? length : wanted;
}

float sourceCoordinate(const Interpolation &how, float x, float scale,
                       int64_t size, int64_t result) {
  if (how.coordinates == "half_pixel")
    return (x + 0.5f) / scale - 0.5f;
  if (how.coordinates == "pytorch_half_pixel")
    return result > 1 ? (x + 0.5f) / scale - 0.5f : 0.0f;
  if (how.coordinates == "align_corners")
    return result == 1 ? 0.0f
                       : x * static_cast<float>(size - 1) /
                             (exactLength(scale, size, result) - 1);
  if (how.coordinates == "tf_half_pixel_for_nn")
    return (x + 0.5f) / scale;
  if (how.coordinates == "half_pixel_symmetric") {
    float wanted = scale * static_cast<float>(size);
    float adjustment = static_cast<float>(result) / wanted;
    float offset = static_cast<float>(size) / 2 * (1 - adjustment);
    return offset + (x + 0.5f) / scale - 0.5f;
  }
  return x / scale; // asymmetric
}

float nearestIndex(const Interpolation &how, float x) {
  if (how.nearest == "floor")
    return std::floor(x);
  if (how.nearest == "ceil")
    return std::ceil(x);
  if (how.nearest == "round_prefer_ceil")
    return std::floor(x + 0.5f);
  return std::ceil(x - 0.5f); // round_prefer_floor
}

/// Keys' cubic kernel at distances 1 + s, s, 1 - s, 2 - s.
std::array<float, 4> cubicWeights(float s, float a) {
  return {((a * (s + 1) - 5 * a) * (s + 1) + 8 * a) * (s + 1) - 4 * a,
          ((a + 2) * s - (a + 3)) * s * s + 1,
          ((a + 2) * (1 - s) - (a + 3)) * (1 - s) * (1 - s) + 1,
          ((a * (2 - s) - 5 * a) * (2 - s) + 8 * a) * (2 - s) - 4 * a};
}

/// Keys' cubic kernel, or a triangle.
float kernelAt(const Interpolation &how, float x) {
  const float d = std::fabs(x), a = how.cubicA;
  if (how.mode == "linear")
    return std::max(1 - d, 0.0f);
  if (d <= 1)
    return ((a + 2) * d - (a + 3)) * d * d + 1;
  return d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a : 0;
}

/// First position and weights of a result whose place is x.
struct Row {
  float first = 0;
  SmallVector<float> weights;
};

/// Where elements are skipped, the kernel is stretched over all between two
/// results.
Row antialiasedRow(const Interpolation &how, float x, float scale) {
  const float reach = how.mode == "linear" ? 1 : 2, s = std::min(scale, 1.0f);
  const float start = std::floor(-reach / s) + 1, below = std::ceil(x) - 1;
  Row row;
  row.first = below + start;
  float total = 0;
  for (float k = start; k < 2 - start; ++k) {
    row.weights.push_back(kernelAt(how, (k - (x - below)) * s));
    total += row.weights.back();
  }
  for (float &weight : row.weights)
    weight /= total;
  return row;
}

float cropCoordinate(std::pair<float, float> region, float x, int64_t size,
                     int64_t result) {
  auto last = static_cast<float>(size - 1);
  if (result == 1)
    return 0.5f * (region.first + region.second) * last;
  return region.first * last + x * (region.second - region.first) * last /
                                   static_cast<float>(result - 1);
}

Row rowAt(const Interpolation &how, float x, float scale, int64_t size) {
  if (how.mode == "nearest")
    return {nearestIndex(how, x), {1}};
  if (how.antialias && scale < 1)
    return antialiasedRow(how, x, scale);
  if (how.mode == "linear") {
    x = std::clamp(x, 0.0f, static_cast<float>(size - 1));
    const float first = std::floor(x);
    return {first, {1 - (x - first), x - first}};
  }
  const std::array<float, 4> weights =
      cubicWeights(x - std::floor(x), how.cubicA);
  return {std::floor(x) - 1, {weights.begin(), weights.end()}};
}

Taps makeTaps(const Interpolation &how, size_t axis, float scale, int64_t size,
              int64_t result) {
  Taps taps;
  const auto last = static_cast<float>(size - 1);
  for (int64_t i = 0; i < result; ++i) {
    auto at = static_cast<float>(i);
    float x = how.region.empty()
                  ? sourceCoordinate(how, at, scale, size, result)
                  : cropCoordinate(how.region[axis], at, size, result);
    bool beyond = !how.region.empty() && (x < 0 || x > last);
    taps.added.push_back(beyond ? how.extrapolation : 0);
    Row row = rowAt(how, x, scale, size);
    const bool cut =
        how.excludeOutside && (row.weights.size() > 2 || how.antialias);
    taps.indices.resize(row.weights.size());
    taps.weights.resize(row.weights.size());
    float total = 0;
    for (auto [t, weight] : llvm::enumerate(row.weights)) {
      const float position = row.first + static_cast<float>(t);
      if (cut && (position < 0 || position > last))
        weight = 0;
      total += weight;
      taps.indices[t].push_back(
          static_cast<int64_t>(std::clamp(position, 0.0f, last)));
    }
    for (auto [t, weight] : llvm::enumerate(row.weights))
      taps.weights[t].push_back(beyond ? 0 : weight / (cut ? total : 1));
  }
  return taps;
}

Value weightConstant(Node &n, ArrayRef<float> weights, Value like,
                     int64_t axis) {
  Shape shape(rankOf(like), 1);
  shape[axis] = weights.size();
  mlir::Builder b(like.getContext());
  auto type = mlir::RankedTensorType::get(shape, b.getF32Type());
  std::string bytes(reinterpret_cast<const char *>(weights.data()),
                    weights.size() * sizeof(float));
  return n.cast(n.constant(makeElements(type, std::move(bytes), "weights")),
                elementOf(like));
}

Value applyTaps(Node &n, Value x, int64_t axis, const Taps &taps) {
  Value sum;
  for (size_t t = 0; t < taps.indices.size(); ++t) {
    ArrayRef<float> weights = taps.weights[t];
    if (llvm::all_of(weights, [](float w) { return w == 0; }))
      continue;
    Value part = n.gather(x, axis, taps.indices[t]);
    if (!part)
      return nullptr;
    if (!llvm::all_of(weights, [](float w) { return w == 1; }))
      part = n.binary<MulOp>(part, weightConstant(n, weights, part, axis));
    sum = sum ? n.binary<AddOp>(sum, part) : part;
  }
  if (!sum) // Every result lies outside: the first elements times 0.
    sum = n.binary<MulOp>(n.gather(x, axis, taps.indices[0]),
                          n.splat(0, elementOf(x)));
  if (sum && !llvm::all_of(taps.added, [](float value) { return value == 0; }))
    sum = n.binary<AddOp>(sum, weightConstant(n, taps.added, sum, axis));
  return sum;
}

/// Elements that an antialiased result stands for, at most: each costs two
/// operations.
constexpr int kMostSkipped = 32;

/// Resizes every axis whose size or scale changes.
void resizeAxes(Node &n, Value x, const Interpolation &how,
                ArrayRef<float> scales, ArrayRef<int64_t> sizes) {
  if (n.failed())
    return;
  if (!isFloatElement(x) && how.mode != "nearest") {
    n.unsupported("interpolation of elements of type {}", typeText(x));
    return;
  }
  Value y = x;
  for (auto [axis, size] : llvm::enumerate(sizes)) {
    int64_t from = shapeOf(x)[axis];
    bool whole =
        how.region.empty() || how.region[axis] == std::pair(0.0f, 1.0f);
    if (size == from && scales[axis] == 1.0f && whole)
      continue;
    if (from < 1 || size < 1 || size > (int64_t(1) << 24)) {
      n.malformed("cannot resize dimension {} of {} to {}", axis, typeText(x),
                  size);
      return;
    }
    if (how.antialias && scales[axis] * kMostSkipped < 1) {
      n.unsupported("antialias with the scale {} of dimension {}, expected at "
                    "least 1/{}",
                    scales[axis], axis, kMostSkipped);
      return;
    }
    y = applyTaps(n, y, axis, makeTaps(how, axis, scales[axis], from, size));
    if (!y)
      return;
  }
  n.setOutput(0, y);
}

std::optional<SmallVector<int64_t>> sizesFromScales(Node &n, Value x,
                                                    ArrayRef<float> scales) {
  if (static_cast<int64_t>(scales.size()) != rankOf(x)) {
    n.malformed("scales has {} entries, expected {}", scales.size(), rankOf(x));
    return std::nullopt;
  }
  SmallVector<int64_t> sizes;
  for (auto [size, scale] : llvm::zip(shapeOf(x), scales)) {
    float product = std::floor(static_cast<float>(size) * scale);
    if (!(scale > 0) || !(product < 0x1p31f)) {
      n.malformed("scale {} of a dimension of {}", scale, typeText(x));
      return std::nullopt;
    }
    sizes.push_back(static_cast<int64_t>(product));
  }
  return sizes;
}

SmallVector<float> toFloats(ArrayRef<double> numbers) {
  SmallVector<float> floats;
  for (double number : numbers)
    floats.push_back(static_cast<float>(number));
  return floats;
}

/// Upsample and Resize 10: asymmetric coordinates, floor.
enum class ScalesFrom : std::uint8_t { HeightAndWidth, Attribute, Input };

template <ScalesFrom from>
void upsample(Node &n) {
  Interpolation how;
  how.mode = n.getString("mode", "nearest");
  if (how.mode == "bilinear" || how.mode == "trilinear")
    how.mode = "linear";
  if (how.mode != "nearest" && how.mode != "linear")
    n.malformed("mode is '{}', expected nearest or linear",
                printable(how.mode));
  Value x = n.input(0);
  SmallVector<float> scales;
  if (from == ScalesFrom::Input) {
    auto numbers = n.constantNumbers(1, "scales");
    if (!numbers)
      return;
    scales = toFloats(*numbers);
  } else if (from == ScalesFrom::HeightAndWidth) {
    scales = toFloats(
        {1, 1, n.getFloat("height_scale", 0), n.getFloat("width_scale", 0)});
  } else {
    scales = toFloats(n.getFloats("scales"));
  }
  if (!x || n.failed())
    return;
  if (auto sizes = sizesFromScales(n, x, scales))
    resizeAxes(n, x, how, scales, *sizes);
}

/// Other tools take the integer length of the result in any case, so that the
/// corners meet.
void remarkCorners(Node &n, const Interpolation &how, ArrayRef<float> scales,
                   ArrayRef<int64_t> shape, ArrayRef<int64_t> sizes) {
  if (how.coordinates != "align_corners")
    return;
  for (auto [axis, size] : llvm::enumerate(sizes)) {
    const float length = exactLength(scales[axis], shape[axis], size);
    if (size == 1 || length == static_cast<float>(size))
      continue;
    n.remark(fmt::format(
        "align_corners with the scale {} measures dimension {} as {} elements, "
        "as ONNX's reference does; PyTorch and ONNX Runtime measure the {} of "
        "the result, which 'sizes' instead of 'scales' asks for",
        scales[axis], axis, length, size));
    return;
  }
}

Interpolation readInterpolation(Node &n) {
  Interpolation how;
  how.mode = n.getString("mode", "nearest");
  how.coordinates = n.getString("coordinate_transformation_mode", "half_pixel");
  how.nearest = n.getString("nearest_mode", "round_prefer_floor");
  how.cubicA = static_cast<float>(n.getFloat("cubic_coeff_a", -0.75));
  how.excludeOutside = n.getInt("exclude_outside", 0);
  how.extrapolation = static_cast<float>(n.getFloat("extrapolation_value", 0));
  auto check = [&](StringRef what, StringRef value,
                   std::initializer_list<StringRef> known) {
    if (!llvm::is_contained(known, value))
      n.malformed("{} is '{}', which this operator set does not have",
                  what.str(), printable(value));
  };
  check("mode", how.mode, {"nearest", "linear", "cubic"});
  check("coordinate_transformation_mode", how.coordinates,
        {"half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric",
         "tf_half_pixel_for_nn", "half_pixel_symmetric", "tf_crop_and_resize"});
  check("nearest_mode", how.nearest,
        {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"});
  return how;
}

/// `axes` (from version 18) say which dimensions scales and sizes are for.
SmallVector<int64_t> readAxes(Node &n, Value x) {
  SmallVector<int64_t> axes;
  if (n.opset() >= 18)
    axes = n.normalAxes(n.getInts("axes"), rankOf(x));
  if (axes.empty())
    for (int64_t axis = 0; axis < rankOf(x); ++axis)
      axes.push_back(axis);
  return axes;
}

/// The `roi` input of tf_crop_and_resize: all begins, then all ends.
void readRegion(Node &n, Value x, ArrayRef<int64_t> axes, Interpolation &how) {
  if (how.coordinates != "tf_crop_and_resize")
    return;
  auto numbers = n.constantNumbers(1, "roi");
  if (!numbers)
    return;
  if (numbers->size() != 2 * axes.size()) {
    n.malformed("roi has {} entries, expected {}", numbers->size(),
                2 * axes.size());
    return;
  }
  for (double number : *numbers)
    if (!std::isfinite(number)) {
      n.malformed("roi has the entry {}", number);
      return;
    }
  how.region.assign(rankOf(x), {0.0f, 1.0f});
  for (auto [i, axis] : llvm::enumerate(axes))
    how.region[axis] = {static_cast<float>((*numbers)[i]),
                        static_cast<float>((*numbers)[i + axes.size()])};
}

/// Applies keep_aspect_ratio_policy to `wanted`, in place.
void keepAspect(Node &n, StringRef policy, Value x, ArrayRef<int64_t> axes,
                SmallVector<int64_t> &wanted, SmallVector<float> &scales) {
  if (policy == "stretch")
    return;
  if (policy != "not_larger" && policy != "not_smaller") {
    n.malformed("keep_aspect_ratio_policy is '{}'", printable(policy));
    return;
  }
  float chosen = scales[axes.front()];
  for (int64_t axis : axes)
    chosen = policy == "not_larger" ? std::min(chosen, scales[axis])
                                    : std::max(chosen, scales[axis]);
  for (int64_t axis : axes) {
    float product = chosen * static_cast<float>(shapeOf(x)[axis]);
    wanted[axis] = static_cast<int64_t>(std::floor(product + 0.5f));
    scales[axis] = chosen;
  }
}

void resizeToSizes(Node &n, Value x, const Interpolation &how,
                   ArrayRef<int64_t> axes, StringRef policy) {
  auto given = n.constantIntegers(3, "sizes");
  if (!given)
    return;
  if (given->size() != axes.size()) {
    n.malformed("sizes has {} entries, expected {}", given->size(),
                axes.size());
    return;
  }
  SmallVector<int64_t> sizes(shapeOf(x));
  SmallVector<float> scales(sizes.size(), 1.0f);
  for (auto [axis, size] : llvm::zip(axes, *given)) {
    if (size < 1 || size > (int64_t(1) << 24) || shapeOf(x)[axis] < 1) {
      n.malformed("cannot resize dimension {} of {} to {}", axis, typeText(x),
                  size);
      return;
    }
    sizes[axis] = size;
    scales[axis] =
        static_cast<float>(size) / static_cast<float>(shapeOf(x)[axis]);
  }
  keepAspect(n, policy, x, axes, sizes, scales);
  resizeAxes(n, x, how, scales, sizes);
}

void resize(Node &n) {
  Interpolation how = readInterpolation(n);
  Value x = n.input(0);
  if (!x || n.failed())
    return;
  SmallVector<int64_t> axes = readAxes(n, x);
  readRegion(n, x, axes, how);
  bool antialias = n.opset() >= 18 && n.getInt("antialias", 0);
  std::string policy = "stretch";
  if (n.opset() >= 18)
    policy = n.getString("keep_aspect_ratio_policy", "stretch");
  // Version 11 always has scales; empty means that sizes count.
  bool hasScales = n.hasInput(2) && elementCount(shapeOf(n.input(2))) != 0;
  if (n.failed() || hasScales == n.hasInput(3)) {
    n.malformed("expected either scales or sizes");
    return;
  }
  how.antialias = antialias && how.mode != "nearest";
  if (!hasScales) {
    resizeToSizes(n, x, how, axes, policy);
    return;
  }
  auto numbers = n.constantNumbers(2, "scales");
  if (!numbers)
    return;
  if (numbers->size() != axes.size()) {
    n.malformed("scales has {} entries, expected {}", numbers->size(),
                axes.size());
    return;
  }
  SmallVector<float> scales(rankOf(x), 1.0f);
  for (auto [axis, scale] : llvm::zip(axes, *numbers))
    scales[axis] = static_cast<float>(scale);
  if (auto sizes = sizesFromScales(n, x, scales)) {
    remarkCorners(n, how, scales, shapeOf(x), *sizes);
    resizeAxes(n, x, how, scales, *sizes);
  }
}

} // namespace

std::vector<OperatorRow> ashlar::frontend::resizeRows() {
  const char *notes =
      "gathers with constant weights; nearest, linear, cubic; every coordinate "
      "mode; antialias down to 1/32; scales, sizes and roi must be constant";
  const char *upsampled = "as Resize, nearest and linear";
  return {
      {"Upsample", {1}, upsample<ScalesFrom::HeightAndWidth>, upsampled},
      {"Upsample", {7}, upsample<ScalesFrom::Attribute>, upsampled},
      {"Upsample", {9, 10}, upsample<ScalesFrom::Input>, upsampled},
      {"Resize",
       {10},
       upsample<ScalesFrom::Input>,
       "nearest and linear, asymmetric"},
      {"Resize", {11, 13, 18, 19}, resize, notes},
  };
}
