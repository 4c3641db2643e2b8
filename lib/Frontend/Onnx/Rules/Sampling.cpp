// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sampling at coordinates, which may be known at run time: every tap is a read
// at computed indices times its weight.

#include "Sampling.h"

#include "lib/Frontend/Onnx/Registry.h"

#include <functional>

using namespace ashlar;
using namespace ashlar::frontend;
using namespace ashlar::nn;

namespace {

using F = UnaryFunction;

/// Short names for arithmetic with numbers.
class Formula {
public:
  Formula(Node &n, Type element) : n(n), element(element) {}
  Value number(double value) { return n.splat(value, element); }
  Value add(Value a, double b) { return n.binary<AddOp>(a, number(b)); }
  Value mul(Value a, double b) { return n.binary<MulOp>(a, number(b)); }
  Value add(Value a, Value b) { return n.binary<AddOp>(a, b); }
  Value sub(Value a, Value b) { return n.binary<SubOp>(a, b); }
  Value mul(Value a, Value b) { return n.binary<MulOp>(a, b); }

private:
  Node &n;
  Type element;
};

/// A coordinate folded into [low, high] by mirrors at both ends.
Value reflected(Node &n, Value x, double low, double high) {
  if (!x)
    return nullptr;
  const double range = high - low;
  if (range <= 0)
    return n.unary(F::Clip, x, low, low);
  Formula f(n, elementOf(x));
  Value away = n.unary(F::Abs, f.add(x, -low));
  Value turn = n.mod(away, f.number(2 * range), /*fmod=*/true);
  Value back = f.sub(f.number(2 * range), turn);
  return f.add(n.binary<MinOp>(turn, back), low);
}

/// Weight of the cubic kernel with a = -3/4 at the distance |t - tap|.
Value cubicWeight(Node &n, Value fraction, int tap) {
  constexpr double a = -0.75;
  if (!fraction)
    return nullptr;
  Formula f(n, elementOf(fraction));
  auto polynomial = [&](Value x, double c3, double c2, double c1, double c0) {
    Value y = f.add(f.mul(x, c3), c2);
    y = f.add(f.mul(y, x), c1);
    return f.add(f.mul(y, x), c0);
  };
  Value x = f.add(fraction, 1.0 - tap);
  x = n.unary(F::Abs, x);
  if (tap == 1 || tap == 2)
    return polynomial(x, a + 2, -(a + 3), 0, 1);
  return polynomial(x, a, -5 * a, 8 * a, -4 * a);
}

/// Ends of the range that reflection folds places into.
std::pair<double, double> mirrorsOf(const Sampler &s, int64_t extent) {
  const auto size = static_cast<double>(extent);
  return s.alignCorners ? std::pair(0.0, size - 1)
                        : std::pair(-0.5, size - 0.5);
}

/// The taps of one dimension for coordinates in [-1, 1].
SmallVector<Tap> tapsOf(Node &n, const Sampler &s, Value coordinate,
                        int64_t extent) {
  if (!coordinate)
    return {};
  Formula f(n, elementOf(coordinate));
  const auto size = static_cast<double>(extent);
  Value x = f.add(coordinate, 1.0);
  x = s.alignCorners ? f.mul(x, (size - 1) / 2)
                     : f.add(f.mul(x, size / 2), -0.5);
  return tapsAt(n, s, x, extent);
}

/// Sums over the taps of all dimensions of x [batch, channels, points];
/// coordinates and indices are [batch, 1, samples].
class Reader {
public:
  Reader(Node &n, Value x, ArrayRef<SmallVector<Tap>> taps, ShapeRef extents)
      : n(n), x(x), taps(taps), extents(extents) {}

  Value read() {
    visit(0, nullptr, nullptr);
    return sum;
  }

private:
  void visit(size_t d, Value index, Value weight) {
    if (n.failed())
      return;
    if (d == taps.size()) {
      Value value = n.takeAt(x, index, 2);
      if (weight)
        value = n.binary<MulOp>(value, weight);
      sum = sum ? n.binary<AddOp>(sum, value) : value;
      return;
    }
    const Type type = mlir::IntegerType::get(n.context(), 64);
    for (const Tap &tap : taps[d]) {
      Value place = tap.index, factor = tap.weight;
      if (index)
        place = n.binary<AddOp>(
            n.binary<MulOp>(index, n.integers(extents[d], {}, type)), place);
      if (weight && factor)
        factor = n.binary<MulOp>(weight, factor);
      visit(d + 1, place, factor ? factor : weight);
    }
  }

