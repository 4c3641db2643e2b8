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

/// Operand x without its zero point, the second after it: integers in floats.
Value centred(Node &n, size_t x) {
  Value q = n.input(x), zero = n.optionalInput(x + 2);
  if (!q)
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
  return v;
}

/// Operand x with its scale and zero point after it, per tensor.
Value dequantised(Node &n, size_t x) {
  Value v = centred(n, x), scale = n.input(x + 1);
  if (!v || !scale)
    return nullptr;
  return n.binary<MulOp>(v, spread(n, scale, 0, shapeOf(v), "the scale"));
}

/// Where ONNX Runtime's kernels add the zero point; it decides ties.
enum class ZeroPoint { BeforeRounding, AfterRounding };

/// v, which is in units of the result, as integers; the zero point may be null.
Value rounded(Node &n, Value v, Value zero, Type otherwise, ZeroPoint when) {
  if (!v)
    return nullptr;
  const Shape shape(shapeOf(v));
  const Type element = zero ? elementOf(zero) : otherwise;
  if (zero)
    zero = spread(n, zero, 0, shape, "the zero point of y");
  if (zero && when == ZeroPoint::BeforeRounding) {
    v = n.binary<AddOp>(v, n.cast(zero, f32Of(n)));
    zero = Value();
  }
  return addZeroAndSaturate(n, n.unary(UnaryFunction::Round, v), zero, element);
}

/// The same of y with the scale at operand `at` and the zero point after it.
Value quantised(Node &n, Value y, size_t at, Type otherwise,
                ZeroPoint when = ZeroPoint::AfterRounding) {
  Value scale = n.input(at);
  if (!y || !scale)
    return nullptr;
  return rounded(
      n, n.binary<DivOp>(y, spread(n, scale, 0, shapeOf(y), "the scale of y")),
      n.optionalInput(at + 1), otherwise, when);
}

Type typeOfInput(Node &n, size_t i) {
  Value x = n.input(i);
  return x ? elementOf(x) : Type();
}

/// The scale at operand \p i for a result of \p shape.
Value scaleAt(Node &n, size_t i, ShapeRef shape) {
  return spread(n, n.input(i), 0, shape, "a scale");
}

/// Each operand times the ratio of its scale to that of the result.
void add(Node &n) {
  Value a = centred(n, 0), b = centred(n, 3);
  if (!a || !b || !n.input(6))
    return;
  auto part = [&](Value x, size_t scale) {
    const Shape shape(shapeOf(x));
    return n.binary<MulOp>(
        x, n.binary<DivOp>(scaleAt(n, scale, shape), scaleAt(n, 6, shape)));
  };
  n.setOutput(0, rounded(n, n.binary<AddOp>(part(a, 1), part(b, 4)),
                         n.optionalInput(7), typeOfInput(n, 0),
                         ZeroPoint::BeforeRounding));
}

/// The product of the integers, which is exact, times one factor.
void multiply(Node &n) {
  Value y = n.binary<MulOp>(centred(n, 0), centred(n, 3));
  if (!y || !n.input(6))
    return;
  const Shape shape(shapeOf(y));
  Value factor = n.binary<DivOp>(
      n.binary<MulOp>(scaleAt(n, 1, shape), scaleAt(n, 4, shape)),
      scaleAt(n, 6, shape));
  n.setOutput(0, rounded(n, n.binary<MulOp>(y, factor), n.optionalInput(7),
                         typeOfInput(n, 0), ZeroPoint::BeforeRounding));
}

