// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Boxes of feature maps, each resized to one size with its corners aligned.

#include "lib/Frontend/Onnx/Registry.h"
#include "lib/Frontend/Onnx/Rules/QuantizeParameters.h"

#include <fmt/format.h>

using namespace ashlar;
using namespace ashlar::frontend;
using namespace ashlar::nn;

namespace {

/// Where the points of one dimension of all boxes are read.
struct Places {
  Value low, high; ///< Indices [boxes, points].
  Value weight;    ///< Of the higher one, in binary32.
  Value inside;    ///< Whether the place is on the map.
};

Value real(Node &n, double value) { return n.splat(value, f32Of(n)); }

/// \p count points from \p start to \p end of the boxes [boxes, 1], 1 being the
/// last of \p extent elements; one point is in the middle.
Value pointsOf(Node &n, Value start, Value end, int64_t count, int64_t extent) {
  Value reach = real(n, static_cast<double>(extent - 1));
  if (count == 1)
    return n.binary<MulOp>(
        n.binary<MulOp>(n.binary<AddOp>(start, end), real(n, 0.5)), reach);
  Value step =
      n.binary<DivOp>(n.binary<MulOp>(n.binary<SubOp>(end, start), reach),
                      real(n, static_cast<double>(count - 1)));
  Value point = n.iota(count, 1, 2, n.indexType());
  Value place = n.binary<AddOp>(n.binary<MulOp>(start, reach),
                                n.binary<MulOp>(n.cast(point, f32Of(n)), step));
  Value last = n.compare(CompareKind::Equal, point,
                         n.integers(count - 1, {}, n.indexType()));
  return n.where(last, n.binary<MulOp>(end, reach), place);
}

/// \p nearest: the weights are 0, and a place between two is the higher one.
Places placesOf(Node &n, Value start, Value end, int64_t count, int64_t extent,
                bool nearest) {
  Value place = pointsOf(n, start, end, count, extent);
  Value zero = real(n, 0), top = real(n, static_cast<double>(extent - 1));
  Places p;
  p.inside = n.logical(LogicalKind::And,
                       n.compare(CompareKind::GreaterOrEqual, place, zero),
                       n.compare(CompareKind::LessOrEqual, place, top));
  place = n.where(p.inside, place, zero);
  if (nearest)
    place = n.unary(UnaryFunction::Floor, n.binary<AddOp>(place, real(n, 0.5)));
  Value low = n.unary(UnaryFunction::Floor, place);
  p.low = n.cast(low, n.indexType());
  p.high = n.cast(n.unary(UnaryFunction::Ceil, place), n.indexType());
  p.weight = n.binary<SubOp>(place, low);
  return p;
}

/// What all reads have in common.
struct Crops {
  Value rows;  ///< The map as [batch * height * width, channels].
  Value first; ///< The row of the first element of every box's image.
  int64_t boxes, height, width, channels, mapWidth;

  /// [boxes, height, width, channels] at indices of lines and columns.
  Value at(Node &n, Value line, Value column) const {
    if (n.failed() || !line || !column)
      return nullptr;
    Value row = n.binary<MulOp>(n.reshape(line, {boxes, height, 1}),
                                n.integers(mapWidth, {}, n.indexType()));
    row = n.binary<AddOp>(row, n.reshape(column, {boxes, 1, width}));
    row = n.binary<AddOp>(row, n.reshape(first, {boxes, 1, 1}));
    Value read = n.takeAt(rows, n.reshape(row, {boxes * height * width, 1}), 0);
    return n.reshape(read, {boxes, height, width, channels});
  }
};

/// a + (b - a) * weight.
Value between(Node &n, Value a, Value b, Value weight) {
  return n.binary<AddOp>(a, n.binary<MulOp>(n.binary<SubOp>(b, a), weight));
}

bool checkCrops(Node &n, Value x, Value boxes, Value images,
                ArrayRef<int64_t> size) {
  if (rankOf(x) == 4 && rankOf(boxes) == 2 && shapeOf(boxes)[1] == 4 &&
      shapeOf(images) == ShapeRef(shapeOf(boxes)[0]) && size.size() == 2 &&
      size[0] > 0 && size[1] > 0 && size[0] <= (1 << 20) &&
      size[1] <= (1 << 20) && elementCount(shapeOf(x)) > 0)
    return true;
  n.malformed("the map is {}, rois {}, batch_indices {} and crop_size [{}]",
              typeText(x), typeText(boxes), typeText(images),
              fmt::join(size, ", "));
  return false;
}

void cropAndResize(Node &n) {
  const double outside = n.getFloat("extrapolation_value", 0);
  const std::string mode = n.getString("mode", "bilinear");
  Value x = n.input(0), boxes = n.input(1), images = n.input(2);
  auto size = n.constantIntegers(3, "crop_size");
  if (!n.failed() && mode != "bilinear" && mode != "nearest")
    n.malformed("mode is '{}', expected bilinear or nearest", printable(mode));
  if (n.failed() || !checkCrops(n, x, boxes, images, *size))
    return;
  const Shape map(shapeOf(x));
  const int64_t count = shapeOf(boxes)[0];
  const bool nearest = mode == "nearest";
  boxes = n.cast(boxes, f32Of(n));
  auto corner = [&](int64_t i) { return n.sliceAxis(boxes, 1, i, 1); };
  const Places y = placesOf(n, corner(0), corner(2), (*size)[0], map[2],
                            nearest),
               z = placesOf(n, corner(1), corner(3), (*size)[1], map[3],
                            nearest);
  Crops c{n.reshape(n.transpose(x, {0, 2, 3, 1}),
                    {map[0] * map[2] * map[3], map[1]}),
          n.binary<MulOp>(n.cast(images, n.indexType()),
                          n.integers(map[2] * map[3], {}, n.indexType())),
          count,
          (*size)[0],
          (*size)[1],
          map[1],
          map[3]};
  Value found = c.at(n, y.low, z.low);
  if (!nearest && !n.failed()) {
    const Type type = elementOf(x);
    Value right = n.reshape(n.cast(z.weight, type), {count, 1, c.width, 1}),
          down = n.reshape(n.cast(y.weight, type), {count, c.height, 1, 1});
    Value upper = between(n, found, c.at(n, y.low, z.high), right);
    Value lower =
        between(n, c.at(n, y.high, z.low), c.at(n, y.high, z.high), right);
    found = between(n, upper, lower, down);
  }
  if (n.failed() || !found)
    return;
  Value inside =
      n.logical(LogicalKind::And, n.reshape(y.inside, {count, c.height, 1, 1}),
                n.reshape(z.inside, {count, 1, c.width, 1}));
  found = n.where(inside, found, n.splat(outside, elementOf(found)));
  n.setOutput(0, n.transpose(found, {0, 3, 1, 2}));
}

} // namespace

std::vector<OperatorRow> ashlar::frontend::cropRows() {
  return {{"CropAndResize",
           {1},
           cropAndResize,
           "reads of rows and sums; crop_size must be constant",
           "com.microsoft"}};
}
