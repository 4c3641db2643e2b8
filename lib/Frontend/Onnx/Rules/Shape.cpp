// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Constants and what is known about shapes.

#include "lib/Frontend/Onnx/Extents/RunTimeShape.h"
#include "lib/Frontend/Onnx/Registry.h"

#include "dialects/NN/NNElements.h"

#include <cmath>
#include <cstring>

using namespace ashlar;
using namespace ashlar::frontend;
using namespace ashlar::nn;

namespace {

mlir::Type int64Type(Node &n) {
  return mlir::IntegerType::get(n.input(0).getContext(), 64);
}

/// The shape or, from version 15, its part from `start` to `end`.
void shape(Node &n) {
  int64_t start = 0, end = 0;
  Value x = n.input(0);
  if (!x)
    return;
  int64_t rank = rankOf(x);
  end = rank;
  if (n.opset() >= 15) {
    start = n.getInt("start", 0);
    end = n.getInt("end", rank);
  }
  start = std::clamp(start < 0 ? start + rank : start, int64_t(0), rank);
  end = std::clamp(end < 0 ? end + rank : end, int64_t(0), rank);
  ShapeRef part = shapeOf(x).slice(start, std::max<int64_t>(end - start, 0));
  n.setOutput(
      0, n.integers(part, {static_cast<int64_t>(part.size())}, int64Type(n)));
}

void size(Node &n) {
  if (Value x = n.input(0))
    n.setOutput(0, n.integers(elementCount(shapeOf(x)), {}, int64Type(n)));
}

mlir::ElementsAttr floatsAttr(Node &n, ArrayRef<double> numbers,
                              ShapeRef shape) {
  std::string bytes;
  for (double number : numbers) {
    auto value = static_cast<float>(number);
    bytes.append(reinterpret_cast<const char *>(&value), sizeof(value));
  }
  mlir::Builder b(n.context());
  return makeElements(mlir::RankedTensorType::get(shape, b.getF32Type()),
                      std::move(bytes), "constant");
}

void constant(Node &n) {
  mlir::Builder b(n.context());
  for (const char *name : {"value_string", "value_strings", "sparse_value"})
    if (n.hasAttribute(name)) {
      n.unsupported("attribute '{}'", name);
      return;
    }
  if (n.hasAttribute("value")) {
    n.setOutput(0, n.constant(n.getTensor("value")));
  } else if (n.hasAttribute("value_float")) {
    n.setOutput(0, n.constant(floatsAttr(n, n.getFloat("value_float", 0), {})));
  } else if (n.hasAttribute("value_floats")) {
    SmallVector<double> values = n.getFloats("value_floats");
    n.setOutput(0, n.constant(floatsAttr(n, values,
                                         static_cast<int64_t>(values.size()))));
  } else if (n.hasAttribute("value_int")) {
    n.setOutput(0, n.integers(n.getInt("value_int", 0), {}, b.getI64Type()));
  } else if (n.hasAttribute("value_ints")) {
    SmallVector<int64_t> values = n.getInts("value_ints");
    n.setOutput(0, n.integers(values, {static_cast<int64_t>(values.size())},
                              b.getI64Type()));
  } else {
    n.malformed("the constant has no value");
  }
}

/// One element repeated.
void constantOfShape(Node &n) {
  mlir::ElementsAttr value = n.getTensor("value");
  Value shape = n.input(0);
  if (!shape || n.failed())
    return;
  mlir::Builder b(n.context());
  if (!value)
    value = floatsAttr(n, 0.0, int64_t(1));
  auto type = mlir::cast<mlir::RankedTensorType>(value.getType());
  if (type.getNumElements() != 1) {
    n.malformed("value has {} elements, expected 1", type.getNumElements());
    return;
  }
  if (!constantOf(shape))
    return fillAtRunTime(n, value);
  if (auto sizes = n.constantIntegers(0, "shape"))
    n.setOutput(0, n.fill(value, *sizes));
}

/// From \p start by \p delta, which are constants.
void constantRange(Node &n, std::optional<double> start,
                   std::optional<double> limit, std::optional<double> delta) {
  if (!start || !limit || !delta)
    return;
  double steps = std::ceil((*limit - *start) / *delta);
  constexpr double most = 1 << 24;
  if (!(steps <= most)) {
    n.malformed("range from {} to {} by {}", *start, *limit, *delta);
    return;
  }
  auto count = static_cast<int64_t>(std::max(steps, 0.0));
  Type element = elementOf(n.input(0));
  // The numbers, and the constant of them.
  if (!n.reserve(count, 2 * sizeof(int64_t)))
    return;
  if (isFloatElement(n.input(0))) {
    SmallVector<double> values;
    for (int64_t i = 0; i < count; ++i)
      values.push_back(*start + static_cast<double>(i) * *delta);
    n.setOutput(0, n.floats(values, {count}, element));
    return;
  }
  SmallVector<int64_t> values;
  for (int64_t i = 0; i < count; ++i)
    values.push_back(static_cast<int64_t>(*start) +
                     i * static_cast<int64_t>(*delta));
  n.setOutput(0, n.integers(values, {count}, element));
}

void range(Node &n) {
  if (n.opset() >= 27) {
    // Numbers of 16 bits are computed in a wider type and rounded once.
    const int64_t wider = n.getInt("stash_type", 1);
    if (wider != 1 && wider != 11) {
      n.malformed("stash_type is {}, expected 1 (float) or 11 (double)", wider);
      return;
    }
  }
  for (size_t i = 0; i < 2; ++i)
    if (n.hasInput(i) && !constantOf(n.input(i)))
      return rangeAtRunTime(n);
  constantRange(n, n.constantNumber(0, "start"), n.constantNumber(1, "limit"),
                n.constantNumber(2, "delta"));
}

/// Without an increment it is 1.
void contribRange(Node &n) {
  if (n.hasInput(2))
    return range(n);
  constantRange(n, n.constantNumber(0, "start"), n.constantNumber(1, "limit"),
                1);
}

} // namespace

std::vector<OperatorRow> ashlar::frontend::shapeRows() {
  const char *folded = "a constant";
  return {
      {"Shape", {1, 13, 15, 19, 21, 23, 24, 25}, shape, folded},
      {"Size", {1, 13, 19, 21, 23, 24, 25}, size, folded},
      {"Constant",
       {1, 11, 12, 13, 19, 21, 23, 24, 25},
       constant,
       "a constant; no strings, no sparse values"},
      {"ConstantOfShape",
       {9, 20, 21, 23, 24, 25},
       constantOfShape,
       "a constant; an extent that is known at run time needs a bound, and the "
       "result has a run-time extent"},
      {"Range",
       {11, 27},
       range,
       "a constant; a start or limit that is known at run time needs a bound, "
       "and the result has a run-time extent"},
      {"Range",
       {1},
       contribRange,
       "as Range of ONNX; without an increment start and limit must be "
       "constant",
       "com.microsoft"},
  };
}
