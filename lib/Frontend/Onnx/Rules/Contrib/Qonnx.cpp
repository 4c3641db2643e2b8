// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Quantisers of QONNX and Brevitas: a float becomes a number of few bits and a
// float again. What fits 8 bits with constant parameters is known as integers
// to the products that read it, as after DequantizeLinear.

#include "lib/Frontend/Onnx/Registry.h"
#include "lib/Frontend/Onnx/Rules/QuantizeParameters.h"
#include "lib/Frontend/Onnx/Types/NarrowValues.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace ashlar;
using namespace ashlar::frontend;
using namespace ashlar::nn;

namespace {

enum class QuantRounding { Even, Ceil, Floor, Away, Zero, HalfAway, HalfZero };

/// The mode that an attribute names, in upper or lower case; records an error.
QuantRounding quantRoundingOf(Node &n, StringRef otherwise) {
  const std::string name = n.getString("rounding_mode", otherwise);
  const std::string upper = StringRef(name).upper();
  const std::pair<StringRef, QuantRounding> names[] = {
      {"ROUND", QuantRounding::Even},
      {"HALF_EVEN", QuantRounding::Even},
      {"CEIL", QuantRounding::Ceil},
      {"FLOOR", QuantRounding::Floor},
      {"UP", QuantRounding::Away},
      {"DOWN", QuantRounding::Zero},
      {"HALF_UP", QuantRounding::HalfAway},
      {"HALF_DOWN", QuantRounding::HalfZero},
  };
  for (const auto &[known, mode] : names)
    if (known == upper)
      return mode;
  n.malformed("rounding_mode is '{}', expected ROUND, CEIL, FLOOR, UP, DOWN, "
              "HALF_UP or HALF_DOWN",
              printable(name));
  return QuantRounding::Even;
}

Value numberLike(Node &n, Value like, double value) {
  return like ? n.splat(value, elementOf(like)) : Value();
}

/// sign(v) * function(|v| + offset)
Value roundedBySize(Node &n, Value v, UnaryFunction function, double offset) {
  Value size = n.unary(UnaryFunction::Abs, v);
  if (offset != 0)
    size = n.binary<AddOp>(size, numberLike(n, v, offset));
  return n.binary<MulOp>(n.unary(function, size),
                         n.unary(UnaryFunction::Sign, v));
}

Value roundedTo(Node &n, Value v, QuantRounding mode) {
  switch (mode) {
  case QuantRounding::Even:
    return n.unary(UnaryFunction::Round, v);
  case QuantRounding::Ceil:
    return n.unary(UnaryFunction::Ceil, v);
  case QuantRounding::Floor:
    return n.unary(UnaryFunction::Floor, v);
  case QuantRounding::Away:
    return roundedBySize(n, v, UnaryFunction::Ceil, 0);
  case QuantRounding::Zero:
    return roundedBySize(n, v, UnaryFunction::Floor, 0);
  case QuantRounding::HalfAway:
    return roundedBySize(n, v, UnaryFunction::Floor, 0.5);
  case QuantRounding::HalfZero:
    return roundedBySize(n, v, UnaryFunction::Ceil, -0.5);
  }
  return nullptr;
}

/// The operand; quantisers are of float32 alone.
Value quantOperand(Node &n) {
  Value x = n.input(0);
  if (x && !elementOf(x).isF32())
    return n.malformed("the operand is {}, expected float", typeText(x));
  return x;
}

/// Operand i in the type of the first, whose shape the result keeps.
Value quantParameter(Node &n, size_t i, StringRef name) {
  Value x = n.input(0), p = n.cast(n.input(i), f32Of(n));
  if (!x || !p || n.failed())
    return nullptr;
  const ShapeRef whole = shapeOf(x), own = shapeOf(p);
  bool fits = own.size() <= whole.size();
  for (size_t k = 0; fits && k < own.size(); ++k)
    fits = own[k] == 1 || own[k] == whole[whole.size() - own.size() + k];
  // One number may have more dimensions than x.
  if (!fits && elementCount(own) == 1)
    return n.reshape(p, {});
  if (!fits)
    return n.malformed("{} is {}, which does not broadcast to {}", name.str(),
                       typeText(p), typeText(x));
  return p;
}

/// A width in bits, which QONNX stores as a float.
std::optional<int> widthOf(Node &n, size_t i, StringRef name, int most) {
  std::optional<SmallVector<double>> numbers = n.constantNumbers(i, name);
  if (!numbers || numbers->empty())
    return std::nullopt;
  const double first = numbers->front();
  if (llvm::any_of(*numbers, [&](double v) { return v != first; })) {
    n.unsupported("{} differs between elements", name.str());
    return std::nullopt;
  }
  if (!(first >= 1 && first <= most) || first != std::floor(first)) {
    n.malformed("{} is {}, expected a whole number from 1 to {}", name.str(),
                first, most);
    return std::nullopt;
  }
  return static_cast<int>(first);
}

/// Brevitas quantises biases to 32 bits.
constexpr int kMostBits = 32;

struct QuantRange {
  double low = 0, high = 0;
};

/// The limits as numbers of binary32, in which QONNX computes.
QuantRange quantRange(int bits, bool isSigned, bool narrow) {
  const double half = std::ldexp(1.0, bits - 1);
  const auto single = [](double v) {
    return static_cast<double>(static_cast<float>(v));
  };
  if (isSigned)
    return {single(narrow ? 1 - half : -half), single(half - 1)};
  return {0, single(2 * half - (narrow ? 2 : 1))};
}

/// Strides of a parameter of `shape` along the last of `rank` dimensions, 0
/// where it repeats.
Shape stepsOf(ShapeRef shape, size_t rank) {
  Shape steps(rank, 0);
  int64_t step = 1;
  for (size_t k = shape.size(); k-- > 0; step *= shape[k])
    if (shape[k] != 1)
      steps[rank - shape.size() + k] = step;
  return steps;
}

/// The place in such a parameter that belongs to element i of `shape`.
int64_t placeOf(int64_t i, ShapeRef shape, ShapeRef steps) {
  int64_t place = 0;
  for (size_t k = shape.size(); k-- > 0; i /= shape[k])
    place += i % shape[k] * steps[k];
  return place;
}

/// A parameter of one element, or of one along a single axis of `rank`, as
/// Dequantised has it; null for any other.
Value alongAxis(Node &n, Value parameter, int64_t rank, int64_t &axis) {
  const ShapeRef shape = shapeOf(parameter);
  if (elementCount(shape) == 1)
    return n.reshape(parameter, {});
  const auto isLong = [](int64_t extent) { return extent != 1; };
  if (llvm::count_if(shape, isLong) != 1)
    return nullptr;
  const int64_t at = llvm::find_if(shape, isLong) - shape.begin();
  axis = at + rank - static_cast<int64_t>(shape.size());
  return n.reshape(parameter, {shape[at]});
}

/// What one quantiser does; scale and zero broadcast to x.
struct Quantiser {
  Value x, scale, zero;
  QuantRange range;
  QuantRounding rounding = QuantRounding::Even;
  /// 1 or -1 by sign, of x itself unless there is a zero point.
  bool bipolar = false;

