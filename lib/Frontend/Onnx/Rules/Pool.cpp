// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pooling and the local response normalisation built on it.

#include "Windows.h"
#include "lib/Frontend/Onnx/Registry.h"

using namespace ashlar;
using namespace ashlar::frontend;
using namespace ashlar::nn;

namespace {

std::optional<Emitter::PoolAttributes> readPool(Node &n, Value x) {
  if (!x)
    return std::nullopt;
  if (rankOf(x) < 3 || rankOf(x) > 5) {
    n.unsupported("the input {} has {} spatial dimensions, expected 1 to 3",
                  typeText(x), rankOf(x) - 2);
    return std::nullopt;
  }
  ShapeRef spatial = shapeOf(x).drop_front(2);
  Shape kernel(n.getInts("kernel_shape"));
  if (kernel.size() != spatial.size()) {
    n.malformed("kernel_shape has {} entries, expected {}", kernel.size(),
                spatial.size());
    return std::nullopt;
  }
  bool ceil = n.getInt("ceil_mode", 0);
  WindowAttributes window = readWindow(n, spatial, kernel);
  if (n.failed())
    return std::nullopt;
  Emitter::PoolAttributes a;
  a.kernel = window.kernel;
  a.strides = window.strides;
  a.pads = window.pads;
  a.dilations = window.dilations;
  if (ceil && !window.samePadding)
    a.rounding = Rounding::Ceil;
  return a;
}

Value placesOfMaxima(Node &n, Value x, const Emitter::PoolAttributes &a,
                     ShapeRef result, ShapeRef input, bool columns);

void maxPool(Node &n) {
  Value x = n.input(0);
  const bool columns = n.getInt("storage_order", 0) != 0;
  std::optional<Emitter::PoolAttributes> a = readPool(n, x);
  if (!a)
    return;
  n.setOutput(0, n.maxPool(x, *a));
  if (!n.outputUsed(1) || n.failed())
    return;
  if (!isFloatElement(x)) {
    n.unsupported("the indices output of integers is used");
    return;
  }
  const std::optional<Shape> shape = n.poolShape(x, *a);
  if (!shape)
    return;
  Shape low(rankOf(x), 0), high(rankOf(x), 0);
  for (size_t d = 0; d < a->kernel.size(); ++d) {
    const int64_t reach = ((*shape)[d + 2] - 1) * a->strides[d] +
                          (a->kernel[d] - 1) * a->dilations[d] + 1;
    low[d + 2] = a->pads[d];
    high[d + 2] = reach - a->pads[d] - shapeOf(x)[d + 2];
  }
  Value wide = n.pad(x, low, high, PadMode::Constant,
                     -std::numeric_limits<double>::infinity());
  n.setOutput(1, placesOfMaxima(n, wide, *a, *shape, shapeOf(x), columns));
}

/// The channels are in the last axis.
void maxPoolOfLast(Node &n) {
  Value x = channelsFirst(n, n.input(0), /*last=*/true);
  if (std::optional<Emitter::PoolAttributes> a = readPool(n, x))
    n.setOutput(0, channelsLast(n, n.maxPool(x, *a), /*last=*/true));
}

void averagePool(Node &n) {
  Value x = n.input(0);
  bool include = n.getInt("count_include_pad", 0);
  if (std::optional<Emitter::PoolAttributes> a = readPool(n, x)) {
    a->countIncludePad = include;
    n.setOutput(0, n.avgPool(x, *a));
  }
}

template <ReduceKind kind>
void globalPool(Node &n) {
  Value x = n.input(0);
  if (!x)
    return;
  if (rankOf(x) < 3) {
    n.malformed("the input {} has no spatial dimensions", typeText(x));
    return;
  }
  SmallVector<int64_t> axes;
  for (int64_t axis = 2; axis < rankOf(x); ++axis)
    axes.push_back(axis);
  n.setOutput(0, n.reduce(kind, x, axes, true));
}

/// x * (bias + alpha / size * sum of squares over `size` channels) ^ -beta. The
/// sum over channels is a pool over [N, 1, C, H*W].
void lrn(Node &n) {
  double alpha = n.getFloat("alpha", 0.0001f), beta = n.getFloat("beta", 0.75f);
  double bias = n.getFloat("bias", 1.0f);
  int64_t size = n.getInt("size", 0);
  Value x = n.input(0);
  if (!x)
    return;
  if (rankOf(x) < 2 || size < 1 || size > (int64_t(1) << 20)) {
    n.malformed("size is {} for the input {}", size, typeText(x));
    return;
  }
  ShapeRef shape = shapeOf(x);
  int64_t spatial = elementCount(shape.drop_front(2));
  Emitter::PoolAttributes a;
  a.kernel = {size, 1};
  a.strides = {1, 1};
  a.dilations = {1, 1};
  a.pads = {(size - 1) / 2, 0, size - 1 - (size - 1) / 2, 0};
  a.sums = true;
  Value squares = n.binary<MulOp>(x, x);
  Value sum =
      n.avgPool(n.reshape(squares, {shape[0], 1, shape[1], spatial}), a);
  sum = n.reshape(sum, shape);
  if (!sum)
    return;
  auto number = [&](double value) { return n.splat(value, elementOf(x)); };
  Value scaled =
      n.binary<MulOp>(sum, number(alpha / static_cast<double>(size)));
  Value base = n.binary<AddOp>(scaled, number(bias));
  n.setOutput(0, n.binary<MulOp>(x, n.binary<PowOp>(base, number(-beta))));
}

/// (sum of |x|^p)^(1/p), the sum being an average of complete windows times
/// their size: the pads are zeros, and windows that overhang get more of them.
void lpPool(Node &n) {
  Value x = n.input(0);
  // p was a float in version 1.
  const double p = n.opset() < 2 ? n.getFloat("p", 2.0f)
                                 : static_cast<double>(n.getInt("p", 2));
  std::optional<Emitter::PoolAttributes> a = readPool(n, x);
  if (!a)
    return;
  if (p <= 0) {
    n.malformed("p is {}", p);
    return;
  }
  std::optional<Shape> shape = n.poolShape(x, *a);
  if (!shape)
    return;
  const size_t dims = a->kernel.size();
  Shape low(rankOf(x), 0), high(rankOf(x), 0);
  for (size_t d = 0; d < dims; ++d) {
    const int64_t reach = ((*shape)[d + 2] - 1) * a->strides[d] +
                          (a->kernel[d] - 1) * a->dilations[d] + 1;
    low[d + 2] = a->pads[d];
    high[d + 2] = reach - a->pads[d] - shapeOf(x)[d + 2];
  }
  a->pads.assign(2 * dims, 0);
  a->rounding = Rounding::Floor;
  auto number = [&](double value) { return n.splat(value, elementOf(x)); };
  Value power =
      p == 2   ? n.binary<MulOp>(x, x)
      : p == 1 ? n.unary(UnaryFunction::Abs, x)
               : n.binary<PowOp>(n.unary(UnaryFunction::Abs, x), number(p));
  Value mean = n.avgPool(n.pad(power, low, high, PadMode::Constant, 0), *a);
  Value sum = n.binary<MulOp>(
      mean, number(static_cast<double>(elementCount(a->kernel))));
  n.setOutput(0, p == 1   ? sum
                 : p == 2 ? n.unary(UnaryFunction::Sqrt, sum)
                          : n.binary<PowOp>(sum, number(1 / p)));
}

void globalLpPool(Node &n) {
  Value x = n.input(0);
  const double p = n.opset() < 2 ? n.getFloat("p", 2.0f)
                                 : static_cast<double>(n.getInt("p", 2));
  if (!x)
    return;
  if (rankOf(x) < 3 || p <= 0) {
    n.malformed("p is {} for the input {}", p, typeText(x));
    return;
  }
  SmallVector<int64_t> axes;
  for (int64_t axis = 2; axis < rankOf(x); ++axis)
    axes.push_back(axis);
  auto number = [&](double value) { return n.splat(value, elementOf(x)); };
  Value power = n.binary<PowOp>(n.unary(UnaryFunction::Abs, x), number(p));
  n.setOutput(0, n.binary<PowOp>(n.reduce(ReduceKind::Sum, power, axes, true),
                                 number(1 / p)));
}

/// The place of every maximum in the whole input, row by row or, with
/// storage_order, column by column: taps compared one after the other, of equal
/// ones the first. `x` has been extended to complete windows.
Value placesOfMaxima(Node &n, Value x, const Emitter::PoolAttributes &a,
                     ShapeRef result, ShapeRef input, bool columns) {
  const Type type = mlir::IntegerType::get(n.context(), 64);
  const auto dims = static_cast<int64_t>(a.kernel.size());
  const int64_t planes = result[0] * result[1];
  Value best, index;
  Shape at(dims, 0);
  for (int64_t tap = 0; tap < elementCount(a.kernel) && !n.failed(); ++tap) {
    Shape starts(dims + 2, 0), steps(dims + 2, 1);
    Value place;
    int64_t stride = 1;
    for (int64_t k = 0; k < dims; ++k) {
      const int64_t d = columns ? k : dims - 1 - k;
      starts[d + 2] = at[d] * a.dilations[d];
      steps[d + 2] = a.strides[d];
      Value row = n.binary<MulOp>(n.iota(result[d + 2], d + 2, dims + 2, type),
                                  n.integers(a.strides[d] * stride, {}, type));
      row = n.binary<AddOp>(
          row, n.integers((starts[d + 2] - a.pads[d]) * stride, {}, type));
      place = place ? n.binary<AddOp>(place, row) : row;
      stride *= input[d + 2];
    }
    Value value = n.slice(x, starts, result, steps);
    place = n.broadcast(place, result);
    if (best) {
      Value better = n.compare(CompareKind::Greater, value, best);
      place = n.where(better, place, index);
      value = n.where(better, value, best);
    }
    best = value;
    index = place;
    for (int64_t d = dims; d-- > 0;) {
      if (++at[d] < a.kernel[d])
        break;
      at[d] = 0;
    }
  }
  Value plane = n.iota(planes, 0, 1, type);
  Shape perPlane(dims + 2, 1);
  perPlane[0] = result[0];
  perPlane[1] = result[1];
  plane =
      n.binary<MulOp>(n.reshape(plane, perPlane),
                      n.integers(elementCount(input.drop_front(2)), {}, type));
  return n.binary<AddOp>(index, plane);
}

} // namespace

std::vector<OperatorRow> ashlar::frontend::poolRows() {
  return {
      {"MaxPool",
       {1, 8, 10, 11, 12, 22},
       maxPool,
       "one operation; 1 to 3 spatial dimensions, dilations, ceil_mode; "
       "indices by comparing the taps"},
      {"NhwcMaxPool",
       {1},
       maxPoolOfLast,
       "as MaxPool between transposes; the channels are last",
       "com.microsoft"},
      {"AveragePool",
       {1, 7, 10, 11, 19, 22},
       averagePool,
       "one operation; 1 to 3 spatial dimensions, dilations, ceil_mode, "
       "count_include_pad"},
      {"GlobalAveragePool",
       {1, 22},
       globalPool<ReduceKind::Mean>,
       "a reduction"},
      {"LpPool", {1, 2, 11, 18, 22}, lpPool, "powers and an average pool"},
      {"GlobalLpPool", {1, 2, 22}, globalLpPool, "powers and a reduction"},
      {"GlobalMaxPool", {1, 22}, globalPool<ReduceKind::Max>, "a reduction"},
      {"LRN",
       {1, 13},
       lrn,
       "squares, sums over channels, a power and a product"},
  };
}
