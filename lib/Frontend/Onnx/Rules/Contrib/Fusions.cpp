// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Element-wise operators of com.microsoft that are several of ONNX's in one:
// gates, softmax of sums, complex products, distances.

#include "Activations.h"
#include "lib/Frontend/Onnx/Registry.h"
#include "lib/Frontend/Onnx/Rules/QuantizeParameters.h"

using namespace ashlar;
using namespace ashlar::frontend;
using namespace ashlar::nn;

namespace {

/// X + Y * gate, a gate for each row.
void gatedAdd(Node &n) {
  Value x = n.input(0), y = n.input(1), gate = n.input(2);
  if (!x || !y || !gate)
    return;
  Shape column(shapeOf(x));
  if (!column.empty())
    column.back() = 1;
  if (column.empty() || shapeOf(y) != shapeOf(x) ||
      shapeOf(gate) != ShapeRef(column)) {
    n.malformed("X is {}, Y {} and gate {}, expected one shape, and the gate "
                "with 1 in the last dimension",
                typeText(x), typeText(y), typeText(gate));
    return;
  }
  n.setOutput(0, n.binary<AddOp>(x, n.binary<MulOp>(y, gate)));
}

/// x / sqrt(mean of squares + epsilon) of groups of the last axis, times the
/// scale and the gate's SiLU, all in binary32.
void gatedRmsNorm(Node &n) {
  const double epsilon = n.getFloat("epsilon", 0);
  if (!n.hasAttribute("epsilon"))
    n.malformed("attribute 'epsilon' is missing, the definition has no default "
                "for it");
  Value x = n.input(0), scale = n.input(1), gate = n.input(2);
  if (n.failed() || !x || !scale || !gate)
    return;
  const Shape given(shapeOf(x));
  const int64_t width = rankOf(scale) == 1 ? shapeOf(scale)[0] : 0;
  if (given.empty() || width < 1 || given.back() % width != 0 ||
      shapeOf(gate) != ShapeRef(given)) {
    n.malformed("scale is {} and gate {} for {}, expected a divisor of its "
                "last dimension and its shape",
                typeText(scale), typeText(gate), typeText(x));
    return;
  }
  const Type type = f32Of(n);
  const Shape rows = {elementCount(given) / width, width};
  Value wide = n.reshape(n.cast(x, type), rows);
  Value squares =
      n.reduce(ReduceKind::Mean, n.binary<MulOp>(wide, wide), {1}, true);
  Value root = n.unary(UnaryFunction::Sqrt,
                       n.binary<AddOp>(squares, n.splat(epsilon, type)));
  Value y = n.binary<MulOp>(n.binary<DivOp>(wide, root), n.cast(scale, type));
  Value open = n.unary(UnaryFunction::Swish, n.cast(gate, type), 1);
  y = n.binary<MulOp>(y, n.reshape(open, rows));
  n.setOutput(0, n.reshape(n.cast(y, elementOf(x)), given));
}

/// The softmax of everything from an axis on, of sums with a bias for rows
/// before it: each for several rows in turn, or all in turn for each few.
void biasSoftmax(Node &n) {
  const int64_t given = n.getInt("axis", 1);
  const bool inner = n.getInt("is_inner_broadcast", 0) != 0;
  if (!n.hasAttribute("is_inner_broadcast"))
    n.malformed("attribute 'is_inner_broadcast' is missing");
  Value x = n.input(0), bias = n.input(1);
  if (n.failed() || !x || !bias)
    return;
  const int64_t axis = n.normalAxis(given, rankOf(x));
  const Shape shape(shapeOf(x));
  const int64_t rows = elementCount(ShapeRef(shape).take_front(axis)),
                width = elementCount(ShapeRef(shape).drop_front(axis)),
                count = elementCount(shapeOf(bias));
  if (n.failed())
    return;
  if (rows == 0 || width == 0 || count == 0 || count % width != 0 ||
      rows % (count / width) != 0) {
    n.malformed("a bias {} for {} rows of {}", typeText(bias), rows, width);
    return;
  }
  const int64_t own = count / width, times = rows / own;
  const Shape apart =
                  inner ? Shape{own, times, width} : Shape{times, own, width},
              beside = inner ? Shape{own, 1, width} : Shape{1, own, width};
  Value sum = n.binary<AddOp>(n.reshape(x, apart), n.reshape(bias, beside));
  n.setOutput(0, n.reshape(n.softmax(sum, 2, /*logarithm=*/false), shape));
}

/// Dropout that drops nothing.
void biasDropout(Node &n) {
  n.ignore("seed"); // Nothing is drawn.
  Value x = n.input(0), bias = n.input(1);
  if (!x || !bias)
    return;
  if (n.hasInput(4)) {
    auto training = n.constantNumber(4, "training_mode");
    if (!training)
      return;
    if (*training != 0) {
      n.unsupported("training_mode is true: what is dropped is random; export "
                    "the model for inference");
      return;
    }
  }
  Value y = shapeOf(bias) == shapeOf(x) ? n.binary<AddOp>(x, bias)
                                        : withBias(n, x, bias);
  if (n.hasInput(2)) {
    if (shapeOf(n.input(2)) != shapeOf(x)) {
      n.malformed("the residual is {}, the data {}", typeText(n.input(2)),
                  typeText(x));
      return;
    }
    y = n.binary<AddOp>(y, n.input(2));
  }
  n.setOutput(0, y);
  n.setOutput(1,
              n.splat(1, mlir::IntegerType::get(n.context(), 1), shapeOf(x)));
}

/// decay_scale * Softplus(a + dt_bias) and Sigmoid(b), in binary32.
void linearAttentionGate(Node &n) {
  const Type type = f32Of(n);
  Value a = n.input(0), bias = n.input(1), scale = n.input(2);
  if (!a || !bias || !scale)
    return;
  if (rankOf(scale) != 1 || shapeOf(scale) != shapeOf(bias)) {
    n.malformed("decay_scale is {} and dt_bias {}, expected one number for "
                "each head",
                typeText(scale), typeText(bias));
    return;
  }
  Value sum = withBias(n, n.cast(a, type), n.cast(bias, type));
  Value decay = n.binary<MulOp>(n.unary(UnaryFunction::Softplus, sum),
                                n.cast(scale, type));
  n.setOutput(0, decay ? n.cast(decay, elementOf(a)) : Value());
  if (!n.hasInput(3)) {
    if (n.outputUsed(1))
      n.malformed("output 1 (beta) is used without input 3 (b)");
    return;
  }
  Value b = n.input(3);
  if (shapeOf(b) != shapeOf(a)) {
    n.malformed("b is {}, a {}", typeText(b), typeText(a));
    return;
  }
  n.setOutput(1, n.cast(n.unary(UnaryFunction::Sigmoid, n.cast(b, type)),
                        elementOf(b)));
}

/// x * cos(angle) + turned x * sin(angle) of queries and keys.
void gemmaRotary(Node &n) {
  Value angle = n.input(0);
  if (!angle)
    return;
  if (rankOf(angle) != 3) {
    n.malformed("emb is {}, expected 3 dimensions", typeText(angle));
    return;
  }
  Shape beside(shapeOf(angle));
  beside.insert(beside.begin() + 1, 1);
  for (size_t i : {0, 1}) {
    Value x = n.input(1 + 2 * i), turned = n.input(2 + 2 * i);
    if (!x || !turned)
      return;
    if (rankOf(x) != 4 || shapeOf(turned) != shapeOf(x) ||
        shapeOf(x)[0] != beside[0] ||
        shapeOf(x).drop_front(2) != ShapeRef(beside).drop_front(2)) {
      n.malformed("states {} and {} for angles {}", typeText(x),
                  typeText(turned), typeText(angle));
      return;
    }
    auto part = [&](Value state, UnaryFunction function) {
      Value factor = n.cast(n.unary(function, angle), elementOf(state));
      return n.binary<MulOp>(state, n.reshape(factor, beside));
    };
    n.setOutput(i, n.binary<AddOp>(part(x, UnaryFunction::Cos),
                                   part(turned, UnaryFunction::Sin)));
  }
}

/// Real and imaginary parts lie in the last axis.
template <bool conjugate>
void complexMul(Node &n) {
  Value a = n.input(0), b = n.input(1);
  if (!a || !b)
    return;
  for (Value x : {a, b})
    if (rankOf(x) < 1 || shapeOf(x).back() != 2)
      n.malformed("an operand is {}, expected 2 parts in the last dimension",
                  typeText(x));
  if (n.failed())
    return;
  auto part = [&](Value x, int64_t i) {
    return n.sliceAxis(x, rankOf(x) - 1, i, 1);
  };
  auto product = [&](int64_t i, int64_t k) {
    return n.binary<MulOp>(part(a, i), part(b, k));
  };
  Value real = product(0, 0), other = product(1, 1), left = product(1, 0),
        right = product(0, 1);
  real =
      conjugate ? n.binary<AddOp>(real, other) : n.binary<SubOp>(real, other);
  Value imaginary =
      conjugate ? n.binary<SubOp>(left, right) : n.binary<AddOp>(left, right);
  if (real && imaginary)
    n.setOutput(0, n.concat({real, imaginary}, rankOf(real) - 1));
}

/// Euclidean distances of the rows of two matrices, or their squares: sums of
/// squared differences, which do not cancel as products would.
void distances(Node &n) {
  const std::string metric = n.getString("metric", "sqeuclidean");
  Value a = n.input(0), b = n.input(1);
  if (n.failed() || !a || !b)
    return;
  if (metric != "sqeuclidean" && metric != "euclidean") {
    n.unsupported("metric is '{}', only 'euclidean' and 'sqeuclidean' have a "
                  "definition",
                  printable(metric));
    return;
  }
  if (rankOf(a) != 2 || rankOf(b) != 2 || shapeOf(a)[1] != shapeOf(b)[1]) {
    n.malformed("operands are {} and {}, expected matrices of as many columns",
                typeText(a), typeText(b));
    return;
  }
  const int64_t width = shapeOf(a)[1];
  Value difference = n.binary<SubOp>(n.reshape(a, {shapeOf(a)[0], 1, width}),
                                     n.reshape(b, {1, shapeOf(b)[0], width}));
  Value sum = n.reduce(ReduceKind::SumSquare, difference, {2}, false);
  n.setOutput(0,
              metric == "euclidean" ? n.unary(UnaryFunction::Sqrt, sum) : sum);
}

/// Whether no element of any operand is an infinity or no number.
void isAllFinite(Node &n) {
  const bool onlyInf = n.getInt("isinf_only", 0) != 0,
             onlyNan = n.getInt("isnan_only", 0) != 0;
  if (onlyInf && onlyNan)
    n.malformed("both isinf_only and isnan_only are set");
  Value all;
  for (size_t i = 0; i < n.numInputs() && !n.failed(); ++i) {
    Value x = n.input(i);
    if (!x || !isFloatElement(x)) {
      if (x)
        n.malformed("input {} is {}, expected floats", i, typeText(x));
      return;
    }
    const Type type = elementOf(x);
    x = n.reshape(x, {elementCount(shapeOf(x))});
    Value size = n.unary(UnaryFunction::Abs, x),
          top = n.splat(std::numeric_limits<double>::infinity(), type);
    // Neither less than an infinity nor equal to it is only what is no number.
    Value fine = onlyNan ? n.compare(CompareKind::LessOrEqual, size, top)
                         : n.compare(CompareKind::Less, size, top);
    if (onlyInf)
      fine =
          n.unary(UnaryFunction::Not, n.compare(CompareKind::Equal, size, top));
    Value each = n.reduce(ReduceKind::Min, n.cast(fine, i32Of(n)), {0}, false);
    all = all ? n.binary<MinOp>(all, each) : each;
  }
  if (all)
    n.setOutput(0, n.cast(all, mlir::IntegerType::get(n.context(), 1)));
}

} // namespace

std::vector<OperatorRow> ashlar::frontend::fusionRows() {
  constexpr const char *domain = "com.microsoft";
  return {
      {"GatedAdd", {1}, gatedAdd, "a product and a sum", domain},
      {"GatedRMSNorm",
       {1},
       gatedRmsNorm,
       "a reduction and element-wise operations in binary32",
       domain},
      {"BiasSoftmax", {1}, biasSoftmax, "a sum and one operation", domain},
      {"BiasDropout",
       {1},
       biasDropout,
       "sums; training_mode must be absent or false",
       domain},
      {"LinearAttentionGate",
       {1},
       linearAttentionGate,
       "element-wise operations in binary32",
       domain},
      {"GemmaRotaryEmbedding",
       {1},
       gemmaRotary,
       "sines, cosines, products and sums",
       domain},
      {"ComplexMul", {1}, complexMul<false>, "products and sums", domain},
      {"ComplexMulConj", {1}, complexMul<true>, "products and sums", domain},
      {"CDist",
       {1},
       distances,
       "differences and a reduction; metric euclidean and sqeuclidean",
       domain},
      {"IsAllFinite", {1}, isAllFinite, "comparisons and reductions", domain},
  };
}
