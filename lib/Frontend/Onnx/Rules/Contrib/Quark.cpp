// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Roundings to block formats of com.amd.quark: each block of an axis has a
// power of two from the largest exponent of its elements.

#include "lib/Frontend/Onnx/Registry.h"
#include "lib/Frontend/Onnx/Types/NarrowValues.h"

#include "llvm/Support/MathExtras.h"

#include <cmath>
#include <limits>

using namespace ashlar;
using namespace ashlar::frontend;
using namespace ashlar::nn;

namespace {

/// Of zero and subnormal numbers, and of the least normal one.
constexpr int kLeastExponent = -127, kLeastNormal = -126;

Value number(Node &n, Value like, double value) {
  return like ? n.splat(value, elementOf(like)) : Value();
}
Value times(Node &n, Value x, double factor) {
  return n.binary<MulOp>(x, number(n, x, factor));
}

/// Which of two integers in the middle between them a number becomes.
enum Halves { Away = 0, Up = 1, Even = 2 };

Value rounded(Node &n, Value x, int64_t halves) {
  if (halves == Even)
    return n.unary(UnaryFunction::Round, x);
  if (halves == Up)
    return n.unary(UnaryFunction::Floor, n.binary<AddOp>(x, number(n, x, 0.5)));
  Value magnitude = n.unary(
      UnaryFunction::Floor,
      n.binary<AddOp>(n.unary(UnaryFunction::Abs, x), number(n, x, 0.5)));
  return n.binary<MulOp>(magnitude, n.unary(UnaryFunction::Sign, x));
}

/// x with its axis as [blocks, size], filled up with zeros.
struct Blocked {
  Value x;
  int64_t axis = 0, extent = 0, size = 0;