  Node &n;
  Value x;
  ArrayRef<SmallVector<Tap>> taps;
  ShapeRef extents;
  Value sum;
};

std::optional<Sampler> readSampler(Node &n, size_t dimensions) {
  Sampler s;
  s.alignCorners = n.getInt("align_corners", 0) != 0;
  const std::string mode = n.getString("mode", "linear"),
                    padding = n.getString("padding_mode", "zeros");
  if (mode == "nearest")
    s.taps = 1;
  else if (mode == "cubic" || mode == "bicubic")
    s.taps = 4;
  else if (mode != "linear" && mode != "bilinear")
    n.malformed("mode is '{}', expected nearest, linear or cubic", mode);
  if (padding == "border")
    s.padding = SamplePadding::Border;
  else if (padding == "reflection")
    s.padding = SamplePadding::Reflection;
  else if (padding != "zeros")
    n.malformed("padding_mode is '{}', expected zeros, border or reflection",
                padding);
  if (s.taps == 4 && dimensions != 2)
    n.malformed("cubic sampling of {} dimensions, expected 2", dimensions);
  if (n.failed())
    return std::nullopt;
  return s;
}

void gridSample(Node &n) {
  Value x = n.input(0), grid = n.input(1);
  if (!x || !grid)
    return;
  const int64_t dims = rankOf(x) - 2;
  const Shape shape(shapeOf(x)), places(shapeOf(grid));
  if (dims < 1 || rankOf(grid) != rankOf(x) || places.back() != dims ||
      places[0] != shape[0]) {
    n.malformed("the grid {} does not sample {}", typeText(grid), typeText(x));
    return;
  }
  const std::optional<Sampler> s = readSampler(n, dims);
  const ShapeRef extents = ShapeRef(shape).drop_front(2);
  const int64_t points = elementCount(extents),
                samples =
                    elementCount(ShapeRef(places).drop_front().drop_back());
  if (!s || n.failed())
    return;
  if (points == 0) {
    n.malformed("the input {} has no points", typeText(x));
    return;
  }
  Value rows = n.reshape(grid, {shape[0], samples, dims});
  if (rows && !elementOf(rows).isF64())
    rows = n.cast(rows, mlir::Float32Type::get(n.context()));
  SmallVector<SmallVector<Tap>> taps;
  for (int64_t d = 0; d < dims && !n.failed(); ++d) {
    // The last number of a place is the first dimension's.
    Value coordinate = n.reshape(n.sliceAxis(rows, 2, dims - 1 - d, 1),
                                 {shape[0], 1, samples});
    taps.push_back(tapsOf(n, *s, coordinate, extents[d]));
  }
  if (n.failed())
    return;
  const Type element = elementOf(x);
  Value flat = n.reshape(x, {shape[0], shape[1], points});
  flat = n.cast(flat, elementOf(rows));
  Value y = n.cast(readTaps(n, flat, taps, extents), element);
  Shape result = {shape[0], shape[1]};
  result.append(places.begin() + 1, places.end() - 1);
  n.setOutput(0, n.reshape(y, result));
}

/// Coordinates of the centres (or corners) of `extent` cells of [-1, 1].
Value baseCoordinates(Node &n, int64_t extent, bool corners, int64_t axis,
                      int64_t rank, Type element) {
  if (!n.reserve(extent, 2 * sizeof(double)))
    return nullptr;
  SmallVector<double> numbers;
  const auto size = static_cast<double>(extent);
  for (int64_t i = 0; i < extent; ++i) {
    const auto at = static_cast<double>(i);
    numbers.push_back(!corners      ? (2 * at + 1) / size - 1
                      : extent == 1 ? 0
                                    : 2 * at / (size - 1) - 1);
  }
  Shape shape(rank, 1);
  shape[axis] = extent;
  return n.floats(numbers, shape, element);
}

/// theta [batch, d, d + 1] applied to the places of a result of `size`.
void affineGrid(Node &n) {
  Value theta = n.input(0);
  auto size = n.constantIntegers(1, "size");
  const bool corners = n.getInt("align_corners", 0) != 0;
  if (!theta || !size)
    return;
  const auto dims = static_cast<int64_t>(size->size()) - 2;
  if (dims < 1 || dims > 3 || rankOf(theta) != 3 ||
      shapeOf(theta) != ShapeRef({(*size)[0], dims, dims + 1}) ||
      llvm::any_of(*size, [](int64_t extent) { return extent < 1; })) {
    n.malformed("theta is {} for a result of {}", typeText(theta),
                shapeToString(*size));
    return;
  }
  const Type element = elementOf(theta);
  const int64_t batch = (*size)[0], rank = dims + 2;
  auto entry = [&](int64_t row, int64_t column) {
    Value x = n.sliceAxis(n.sliceAxis(theta, 1, row, 1), 2, column, 1);
    Shape shape(rank, 1);
    shape[0] = batch;
    return n.reshape(x, shape);
  };
  SmallVector<Value> rows;
  Shape full = {batch};
  full.append(size->begin() + 2, size->end());
  full.push_back(1);
  for (int64_t row = 0; row < dims && !n.failed(); ++row) {
    Value sum = entry(row, dims);
    for (int64_t column = 0; column < dims; ++column) {
      // Column 0 is the last dimension.
      const int64_t axis = dims - column;
      Value base =
          baseCoordinates(n, (*size)[axis + 1], corners, axis, rank, element);
      sum = n.binary<AddOp>(sum, n.binary<MulOp>(base, entry(row, column)));
    }
    rows.push_back(n.broadcast(sum, full));
  }
  n.setOutput(0, n.concat(rows, rank - 1));
}

} // namespace

