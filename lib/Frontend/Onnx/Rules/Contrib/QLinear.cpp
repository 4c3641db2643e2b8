// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Element-wise operators and pools of com.microsoft on quantised numbers:
// (q - zero) * scale, the operator in binary32, and back.

#include "lib/Frontend/Onnx/Registry.h"
#include "lib/Frontend/Onnx/Rules/QuantizeParameters.h"
#include "lib/Frontend/Onnx/Rules/Windows.h"

using namespace ashlar;
using namespace ashlar::frontend;
using namespace ashlar::nn;

namespace {

/// Operand x with its scale and zero point after it, per tensor.
Value dequantised(Node &n, size_t x) {
  Value q = n.input(x), scale = n.input(x + 1), zero = n.optionalInput(x + 2);
  if (!q || !scale)
    return nullptr;
  if (!isSmallInteger(elementOf(q), 8) ||
      (zero && elementOf(zero) != elementOf(q)))
    return n.malformed("an operand is {} with the zero point {}, expected "
                       "integers of 8 bits of one type",
                       typeText(q), zero ? typeText(zero) : "-");
  const Shape shape(shapeOf(q));
  Value v = n.cast(q, f32Of(n));
  if (zero)
    v = n.binary<SubOp>(
        v, n.cast(spread(n, zero, 0, shape, "the zero point"), f32Of(n)));
  return n.binary<MulOp>(v, spread(n, scale, 0, shape, "the scale"));
}

/// saturate(round(y / scale) + zero) with the parameters at operand `at`.
Value quantised(Node &n, Value y, size_t at, Type otherwise) {
  Value scale = n.input(at), zero = n.optionalInput(at + 1);
  if (!y || !scale)
    return nullptr;
  const Shape shape(shapeOf(y));
  Value v = n.binary<DivOp>(y, spread(n, scale, 0, shape, "the scale of y"));
  v = n.unary(UnaryFunction::Round, v);
  if (!zero)
    return addZeroAndSaturate(n, v, Value(), otherwise);
  return addZeroAndSaturate(
      n, v, spread(n, zero, 0, shape, "the zero point of y"), elementOf(zero));
}

Type typeOfInput(Node &n, size_t i) {
  Value x = n.input(i);
  return x ? elementOf(x) : Type();
}

template <class OpTy>
void quantisedBinary(Node &n) {
  Value y = n.binary<OpTy>(dequantised(n, 0), dequantised(n, 3));
  n.setOutput(0, quantised(n, y, 6, typeOfInput(n, 0)));
}

void leakyRelu(Node &n) {
  Value y = n.unary(UnaryFunction::LeakyRelu, dequantised(n, 0),
                    n.getFloat("alpha", 0.01f));
  n.setOutput(0, quantised(n, y, 3, typeOfInput(n, 0)));
}

void sigmoid(Node &n) {
  Value y = n.unary(UnaryFunction::Sigmoid, dequantised(n, 0));
  n.setOutput(0, quantised(n, y, 3, typeOfInput(n, 0)));
}

void softmax(Node &n) {
  Value x = dequantised(n, 0);
  const int64_t axis = n.getInt("axis", -1), version = n.getInt("opset", 13);
  if (!x)
    return;
  if (version < 13 && axis != -1 && axis != rankOf(x) - 1)
    n.unsupported("an axis other than the last before operator set 13");
  const int64_t normal = n.normalAxis(axis, rankOf(x));
  if (!n.failed())
    n.setOutput(0, quantised(n, n.softmax(x, normal, /*logarithm=*/false), 3,
                             typeOfInput(n, 0)));
}

void globalAveragePool(Node &n) {
  const bool last = n.getInt("channels_last", 0) != 0;
  Value x = dequantised(n, 0);
  if (!x)
    return;
  SmallVector<int64_t> axes;
  for (int64_t axis = last ? 1 : 2; axis < rankOf(x) - (last ? 1 : 0); ++axis)
    axes.push_back(axis);
  n.setOutput(0, quantised(n, n.reduce(ReduceKind::Mean, x, axes, true), 3,
                           typeOfInput(n, 0)));
}

void averagePool(Node &n) {
  if (n.getInt("channels_last", 0) != 0)
    n.unsupported("channels_last");
  const bool ceil = n.getInt("ceil_mode", 0) != 0,
             include = n.getInt("count_include_pad", 0) != 0;
  const Shape kernel(n.getInts("kernel_shape"));
  Value x = dequantised(n, 0);
  if (!x || n.failed())
    return;
  if (rankOf(x) < 3 || rankOf(x) > 5 ||
      static_cast<int64_t>(kernel.size()) != rankOf(x) - 2) {
    n.malformed("the input is {}, the kernel {}", typeText(x),
                shapeToString(kernel));
    return;
  }
  const WindowAttributes w = readWindow(n, shapeOf(x).drop_front(2), kernel);
  if (n.failed())
    return;
  Emitter::PoolAttributes a;
  a.kernel = kernel;
  a.strides = w.strides;
  a.pads = w.pads;
  a.dilations = w.dilations;
  a.rounding = ceil ? Rounding::Ceil : Rounding::Floor;
  a.countIncludePad = include;
  n.setOutput(0, quantised(n, n.avgPool(x, a), 3, typeOfInput(n, 0)));
}

/// Scale and zero point of the result come first, then triples.
void concat(Node &n) {
  SmallVector<Value> parts;
  for (size_t i = 2; i + 1 < n.numInputs(); i += 3)
    parts.push_back(dequantised(n, i));
  const int64_t axis = n.getInt("axis", 1);
  if (parts.empty() || llvm::is_contained(parts, Value())) {
    if (!n.failed())
      n.malformed("there is nothing to concatenate");
    return;
  }
  const int64_t normal = n.normalAxis(axis, rankOf(parts.front()));
  if (!n.failed())
    n.setOutput(0, quantised(n, n.concat(parts, normal), 0, typeOfInput(n, 2)));
}

} // namespace

std::vector<OperatorRow> ashlar::frontend::qlinearRows() {
  constexpr const char *domain = "com.microsoft",
                       *note = "its formula in binary32; parameters per tensor";
  return {
      {"QLinearAdd", {1}, quantisedBinary<AddOp>, note, domain},
      {"QLinearMul", {1}, quantisedBinary<MulOp>, note, domain},
      {"QLinearLeakyRelu", {1}, leakyRelu, note, domain},
      {"QLinearSigmoid", {1}, sigmoid, note, domain},
      {"QLinearSoftmax", {1}, softmax, note, domain},
      {"QLinearGlobalAveragePool", {1}, globalAveragePool, note, domain},
      {"QLinearAveragePool", {1}, averagePool, note, domain},
      {"QLinearConcat", {1}, concat, note, domain},
  };
}
