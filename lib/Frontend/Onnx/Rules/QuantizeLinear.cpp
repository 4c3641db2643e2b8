// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Conversions between floats and quantised numbers as their formulas
// (docs/Numerics.md 12), with parameters per tensor, per slice or per block.

#include "QuantizeParameters.h"
#include "lib/Frontend/Onnx/Registry.h"
#include "lib/Frontend/Onnx/Tensors.h"
#include "lib/Frontend/Onnx/Types/NarrowValues.h"

#include "dialects/NN/NNElements.h"

using namespace ashlar;
using namespace ashlar::frontend;
using namespace ashlar::nn;

namespace {

/// The element type that an attribute names; null if it is absent or wrong.
Type typeOfAttribute(Node &n, StringRef attribute) {
  const int64_t wanted = n.getInt(attribute, 0);
  if (wanted == 0)
    return nullptr;
  llvm::Expected<support::ElementType> type =
      storageTypeOf(static_cast<int32_t>(wanted), "the result");
  if (type)
    return toMlirType(n.context(), *type);
  n.fail(type.takeError(), ErrorClass::Malformed);
  return nullptr;
}

/// The type in which x is divided by the scale.
Type divisionType(Node &n) {
  const int64_t precision = n.getInt("precision", 0);
  constexpr int64_t none = 0, single = 1, half = 10, brain = 16;
  if (precision == half)
    return mlir::Float16Type::get(n.context());
  if (precision == brain)
    return mlir::BFloat16Type::get(n.context());
  if (precision != none && precision != single)
    n.unsupported("the precision {}, expected 1 (float), 10 (float16) or 16 "
                  "(bfloat16)",
                  precision);
  return f32Of(n);
}

/// What the operands and attributes of a conversion say.
struct Conversion {
  Value x, scale, zero; ///< zero is null if absent.
  int64_t axis, block;
};

Conversion readConversion(Node &n) {
  return {n.input(0), n.input(1), n.optionalInput(2), n.getInt("axis", 1),
          n.getInt("block_size", 0)};
}

/// Rounded quotients as numbers of the result's type.
Value toQuantised(Node &n, Value quotient, Value zero, Type element,
                  bool saturate) {
  const NarrowType *narrow = n.narrowOutput(0);
  if (narrow && narrow->isFloat()) {
    if (!isZero(zero))
      return n.unsupported("a zero point other than 0 of {}", narrow->name);
    // Adding 0 makes 0 of -0, which is all that such a zero point does; a sum
    // would be simplified away.
    if (zero && quotient && !narrow->hasNaN()) {
      Value none = n.splat(0, elementOf(quotient));
      quotient = n.where(n.compare(CompareKind::Equal, quotient, none), none,
                         quotient);
    }
    return castToNarrow(n, quotient, *narrow, saturate);
  }
  Value v = n.unary(UnaryFunction::Round, quotient);
  if (!narrow)
    return addZeroAndSaturate(n, v, zero, element);
  if (!isZero(zero))
    v = n.binary<AddOp>(v, n.cast(zero, elementOf(v)));
  return saturateToNarrow(n, v, *narrow);
}

void quantizeLinear(Node &n) {
  Conversion c = readConversion(n);
  const bool saturate = n.getInt("saturate", 1) != 0;
  const Type division = divisionType(n);
  Type stated = typeOfAttribute(n, "output_dtype");
  if (!c.x || !c.scale || n.failed())
    return;
  Type element = c.zero ? elementOf(c.zero) : stated ? stated : u8Of(n);
  if (!n.narrowOutput(0) && !isSmallInteger(element, 16)) {
    n.unsupported("the result is not of integers of up to 16 bits or of floats "
                  "of 8 and 4");
    return;
  }
  Shape shape(shapeOf(c.x));
  if (!n.narrowOutput(0) && c.block == 0)
    if (Value y = requantised(n, c.x, c.scale, c.zero, element)) {
      n.setOutput(0, y);
      return;
    }
  Value scale =
      spread(n, n.cast(c.scale, division), c.axis, shape, "the scale", c.block);
  Value zero = c.zero
                   ? spread(n, c.zero, c.axis, shape, "the zero point", c.block)
                   : Value();
  Value v = n.binary<DivOp>(n.cast(c.x, division), scale);
  n.setOutput(0, toQuantised(n, n.cast(v, f32Of(n)), zero, element, saturate));
}

/// (x - zero) in binary32; differences of small integers are exact there.
Value difference(Node &n, Value x, Value zero, bool small) {
  Value v = x;
  if (!small && !isZero(zero))
    v = n.binary<SubOp>(x, zero);
  v = n.cast(v, f32Of(n));
  if (small && !isZero(zero))
    v = n.binary<SubOp>(v, n.cast(zero, f32Of(n)));
  return v;
}

void dequantizeLinear(Node &n) {
  Conversion c = readConversion(n);
  Type result = typeOfAttribute(n, "output_dtype");
  if (!c.x || !c.scale || n.failed())
    return;
  const NarrowType *narrow = n.narrowInput(0);
  const bool small = narrow || isSmallInteger(elementOf(c.x), 16);
  if (!small && elementOf(c.x) != i32Of(n)) {
    n.unsupported("the operand is {}, expected integers of up to 16 or of 32 "
                  "bits or floats of 8 and 4",
                  typeText(c.x));
    return;
  }
  if (c.zero &&
      (elementOf(c.zero) != elementOf(c.x) || n.narrowInput(2) != narrow)) {
    n.malformed("operands have different types: {} and {}", typeText(c.x),
                typeText(c.zero));
    return;
  }
  if (!result)
    result = elementOf(c.scale);
  Shape shape(shapeOf(c.x));
  const Dequantised origin{c.x, c.scale, c.zero, c.axis};
  Value scale =
      spread(n, n.cast(c.scale, f32Of(n)), c.axis, shape, "the scale", c.block);
  Value zero = c.zero
                   ? spread(n, c.zero, c.axis, shape, "the zero point", c.block)
                   : Value();
  Value v = difference(n, c.x, zero, small);
  Value y = n.cast(n.binary<MulOp>(v, scale), result);
  if (result == f32Of(n) && c.block == 0 && !(narrow && narrow->isFloat()))
    n.quantised().add(y, origin);
  n.setOutput(0, y);
}

void dynamicQuantizeLinear(Node &n) {
  const Quantised y = quantiseDynamically(n, n.input(0));
  n.setOutput(0, y.q);
  n.setOutput(1, y.scale);
  n.setOutput(2, y.zero);
}

} // namespace

