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

void maxPool(Node &n) {
  Value x = n.input(0);
  n.ignore("storage_order"); // Concerns the indices output alone.
  if (n.outputUsed(1))
    n.unsupported("the indices output is used");
  if (std::optional<Emitter::PoolAttributes> a = readPool(n, x))
    n.setOutput(0, n.maxPool(x, *a));
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

/// x / (bias + alpha / size * sum of squares over `size` channels) ^ beta. The
/// sum over channels is an average pool over [N, 1, C, H*W] whose divisor is
/// always `size`.
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
  a.countIncludePad = true;
  Value squares = n.binary<MulOp>(x, x);
  Value mean =
      n.avgPool(n.reshape(squares, {shape[0], 1, shape[1], spatial}), a);
  mean = n.reshape(mean, shape);
  if (!mean)
    return;
  auto number = [&](double value) { return n.splat(value, elementOf(x)); };
  Value base =
      n.binary<AddOp>(n.binary<MulOp>(mean, number(alpha)), number(bias));
  n.setOutput(0, n.binary<DivOp>(x, n.binary<PowOp>(base, number(beta))));
}

} // namespace

std::vector<OperatorRow> ashlar::frontend::poolRows() {
  return {
      {"MaxPool",
       {1, 8, 10, 11, 12, 22},
       maxPool,
       "one operation; 1 to 3 spatial dimensions, dilations, ceil_mode; the "
       "indices output must be unused"},
      {"AveragePool",
       {1, 7, 10, 11, 19, 22},
       averagePool,
       "one operation; 1 to 3 spatial dimensions, dilations, ceil_mode, "
       "count_include_pad"},
      {"GlobalAveragePool",
       {1, 22},
       globalPool<ReduceKind::Mean>,
       "a reduction"},
      {"GlobalMaxPool", {1, 22}, globalPool<ReduceKind::Max>, "a reduction"},
      {"LRN",
       {1, 13},
       lrn,
       "squares, an average pool over channels, a power and a division"},
  };
}