/// One operand or the other, by a condition.
void choose(Node &n) {
  Value y = n.where(n.input(0), dequantised(n, 1), dequantised(n, 4));
  n.setOutput(0, quantised(n, y, 7, typeOfInput(n, 1)));
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

/// Before operator set 13 of all dimensions from the axis on together.
void softmax(Node &n) {
  Value x = dequantised(n, 0);
  const int64_t axis = n.getInt("axis", -1), version = n.getInt("opset", 13);
  if (!x)
    return;
  const Shape shape(shapeOf(x));
  const int64_t normal = n.normalAxis(axis, rankOf(x));
  if (n.failed())
    return;
  if (version < 13) {
    const int64_t rows = elementCount(ShapeRef(shape).take_front(normal));
    x = n.reshape(x, {rows, elementCount(ShapeRef(shape).drop_front(normal))});
  }
  Value y = n.softmax(x, version < 13 ? 1 : normal, /*logarithm=*/false);
  n.setOutput(0, quantised(n, n.reshape(y, shape), 3, typeOfInput(n, 0),
                           ZeroPoint::BeforeRounding));
}

/// The sum of the integers times one factor.
void globalAveragePool(Node &n) {
  const bool last = n.getInt("channels_last", 0) != 0;
  Value x = centred(n, 0), scale = n.input(1), result = n.input(3);
  if (!x || !scale || !result)
    return;
  SmallVector<int64_t> axes;
  int64_t count = 1;
  for (int64_t axis = last ? 1 : 2; axis < rankOf(x) - (last ? 1 : 0); ++axis) {
    axes.push_back(axis);
    count *= shapeOf(x)[axis];
  }
  Value sum = n.reduce(ReduceKind::Sum, x, axes, /*keepdims=*/true);
  if (!sum)
    return;
  const Shape shape(shapeOf(sum));
  Value unit = n.binary<MulOp>(scaleAt(n, 3, shape),
                               n.splat(static_cast<double>(count), f32Of(n)));
  Value factor = n.binary<DivOp>(scaleAt(n, 1, shape), unit);
  n.setOutput(0, rounded(n, n.binary<MulOp>(sum, factor), n.optionalInput(4),
                         typeOfInput(n, 0), ZeroPoint::AfterRounding));
}

/// Attribute 'axes', all of them if it is empty.
SmallVector<int64_t> reducedAxes(Node &n, Value x) {
  SmallVector<int64_t> axes = n.getInts("axes");
  if (axes.empty())
    for (int64_t axis = 0; axis < rankOf(x); ++axis)
      axes.push_back(axis);
  return n.normalAxes(axes, rankOf(x));
}

void reduceMean(Node &n) {
  Value x = dequantised(n, 0);
  const bool keep = n.getInt("keepdims", 1) != 0;
  if (!x)
    return;
  const SmallVector<int64_t> axes = reducedAxes(n, x);
  Value y = n.failed() ? Value() : n.reduce(ReduceKind::Mean, x, axes, keep);
  n.setOutput(0, quantised(n, y, 3, typeOfInput(n, 0)));
}

/// Sums in 32 bits, of the operand's signedness.
void reduceSum(Node &n) {
  Value x = n.input(0);
  const bool keep = n.getInt("keepdims", 1) != 0;
  if (!x)
    return;
  if (!isSmallInteger(elementOf(x), 8)) {
    n.malformed("the input is {}, expected integers of 8 bits", typeText(x));
    return;
  }
  const SmallVector<int64_t> axes = reducedAxes(n, x);
  Value sum = n.failed()
                  ? Value()
                  : n.reduce(ReduceKind::Sum, n.cast(x, i32Of(n)), axes, keep);
  const Type result = elementOf(x).isUnsignedInteger()
                          ? Type(mlir::IntegerType::get(
                                n.context(), 32, mlir::IntegerType::Unsigned))
                          : i32Of(n);
  n.setOutput(0, sum ? n.cast(sum, result) : Value());
}

/// Operand i without the zero point after it, in 32 bits.
Value centredInteger(Node &n, size_t i) {
  Value q = n.input(i), zero = n.optionalInput(i + 1);
  if (!q)
    return nullptr;
  if (!isSmallInteger(elementOf(q), 8) ||
      (zero &&
       (elementOf(zero) != elementOf(q) || elementCount(shapeOf(zero)) != 1)))
    return n.malformed("an operand is {} with the zero point {}, expected "
                       "integers of 8 bits of one type and one number",
                       typeText(q), zero ? typeText(zero) : "-");
  Value v = n.cast(q, i32Of(n));
  return zero ? n.binary<SubOp>(v, n.cast(n.reshape(zero, {}), i32Of(n))) : v;
}

void multiplyIntegers(Node &n) {
  n.setOutput(0, n.binary<MulOp>(centredInteger(n, 0), centredInteger(n, 2)));
}

void averagePool(Node &n) {
  const bool last = n.getInt("channels_last", 0) != 0;
  const bool ceil = n.getInt("ceil_mode", 0) != 0,
             include = n.getInt("count_include_pad", 0) != 0;
  const Shape kernel(n.getInts("kernel_shape"));
  Value x = channelsFirst(n, dequantised(n, 0), last);
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
  n.setOutput(0, quantised(n, channelsLast(n, n.avgPool(x, a), last), 3,
                           typeOfInput(n, 0), ZeroPoint::BeforeRounding));
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
      {"QLinearAdd", {1}, add, note, domain},
      {"QLinearMul", {1}, multiply, note, domain},
      {"QLinearWhere", {1}, choose, note, domain},
      {"QLinearLeakyRelu", {1}, leakyRelu, note, domain},
      {"QLinearSigmoid", {1}, sigmoid, note, domain},
      {"QLinearSoftmax", {1}, softmax, note, domain},
      {"QLinearGlobalAveragePool", {1}, globalAveragePool, note, domain},
      {"QLinearAveragePool", {1}, averagePool, note, domain},
      {"QLinearReduceMean", {1}, reduceMean, note, domain},
      {"ReduceSumInteger", {1}, reduceSum, "a reduction in 32 bits", domain},
      {"MulInteger",
       {1},
       multiplyIntegers,
       "a product in 32 bits; zero points per tensor",
       domain},
      {"QLinearConcat", {1}, concat, note, domain},
  };
}