/// scale = (max(x, 0) - min(x, 0)) / 255, the zero point is where 0 falls.
Quantised ashlar::frontend::quantiseDynamically(Node &n, Value x) {
  if (!x)
    return {};
  SmallVector<int64_t> axes;
  for (int64_t i = 0; i < rankOf(x); ++i)
    axes.push_back(i);
  Value none = n.splat(0, f32Of(n));
  Value high = n.binary<MaxOp>(n.reduce(ReduceKind::Max, x, axes, false), none);
  Value low = n.binary<MinOp>(n.reduce(ReduceKind::Min, x, axes, false), none);
  // All elements 0: the range is taken to be 1, so that nothing divides by 0.
  Value range = n.binary<SubOp>(high, low);
  range = n.where(n.compare(CompareKind::Equal, range, none),
                  n.splat(1, f32Of(n)), range);
  Value scale = n.binary<DivOp>(range, n.splat(255, f32Of(n)));
  Value at = n.binary<DivOp>(n.binary<SubOp>(none, low), scale);
  at = n.unary(UnaryFunction::Clip, at, 0, 255);
  Value zero = n.cast(n.unary(UnaryFunction::Round, at), u8Of(n));
  Value v = n.unary(UnaryFunction::Round, n.binary<DivOp>(x, scale));
  return {addZeroAndSaturate(n, v, zero, u8Of(n)), scale, zero};
}

std::vector<OperatorRow> ashlar::frontend::quantizeLinearRows() {
  const char *to = "its formula; integers of up to 16 bits and floats of 8 and "
                   "4, per tensor, along an axis or blocked",
             *from = "its formula; integers of up to 16 and of 32 bits and "
                     "floats of 8 and 4, per tensor, along an axis or blocked";
  return {
      {"QuantizeLinear", {10, 13, 19, 21, 23, 24, 25}, quantizeLinear, to},
      {"DequantizeLinear",
       {10, 13, 19, 21, 23, 24, 25},
       dequantizeLinear,
       from},
      {"DynamicQuantizeLinear", {11}, dynamicQuantizeLinear, "its formula"},
      {"QuantizeLinear", {1}, quantizeLinear, to, "com.microsoft"},
      {"DequantizeLinear", {1}, dequantizeLinear, from, "com.microsoft"},
  };
}
