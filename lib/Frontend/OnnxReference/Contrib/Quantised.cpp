// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operators of com.microsoft on quantised numbers: every number is taken out
// and computed in binary64.

#include "lib/Frontend/OnnxReference/Convolution.h"
#include "lib/Frontend/OnnxReference/Registry.h"
#include "lib/Frontend/OnnxReference/Walk.h"
#include "lib/Frontend/OnnxReference/Windows.h"

#include <cmath>

using namespace ashlar;
using namespace ashlar::onnxref;

namespace {

double single(Call &call, size_t i, double otherwise) {
  if (!call.has(i))
    return otherwise;
  if (!call.require(call.operand(i).size() == 1,
                    "a parameter is not one number"))
    return otherwise;
  return numberAt(call.operand(i), 0);
}

/// (q - zero) * scale of operand x; its parameters follow it.
Tensor dequantised(Call &call, size_t x) {
  const Tensor &q = call.operand(x);
  const double scale = single(call, x + 1, 1), zero = single(call, x + 2, 0);
  Tensor y(ElementType::F64, q.shape);
  for (int64_t i = 0; i < q.size(); ++i)
    y.floats[i] = (numberAt(q, i) - zero) * scale;
  return y;
}

int64_t saturated(double value, ElementType type) {
  const double low = type == ElementType::I8 ? -128 : 0;
  return static_cast<int64_t>(std::min(std::max(value, low), low + 255));
}

/// Whether kernels add the zero point before they round, which decides ties.
enum class ZeroPoint { AfterRounding, BeforeRounding };

void setQuantised(Call &call, const Tensor &y, size_t at, ElementType type,
                  ZeroPoint when = ZeroPoint::AfterRounding) {
  const double scale = single(call, at, 1), zero = single(call, at + 1, 0);
  if (call.failed())
    return;
  if (call.has(at + 1))
    type = call.operand(at + 1).type;
  Tensor q(type, y.shape);
  for (int64_t i = 0; i < y.size(); ++i)
    q.ints[i] = saturated(when == ZeroPoint::BeforeRounding
                              ? std::nearbyint(y.floats[i] / scale + zero)
                              : std::nearbyint(y.floats[i] / scale) + zero,
                          type);
  call.setResult(0, std::move(q));
}

template <class Fn>
void map(Call &call, Fn fn) {
  Tensor x = dequantised(call, 0);
  for (double &value : x.floats)
    value = fn(value);
  setQuantised(call, x, 3, call.operand(0).type);
}

void quantisedLeakyRelu(Call &call) {
  const double alpha = call.getFloat("alpha", 0.01f);
  map(call, [&](double x) { return x < 0 ? alpha * x : x; });
}

void sigmoid(Call &call) {
  map(call, [](double x) { return 1 / (1 + std::exp(-x)); });
}

template <bool product>
void binary(Call &call) {
  const Tensor a = dequantised(call, 0), b = dequantised(call, 3);
  if (call.failed())
    return;
  const Tensor y = zip(call, a, b, ElementType::F64,
                       [](auto p, auto q) { return product ? p * q : p + q; });
  if (!call.failed())
    setQuantised(call, y, 6, call.operand(0).type, ZeroPoint::BeforeRounding);
}

void choose(Call &call) {
  const Tensor a = dequantised(call, 1), b = dequantised(call, 4);
  if (call.failed())
    return;
  Shape shape = broadcastShape(call, a.shape, b.shape);
  shape = broadcastShape(call, shape, call.operand(0).shape);
  if (call.failed())
    return;
  const Tensor condition = broadcastTo(call.operand(0), shape);
  Tensor y = broadcastTo(a, shape);
  const Tensor other = broadcastTo(b, shape);
  for (int64_t i = 0; i < y.size(); ++i)
    if (condition.ints[i] == 0)
      y.floats[i] = other.floats[i];
  setQuantised(call, y, 7, call.operand(1).type);
}

void softmax(Call &call) {
  Tensor x = dequantised(call, 0);
  const int64_t axis = call.normalAxis(call.getInt("axis", -1), rankOf(x));
  if (call.failed() || x.size() == 0)
    return;
  const ArrayRef<int64_t> shape(x.shape);
  // Before operator set 13 everything from the axis on.
  const bool flat = call.getInt("opset", 13) < 13;
  const int64_t inner = flat ? 1 : elementCount(shape.drop_front(axis + 1)),
                extent =
                    flat ? elementCount(shape.drop_front(axis)) : shape[axis];
  for (int64_t row = 0; row < x.size() / extent; ++row) {
    double *first = &x.floats[row / inner * inner * extent + row % inner];
    double top = -HUGE_VAL, total = 0;
    for (int64_t i = 0; i < extent; ++i)
      top = std::max(top, first[i * inner]);
    for (int64_t i = 0; i < extent; ++i)
      total += first[i * inner] = std::exp(first[i * inner] - top);
    for (int64_t i = 0; i < extent; ++i)
      first[i * inner] /= total;
  }
  setQuantised(call, x, 3, call.operand(0).type, ZeroPoint::BeforeRounding);
}

void globalAveragePool(Call &call) {
  const Tensor x = dequantised(call, 0);
  const bool last = call.getInt("channels_last", 0) != 0;
  if (!call.require(rankOf(x) >= 3 && x.size() > 0, "the rank is too small"))
    return;
  Shape shape(x.shape);
  for (int64_t d = 1; d < rankOf(x); ++d)
    if (d != (last ? rankOf(x) - 1 : 1))
      shape[d] = 1;
  const Shape steps = broadcastStrides(shape, shape.size());
  Tensor y(ElementType::F64, shape);
  const double count =
      static_cast<double>(x.size()) / static_cast<double>(y.size());
  forEachIndex(x.shape, [&](ArrayRef<int64_t> at, int64_t i) {
    int64_t to = 0;
    for (size_t d = 0; d < at.size(); ++d)
      to += at[d] * steps[d];
    y.floats[to] += x.floats[i] / count;
  });
  setQuantised(call, y, 3, call.operand(0).type);
}

/// The shape with the reduced axes, which are all if none is given, as 1.
std::optional<Shape> reducedShape(Call &call, const Tensor &x) {
  SmallVector<int64_t> axes = call.normalAxes(call.getInts("axes"), rankOf(x));
  if (call.failed())
    return std::nullopt;
  Shape shape(x.shape);
  for (int64_t d = 0; d < rankOf(x); ++d)
    if (axes.empty() || llvm::is_contained(axes, d))
      shape[d] = 1;
  return shape;
}

/// Sums of \p x over the axes whose extent in \p shape is 1, and without these
/// if keepdims is 0.
Tensor reducedSum(Call &call, const Tensor &x, const Shape &shape) {
  const Shape steps = broadcastStrides(shape, shape.size());
  const SmallVector<int64_t> axes =
      call.normalAxes(call.getInts("axes"), rankOf(x));
  Tensor y(ElementType::F64, shape);
  forEachIndex(x.shape, [&](ArrayRef<int64_t> at, int64_t i) {
    int64_t to = 0;
    for (size_t d = 0; d < at.size(); ++d)
      to += at[d] * steps[d];
    y.floats[to] += numberAt(x, i);
  });
  if (call.getInt("keepdims", 1) != 0)
    return y;
  Shape kept;
  for (int64_t d = 0; d < rankOf(x); ++d)
    if (!axes.empty() && !llvm::is_contained(axes, d))
      kept.push_back(shape[d]);
  return reshaped(y, kept);
}

void reduceMean(Call &call) {
  const Tensor x = dequantised(call, 0);
  const std::optional<Shape> shape =
      call.failed() ? std::nullopt : reducedShape(call, x);
  if (!shape || !call.require(x.size() > 0, "nothing to reduce"))
    return;
  Tensor y = reducedSum(call, x, *shape);
  for (double &value : y.floats)
    value *= static_cast<double>(y.size()) / static_cast<double>(x.size());
  setQuantised(call, y, 3, call.operand(0).type);
}

void reduceSum(Call &call) {
  const Tensor &x = call.operand(0);
  const std::optional<Shape> shape = reducedShape(call, x);
  if (!shape)
    return;
  const Tensor sum = reducedSum(call, x, *shape);
  Tensor y(x.type == ElementType::U8 ? ElementType::U32 : ElementType::I32,
           sum.shape);
  for (int64_t i = 0; i < y.size(); ++i)
    y.ints[i] = static_cast<int64_t>(sum.floats[i]);
  call.setResult(0, std::move(y));
}

void multiplyIntegers(Call &call) {
  Tensor parts[2];
  if (!call.require(call.has(2), "an operand is omitted"))
    return;
  for (size_t i : {0, 1}) {
    const Tensor &q = call.operand(2 * i);
    const double zero = single(call, 2 * i + 1, 0);
    parts[i] = Tensor(ElementType::I32, q.shape);
    for (int64_t k = 0; k < q.size(); ++k)
      parts[i].ints[k] = q.ints[k] - static_cast<int64_t>(zero);
  }
  if (!call.failed())
    call.setResult(0, zip(call, parts[0], parts[1], ElementType::I32,
                          [](auto p, auto q) { return p * q; }));
}

void concat(Call &call) {
  SmallVector<Tensor> parts;
  for (size_t i = 2; i + 1 < call.numOperands(); i += 3)
    parts.push_back(dequantised(call, i));
  if (!call.require(!parts.empty(), "there is nothing to concatenate"))
    return;
  const int64_t axis =
      call.normalAxis(call.getInt("axis", 1), rankOf(parts.front()));
  if (call.failed())
    return;
  Shape shape(parts.front().shape);
  shape[axis] = 0;
  for (const Tensor &part : parts)
    shape[axis] += part.shape[axis];
  Tensor y(ElementType::F64, shape);
  const int64_t inner =
      elementCount(ArrayRef<int64_t>(shape).drop_front(axis + 1));
  int64_t begin = 0;
  for (const Tensor &part : parts) {
    const int64_t run = part.shape[axis] * inner;
    for (int64_t i = 0; i < part.size(); ++i)
      y.floats[i / run * shape[axis] * inner + begin * inner + i % run] =
          part.floats[i];
    begin += part.shape[axis];
  }
  setQuantised(call, y, 0, call.operand(2).type);
}

/// Element i of an operand with one parameter per column or one for all.
double perColumn(Call &call, size_t operand, int64_t column, double otherwise) {
  if (!call.has(operand))
    return otherwise;
  const Tensor &x = call.operand(operand);
  return numberAt(x, x.size() == 1 ? 0 : column % x.size());
}

/// The sums of (a - zero of a) * (b - zero of b), with the scale of b.
void setScaled(Call &call, const Tensor &a, double scale, size_t zeroOfB,
               size_t scaleOfB, size_t bias) {
  const Tensor &q = call.operand(1);
  Tensor b(ElementType::F64, q.shape);
  const int64_t columns = q.shape.empty() ? 1 : q.shape.back();
  for (int64_t i = 0; i < q.size(); ++i)
    b.floats[i] = numberAt(q, i) - perColumn(call, zeroOfB, i % columns, 0);
  Tensor sums = multiplyMatrices(call, a, b);
  if (call.failed())
    return;
  Tensor y(ElementType::F32, sums.shape);
  for (int64_t i = 0; i < y.size(); ++i)
    y.floats[i] =
        sums.floats[i] * scale * perColumn(call, scaleOfB, i % columns, 1) +
        perColumn(call, bias, i % columns, 0);
  call.setResult(0, std::move(y));
}

void matmulIntegerToFloat(Call &call) {
  const double zero = single(call, 4, 0), scale = single(call, 2, 1);
  Tensor a(ElementType::F64, call.operand(0).shape);
  for (int64_t i = 0; i < a.size(); ++i)
    a.floats[i] = numberAt(call.operand(0), i) - zero;
  if (!call.failed())
    setScaled(call, a, scale, 5, 3, 6);
}

void dynamicQuantizeMatMul(Call &call) {
  const Tensor &x = call.operand(0);
  double low = 0, high = 0;
  for (double value : x.floats) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  const double scale = (high == low ? 1 : high - low) / 255;
  const double zero = std::nearbyint(std::min(-low / scale, 255.0));
  Tensor a(ElementType::F64, x.shape);
  for (int64_t i = 0; i < a.size(); ++i)
    a.floats[i] =
        std::min(std::max(std::nearbyint(x.floats[i] / scale) + zero, 0.0),
                 255.0) -
        zero;
  setScaled(call, a, scale, 3, 2, 4);
}

/// Products are exact, and so are sums of 2^20 of them in binary64; they are
/// kept modulo 2^32.
void matmulInteger16(Call &call) {
  Tensor parts[2];
  for (size_t i : {0, 1}) {
    const Tensor &q = call.operand(i);
    parts[i] = Tensor(ElementType::F64, q.shape);
    for (int64_t k = 0; k < q.size(); ++k)
      parts[i].floats[k] = numberAt(q, k);
  }
  const Tensor sums = multiplyMatrices(call, parts[0], parts[1]);
  if (call.failed())
    return;
  const bool isUnsigned = call.operand(0).type == ElementType::U16 &&
                          call.operand(1).type == ElementType::U16;
  Tensor y(isUnsigned ? ElementType::U32 : ElementType::I32, sums.shape);
  for (int64_t i = 0; i < y.size(); ++i)
    y.ints[i] = static_cast<int64_t>(sums.floats[i]);
  call.setResult(0, wrapped(std::move(y)));
}

/// Element (row, column) of a matrix that may be transposed.
double entry(const Tensor &x, bool transposed, int64_t row, int64_t column) {
  return numberAt(x, transposed ? column * x.shape[1] + row
                                : row * x.shape[1] + column);
}

void qgemm(Call &call) {
  const Tensor &a = call.operand(0), &b = call.operand(3);
  const bool transA = call.getInt("transA", 0) != 0,
             transB = call.getInt("transB", 0) != 0;
  const double alpha = call.getFloat("alpha", 1), scale = single(call, 1, 1),
               zero = single(call, 2, 0);
  if (call.failed() || !call.require(rankOf(a) == 2 && rankOf(b) == 2,
                                     "operands are no matrices"))
    return;
  const int64_t rows = a.shape[transA ? 1 : 0], depth = a.shape[transA ? 0 : 1],
                columns = b.shape[transB ? 0 : 1];
  if (!call.require(b.shape[transB ? 1 : 0] == depth, "operands do not fit"))
    return;
  const Tensor *c = call.has(6) ? &call.operand(6) : nullptr;
  if (!call.require(!c || c->size() == columns || c->size() == rows * columns ||
                        c->size() == 1,
                    "C does not broadcast"))
    return;
  Tensor y(ElementType::F64, {rows, columns});
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j) {
      double sum = c ? numberAt(*c, (i * columns + j) % c->size()) : 0;
      for (int64_t k = 0; k < depth; ++k)
        sum += (entry(a, transA, i, k) - zero) *
               (entry(b, transB, k, j) - perColumn(call, 5, j, 0));
      y.floats[i * columns + j] =
          alpha * scale * perColumn(call, 4, j, 1) * sum;
    }
  if (call.has(7))
    return setQuantised(call, y, 7, a.type);
  reference::roundToType(y, ElementType::F32);
  y.type = ElementType::F32;
  call.setResult(0, std::move(y));
}

