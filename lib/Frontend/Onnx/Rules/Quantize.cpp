// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Quantised products: integer
// products with exact corrections (docs/Numerics.md 12). An operand with a zero
// point stays in its 8 bits where the other operand is constant, whether the
// zero point is or not; otherwise the difference is stored in 16 bits.

#include "QuantizeParameters.h"
#include "Windows.h"
#include "lib/Frontend/Onnx/Registry.h"

#include "dialects/NN/NNElements.h"

#include <algorithm>

using namespace ashlar;
using namespace ashlar::frontend;
using namespace ashlar::nn;

namespace {

/// x - zero as an operand of the array: x itself, or 16 bits wide. `zero`
/// broadcasts to x.
Value centred(Node &n, Value x, Value zero) {
  if (isZero(zero) || !x)
    return x;
  return n.binary<SubOp>(n.cast(x, i16Of(n)), n.cast(zero, i16Of(n)));
}

/// The elements of a constant minus its zero point, which is per tensor or
/// along one axis; nothing if one of them is not a constant. Large constants,
/// too, which the emitter does not fold.
std::optional<SmallVector<int64_t>> differences(Value w, Value zero) {
  auto values = integersOf(w), zeros = integersOf(zero);
  if (!values || !zeros)
    return std::nullopt;
  // Elements after the axis, which all have one zero point.
  int64_t inner = 1;
  for (int64_t i = rankOf(zero) - 1; i >= 0 && shapeOf(zero)[i] == 1; --i)
    inner *= shapeOf(w)[i];
  for (auto [i, value] : llvm::enumerate(*values))
    value -= (*zeros)[i / inner % zeros->size()];
  return values;
}

/// As `centred`, but constants keep 8 bits where their values allow.
Value centredWeights(Node &n, Value w, Value zero) {
  auto values = w && !isZero(zero) ? differences(w, zero) : std::nullopt;
  if (!values || values->empty() || n.failed())
    return centred(n, w, zero);
  auto [low, high] = std::minmax_element(values->begin(), values->end());
  Shape shape(shapeOf(w));
  if (*low >= -128 && *high <= 127)
    return n.integers(*values, shape, i8Of(n));
  if (*low >= 0 && *high <= 255)
    return n.integers(*values, shape, u8Of(n));
  return n.integers(*values, shape, i16Of(n));
}

/// One term per output for the zero point of x, or one per row of x and output:
/// -zero * sum of the output's weights, modulo 2^32. `rows`: weights are
/// [O, ...], else [K, N].
Value correction(Node &n, Value w, Value zero, bool rows) {
  auto values = integersOf(w), zeros = integersOf(zero);
  if (!values)
    return nullptr;
  const bool scalar = zeros && zeros->size() == 1;
  int64_t outputs = rows ? shapeOf(w)[0] : shapeOf(w).back();
  int64_t depth = outputs ? static_cast<int64_t>(values->size()) / outputs : 0;
  SmallVector<int64_t> sums(outputs, 0);
  for (int64_t o = 0; o < outputs; ++o) {
    for (int64_t k = 0; k < depth; ++k)
      sums[o] += (*values)[rows ? o * depth + k : k * outputs + o];
    sums[o] *= scalar ? -zeros->front() : -1;
  }
  Value terms = n.integers(sums, {outputs}, i32Of(n));
  return scalar ? terms : n.binary<MulOp>(n.cast(zero, i32Of(n)), terms);
}

/// x with padding around its spatial dimensions that holds the zero point, a
/// scalar: zero in value. One known at run time is added where padding is.
Value padded(Node &n, Value x, Value zero, ArrayRef<int64_t> pads) {
  size_t rank = rankOf(x), spatial = rank - 2;
  Shape low(rank, 0), high(rank, 0), inner(shapeOf(x));
  for (size_t i = 0; i < spatial; ++i) {
    low[2 + i] = pads[i];
    high[2 + i] = pads[i + spatial];
  }
  if (auto constant = numbersOf(zero))
    return n.pad(x, low, high, PadMode::Constant, constant->front());
  Value y = n.pad(x, low, high, PadMode::Constant, 0);
  if (!y || shapeOf(y) == shapeOf(x))
    return y;
  inner[0] = inner[1] = 1;
  Value border =
      n.pad(n.splat(0, elementOf(x), inner), low, high, PadMode::Constant, 1);
  return n.binary<AddOp>(y, n.binary<MulOp>(border, zero));
}

/// Operands of a product with their zero points, null if absent.
struct Factors {
  Value x, xZero, w, wZero;
};

bool checkFactors(Node &n, const Factors &f) {
  if (!f.x || !f.w || n.failed())
    return false;
  for (Value value : {f.x, f.w})
    if (!isSmallInteger(elementOf(value), 8)) {
      n.malformed("an operand is {}, expected integers of 8 bits",
                  typeText(value));
      return false;
    }
  for (auto [value, zero] : {std::pair(f.x, f.xZero), {f.w, f.wZero}})
    if (zero && elementOf(zero) != elementOf(value)) {
      n.malformed("operands have different types: {} and {}", typeText(value),
                  typeText(zero));
      return false;
    }
  return true;
}

/// The exact 32-bit accumulators of a convolution.
Value convAccumulators(Node &n, Factors f, const Emitter::ConvAttributes &given,
                       Value bias) {
  Emitter::ConvAttributes a = given;
  f.xZero = f.xZero ? spread(n, f.xZero, 1, shapeOf(f.x), "the zero point of x")
                    : Value();
  f.wZero = f.wZero ? spread(n, f.wZero, 0, shapeOf(f.w), "the zero point of w")
                    : Value();
  Value w = centredWeights(n, f.w, f.wZero), x = f.x, extra;
  if (!isZero(f.xZero) && elementCount(shapeOf(f.xZero)) == 1 && w &&
      constantOf(w)) {
    x = padded(n, x, f.xZero, a.pads);
    a.pads.assign(a.pads.size(), 0);
    extra = correction(n, w, f.xZero, true);
  } else {
    x = centred(n, x, f.xZero);
  }
  if (bias)
    extra = extra ? n.binary<AddOp>(extra, bias) : bias;
  Value acc = n.conv(x, w, Value(), a, i32Of(n));
  if (!acc || !extra)
    return acc;
  Shape along(rankOf(acc), 1);
  along[1] = shapeOf(extra)[0];
  return n.binary<AddOp>(acc, n.reshape(extra, along));
}

/// The exact 32-bit accumulators of a matrix product.
Value matmulAccumulators(Node &n, Factors f) {
  if (rankOf(f.x) < 2 || rankOf(f.w) < 2)
    return n.unsupported("operands are {} and {}, expected matrices",
                         typeText(f.x), typeText(f.w));
  f.xZero = f.xZero
                ? spread(n, f.xZero, -2, shapeOf(f.x), "the zero point of A")
                : Value();
  f.wZero = f.wZero
                ? spread(n, f.wZero, -1, shapeOf(f.w), "the zero point of B")
                : Value();
  Value w = centredWeights(n, f.w, f.wZero);
  bool constant = w && constantOf(w) && rankOf(w) == 2;
  if (isZero(f.xZero) || !constant)
    return n.matmul(centred(n, f.x, f.xZero), w, i32Of(n));
  Value acc = n.matmul(f.x, w, i32Of(n));
  return n.binary<AddOp>(acc, correction(n, w, f.xZero, false));
}

/// Attributes of a convolution of x and w.
std::optional<Emitter::ConvAttributes> convWindow(Node &n, Value x, Value w) {
  if (rankOf(x) < 3 || rankOf(x) > 5 || rankOf(w) != rankOf(x)) {
    n.malformed("operands are {} and {}, expected feature map and weights of 1 "
                "to 3 spatial dimensions",
                typeText(x), typeText(w));
    return std::nullopt;
  }
  Shape stated(n.getInts("kernel_shape"));
  if (!stated.empty() && ShapeRef(stated) != shapeOf(w).drop_front(2)) {
    n.malformed("kernel_shape is {}, the weights are {}", shapeToString(stated),
                typeText(w));
    return std::nullopt;
  }
  WindowAttributes window =
      readWindow(n, shapeOf(x).drop_front(2), shapeOf(w).drop_front(2));
  if (n.failed())
    return std::nullopt;
  return Emitter::ConvAttributes{window.strides, window.pads, window.dilations,
                                 n.getInt("group", 1)};
}

void convInteger(Node &n) {
  Factors f{n.input(0), n.optionalInput(2), n.input(1), n.optionalInput(3)};
  if (!checkFactors(n, f))
    return;
  if (auto window = convWindow(n, f.x, f.w))
    n.setOutput(0, convAccumulators(n, f, *window, Value()));
}

void matmulInteger(Node &n) {
  Factors f{n.input(0), n.optionalInput(2), n.input(1), n.optionalInput(3)};
  if (!checkFactors(n, f))
    return;
  // A vector is a row on the left and a column on the right.
  const bool row = rankOf(f.x) == 1, column = rankOf(f.w) == 1;
  if (row)
    f.x = n.reshape(f.x, {1, shapeOf(f.x)[0]});
  if (column)
    f.w = n.reshape(f.w, {shapeOf(f.w)[0], 1});
  Value y = matmulAccumulators(n, f);
  if (y && (row || column)) {
    Shape shape(shapeOf(y));
    if (column)
      shape.pop_back();
    if (row)
      shape.erase(shape.end() - (column ? 1 : 2));
    y = n.reshape(y, shape);
  }
  n.setOutput(0, y);
}

/// saturate(rne(acc * (xScale * wScale / yScale)) + yZero), with relu before
/// the rounding if requested.
Value requantise(Node &n, Value acc, Value xScale, Value wScale, Value yScale,
                 Value yZero, int64_t axis, bool relu = false) {
  if (!acc || !xScale || !wScale || !yScale || !yZero || n.failed())
    return nullptr;
  if (!isSmallInteger(elementOf(yZero), 8))
    return n.malformed("the zero point of the result is {}, expected integers "
                       "of 8 bits",
                       typeText(yZero));
  Shape shape(shapeOf(acc));
  int64_t rows = axis == 1 ? 1 : -2;
  Type f32 = f32Of(n), element = elementOf(yZero);
  xScale = spread(n, n.cast(xScale, f32), rows, shape, "the scale of x");
  wScale = spread(n, n.cast(wScale, f32), axis, shape, "the scale of w");
  yScale = spread(n, n.cast(yScale, f32), rows, shape, "the scale of y");
  yZero = spread(n, yZero, rows, shape, "the zero point of y");
  Value factor = n.binary<DivOp>(n.binary<MulOp>(xScale, wScale), yScale);
  Value v = n.binary<MulOp>(n.cast(acc, f32), factor);
  if (relu)
    v = n.unary(UnaryFunction::Relu, v);
  v = n.unary(UnaryFunction::Round, v);
  return addZeroAndSaturate(n, v, yZero, element);
}

bool isScalar(Value value) { return elementCount(shapeOf(value)) == 1; }

/// What `x` stands for; a reshape of integers per tensor is one of their values
/// too.
std::optional<Dequantised> originOf(Node &n, Value x) {
  if (!x)
    return std::nullopt;
  if (const Dequantised *known = n.quantised().findDequantised(x))
    return *known;
  auto reshape = x.getDefiningOp<ReshapeOp>();
  auto origin =
      reshape ? originOf(n, reshape.getX()) : std::optional<Dequantised>();
  if (!origin || !isScalar(origin->scale) ||
      (origin->zero && !isScalar(origin->zero)))
    return std::nullopt;
  origin->q = n.reshape(origin->q, shapeOf(x));
  return origin;
}

/// The operands as 8-bit integers with constant parameters, x per tensor and w
/// constant, if both are; w's parameters per tensor or along `wAxis`.
bool findFactors(Node &n, Value x, Value w, int64_t wAxis, Dequantised &a,
                 Dequantised &b) {
  std::optional<Dequantised> left = originOf(n, x), right = originOf(n, w);
  if (!left || !right || n.failed())
    return false;
  a = *left;
  b = *right;
  for (const Dequantised *operand : {&a, &b})
    if (!isSmallInteger(elementOf(operand->q), 8) ||
        !constantOf(operand->scale) ||
        (operand->zero && !constantOf(operand->zero)))
      return false;
  bool perTensor = isScalar(b.scale) && (!b.zero || isScalar(b.zero));
  return isScalar(a.scale) && (!a.zero || isScalar(a.zero)) &&
         constantOf(b.q) &&
         (perTensor || b.axis == wAxis || b.axis == wAxis - rankOf(w));
}

/// The bias as integers in the unit of the accumulators, or null.
Value integerBias(Node &n, Value bias, const Dequantised &x,
                  const Dequantised &w) {
  const Dequantised *origin =
      bias ? n.quantised().findDequantised(bias) : nullptr;
  if (!origin || elementOf(origin->q) != i32Of(n) || !isZero(origin->zero) ||
      rankOf(bias) != 1)
    return nullptr;
  auto unit = numbersOf(origin->scale), left = numbersOf(x.scale),
       right = numbersOf(w.scale);
  if (!unit || !left || !right)
    return nullptr;
  auto at = [](ArrayRef<double> values, size_t i) {
    return static_cast<float>(values.size() == 1 ? values[0] : values[i]);
  };
  for (size_t i = 0, e = std::max(unit->size(), right->size()); i < e; ++i)
    if ((unit->size() != 1 && i >= unit->size()) ||
        (right->size() != 1 && i >= right->size()) ||
        at(*unit, i) != at(*left, 0) * at(*right, i))
      return nullptr;
  return origin->q;
}

/// acc * (xScale * wScale), then a bias that is not an integer. Without one the
/// result is known as a product to what reads it.
Value finishProduct(Node &n, Value acc, const Dequantised &x,
                    const Dequantised &w, int64_t axis, Value bias) {
  Shape shape(acc ? shapeOf(acc) : ShapeRef());
  Value scales =
      n.binary<MulOp>(spread(n, x.scale, axis, shape, "the scale of x"),
                      spread(n, w.scale, axis, shape, "the scale of w"));
  Value y = n.binary<MulOp>(n.cast(acc, f32Of(n)), scales);
  if (!bias) {
    n.quantised().add(y, IntegerProduct{acc, x.scale, w.scale, axis});
    return y;
  }
  Shape along(rankOf(bias) == 1 ? shape.size() : 0, 1);
  if (axis == 1 && !along.empty()) {
    along[1] = shapeOf(bias)[0];
    bias = n.reshape(bias, along);
  }
  return n.binary<AddOp>(y, bias);
}

/// The form of com.microsoft may have the channels last, of x and of y; the
/// weights have theirs as ever.
template <bool contrib>
void qlinearConv(Node &n) {
  const bool last = contrib && n.getInt("channels_last", 0) != 0;
  Factors f{channelsFirst(n, n.input(0), last), n.input(2), n.input(3),
            n.input(5)};
  if (!checkFactors(n, f))
    return;
  auto window = convWindow(n, f.x, f.w);
  if (!window)
    return;
  Value acc = convAccumulators(n, f, *window, n.optionalInput(8));
  Value y =
      requantise(n, acc, n.input(1), n.input(4), n.input(6), n.input(7), 1);
  n.setOutput(0, channelsLast(n, y, last));
}

void qlinearMatmul(Node &n) {
  Factors f{n.input(0), n.input(2), n.input(3), n.input(5)};
  if (!checkFactors(n, f))
    return;
  Value acc = matmulAccumulators(n, f);
  n.setOutput(0, requantise(n, acc, n.input(1), n.input(4), n.input(6),
                            n.input(7), -1));
}

/// A matrix with its axes exchanged; large constants, too, which the emitter
/// does not move.
Value exchanged(Node &n, Value x) {
  const auto values = x ? integersOf(x) : std::nullopt;
  if (!values)
    return n.transpose(x, {1, 0});
  const int64_t rows = shapeOf(x)[0], columns = shapeOf(x)[1];
  SmallVector<int64_t> moved(values->size());
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t k = 0; k < columns; ++k)
      moved[k * rows + i] = (*values)[i * columns + k];
  return n.integers(moved, {columns, rows}, elementOf(x));
}

