// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Roundings to few bits as exact steps: a quotient by a power of two, a
// rounding to an integer, and the product with the same power.

#include "NarrowValues.h"

#include "dialects/NN/NNElements.h"

#include <cmath>
#include <limits>

using namespace ashlar;
using namespace ashlar::frontend;
using namespace ashlar::nn;

namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr double kUndefined = std::numeric_limits<double>::quiet_NaN();
const double kLogOfTwo = std::log(2.0);

Type storageOf(Emitter &e, const NarrowType &type) {
  return toMlirType(e.context(), type.storage);
}

Value number(Emitter &e, Value like, double value) {
  return like ? e.splat(value, elementOf(like)) : Value();
}

Value isNaN(Emitter &e, Value x) {
  return e.unary(UnaryFunction::Not, e.compare(CompareKind::Equal, x, x));
}

Value times(Emitter &e, Value x, double factor) {
  return e.binary<MulOp>(x, number(e, x, factor));
}

/// x in a float type that loses nothing of it.
Value toFloat(Emitter &e, Value x) {
  if (!x)
    return nullptr;
  const Type element = elementOf(x);
  const bool wide = element.isF64() || (!mlir::isa<mlir::FloatType>(element) &&
                                        element.getIntOrFloatBitWidth() > 16);
  return e.cast(x, wide ? Type(mlir::Float64Type::get(e.context()))
                        : Type(mlir::Float32Type::get(e.context())));
}

/// The low bits of integers, as the type reads them.
Value lowBits(Emitter &e, Value x, const NarrowType &type) {
  if (!x)
    return nullptr;
  Type wide = mlir::IntegerType::get(e.context(), 32);
  if (elementOf(x).isInteger(1))
    return e.cast(x, storageOf(e, type));
  if (isFloatElement(x))
    x = e.unary(UnaryFunction::Clip, x, -0x1p30, 0x1p30);
  auto all = [&](int64_t value) { return e.integers({value}, {}, wide); };
  Value low = e.bitwise(LogicalKind::And, e.cast(x, wide),
                        all((int64_t(1) << type.bits) - 1));
  if (type.kind == NarrowKind::Signed) {
    const int64_t sign = int64_t(1) << (type.bits - 1);
    low =
        e.binary<SubOp>(e.bitwise(LogicalKind::Xor, low, all(sign)), all(sign));
  }
  return e.cast(low, storageOf(e, type));
}

Value toScale(Emitter &e, Value x, const NarrowType &type, bool saturate,
              PowerRounding rounding) {
  Value v = toFloat(e, x), below = powerBelow(e, v), twice = times(e, below, 2);
  Value power = below;
  if (rounding == PowerRounding::Up)
    power = e.where(e.compare(CompareKind::Greater, v, below), twice, below);
  else if (rounding == PowerRounding::Nearest)
    power =
        e.where(e.compare(CompareKind::GreaterOrEqual, v, times(e, below, 1.5)),
                twice, below);
  const double least = std::ldexp(1.0, type.leastExponent);
  if (saturate)
    power = e.unary(UnaryFunction::Clip, power, least, type.largest);
  else
    power = e.where(e.logical(LogicalKind::And,
                              e.compare(CompareKind::GreaterOrEqual, power,
                                        number(e, power, least)),
                              e.compare(CompareKind::LessOrEqual, power,
                                        number(e, power, type.largest))),
                    power, number(e, power, kUndefined));
  Value negative = e.compare(CompareKind::Less, v, number(e, v, 0));
  power = e.where(negative, number(e, power, kUndefined), power);
  return e.cast(power, storageOf(e, type));
}

/// y, whose magnitude may be beyond the largest number.
Value limited(Emitter &e, Value y, const NarrowType &type, bool saturate) {
  if (saturate || !type.hasNaN())
    return e.unary(UnaryFunction::Clip, y, -type.largest, type.largest);
  Value beyond = e.compare(CompareKind::Greater, e.unary(UnaryFunction::Abs, y),
                           number(e, y, type.largest));
  return e.where(beyond,
                 type.kind == NarrowKind::Ieee ? times(e, y, kInfinite)
                                               : number(e, y, kUndefined),
                 y);
}

/// The power of two that the last digit of |x| stands at, without fraction.
Value leadingPower(Emitter &e, Value x, const NarrowType &type) {
  Value v = e.unary(UnaryFunction::Abs, x);
  v = e.binary<MinOp>(v, number(e, v, 2 * type.largest));
  return e.binary<MaxOp>(powerBelow(e, v),
                         number(e, v, std::ldexp(1.0, type.leastExponent)));
}

Value toFloatType(Emitter &e, Value given, const NarrowType &type,
                  bool saturate) {
  Value x = toFloat(e, given);
  Value unit = times(e, leadingPower(e, x, type),
                     std::ldexp(1.0, -static_cast<int>(type.fraction)));
  Value y = e.unary(UnaryFunction::Round, e.binary<DivOp>(x, unit));
  y = limited(e, e.binary<MulOp>(y, unit), type, saturate);
  if (type.kind == NarrowKind::NoZero)
    y = e.binary<AddOp>(y, number(e, y, 0)); // -0 + 0 is 0.
  if (!type.hasNaN())
    y = e.where(isNaN(e, x), number(e, y, -0.0), y);
  return e.cast(y, storageOf(e, type));
}

