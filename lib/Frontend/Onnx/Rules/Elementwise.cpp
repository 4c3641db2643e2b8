// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operators of two and more operands, element by element.

#include "lib/Frontend/Onnx/Registry.h"

using namespace ashlar;
using namespace ashlar::frontend;
using namespace ashlar::nn;

namespace {

/// Before operator set 7 the second operand was aligned at `axis` and only
/// with `broadcast` = 1; its shape is completed with unit dimensions.
Value legacyOperand(Node &n, Value a, Value b) {
  int64_t broadcast = n.getInt("broadcast", 0);
  bool hasAxis = n.hasAttribute("axis");
  int64_t axis = n.getInt("axis", -1);
  if (!a || !b)
    return nullptr;
  int64_t rankA = rankOf(a), rankB = rankOf(b);
  if (broadcast == 0) {
    if (shapeOf(a) != shapeOf(b))
      return n.malformed("operands {} and {} differ in shape without broadcast",
                         typeText(a), typeText(b));
    return b;
  }
  if (rankB > rankA)
    return n.malformed("operand {} does not broadcast to {}", typeText(b),
                       typeText(a));
  int64_t first = hasAxis ? n.normalAxis(axis, rankA) : rankA - rankB;
  if (n.failed())
    return nullptr;
  if (first + rankB > rankA)
    return n.malformed("operand {} at axis {} does not broadcast to {}",
                       typeText(b), first, typeText(a));
  Shape shape(shapeOf(b));
  shape.append(rankA - rankB - first, 1);
  return n.reshape(b, shape);
}

template <class OpTy>
void binary(Node &n) {
  Value a = n.input(0), b = n.input(1);
  n.setOutput(0, n.binary<OpTy>(a, b));
}

template <class OpTy>
void legacyBinary(Node &n) {
  n.ignore("consumed_inputs");
  Value a = n.input(0);
  n.setOutput(0, n.binary<OpTy>(a, legacyOperand(n, a, n.input(1))));
}

/// From operator set 12 the exponent may have another type than the base: that
/// of the result. A fraction as the exponent of an integer keeps its value.
void power(Node &n) {
  Value a = n.input(0), b = n.input(1);
  if (!a || !b)
    return;
  const Type result = elementOf(a);
  if (!isFloatElement(a) && isFloatElement(b))
    a = n.cast(a, elementOf(b));
  else
    b = n.cast(b, result);
  n.setOutput(0, n.cast(n.binary<PowOp>(a, b), result));
}

/// Chains of a commutative operation; `mean` divides by the count at the end.
template <class OpTy, bool mean = false>
void variadic(Node &n) {
  n.ignore("consumed_inputs");
  Value result = n.input(0);
  for (size_t i = 1; i < n.numInputs(); ++i)
    result = n.binary<OpTy>(result, n.input(i));
  if (mean && result && n.numInputs() > 1)
    result = n.binary<DivOp>(result, n.splat(n.numInputs(), elementOf(result)));
  n.setOutput(0, result);
}

/// Operator set 6: all operands have one shape.
template <class OpTy, bool mean = false>
void variadicEqualShapes(Node &n) {
  Value first = n.input(0);
  for (size_t i = 1; first && i < n.numInputs(); ++i)
    if (Value other = n.input(i); other && shapeOf(other) != shapeOf(first))
      n.malformed("operands {} and {} differ in shape; operator set {} does "
                  "not broadcast",
                  typeText(first), typeText(other), n.opset());
  variadic<OpTy, mean>(n);
}

template <CompareKind kind>
void compare(Node &n) {
  Value a = n.input(0), b = n.input(1);
  if (a && b && elementOf(a) != elementOf(b))
    n.malformed("operands have different types: {} and {}", typeText(a),
                typeText(b));
  n.setOutput(0, n.compare(kind, a, b));
}

template <CompareKind kind>
void legacyCompare(Node &n) {
  Value a = n.input(0);
  n.setOutput(0, n.compare(kind, a, legacyOperand(n, a, n.input(1))));
}

template <LogicalKind kind>
void logical(Node &n) {
  n.setOutput(0, n.logical(kind, n.input(0), n.input(1)));
}

template <LogicalKind kind>
void legacyLogical(Node &n) {
  Value a = n.input(0);
  n.setOutput(0, n.logical(kind, a, legacyOperand(n, a, n.input(1))));
}

void where(Node &n) {
  Value condition = n.input(0), a = n.input(1), b = n.input(2);
  if (condition && !elementOf(condition).isInteger(1))
    n.malformed("the condition has the type {}, expected booleans",
                typeText(condition));
  else if (a && b && elementOf(a) != elementOf(b))
    n.malformed("operands have different types: {} and {}", typeText(a),
                typeText(b));
  n.setOutput(0, n.where(condition, a, b));
}

void modulo(Node &n) {
  int64_t fmod = n.getInt("fmod", 0);
  Value a = n.input(0), b = n.input(1);
  if (a && isFloatElement(a) && fmod == 0)
    n.malformed("fmod is 0 for operands of type {}, expected 1", typeText(a));
  n.setOutput(0, n.mod(a, b, fmod != 0));
}

/// Slopes of operator set 6 are one number or one per channel.
void legacyPRelu(Node &n) {
  n.ignore("consumed_inputs");
  Value x = n.input(0), slope = n.input(1);
  if (x && slope && rankOf(slope) == 1 && shapeOf(slope)[0] != 1) {
    Shape shape(shapeOf(slope));
    shape.append(std::max<int64_t>(rankOf(x) - 2, 0), 1);
    slope = n.reshape(slope, shape);
  }
  n.setOutput(0, n.binary<PReluOp>(x, slope));
}

void prelu(Node &n) {
  Value x = n.input(0), slope = n.input(1);
  Value y = n.binary<PReluOp>(x, slope);
  if (y && shapeOf(y) != shapeOf(x))
    n.malformed("the slope {} does not broadcast to {}", typeText(slope),
                typeText(x));
  n.setOutput(0, y);
}

constexpr const char *legacyNote =
    "one operation; `axis` and `broadcast` as in operator set 6";
constexpr const char *binaryNote = "one operation, numpy broadcasting";
constexpr const char *chainNote = "a chain of two-operand operations";

} // namespace