/// alpha * scales * (A * B + C); without a scale of the result in floats.
void qgemm(Node &n) {
  const bool transA = n.getInt("transA", 0) != 0,
             transB = n.getInt("transB", 0) != 0;
  const double alpha = n.getFloat("alpha", 1);
  Factors f{n.input(0), n.optionalInput(2), n.input(3), n.optionalInput(5)};
  Value xScale = n.input(1), wScale = n.input(4);
  if (!checkFactors(n, f) || !xScale || !wScale)
    return;
  if (rankOf(f.x) != 2 || rankOf(f.w) != 2) {
    n.malformed("operands are {} and {}, expected matrices", typeText(f.x),
                typeText(f.w));
    return;
  }
  f.x = transA ? exchanged(n, f.x) : f.x;
  f.w = transB ? exchanged(n, f.w) : f.w;
  Value acc = matmulAccumulators(n, f);
  const Shape shape(acc ? shapeOf(acc) : ShapeRef());
  if (n.hasInput(6))
    acc = n.binary<AddOp>(acc, n.input(6));
  if (acc && shapeOf(acc) != ShapeRef(shape)) {
    n.malformed("operand C {} does not broadcast to {}", typeText(n.input(6)),
                shapeToString(shape));
    return;
  }
  if (alpha != 1)
    xScale = n.binary<MulOp>(xScale, n.splat(alpha, elementOf(xScale)));
  if (n.hasInput(7)) {
    Value zero = n.optionalInput(8);
    if (!zero)
      zero = n.integers({0}, {}, elementOf(f.x));
    n.setOutput(0, requantise(n, acc, xScale, wScale, n.input(7), zero, -1));
    return;
  }
  Value scale = n.binary<MulOp>(spread(n, xScale, -1, shape, "the scale of a"),
                                spread(n, wScale, -1, shape, "the scale of b"));
  n.setOutput(0, n.binary<MulOp>(n.cast(acc, f32Of(n)), scale));
}

} // namespace

