// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Deformable convolution: every tap of every position is read at a place of its
// own; what was read is the input of a convolution with one tap.

#include "Sampling.h"
#include "Windows.h"

#include "lib/Frontend/Onnx/Registry.h"

using namespace ashlar;
using namespace ashlar::frontend;
using namespace ashlar::nn;

namespace {

struct Deformation {
  WindowAttributes window;
  Shape spatial, positions; ///< Extents of the input and of the result.
  int64_t group = 1, offsetGroups = 1;
  int64_t taps = 1, points = 1, places = 1; ///< Their element counts.
  int64_t batch = 0, channels = 0;
  int64_t dims() const { return static_cast<int64_t>(spatial.size()); }
};

/// Extents of the result; malformed if a window does not fit.
bool placeWindows(Node &n, Deformation &d) {
  for (int64_t i = 0, rank = d.dims(); i < rank; ++i) {
    const WindowAttributes &w = d.window;
    if (w.strides[i] < 1 || w.dilations[i] < 1 || w.pads[i] < 0 ||
        w.pads[i + rank] < 0 || d.spatial[i] < 1) {
      n.malformed("stride {}, dilation {} or pads of spatial dimension {} are "
                  "out of range",
                  w.strides[i], w.dilations[i], i);
      return false;
    }
    const int64_t reach = (w.kernel[i] - 1) * w.dilations[i] + 1;
    const int64_t room = d.spatial[i] + w.pads[i] + w.pads[i + rank] - reach;
    d.positions.push_back(room < 0 ? 0 : room / w.strides[i] + 1);
  }
  d.places = elementCount(d.positions);
  if (d.places == 0)
    n.malformed("the kernel {} does not fit into {}",
                shapeToString(d.window.kernel), typeText(n.input(0)));
  return !n.failed();
}

std::optional<Deformation> readDeformation(Node &n, Value x, Value w) {
  Deformation d;
  d.group = n.getInt("group", 1);
  d.offsetGroups = n.getInt("offset_group", 1);
  const Shape stated(n.getInts("kernel_shape"));
  if (rankOf(x) < 3 || rankOf(x) > 5 || rankOf(w) != rankOf(x) ||
      elementOf(w) != elementOf(x))
    n.malformed("weights {} for {}", typeText(w), typeText(x));
  if (n.failed())
    return std::nullopt;
  d.spatial.assign(shapeOf(x).begin() + 2, shapeOf(x).end());
  d.batch = shapeOf(x)[0];
  d.channels = shapeOf(x)[1];
  const Shape kernel(shapeOf(w).drop_front(2));
  d.window = readWindow(n, d.spatial, kernel);
  d.taps = elementCount(kernel);
  d.points = elementCount(d.spatial);
  if (n.failed())
    return std::nullopt;
  if (d.group < 1 || d.offsetGroups < 1 || d.taps < 1 || d.batch < 1 ||
      d.channels < 1 || d.channels % d.group != 0 ||
      d.channels % d.offsetGroups != 0 ||
      shapeOf(w)[1] * d.group != d.channels ||
      (!stated.empty() && stated != kernel))
    n.malformed("weights {} for {}, group {}, offset_group {}", typeText(w),
                typeText(x), d.group, d.offsetGroups);
  if (n.failed() || !placeWindows(n, d))
    return std::nullopt;
  return d;
}

/// An operand with `perPlace` numbers per offset group and tap, as
/// [batch * offset groups, taps, perPlace, places].
Value byTap(Node &n, const Deformation &d, Value x, int64_t perPlace,
            const char *name) {
  if (!x)
    return nullptr;
  Shape expected = {d.batch, d.offsetGroups * d.taps * perPlace};
  expected.append(d.positions);
  if (shapeOf(x) != ShapeRef(expected))
    return n.malformed("{} is {}, expected {}", name, typeText(x),
                       shapeToString(expected));
  return n.reshape(x, {d.batch * d.offsetGroups, d.taps, perPlace, d.places});
}

/// Places along dimension `dim` without the offsets, [1, 1, taps * places].
Value regularPlaces(Node &n, const Deformation &d, int64_t dim, Type element) {
  if (!n.reserve(d.taps * d.places, 2 * sizeof(double)))
    return nullptr;
  const WindowAttributes &w = d.window;
  const int64_t innerTaps =
                    elementCount(ShapeRef(w.kernel).drop_front(dim + 1)),
                innerPlaces =
                    elementCount(ShapeRef(d.positions).drop_front(dim + 1));
  SmallVector<double> numbers;
  for (int64_t tap = 0; tap < d.taps; ++tap)
    for (int64_t place = 0; place < d.places; ++place)
      numbers.push_back(static_cast<double>(
          place / innerPlaces % d.positions[dim] * w.strides[dim] -
          w.pads[dim] + tap / innerTaps % w.kernel[dim] * w.dilations[dim]));
  return n.floats(numbers, {1, 1, d.taps * d.places}, element);
}

/// What the taps read, [batch, channels * taps, places].
Value readPlaces(Node &n, const Deformation &d, Value x, Value offset,
                 Value mask) {
  const Type given = elementOf(x);
  const Type element =
      given.isF64() ? given : Type(mlir::Float32Type::get(n.context()));
  Value shifts = n.cast(byTap(n, d, offset, d.dims(), "offset"), element);
  const int64_t rows = d.batch * d.offsetGroups, samples = d.taps * d.places;
  SmallVector<SmallVector<Tap>> taps;
  for (int64_t i = 0; i < d.dims() && !n.failed(); ++i) {
    Value shift = n.reshape(n.sliceAxis(shifts, 2, i, 1), {rows, 1, samples});
    Value place = n.binary<AddOp>(regularPlaces(n, d, i, element), shift);
    taps.push_back(tapsAt(n, Sampler(), place, d.spatial[i]));
  }
  if (n.failed())
    return nullptr;
  Value maps = n.reshape(x, {rows, d.channels / d.offsetGroups, d.points});
  Value read = readTaps(n, n.cast(maps, element), taps, d.spatial);
  if (mask)
    read = n.binary<MulOp>(
        read, n.reshape(n.cast(byTap(n, d, mask, 1, "mask"), element),
                        {rows, 1, samples}));
  return n.reshape(n.cast(read, given),
                   {d.batch, d.channels * d.taps, d.places});
}

void deformConv(Node &n) {
  Value x = n.input(0), w = n.input(1), offset = n.input(2);
  if (!x || !w || !offset)
    return;
  const std::optional<Deformation> d = readDeformation(n, x, w);
  if (!d)
    return;
  Value read = readPlaces(n, *d, x, offset, n.optionalInput(4));
  const int64_t results = shapeOf(w)[0];
  Value weights = n.reshape(w, {results, d->channels / d->group * d->taps, 1});
  Value y =
      n.conv(read, weights, n.optionalInput(3), {{1}, {0, 0}, {1}, d->group});
  Shape shape = {d->batch, results};
  shape.append(d->positions);
  n.setOutput(0, n.reshape(y, shape));
}

} // namespace

std::vector<OperatorRow> ashlar::frontend::deformConvRows() {
  return {{"DeformConv",
           {19, 22},
           deformConv,
           "reads at computed places and one convolution; 1 to 3 spatial "
           "dimensions, groups, masks"}};
}