  /// The integers of x, in binary32.
  Value integers(Node &n) const {
    Value v = n.binary<DivOp>(x, scale);
    if (!isZero(zero))
      v = n.binary<AddOp>(v, zero);
    if (bipolar)
      return n.where(
          n.compare(CompareKind::GreaterOrEqual, v, numberLike(n, v, 0)),
          numberLike(n, v, 1), numberLike(n, v, -1));
    v = n.unary(UnaryFunction::Clip, v, range.low, range.high);
    return roundedTo(n, v, rounding);
  }
  Value floats(Node &n, Value v) const {
    if (!isZero(zero))
      v = n.binary<SubOp>(v, zero);
    return n.binary<MulOp>(v, scale);
  }
};

constexpr QuantRange kSigned = {-128, 127}, kUnsigned = {0, 255};

/// The type of 8 bits that holds the integers and the zero point; null if they
/// need more, or parameters are known at run time only.
Type byteOf(Node &n, const Quantiser &q) {
  const auto zero = numbersOf(q.zero);
  if (!constantOf(q.scale) || !zero)
    return nullptr;
  const QuantRange bytes = q.range.low < 0 ? kSigned : kUnsigned;
  const auto fits = [&](double v) {
    return v >= bytes.low && v <= bytes.high && v == std::floor(v);
  };
  if (!fits(q.range.low) || !fits(q.range.high) || !llvm::all_of(*zero, fits))
    return nullptr;
  return q.range.low < 0 ? i8Of(n) : u8Of(n);
}

double roundedNumber(double v, QuantRounding mode) {
  switch (mode) {
  case QuantRounding::Even:
    return std::nearbyint(v);
  case QuantRounding::Ceil:
    return std::ceil(v);
  case QuantRounding::Floor:
    return std::floor(v);
  case QuantRounding::Away:
    return std::copysign(std::ceil(std::abs(v)), v);
  case QuantRounding::Zero:
    return std::trunc(v);
  case QuantRounding::HalfAway:
    return std::copysign(std::floor(std::abs(v) + 0.5), v);
  case QuantRounding::HalfZero:
    return std::copysign(std::ceil(std::abs(v) - 0.5), v);
  }
  return v;
}

/// The integers of a constant now: products of integers need constant weights,
/// and large constants are folded only later. Null for any other operand.
Value constantIntegers(Node &n, const Quantiser &q, Type element) {
  const auto x = numbersOf(q.x), scale = numbersOf(q.scale),
             zero = numbersOf(q.zero);
  if (!x || !scale || !zero || n.failed() ||
      !n.reserve(static_cast<int64_t>(x->size()), 1))
    return nullptr;
  const Shape shape(shapeOf(q.x));
  const Shape scaleSteps = stepsOf(shapeOf(q.scale), shape.size()),
              zeroSteps = stepsOf(shapeOf(q.zero), shape.size());
  SmallVector<int64_t> integers;
  integers.reserve(x->size());
  for (int64_t i = 0, e = static_cast<int64_t>(x->size()); i < e; ++i) {
    const float v =
        static_cast<float>((*x)[i]) /
            static_cast<float>((*scale)[placeOf(i, shape, scaleSteps)]) +
        static_cast<float>((*zero)[placeOf(i, shape, zeroSteps)]);
    if (std::isnan(v))
      return nullptr;
    const double cut =
        std::clamp(static_cast<double>(v), q.range.low, q.range.high);
    integers.push_back(
        q.bipolar ? (v >= 0 ? 1 : -1)
                  : static_cast<int64_t>(roundedNumber(cut, q.rounding)));
  }
  return n.integers(integers, shape, element);
}

/// A product of integers is rounded once; the result has the limits of q.
Value integersOfProduct(Node &n, const Quantiser &q, Value zero, Type element) {
  if (q.bipolar || q.rounding != QuantRounding::Even)
    return nullptr;
  Value v = requantised(n, q.x, q.scale, zero, element);
  const QuantRange bytes = q.range.low < 0 ? kSigned : kUnsigned;
  if (!v || (q.range.low == bytes.low && q.range.high == bytes.high))
    return v;
  v = n.unary(UnaryFunction::Clip, n.cast(v, f32Of(n)), q.range.low,
              q.range.high);
  return n.cast(v, element);
}

/// The result of a quantiser, known as integers where they fit 8 bits.
void finishQuant(Node &n, const Quantiser &q) {
  if (n.failed() || !q.x || !q.scale || !q.zero)
    return;
  int64_t axis = 0, zeroAxis = 0;
  const Type element = byteOf(n, q);
  Value scale = element ? alongAxis(n, q.scale, rankOf(q.x), axis) : Value(),
        zero = element ? alongAxis(n, q.zero, rankOf(q.x), zeroAxis) : Value();
  if (zero && rankOf(zero) != 0 && rankOf(scale) != 0 && zeroAxis != axis)
    zero = nullptr;
  if (!scale || !zero) {
    n.setOutput(0, q.floats(n, q.integers(n)));
    return;
  }
  axis = rankOf(scale) != 0 ? axis : zeroAxis;
  // Whole numbers in range, as byteOf has seen.
  SmallVector<int64_t> zeros;
  for (double v : numbersOf(zero).value_or(SmallVector<double>()))
    zeros.push_back(static_cast<int64_t>(v));
  zero = n.integers(zeros, Shape(shapeOf(zero)), element);
  Value integers = constantIntegers(n, q, element);
  if (!integers && rankOf(zero) == 0)
    integers = integersOfProduct(n, q, zero, element);
  if (!integers)
    integers = n.cast(q.integers(n), element);
  Value y = q.floats(n, n.cast(integers, f32Of(n)));
  n.quantised().add(y, Dequantised{integers, scale, zero, axis});
  n.setOutput(0, y);
}

void quant(Node &n) {
  Quantiser q;
  const bool isSigned = n.getInt("signed", 1) != 0,
             narrow = n.getInt("narrow", 0) != 0;
  q.rounding = quantRoundingOf(n, "ROUND");
  q.x = quantOperand(n);
  q.scale = quantParameter(n, 1, "the scale");
  q.zero = quantParameter(n, 2, "the zero point");
  const auto bits = widthOf(n, 3, "the bit width", kMostBits);
  if (!bits)
    return;
  q.range = quantRange(*bits, isSigned, narrow);
  q.bipolar = *bits == 1 && isSigned;
  if (q.bipolar)
    q.range = {-1, 1};
  finishQuant(n, q);
}

void bipolarQuant(Node &n) {
  Quantiser q;
  q.x = quantOperand(n);
  q.scale = quantParameter(n, 1, "the scale");
  q.zero = n.splat(0, f32Of(n));
  q.range = {-1, 1};
  q.bipolar = true;
  finishQuant(n, q);
}

/// log2 to the nearest integer of a positive number.
int nearestPower(double v) {
  int exponent = 0;
  constexpr double middle = 0.70710678118654752440; // sqrt(1/2)
  return std::frexp(v, &exponent) < middle ? exponent - 1 : exponent;
}

/// What the second form of Trunc says beyond the first: limits, and the scale
/// of the result.
struct Truncation {
  int shift = 0;
  std::optional<QuantRange> limits;
  Value scale, zero;
};

std::optional<Truncation> readTruncation(Node &n, Value scale, Value zero) {
  Truncation t{0, std::nullopt, scale, zero};
  if (n.numInputs() < 6) {
    const auto from = widthOf(n, 3, "the input's bit width", kMostBits),
               to = widthOf(n, 4, "the output's bit width", kMostBits);
    if (!from || !to)
      return std::nullopt;
    t.shift = *from - *to;
    return t;
  }
  const bool isSigned = n.getInt("signed", 1) != 0,
             narrow = n.getInt("narrow", 0) != 0;
  const auto own = n.constantNumber(1, "scale"),
             next = n.constantNumber(4, "output_scale");
  const auto bits = widthOf(n, 5, "the output's bit width", kMostBits);
  if (!own || !next || !bits)
    return std::nullopt;
  if (!(*own > 0 && *next > 0) || !std::isfinite(*next / *own)) {
    n.malformed("the scales are {} and {}, expected positive numbers", *own,
                *next);
    return std::nullopt;
  }
  t.shift = nearestPower(*next / *own);
  t.limits = quantRange(*bits, isSigned, narrow);
  t.scale = n.splat(*next, f32Of(n));
  t.zero =
      n.binary<MulOp>(zero, numberLike(n, zero, std::ldexp(1.0, -t.shift)));
  return t;
}

/// Integers without their last digits.
void truncQuant(Node &n) {
  const QuantRounding rounding = quantRoundingOf(n, "FLOOR");
  Value x = quantOperand(n), scale = quantParameter(n, 1, "the scale"),
        zero = quantParameter(n, 2, "the zero point");
  if (n.failed())
    return;
  const auto t = readTruncation(n, scale, zero);
  if (!t)
    return;
  Value v = n.binary<DivOp>(x, scale);
  if (!isZero(zero))
    v = n.binary<AddOp>(v, zero);
  v = n.unary(UnaryFunction::Round, v);
  v = n.binary<MulOp>(v, numberLike(n, v, std::ldexp(1.0, -t->shift)));
  if (t->limits)
    v = n.unary(UnaryFunction::Clip, v, t->limits->low, t->limits->high);
  v = roundedTo(n, v, rounding);
  if (!isZero(t->zero))
    v = n.binary<SubOp>(v, t->zero);
  n.setOutput(0, n.binary<MulOp>(v, t->scale));
}

/// What is beyond the largest number of a float type without saturation.
Value beyondLargest(Node &n, Value v, Value cut, double largest,
                    bool infinite) {
  Value over = n.compare(CompareKind::Greater, n.unary(UnaryFunction::Abs, v),
                         numberLike(n, v, largest));
  constexpr double inf = std::numeric_limits<double>::infinity(),
                   nan = std::numeric_limits<double>::quiet_NaN();
  Value special = infinite ? n.binary<MulOp>(n.unary(UnaryFunction::Sign, v),
                                             numberLike(n, v, inf))
                           : numberLike(n, v, nan);
  return n.where(over, special, cut);
}

/// A float of other widths; its numbers below the least normal one are
/// subnormal whatever the attributes say, as in QONNX.
void floatQuant(Node &n) {
  const QuantRounding rounding = quantRoundingOf(n, "ROUND");
  const bool saturate = n.getInt("saturation", 1) != 0,
             infinite = n.getInt("has_inf", 0) != 0,
             none = n.getInt("has_nan", 0) != 0;
  n.ignore("has_subnormal");
  n.ignore("signed");
  constexpr int mostExponent = 8, mostMantissa = 23;
  Value x = quantOperand(n), scale = quantParameter(n, 1, "the scale");
  const auto exponent = widthOf(n, 2, "the exponent's width", mostExponent),
             mantissa = widthOf(n, 3, "the mantissa's width", mostMantissa);
  const auto bias = n.constantNumber(4, "exponent_bias"),
             limit = n.constantNumber(5, "max_val");
  if (!exponent || !mantissa || !bias || !limit || n.failed())
    return;
  if (*bias != std::floor(*bias) || std::abs(*bias) > 126 || !(*limit > 0) ||
      (!saturate && !infinite && !none)) {
    n.malformed("exponent_bias is {} and max_val {}, saturation {}, has_inf "
                "{}, has_nan {}; expected a whole number up to 126, a "
                "positive one, and one of the three",
                *bias, *limit, saturate, infinite, none);
    return;
  }
  const int shift = static_cast<int>(*bias);
  const double largest =
                   std::min(*limit, std::ldexp(2 - std::ldexp(1.0, -*mantissa),
                                               (1 << *exponent) - 1 - shift)),
               least = std::ldexp(1.0, 1 - shift - *mantissa);
  Value v = n.binary<DivOp>(x, scale);
  Value unit = powerBelow(n, n.unary(UnaryFunction::Abs, v));
  unit = n.binary<MulOp>(unit, numberLike(n, v, std::ldexp(1.0, -*mantissa)));
  unit = n.binary<MaxOp>(unit, numberLike(n, v, least));
  v = n.binary<MulOp>(roundedTo(n, n.binary<DivOp>(v, unit), rounding), unit);
  Value cut = n.unary(UnaryFunction::Clip, v, -largest, largest);
  if (!saturate)
    cut = beyondLargest(n, v, cut, largest, infinite);
  n.setOutput(0, n.binary<MulOp>(cut, scale));
}

/// How many thresholds an element reaches, scaled and shifted.
void multiThreshold(Node &n) {
  const double scale = n.getFloat("out_scale", 1),
               bias = n.getFloat("out_bias", 0);
  const std::string layout = n.getString("data_layout", "NCHW");
  n.ignore("out_dtype");
  Value x = quantOperand(n), steps = n.cast(n.input(1), f32Of(n));
  if (!x || !steps || n.failed())
    return;
  const int64_t rank = rankOf(x),
                axis = StringRef(layout).ends_with("C") ? rank - 1 : 1;
  if (rank < 2 || rankOf(steps) != 2 ||
      (shapeOf(steps)[0] != 1 && shapeOf(steps)[0] != shapeOf(x)[axis])) {
    n.malformed("the thresholds are {} for {} with channels in dimension {}",
                typeText(steps), typeText(x), axis);
    return;
  }
  Shape along(rank, 1), wide(shapeOf(x));
  along[axis] = shapeOf(steps)[0];
  Value count = n.splat(0, f32Of(n), wide);
  for (int64_t i = 0; i < shapeOf(steps)[1] && !n.failed(); ++i) {
    Value step = n.reshape(n.sliceAxis(steps, 1, i, 1), along);
    count = n.binary<AddOp>(
        count,
        n.cast(n.compare(CompareKind::GreaterOrEqual, x, step), f32Of(n)));
  }
  if (scale != 1)
    count = n.binary<MulOp>(count, numberLike(n, count, scale));
  if (bias != 0)
    count = n.binary<AddOp>(count, numberLike(n, count, bias));
  n.setOutput(0, count);
}

} // namespace

std::vector<OperatorRow> ashlar::frontend::qonnxRows() {
  constexpr const char
      *integers = "its formula; integers of up to 8 bits with constant "
                  "parameters become integer products; the bit width must be "
                  "constant",
      *formula = "its formula; all but x, scale and zero point must be "
                 "constant";
  std::vector<OperatorRow> rows;
  // Brevitas, QONNX and FINN name the same operators.
  for (const char *domain :
       {"onnx.brevitas", "qonnx.custom_op.general", "finn.custom_op.general"}) {
    rows.push_back({"Quant", {1}, quant, integers, domain});
    rows.push_back({"IntQuant", {1}, quant, integers, domain});
    rows.push_back({"BipolarQuant", {1}, bipolarQuant, integers, domain});
    rows.push_back({"Trunc", {1}, truncQuant, formula, domain});
    rows.push_back({"FloatQuant", {1}, floatQuant, formula, domain});
    rows.push_back({"MultiThreshold",
                    {1},
                    multiThreshold,
                    "comparisons and sums",
                    domain});
  }
  return rows;
}