Value ashlar::frontend::requantised(Node &n, Value x, Value scale, Value zero,
                                    Type element) {
  const IntegerProduct *product = n.quantised().findProduct(x);
  if (!product || elementCount(shapeOf(scale)) != 1 ||
      !isSmallInteger(element, 8))
    return nullptr;
  if (!zero)
    zero = n.integers({0}, {}, element);
  return requantise(n, product->acc, product->xScale, product->wScale, scale,
                    zero, product->axis, product->relu);
}

Value ashlar::frontend::quantisedConv(Node &n,
                                      const Emitter::ConvAttributes &given) {
  Dequantised x, w;
  if (!findFactors(n, n.input(0), n.input(1), 0, x, w))
    return nullptr;
  Value bias = n.optionalInput(2), whole = integerBias(n, bias, x, w);
  Value acc = convAccumulators(n, {x.q, x.zero, w.q, w.zero}, given, whole);
  return finishProduct(n, acc, x, w, 1, whole ? Value() : bias);
}

Value ashlar::frontend::quantisedMatmul(Node &n, Value a, Value b,
                                        bool transposed, Value c) {
  Dequantised x, w;
  if (!b || rankOf(b) != 2 || !a || rankOf(a) < 2 || (c && rankOf(c) != 1) ||
      !findFactors(n, a, b, transposed ? 0 : 1, x, w))
    return nullptr;
  if (transposed)
    w.q = exchanged(n, w.q);
  Value acc = matmulAccumulators(n, {x.q, x.zero, w.q, w.zero});
  Value whole = integerBias(n, c, x, w);
  if (whole)
    acc = n.binary<AddOp>(acc, whole);
  return finishProduct(n, acc, x, w, -1, whole ? Value() : c);
}

void ashlar::frontend::noteRelu(Node &n, Value x, Value y) {
  if (!x)
    return;
  if (const IntegerProduct *product = n.quantised().findProduct(x)) {
    IntegerProduct cut = *product;
    cut.relu = true;
    n.quantised().add(y, cut);
  }
}

Value ashlar::frontend::integerMatmul(Node &n, Value x, Value xZero, Value w,
                                      Value wZero) {
  const Factors f{x, xZero, w, wZero};
  return checkFactors(n, f) ? matmulAccumulators(n, f) : Value();
}

std::vector<OperatorRow> ashlar::frontend::quantizeRows() {
  constexpr const char *product =
      "an integer product with exact corrections; parameters per tensor or per "
      "channel";
  return {
      {"ConvInteger", {10}, convInteger, product},
      {"MatMulInteger", {10}, matmulInteger, product},
      {"QLinearConv", {10}, qlinearConv<false>, product},
      {"QLinearConv", {1}, qlinearConv<true>, product, "com.microsoft"},
      {"QLinearMatMul", {10, 21}, qlinearMatmul, product},
      {"QGemm", {1}, qgemm, product, "com.microsoft"},
  };
}
