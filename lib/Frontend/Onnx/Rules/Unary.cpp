// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Functions of one operand, casts and the operators that do nothing.

#include "lib/Frontend/Onnx/Registry.h"
#include "lib/Frontend/Onnx/Tensors.h"
#include "lib/Frontend/Onnx/Types/NarrowValues.h"

#include "dialects/NN/NNElements.h"

#include <cmath>
#include <limits>

using namespace ashlar;
using namespace ashlar::frontend;
using namespace ashlar::nn;

namespace {

template <UnaryFunction function>
void unary(Node &n) {
  n.ignore("consumed_inputs");
  Value x = n.input(0), y = n.unary(function, x);
  if (function == UnaryFunction::Relu)
    noteRelu(n, x, y);
  n.setOutput(0, y);
}

void leakyRelu(Node &n) {
  n.ignore("consumed_inputs");
  double alpha = n.getFloat("alpha", 0.01f);
  n.setOutput(0, n.unary(UnaryFunction::LeakyRelu, n.input(0), alpha));
}

void elu(Node &n) {
  n.ignore("consumed_inputs");
  double alpha = n.getFloat("alpha", 1.0f);
  n.setOutput(0, n.unary(UnaryFunction::Elu, n.input(0), alpha));
}

void selu(Node &n) {
  n.ignore("consumed_inputs");
  double alpha = n.getFloat("alpha", 1.67326319217681884765625f);
  double gamma = n.getFloat("gamma", 1.05070102214813232421875f);
  n.setOutput(0, n.unary(UnaryFunction::Selu, n.input(0), alpha, gamma));
}

void hardSigmoid(Node &n) {
  n.ignore("consumed_inputs");
  double alpha = n.getFloat("alpha", 0.2f);
  double beta = n.getFloat("beta", 0.5f);
  n.setOutput(0, n.unary(UnaryFunction::HardSigmoid, n.input(0), alpha, beta));
}

/// Clips floats with constant bounds; without one the type's own limit stands
/// in.
Value clipTo(Node &n, Value x, std::optional<double> low,
             std::optional<double> high) {
  if (!x || n.failed())
    return nullptr;
  if (!low && !high)
    return x;
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (low && *low == 0 && (!high || *high >= std::numeric_limits<float>::max()))
    return n.unary(UnaryFunction::Relu, x);
  return n.unary(UnaryFunction::Clip, x, low.value_or(-infinity),
                 high.value_or(infinity));
}

void clipAttributes(Node &n) {
  n.ignore("consumed_inputs");
  std::optional<double> low, high;
  if (n.hasAttribute("min"))
    low = n.getFloat("min", 0);
  if (n.hasAttribute("max"))
    high = n.getFloat("max", 0);
  n.setOutput(0, clipTo(n, n.input(0), low, high));
}

/// A bound is one number, whatever shape it has.
Value scalarBound(Node &n, Value bound) {
  if (bound && elementCount(shapeOf(bound)) != 1)
    return n.malformed("a bound is {}, expected one number", typeText(bound));
  return n.reshape(bound, {});
}

/// Bounds that are not constant become max and min, and so do those of
/// integers, since no float holds all of them.
void clipInputs(Node &n) {
  Value x = n.input(0), low = n.optionalInput(1), high = n.optionalInput(2);
  bool isConstant = (!low || constantOf(low)) && (!high || constantOf(high));
  for (Value bound : {low, high})
    if (bound && x && elementOf(bound) != elementOf(x))
      n.malformed("a bound has the type {}, expected that of {}",
                  typeText(bound), typeText(x));
  if (!isConstant || !x || !isFloatElement(x)) {
    if (low)
      x = n.binary<MaxOp>(x, scalarBound(n, low));
    if (high)
      x = n.binary<MinOp>(x, scalarBound(n, high));
    n.setOutput(0, x);
    return;
  }
  std::optional<double> lowest, highest;
  if (low)
    lowest = n.constantNumber(1, "min");
  if (high)
    highest = n.constantNumber(2, "max");
  n.setOutput(0, clipTo(n, x, lowest, highest));
}

void gelu(Node &n) {
  std::string approximate = n.getString("approximate", "none");
  Value x = n.input(0);
  if (approximate != "none" && approximate != "tanh")
    n.malformed("approximate is '{}', expected 'none' or 'tanh'",
                printable(approximate));
  n.setOutput(0, n.unary(approximate == "tanh" ? UnaryFunction::GeluTanh
                                               : UnaryFunction::Gelu,
                         x));
}

void mish(Node &n) {
  Value x = n.input(0);
  Value t = n.unary(UnaryFunction::Tanh, n.unary(UnaryFunction::Softplus, x));
  n.setOutput(0, n.binary<MulOp>(x, t));
}

void swish(Node &n) {
  Value x = n.input(0);
  n.setOutput(0, n.unary(UnaryFunction::Swish, x, n.getFloat("alpha", 1.0f)));
}

/// A gate and what it lets through.
void swiGlu(Node &n) {
  Value gate = n.input(0), x = n.input(1);
  const double alpha = n.getFloat("alpha", 1.0f);
  if (!gate || !x)
    return;
  if (gate.getType() != x.getType())
    n.malformed("operands are {} and {}, expected one type and shape",
                typeText(gate), typeText(x));
  n.setOutput(0,
              n.binary<MulOp>(n.unary(UnaryFunction::Swish, gate, alpha), x));
}

/// max(0, x) + min(0, alpha (exp(x / alpha) - 1)), which is alpha elu(x /
/// alpha) for a positive alpha.
void celu(Node &n) {
  Value x = n.input(0);
  double alpha = n.getFloat("alpha", 1.0f);
  if (!x)
    return;
  if (alpha == 0)
    n.malformed("alpha is 0");
  Value scaled = n.binary<DivOp>(x, n.splat(alpha, elementOf(x)));
  if (alpha < 0) {
    Value zero = n.splat(0, elementOf(x));
    Value power = n.binary<SubOp>(n.unary(UnaryFunction::Exp, scaled),
                                  n.splat(1, elementOf(x)));
    Value below = n.binary<MinOp>(
        zero, n.binary<MulOp>(power, n.splat(alpha, elementOf(x))));
    n.setOutput(0, n.binary<AddOp>(n.binary<MaxOp>(zero, x), below));
    return;
  }
  Value y = n.unary(UnaryFunction::Elu, scaled, 1.0);
  n.setOutput(0, n.binary<MulOp>(y, n.splat(alpha, elementOf(x))));
}

void thresholdedRelu(Node &n) {
  Value x = n.input(0);
  double alpha = n.getFloat("alpha", 1.0f);
  if (!x)
    return;
  Value above =
      n.compare(CompareKind::Greater, x, n.splat(alpha, elementOf(x)));
  n.setOutput(0, n.where(above, x, n.splat(0, elementOf(x))));
}

void logicalNot(Node &n) {
  Value x = n.input(0);
  if (x && !elementOf(x).isInteger(1))
    n.malformed("the operand has the type {}, expected booleans", typeText(x));
  n.setOutput(0, n.unary(UnaryFunction::Not, x));
}

void identity(Node &n) { n.setOutput(0, n.input(0)); }

/// In inference every element is kept. The mask is boolean from version 10.
void keepAll(Node &n) {
  Value x = n.input(0);
  n.setOutput(0, x);
  if (!x || !n.outputUsed(1))
    return;
  mlir::Builder b(n.context());
  Type element = n.opset() >= 10 ? Type(b.getI1Type()) : elementOf(x);
  Value one = n.splat(1, element);
  n.setOutput(1, n.broadcast(one, shapeOf(x)));
}

void dropout(Node &n) {
  n.getFloat("ratio", 0.5f);
  n.getInt("is_test", 1);
  n.ignore("consumed_inputs");
  keepAll(n);
}

/// The attributes that say how floats become narrow ones.
Value narrowed(Node &n, Value x) {
  const bool saturate = n.getInt("saturate", 1) != 0;
  const std::string mode = n.getString("round_mode", "up");
  PowerRounding rounding = PowerRounding::Up;
  if (mode == "down")
    rounding = PowerRounding::Down;
  else if (mode == "nearest")
    rounding = PowerRounding::Nearest;
  else if (mode != "up")
    n.malformed("round_mode is '{}', expected 'up', 'down' or 'nearest'",
                printable(mode));
  const NarrowType *to = n.narrowOutput(0);
  // A value of the type is one of its numbers already.
  return n.narrowInput(0) == to ? x
                                : castToNarrow(n, x, *to, saturate, rounding);
}

/// The type that a cast names; to operator set 5 by its name.
template <bool named>
int64_t castType(Node &n) {
  if (!named)
    return n.getInt("to", 0);
  const std::string name = n.getString("to", "");
  onnx::TensorProto::DataType type = onnx::TensorProto::UNDEFINED;
  if (!onnx::TensorProto::DataType_Parse(name, &type))
    n.malformed("to is '{}', expected the name of a type, such as FLOAT",
                printable(name));
  return type;
}

template <bool named = false>
void cast(Node &n) {
  const int64_t to = castType<named>(n);
  Value x = n.input(0);
  if (n.failed())
    return;
  if (!x)
    return;
  if (n.narrowOutput(0)) {
    n.setOutput(0, narrowed(n, x));
    return;
  }
  n.ignore("saturate");
  n.ignore("round_mode");
  llvm::Expected<support::ElementType> type =
      elementTypeOf(static_cast<int32_t>(to), "the result");
  if (!type) {
    n.fail(type.takeError(), ErrorClass::Malformed);
    return;
  }
  n.setOutput(0, n.cast(x, toMlirType(x.getContext(), *type)));
}

void castLike(Node &n) {
  Value x = n.input(0), like = n.input(1);
  if (x && like && n.narrowOutput(0)) {
    n.setOutput(0, narrowed(n, x));
    return;
  }
  n.ignore("saturate");
  n.ignore("round_mode");
  if (x && like)
    n.setOutput(0, n.cast(x, elementOf(like)));
}

void isNaN(Node &n) {
  Value x = n.input(0);
  n.setOutput(0,
              n.unary(UnaryFunction::Not, n.compare(CompareKind::Equal, x, x)));
}

void isInfinite(Node &n) {
  Value x = n.input(0);
  const bool negative = n.getInt("detect_negative", 1) != 0,
             positive = n.getInt("detect_positive", 1) != 0;
  if (!x)
    return;
  constexpr double infinity = std::numeric_limits<double>::infinity();
  auto equals = [&](double value) {
    return n.compare(CompareKind::Equal, x, n.splat(value, elementOf(x)));
  };
  mlir::Builder b(n.context());
  Value none = n.broadcast(n.integers(0, {}, b.getI1Type()), shapeOf(x));
  Value above = positive ? equals(infinity) : none;
  Value below = negative ? equals(-infinity) : none;
  n.setOutput(0, n.logical(LogicalKind::Or, above, below));
}

/// Nearer to zero by `bias`, and zero within `lambd`.
void shrink(Node &n) {
  Value x = n.input(0);
  const double bias = n.getFloat("bias", 0), limit = n.getFloat("lambd", 0.5f);
  if (!x)
    return;
  const Type given = elementOf(x);
  if (!isFloatElement(x))
    x = n.cast(x, mlir::Float32Type::get(n.context()));
  auto number = [&](double value) { return n.splat(value, elementOf(x)); };
  Value above = n.compare(CompareKind::Greater, x, number(limit));
  Value below = n.compare(CompareKind::Less, x, number(-limit));
  // Both hold for some x if the limit is negative; the first one counts.
  Value inner = n.where(above, n.binary<SubOp>(x, number(bias)), number(0));
  Value y = n.where(below, n.binary<AddOp>(x, number(bias)), inner);
  n.setOutput(0, n.cast(y, given));
}

constexpr const char *unaryNote = "one operation";

template <UnaryFunction function>
OperatorRow row(const char *op, std::vector<int> versions) {
  return {op, std::move(versions), unary<function>, unaryNote};
}

} // namespace