SmallVector<Tap> ashlar::frontend::tapsAt(Node &n, const Sampler &s, Value x,
                                          int64_t extent) {
  if (!x)
    return {};
  Formula f(n, elementOf(x));
  const auto size = static_cast<double>(extent);
  const auto [low, high] = mirrorsOf(s, extent);
  if (s.taps == 1)
    x = n.unary(F::Round, x); // Halves to the even integer.
  // Cubic weights count taps beyond the border, each of which is moved to it.
  if (s.padding == SamplePadding::Border && s.taps != 4)
    x = n.unary(F::Clip, x, 0, size - 1);
  if (s.padding == SamplePadding::Reflection)
    x = reflected(n, x, low, high);
  Value base = s.taps == 1 ? n.unary(F::Round, x) : n.unary(F::Floor, x);
  Value fraction = f.sub(x, base);
  const Type type = mlir::IntegerType::get(n.context(), 64);
  SmallVector<Tap> taps;
  for (int tap = 0; tap < s.taps && !n.failed(); ++tap) {
    Value place = f.add(base, s.taps == 4 ? tap - 1.0 : tap);
    Tap result;
    if (s.taps == 2)
      result.weight = tap == 0 ? f.sub(f.number(1), fraction) : fraction;
    if (s.taps == 4)
      result.weight = cubicWeight(n, fraction, tap);
    if (s.padding == SamplePadding::Reflection)
      place = reflected(n, place, low, high);
    Value inside = n.unary(F::Clip, place, 0, size - 1);
    if (s.padding == SamplePadding::Zeros) {
      Value kept = n.compare(CompareKind::Equal, inside, place);
      result.weight = n.where(kept, result.weight ? result.weight : f.number(1),
                              f.number(0));
    }
    result.index = n.cast(inside, type);
    taps.push_back(result);
  }
  return taps;
}

Value ashlar::frontend::readTaps(Node &n, Value x,
                                 ArrayRef<SmallVector<Tap>> taps,
                                 ShapeRef extents) {
  return Reader(n, x, taps, extents).read();
}

std::vector<OperatorRow> ashlar::frontend::samplingRows() {
  return {
      {"GridSample",
       {16, 20, 22},
       gridSample,
       "reads at computed indices times weights; every mode and padding, grids "
       "that are known at run time too"},
      {"GridSample", {1}, gridSample, "as GridSample of ONNX", "com.microsoft"},
      {"AffineGrid",
       {20},
       affineGrid,
       "products and sums; the size must be constant"},
  };
}
