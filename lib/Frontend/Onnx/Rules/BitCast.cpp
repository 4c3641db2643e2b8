// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The same bits as another type. The machine's engines compute with numbers, so
// the bits of a float are computed from its value and back; every step is
// exact. A NaN is the quiet one of its type: engines keep no payload.

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

constexpr double kInfinite = std::numeric_limits<double>::infinity();

/// A float type and the types that its bits are computed in.
struct FloatBits {
  int fraction;
  int leastExponent; ///< Of normal numbers.
  int mostExponent;
  Type number; ///< Holds every value and every integer of fraction + 1 bits.
  Type whole;  ///< Holds the code, from its low bits.
  int64_t sign;

  int64_t one() const { return int64_t(1) << fraction; }
  /// The code of the exponent of infinities and NaN.
  int64_t topExponent() const { return mostExponent - leastExponent + 2; }
};

FloatBits bitsOf(Node &n, Type type) {
  mlir::Builder b(n.context());
  const auto single = Type(b.getF32Type()), word = Type(b.getI32Type());
  if (type.isF64())
    return {52,   -1022,          1023,
            type, b.getI64Type(), std::numeric_limits<int64_t>::min()};
  if (type.isF16())
    return {10, -14, 15, single, word, 0x8000};
  if (type.isBF16())
    return {7, -126, 127, single, word, 0x8000};
  return {23, -126, 127, single, word, std::numeric_limits<int32_t>::min()};
}

/// Arithmetic with numbers of one float type.
class Bits {
public:
  Bits(Node &n, Type type) : n(n), f(bitsOf(n, type)), type(type) {}

  /// Integers whose low bits are those of floats x.
  Value encode(Value x) {
    x = n.cast(x, f.number);
    if (!x)
      return nullptr;
    Value magnitude = n.unary(UnaryFunction::Abs, x);
    Value place = exponentOf(magnitude);
    Value digits = n.binary<DivOp>(magnitude, powerAt(place));
    digits = n.cast(times(digits, std::ldexp(1.0, f.fraction)), f.whole);
    // The leading one of a normal number is a step of the exponent.
    Value code = n.binary<AddOp>(
        n.binary<MulOp>(n.cast(place, f.whole), whole(f.one())), digits);
    const int64_t infinite = f.topExponent() * f.one();
    code = n.where(n.compare(CompareKind::Equal, magnitude, number(kInfinite)),
                   whole(infinite), code);
    code =
        n.binary<AddOp>(code, n.where(isNegative(x), whole(f.sign), whole(0)));
    return n.where(n.compare(CompareKind::Equal, x, x), code,
                   whole(infinite + f.one() / 2));
  }

  /// Floats whose bits are the low ones of integers.
  Value decode(Value code) {
    code = n.cast(code, f.whole);
    if (!code)
      return nullptr;
    const int64_t infinite = f.topExponent() * f.one();
    Value low =
        n.bitwise(LogicalKind::And, code, whole(infinite + f.one() - 1));
    Value exponent = n.binary<DivOp>(low, whole(f.one()));
    Value digits = n.bitwise(LogicalKind::And, low, whole(f.one() - 1));
    Value normal = n.compare(CompareKind::Greater, exponent, whole(0));
    digits = n.binary<AddOp>(digits, n.where(normal, whole(f.one()), whole(0)));
    Value place =
        n.binary<SubOp>(n.binary<MaxOp>(exponent, whole(1)), whole(1));
    place = n.binary<MinOp>(place, whole(f.topExponent() - 2));
    Value x = times(n.cast(digits, f.number), std::ldexp(1.0, -f.fraction));
    x = n.binary<MulOp>(x, powerAt(place));
    x = n.where(n.compare(CompareKind::Equal, low, whole(infinite)),
                number(kInfinite), x);
    x = n.where(n.compare(CompareKind::Greater, low, whole(infinite)),
                number(std::numeric_limits<double>::quiet_NaN()), x);
    Value minus = n.compare(CompareKind::Equal,
                            n.bitwise(LogicalKind::And, code, whole(f.sign)),
                            whole(f.sign));
    return n.cast(n.where(minus, n.unary(UnaryFunction::Neg, x), x), type);
  }

private:
  Value number(double value) { return n.splat(value, f.number); }
  Value whole(int64_t value) { return n.integers({value}, {}, f.whole); }
  Value times(Value x, double factor) {
    return n.binary<MulOp>(x, number(factor));
  }