std::vector<OperatorRow> ashlar::frontend::trigonometryRows() {
  using F = UnaryFunction;
  return {
      row<F::Sin>("Sin", {7, 22}),     row<F::Cos>("Cos", {7, 22}),
      row<F::Tan>("Tan", {7, 22}),     row<F::Asin>("Asin", {7, 22}),
      row<F::Acos>("Acos", {7, 22}),   row<F::Atan>("Atan", {7, 22}),
      row<F::Sinh>("Sinh", {9, 22}),   row<F::Cosh>("Cosh", {9, 22}),
      row<F::Asinh>("Asinh", {9, 22}), row<F::Acosh>("Acosh", {9, 22}),
      row<F::Atanh>("Atanh", {9, 22}),
  };
}

std::vector<OperatorRow> ashlar::frontend::unaryRows() {
  using F = UnaryFunction;
  return {
      row<F::Neg>("Neg", {1, 6, 13}),
      row<F::Abs>("Abs", {1, 6, 13}),
      row<F::Sqrt>("Sqrt", {1, 6, 13}),
      row<F::Exp>("Exp", {1, 6, 13}),
      row<F::Log>("Log", {1, 6, 13}),
      row<F::Reciprocal>("Reciprocal", {1, 6, 13}),
      row<F::Relu>("Relu", {1, 6, 13, 14}),
      row<F::Sigmoid>("Sigmoid", {1, 6, 13}),
      row<F::Tanh>("Tanh", {1, 6, 13}),
      row<F::HardSwish>("HardSwish", {14, 22}),
      row<F::Softplus>("Softplus", {1, 22}),
      row<F::Softsign>("Softsign", {1, 22}),
      row<F::Erf>("Erf", {9, 13}),
      row<F::Floor>("Floor", {1, 6, 13}),
      row<F::Ceil>("Ceil", {1, 6, 13}),
      row<F::Round>("Round", {11, 22}),
      row<F::Sign>("Sign", {9, 13}),
      {"IsNaN", {9, 13, 20}, isNaN, "comparison with itself"},
      {"IsInf", {10, 20}, isInfinite, "comparisons"},
      {"Shrink", {9}, shrink, "comparisons and choices"},
      {"Not", {1}, logicalNot, unaryNote},
      {"LeakyRelu", {1, 6, 16}, leakyRelu, unaryNote},
      {"Elu", {1, 6, 22}, elu, unaryNote},
      {"Selu", {1, 6, 22}, selu, unaryNote},
      {"HardSigmoid", {1, 6, 22}, hardSigmoid, unaryNote},
      {"Clip", {1, 6}, clipAttributes, "one operation, bounds as attributes"},
      {"Clip",
       {11, 12, 13},
       clipInputs,
       "one operation; bounds that are not constant become max and min"},
      {"Gelu", {20}, gelu, "one operation"},
      {"Mish", {18, 22}, mish, "its formula"},
      {"Swish", {24}, swish, "x * sigmoid(alpha * x)"},
      {"SwiGLU", {28}, swiGlu, "one operation and a product"},
      {"Celu", {12, 28}, celu, "alpha * elu(x / alpha)"},
      {"ThresholdedRelu",
       {10, 22},
       thresholdedRelu,
       "a comparison and a choice"},
      {"Identity", {1, 13, 14, 16, 19, 21, 23, 24, 25}, identity, "nothing"},
      {"Dropout", {1, 6, 7, 10}, dropout, "nothing; the mask is a constant"},
      {"Cast", {1}, cast<true>, "one operation; no strings"},
      {"Cast",
       {6, 9, 13, 19, 21, 23, 24, 25},
       cast<>,
       "one operation; several for floats of 8 and 4 bits and integers of 4 "
       "and 2; no strings"},
      {"CastLike", {15, 19, 21, 23, 24, 25}, castLike, "one operation"},
  };
}