unsigned codeOfNaN(const NarrowType &type) {
  if (type.kind == NarrowKind::Ieee) // Quiet.
    return (1u << (type.bits - 1)) - (1u << (type.fraction - 1));
  for (unsigned code = 0; code < (1u << type.bits); ++code)
    if (std::isnan(decode(type, code)))
      return code;
  return 0;
}

} // namespace

Value ashlar::frontend::powerBelow(Emitter &e, Value v) {
  if (!v)
    return nullptr;
  // The logarithm may be off at a power of two, by less than one.
  Value exponent =
      e.unary(UnaryFunction::Floor,
              times(e, e.unary(UnaryFunction::Log, v), 1 / kLogOfTwo));
  // A power of two in bfloat16 is one whatever the rounding of the function.
  Value power = e.cast(e.binary<PowOp>(number(e, v, 2), exponent),
                       mlir::BFloat16Type::get(e.context()));
  power = e.cast(power, elementOf(v));
  power = e.where(e.compare(CompareKind::Greater, power, v),
                  times(e, power, 0.5), power);
  Value twice = times(e, power, 2);
  return e.where(e.compare(CompareKind::GreaterOrEqual, v, twice), twice,
                 power);
}

Value ashlar::frontend::castToNarrow(Emitter &e, Value x,
                                     const NarrowType &type, bool saturate,
                                     PowerRounding rounding) {
  if (!type.isFloat())
    return lowBits(e, x, type);
  if (type.kind == NarrowKind::Scale)
    return toScale(e, x, type, saturate, rounding);
  return toFloatType(e, x, type, saturate);
}

Value ashlar::frontend::saturateToNarrow(Emitter &e, Value v,
                                         const NarrowType &type) {
  const double low = type.kind == NarrowKind::Unsigned ? 0 : -type.largest - 1;
  return e.cast(e.unary(UnaryFunction::Clip, v, low, type.largest),
                storageOf(e, type));
}

Value ashlar::frontend::decodeNarrow(Emitter &e, Value codes,
                                     const NarrowType &type) {
  if (!codes)
    return nullptr;
  if (!type.isFloat())
    return lowBits(e, codes, type);
  const int64_t count = int64_t(1) << type.bits;
  SmallVector<double> values;
  for (int64_t code = 0; code < count; ++code)
    values.push_back(decode(type, static_cast<unsigned>(code)));
  Value table = e.floats(values, {count, 1}, storageOf(e, type));
  const Type index = mlir::IntegerType::get(e.context(), 64);
  const Shape shape(shapeOf(codes));
  Value at = e.reshape(codes, {elementCount(shape), 1});
  at = e.cast(at, index);
  if (type.bits < 8)
    at = e.bitwise(LogicalKind::And, at, e.integers({count - 1}, {}, index));
  return e.reshape(e.takeAt(table, at, 0), shape);
}

Value ashlar::frontend::encodeNarrow(Emitter &e, Value values,
                                     const NarrowType &type) {
  const Type outside = toMlirType(e.context(), type.outside);
  if (!values || !type.isFloat())
    return e.cast(values, outside);
  Value x = e.cast(values, mlir::Float32Type::get(e.context()));
  // The scale of 2^-127 is below the least normal binary32; so is its half.
  Value power = type.kind == NarrowKind::Scale ? x : leadingPower(e, x, type);
  Value exponent =
      e.unary(UnaryFunction::Round,
              times(e, e.unary(UnaryFunction::Log, power), 1 / kLogOfTwo));
  Value place = e.binary<SubOp>(exponent, number(e, x, type.leastExponent));
  const double digits = std::ldexp(1.0, static_cast<int>(type.fraction));
  Value code = place;
  if (type.kind != NarrowKind::Scale) {
    Value magnitude = e.unary(UnaryFunction::Abs, x);
    // Digits with the leading one, which counts as a step of the exponent.
    code = e.binary<AddOp>(times(e, place, digits),
                           times(e, e.binary<DivOp>(magnitude, power), digits));
    const double sign = std::ldexp(1.0, static_cast<int>(type.bits) - 1);
    if (type.kind == NarrowKind::Ieee)
      code = e.where(e.compare(CompareKind::Greater, magnitude,
                               number(e, x, type.largest)),
                     number(e, x, sign - digits), code);
    Value zero = e.compare(CompareKind::Equal, x, number(e, x, 0));
    Value minus = e.where(zero, e.unary(UnaryFunction::Reciprocal, x), x);
    code = e.binary<AddOp>(
        code, e.where(e.compare(CompareKind::Less, minus, number(e, x, 0)),
                      number(e, x, sign), number(e, x, 0)));
  }
  if (type.hasNaN())
    code = e.where(isNaN(e, x), number(e, x, codeOfNaN(type)), code);
  return e.cast(code, outside);
}