  /// True for -0 as well.
  Value isNegative(Value x) {
    Value zero = n.compare(CompareKind::Equal, x, number(0));
    Value sided = n.where(zero, n.unary(UnaryFunction::Reciprocal, x), x);
    return n.compare(CompareKind::Less, sided, number(0));
  }

  /// 2 to the least exponent plus `place`.
  Value powerAt(Value place) {
    if (!place)
      return nullptr;
    SmallVector<double> powers;
    for (int e = f.leastExponent; e <= f.mostExponent; ++e)
      powers.push_back(std::ldexp(1.0, e));
    const auto count = static_cast<int64_t>(powers.size());
    const Shape shape(shapeOf(place));
    Value table = n.floats(powers, {count, 1}, f.number);
    Value at = n.reshape(place, {elementCount(shape), 1});
    return n.reshape(n.takeAt(table, at, 0), shape);
  }

  /// How far the exponent of x >= 0 is above the least one; the logarithm may
  /// be off by one step.
  Value exponentOf(Value x) {
    Value exponent =
        n.unary(UnaryFunction::Floor,
                times(n.unary(UnaryFunction::Log, x), 1 / std::log(2.0)));
    exponent =
        n.unary(UnaryFunction::Clip, exponent, f.leastExponent, f.mostExponent);
    Value place =
        n.binary<SubOp>(n.cast(exponent, f.whole), whole(f.leastExponent));
    Value power = powerAt(place);
    Value above = n.compare(CompareKind::Greater, power, x);
    Value below = n.compare(CompareKind::GreaterOrEqual, times(x, 0.5), power);
    place = n.binary<SubOp>(place, n.where(above, whole(1), whole(0)));
    place = n.binary<AddOp>(place, n.where(below, whole(1), whole(0)));
    place = n.binary<MaxOp>(place, whole(0));
    return n.binary<MinOp>(place, whole(f.topExponent() - 2));
  }

  Node &n;
  const FloatBits f;
  const Type type;
};

unsigned widthOf(Type type) {
  return type.isInteger(1) ? 8 : type.getIntOrFloatBitWidth();
}

void bitCast(Node &n) {
  const auto to = static_cast<int32_t>(n.getInt("to", 0));
  Value x = n.input(0);
  if (!x || n.failed())
    return;
  const NarrowType *from = n.narrowInput(0), *target = findNarrow(to);
  unsigned width = from ? from->bits : widthOf(elementOf(x)), wanted = 0;
  Type result;
  if (target) {
    wanted = target->bits;
  } else {
    auto known = elementTypeOf(to, "the result");
    if (!known) {
      n.fail(known.takeError(), ErrorClass::Malformed);
      return;
    }
    result = toMlirType(n.context(), *known);
    wanted = widthOf(result);
  }
  if (width != wanted) {
    n.malformed("from {} bits to {}", width, wanted);
    return;
  }
  if (elementCount(shapeOf(x)) == 0) {
    n.unsupported("{} has no elements", typeText(x));
    return;
  }
  Value code = from                ? encodeNarrow(n, x, *from)
               : isFloatElement(x) ? Bits(n, elementOf(x)).encode(x)
                                   : x;
  if (target)
    n.setOutput(0, decodeNarrow(n, code, *target));
  else if (mlir::isa<mlir::FloatType>(result))
    n.setOutput(0, Bits(n, result).decode(code));
  else
    n.setOutput(0, n.cast(code, result));
}

} // namespace

std::vector<OperatorRow> ashlar::frontend::bitCastRows() {
  return {{"BitCast",
           {26},
           bitCast,
           "exact formulas for the bits of floats, a cast between integers; a "
           "NaN is the quiet one of its type; no strings"}};
}