/// The mean of the elements under each window.
void averagePool(Call &call) {
  const bool last = call.getInt("channels_last", 0) != 0;
  Tensor x = dequantised(call, 0);
  const bool withPads = call.getInt("count_include_pad", 0) != 0;
  const Shape kernel = call.getInts("kernel_shape");
  if (call.failed() ||
      !call.require(rankOf(x) >= 3 && rankOf(x) <= 5 &&
                        static_cast<int64_t>(kernel.size()) == rankOf(x) - 2,
                    "the kernel does not fit"))
    return;
  if (last)
    x = channelsFirst(x);
  const Window w = readWindow(call, ArrayRef<int64_t>(x.shape).drop_front(2),
                              kernel, call.getInt("ceil_mode", 0) != 0);
  if (call.failed())
    return;
  Tensor y(ElementType::F64,
           resultShape(w, x.shape[0], x.shape[1], x.shape.size()));
  const Shape out = {x.shape[0] * x.shape[1], w.out[0], w.out[1], w.out[2]};
  forEachIndex(out, [&](ArrayRef<int64_t> at, int64_t i) {
    double sum = 0;
    int64_t inside = 0, covered = 0;
    forEachIndex({w.kernel[0], w.kernel[1], w.kernel[2]},
                 [&](ArrayRef<int64_t> tap, int64_t) {
                   int64_t place = at[0];
                   bool real = true, counts = true;
                   for (int d = 0; d < 3; ++d) {
                     const int64_t k = w.at(d, at[d + 1], tap[d]);
                     real &= w.inside(d, k);
                     counts &= k < w.in[d] + w.high[d];
                     place = place * w.in[d] + k;
                   }
                   covered += counts;
                   inside += real;
                   sum += real ? x.floats[place] : 0;
                 });
    const int64_t count = withPads ? covered : inside;
    y.floats[i] = count == 0 ? 0 : sum / static_cast<double>(count);
  });
  setQuantised(call, last ? channelsLast(y) : y, 3, call.operand(0).type,
               ZeroPoint::BeforeRounding);
}

} // namespace