std::vector<OperatorRow> ashlar::frontend::elementwiseRows() {
  return {
      {"Add", {1, 6}, legacyBinary<AddOp>, legacyNote},
      {"Add", {7, 13, 14}, binary<AddOp>, binaryNote},
      {"Sub", {1, 6}, legacyBinary<SubOp>, legacyNote},
      {"Sub", {7, 13, 14}, binary<SubOp>, binaryNote},
      {"Mul", {1, 6}, legacyBinary<MulOp>, legacyNote},
      {"Mul", {7, 13, 14}, binary<MulOp>, binaryNote},
      {"Div", {1, 6}, legacyBinary<DivOp>, legacyNote},
      {"Div", {7, 13, 14}, binary<DivOp>, binaryNote},
      {"Pow", {1}, legacyBinary<PowOp>, legacyNote},
      {"Pow",
       {7, 12, 13, 15},
       power,
       "one operation; an exponent of another type is cast"},
      {"Mod", {10, 13}, modulo, "one operation"},
      {"Sum", {1, 6}, variadicEqualShapes<AddOp>, chainNote},
      {"Sum", {8, 13}, variadic<AddOp>, chainNote},
      {"Mean", {1, 6}, variadicEqualShapes<AddOp, true>, chainNote},
      {"Mean", {8, 13}, variadic<AddOp, true>, chainNote},
      {"Max", {1, 6}, variadicEqualShapes<MaxOp>, chainNote},
      {"Max", {8, 12, 13}, variadic<MaxOp>, chainNote},
      {"Min", {1, 6}, variadicEqualShapes<MinOp>, chainNote},
      {"Min", {8, 12, 13}, variadic<MinOp>, chainNote},
      {"PRelu",
       {1, 6},
       legacyPRelu,
       "one operation; one slope, or one per channel"},
      {"PRelu", {7, 9, 16}, prelu, "one operation"},
      {"Equal", {1}, legacyCompare<CompareKind::Equal>, legacyNote},
      {"Equal", {7, 11, 13, 19}, compare<CompareKind::Equal>, binaryNote},
      {"Less", {1}, legacyCompare<CompareKind::Less>, legacyNote},
      {"Less", {7, 9, 13}, compare<CompareKind::Less>, binaryNote},
      {"Greater", {1}, legacyCompare<CompareKind::Greater>, legacyNote},
      {"Greater", {7, 9, 13}, compare<CompareKind::Greater>, binaryNote},
      {"LessOrEqual", {12, 16}, compare<CompareKind::LessOrEqual>, binaryNote},
      {"GreaterOrEqual",
       {12, 16},
       compare<CompareKind::GreaterOrEqual>,
       binaryNote},
      {"And", {1}, legacyLogical<LogicalKind::And>, legacyNote},
      {"And", {7}, logical<LogicalKind::And>, binaryNote},
      {"Or", {1}, legacyLogical<LogicalKind::Or>, legacyNote},
      {"Or", {7}, logical<LogicalKind::Or>, binaryNote},
      {"Xor", {1}, legacyLogical<LogicalKind::Xor>, legacyNote},
      {"Xor", {7}, logical<LogicalKind::Xor>, binaryNote},
      {"Where", {9, 16}, where, binaryNote},
  };
}