  Shape shapeFor(int64_t block) const {
    Shape shape(shapeOf(x));
    shape[axis] = shape[axis] * shape[axis + 1] / block;
    shape[axis + 1] = block;
    return shape;
  }
};

std::optional<Blocked> readBlocks(Node &n, int64_t size) {
  Value x = n.input(0);
  const int64_t axis = n.getInt("axis", 1);
  if (!x || n.failed())
    return std::nullopt;
  if (!elementOf(x).isF32() || size < 1 || size > (int64_t(1) << 24)) {
    n.malformed("the operand is {} in blocks of {}, expected float and a "
                "positive number",
                typeText(x), size);
    return std::nullopt;
  }
  Blocked b;
  b.axis = n.normalAxis(axis, rankOf(x));
  if (n.failed())
    return std::nullopt;
  b.size = size;
  b.extent = shapeOf(x)[b.axis];
  const int64_t count = static_cast<int64_t>(llvm::divideCeil(b.extent, size));
  Shape low(rankOf(x), 0), high(rankOf(x), 0), shape(shapeOf(x));
  high[b.axis] = count * size - b.extent;
  shape[b.axis] = count;
  shape.insert(shape.begin() + b.axis + 1, size);
  b.x = n.reshape(n.pad(x, low, high, PadMode::Constant, 0), shape);
  return b.x ? std::optional<Blocked>(b) : std::nullopt;
}

void finish(Node &n, const Blocked &b, Value y) {
  Shape shape(shapeOf(n.input(0)));
  shape[b.axis] = (b.extent + b.size - 1) / b.size * b.size;
  n.setOutput(0, n.sliceAxis(n.reshape(y, shape), b.axis, 0, b.extent));
}

Value isFinite(Node &n, Value x) {
  Value magnitude = n.unary(UnaryFunction::Abs, x);
  return n.compare(CompareKind::Less, magnitude,
                   number(n, x, std::numeric_limits<double>::infinity()));
}

/// The power of two of the largest exponent along axis `along`; what is not
/// finite does not count.
Value largestPower(Node &n, Value x, int64_t along) {
  Value v = n.unary(UnaryFunction::Abs, x);
  v = n.where(isFinite(n, x), v, number(n, x, 0));
  v = powerBelow(n, n.reduce(ReduceKind::Max, v, {along}, true));
  return n.binary<MaxOp>(v, number(n, x, std::ldexp(1.0, kLeastExponent)));
}

/// What is not finite stays.
Value keepSpecial(Node &n, Value x, Value y) {
  return n.where(isFinite(n, x), y, x);
}

/// One exponent for the block; the next one if an element would round beyond
/// its digits.
Value toBlock(Node &n, const Blocked &b, int64_t digits, int64_t halves) {
  Value unit = times(n, largestPower(n, b.x, b.axis + 1),
                     std::ldexp(1.0, 1 - static_cast<int>(digits)));
  Value finite = n.where(isFinite(n, b.x), b.x, number(n, b.x, 0));
  Value q = rounded(n, n.binary<DivOp>(finite, unit), halves);
  const double limit = std::ldexp(1.0, static_cast<int>(digits));
  Value high = n.reduce(ReduceKind::Max, q, {b.axis + 1}, true),
        low = n.reduce(ReduceKind::Min, q, {b.axis + 1}, true);
  Value beyond = n.logical(
      LogicalKind::Or,
      n.compare(CompareKind::GreaterOrEqual, high, number(n, high, limit)),
      n.compare(CompareKind::Less, low, number(n, low, -limit)));
  unit = n.where(beyond, times(n, unit, 2), unit);
  Value y = rounded(n, n.binary<DivOp>(finite, unit), halves);
  return keepSpecial(n, b.x, n.binary<MulOp>(y, unit));
}

/// An exponent for the block, and up to 2^shift - 1 less for each sub-block.
/// A block with something that is not finite becomes NaN.
Value toBlocks(Node &n, const Blocked &b, int64_t digits, int64_t halves,
               int64_t part, int64_t shiftBits) {
  // Subnormal numbers count as 0.
  Value normal =
      n.compare(CompareKind::GreaterOrEqual, n.unary(UnaryFunction::Abs, b.x),
                number(n, b.x, std::ldexp(1.0, kLeastNormal)));
  Value x = n.where(n.logical(LogicalKind::And, normal, isFinite(n, b.x)), b.x,
                    number(n, b.x, 0));
  Value power = largestPower(n, x, b.axis + 1);
  Shape parts = b.shapeFor(part);
  Value own = largestPower(n, n.reshape(x, parts), b.axis + 1);
  Shape repeated(shapeOf(b.x));
  repeated[b.axis + 1] = 1;
  // One entry per sub-block for the power of the block.
  SmallVector<int64_t> blockOf;
  for (int64_t i = 0; i < parts[b.axis]; ++i)
    blockOf.push_back(i / (b.size / part));
  Value whole = n.gather(power, b.axis, blockOf);
  const double least =
      std::ldexp(1.0, -((1 << static_cast<int>(shiftBits)) - 1));
  own = n.binary<MaxOp>(own, times(n, whole, least));
  Value unit = times(n, own, std::ldexp(1.0, 1 - static_cast<int>(digits)));
  Value y = rounded(n, n.binary<DivOp>(n.reshape(x, parts), unit), halves);
  y = n.reshape(n.binary<MulOp>(y, unit), shapeOf(b.x));
  Value finite = n.cast(isFinite(n, b.x), elementOf(b.x));
  Value all = n.reduce(ReduceKind::Min, finite, {b.axis + 1}, true);
  return n.where(n.compare(CompareKind::Greater, all, number(n, all, 0)), y,
                 number(n, y, std::numeric_limits<double>::quiet_NaN()));
}

void bfpQuantizeDequantize(Node &n) {
  const std::string method = n.getString("bfp_method", "to_bfp");
  const int64_t bits = n.getInt("bit_width", 16),
                size = n.getInt("block_size", 8),
                halves = n.getInt("rounding_mode", 0),
                part = n.getInt("sub_block_size", 2),
                shift = n.getInt("sub_block_shift_bits", 1);
  if (n.getInt("convert_to_bfloat_before_bfp", 0) != 0)
    n.unsupported("convert_to_bfloat_before_bfp");
  constexpr int64_t other = 9; // Sign and exponent.
  const bool prime = method == "to_bfp_prime";
  if (bits <= other || bits > other + 22 || halves < Away || halves > Even ||
      (!prime && method != "to_bfp") ||
      (prime &&
       (part < 1 || size < 1 || size % part != 0 || shift < 0 || shift > 6)))
    n.malformed("bfp_method '{}' with bit_width {}, block_size {}, "
                "rounding_mode {}, sub_block_size {}, sub_block_shift_bits {}",
                printable(method), bits, size, halves, part, shift);
  std::optional<Blocked> b = readBlocks(n, size);
  if (!b)
    return;
  finish(n, *b,
         prime ? toBlocks(n, *b, bits - other, halves, part, shift)
               : toBlock(n, *b, bits - other, halves));
}

/// Element types of Microscaling; fp6 has no number in ONNX.
struct Element {
  const char *name;
  NarrowType type;
};

constexpr support::ElementType kWide = support::ElementType::F32;
constexpr Element kElements[] = {
    {"fp8_e5m2", {0, "", 8, NarrowKind::Plain, 2, -14, 57344, kWide, kWide}},
    {"fp8_e4m3", {0, "", 8, NarrowKind::Plain, 3, -6, 448, kWide, kWide}},
    {"fp6_e3m2", {0, "", 6, NarrowKind::Plain, 2, -2, 28, kWide, kWide}},
    {"fp6_e2m3", {0, "", 6, NarrowKind::Plain, 3, 0, 7.5, kWide, kWide}},
    {"fp4_e2m1", {0, "", 4, NarrowKind::Plain, 1, 0, 6, kWide, kWide}},
};

/// The scale is the block's power of two over that of the largest element.
void mxQuantizeDequantize(Node &n) {
  const std::string name = n.getString("element_dtype", "int8");
  const int64_t size = n.getInt("block_size", 32),
                halves = n.getInt("rounding_mode", 0);
  const Element *element = nullptr;
  for (const Element &known : kElements)
    if (name == known.name)
      element = &known;
  if ((!element && name != "int8") || halves < Away || halves > Even)
    n.malformed("element_dtype is '{}' with rounding_mode {}, expected "
                "fp8_e5m2, fp8_e4m3, fp6_e3m2, fp6_e2m3, fp4_e2m1 or int8 with "
                "0 to 2",
                printable(name), halves);
  std::optional<Blocked> b = readBlocks(n, size);
  if (!b)
    return;
  const int top = element ? std::ilogb(element->type.largest) : 0;
  Value scale =
      times(n, largestPower(n, b->x, b->axis + 1), std::ldexp(1.0, -top));
  Value x = n.where(isFinite(n, b->x), b->x, number(n, b->x, 0));
  Value e = n.binary<DivOp>(x, scale);
  if (element) {
    e = castToNarrow(n, e, element->type, /*saturate=*/true);
  } else {
    constexpr double steps = 64, low = -128, high = 127;
    e = n.unary(UnaryFunction::Clip, rounded(n, times(n, e, steps), halves),
                low, high);
    e = times(n, e, 1 / steps);
  }
  finish(n, *b, keepSpecial(n, b->x, n.binary<MulOp>(e, scale)));
}

} // namespace

std::vector<OperatorRow> ashlar::frontend::quarkRows() {
  constexpr const char *domain = "com.amd.quark",
                       *note = "its formula, exact; reductions and "
                               "element-wise operations";
  return {
      {"BFPQuantizeDequantize", {1}, bfpQuantizeDequantize, note, domain},
      {"MXQuantizeDequantize", {1}, mxQuantizeDequantize, note, domain},
  };
}
