// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bits of integers.

#include "lib/Frontend/Onnx/Registry.h"

using namespace ashlar;
using namespace ashlar::frontend;
using namespace ashlar::nn;

namespace {

template <LogicalKind kind>
void bitwise(Node &n) {
  n.setOutput(0, n.bitwise(kind, n.input(0), n.input(1)));
}

void bitwiseNot(Node &n) {
  if (Value x = n.input(0))
    n.setOutput(
        0,
        isFloatElement(x)
            ? n.malformed("the operand is {}, expected integers", typeText(x))
            : n.bitwise(LogicalKind::Xor, x, n.integers(-1, {}, elementOf(x))));
}

/// x / 2^y. The machine divides signed numbers, so the top bit of 64 goes by
/// itself.
Value shiftRight(Node &n, Value x, Value y) {
  const Type type = elementOf(x);
  auto number = [&](int64_t value) { return n.integers(value, {}, type); };
  Value two = number(2), factor = n.binary<PowOp>(two, y);
  if (!type.isUnsignedInteger(64))
    return n.binary<DivOp>(x, factor);
  const int64_t top = std::numeric_limits<int64_t>::min();
  Value low = n.bitwise(LogicalKind::And, x, number(~top));
  Value has = n.bitwise(LogicalKind::And, x, number(top));
  Value bit = n.binary<PowOp>(two, n.binary<SubOp>(number(63), y));
  Value high =
      n.where(n.compare(CompareKind::Equal, has, number(0)), number(0), bit);
  return n.binary<AddOp>(n.binary<DivOp>(low, factor), high);
}

/// A shift by the width or more leaves no bit.
void bitShift(Node &n) {
  Value x = n.input(0), y = n.input(1);
  const std::string direction = n.getString("direction", "");
  if (!x || !y)
    return;
  if (!elementOf(x).isUnsignedInteger() || elementOf(x) != elementOf(y)) {
    n.malformed("operands are {} and {}, expected unsigned integers of one "
                "type",
                typeText(x), typeText(y));
    return;
  }
  if (direction == "RIGHT") {
    n.setOutput(0, shiftRight(n, x, y));
    return;
  }
  if (direction != "LEFT")
    n.malformed("direction is '{}', expected LEFT or RIGHT", direction);
  Value two = n.integers(2, {}, elementOf(x));
  n.setOutput(0, n.binary<MulOp>(x, n.binary<PowOp>(two, y)));
}

} // namespace

std::vector<OperatorRow> ashlar::frontend::bitRows() {
  const char *note = "one operation, numpy broadcasting";
  return {
      {"BitShift", {11}, bitShift, "a product or quotient with a power of two"},
      {"BitwiseAnd", {18}, bitwise<LogicalKind::And>, note},
      {"BitwiseOr", {18}, bitwise<LogicalKind::Or>, note},
      {"BitwiseXor", {18}, bitwise<LogicalKind::Xor>, note},
      {"BitwiseNot", {18}, bitwiseNot, "one operation"},
  };
}