std::vector<EvaluatorRow> onnxref::contribQuantisedEvaluators() {
  constexpr const char *domain = "com.microsoft";
  constexpr Continuity open = Continuity::OpenSteps,
                       smooth = Continuity::Smooth;
  return {
      {"QLinearAdd", {1}, 7, binary<false>, open, domain},
      {"QLinearMul", {1}, 7, binary<true>, open, domain},
      {"QLinearWhere", {1}, 8, choose, open, domain},
      {"QLinearLeakyRelu", {1}, 4, quantisedLeakyRelu, open, domain},
      {"QLinearSigmoid", {1}, 4, sigmoid, open, domain},
      {"QLinearSoftmax", {1}, 4, softmax, open, domain},
      {"QLinearGlobalAveragePool", {1}, 4, globalAveragePool, open, domain},
      {"QLinearAveragePool", {1}, 4, averagePool, open, domain},
      {"QGemm", {1}, 5, qgemm, open, domain},
      {"QLinearReduceMean", {1}, 4, reduceMean, open, domain},
      {"ReduceSumInteger", {1}, 1, reduceSum, Continuity::Steps, domain},
      {"MulInteger", {1}, 1, multiplyIntegers, Continuity::Steps, domain},
      {"MatMulInteger16", {1}, 2, matmulInteger16, Continuity::Steps, domain},
      {"QLinearConcat", {1}, 4, concat, open, domain},
      {"MatMulIntegerToFloat", {1}, 4, matmulIntegerToFloat, smooth, domain},
      {"DynamicQuantizeMatMul", {1}, 3, dynamicQuantizeMatMul, open, domain},
  };
}
