// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operators that keep the elements and their order, and those that read or make
// shapes and constants.

#include "Registry.h"
#include "Walk.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

using namespace ashlar;
using namespace ashlar::onnxref;

namespace {

void setReshaped(Call &call, ArrayRef<int64_t> shape) {
  const Tensor &x = call.operand(0);
  int64_t count = 1;
  for (int64_t extent : shape)
    count *= extent;
  if (count != x.size() || llvm::any_of(shape, [](int64_t d) { return d < 0; }))
    call.fail("[{}] has no {} elements", fmt::join(shape, ", "), x.size());
  else
    call.setResult(0, reshaped(x, shape));
}

/// 0 copies a dimension, -1 is what is left.
void reshapeTo(Call &call, ArrayRef<int64_t> wanted, bool allowZero) {
  const Tensor &x = call.operand(0);
  Shape shape(wanted.begin(), wanted.end());
  int64_t open = -1, others = 1;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 0 && !allowZero) {
      if (!call.require(d < x.shape.size(), "no dimension to copy"))
        return;
      shape[d] = x.shape[d];
    }
    if (shape[d] == -1)
      open = static_cast<int64_t>(d);
    else
      others *= shape[d];
  }
  if (open >= 0)
    shape[open] = others == 0 ? 0 : x.size() / others;
  setReshaped(call, shape);
}

void reshape(Call &call) {
  reshapeTo(call, call.integers(1), call.getInt("allowzero", 0) != 0);
}

void reshapeAttribute(Call &call) {
  reshapeTo(call, call.getInts("shape"), false);
}

void flatten(Call &call) {
  const ArrayRef<int64_t> shape = call.operand(0).shape;
  const auto rank = static_cast<int64_t>(shape.size());
  int64_t axis = call.getInt("axis", 1);
  axis = axis == rank ? rank : call.normalAxis(axis, rank);
  setReshaped(call, {elementCount(shape.take_front(axis)),
                     elementCount(shape.drop_front(axis))});
}

/// The attribute or, from version 13, the second operand.
template <bool asOperand>
SmallVector<int64_t> axesOf(Call &call) {
  if constexpr (asOperand)
    return call.has(1) ? call.integers(1) : SmallVector<int64_t>();
  return call.getInts("axes");
}

template <bool asOperand>
void squeeze(Call &call) {
  const Tensor &x = call.operand(0);
  const bool all = asOperand ? !call.has(1) : !call.hasAttribute("axes");
  const auto axes = call.normalAxes(axesOf<asOperand>(call), rankOf(x));
  Shape shape;
  for (int64_t d = 0; d < rankOf(x); ++d)
    if (all ? x.shape[d] != 1 : !llvm::is_contained(axes, d))
      shape.push_back(x.shape[d]);
  setReshaped(call, shape);
}

void unsqueezeAt(Call &call, ArrayRef<int64_t> given) {
  const Tensor &x = call.operand(0);
  const auto rank = rankOf(x) + static_cast<int64_t>(given.size());
  const SmallVector<int64_t> axes = call.normalAxes(given, rank);
  Shape shape(x.shape);
  for (int64_t d = 0; d < rank && !call.failed(); ++d)
    if (llvm::is_contained(axes, d))
      shape.insert(shape.begin() + d, 1);
  setReshaped(call, shape);
}

template <bool asOperand>
void unsqueeze(Call &call) {
  unsqueezeAt(call, axesOf<asOperand>(call));
}

void expandDims(Call &call) { unsqueezeAt(call, call.integers(1)); }

/// The shape or, from version 15, its part from `start` to `end`.
void shapeOf(Call &call) {
  const ArrayRef<int64_t> shape = call.operand(0).shape;
  const auto rank = static_cast<int64_t>(shape.size());
  auto bound = [&](StringRef name, int64_t otherwise) {
    const int64_t given =
        call.opset() >= 15 ? call.getInt(name, otherwise) : otherwise;
    return std::clamp<int64_t>(given < 0 ? given + rank : given, 0, rank);
  };
  const int64_t from = bound("start", 0), to = bound("end", rank);
  call.setResult(0,
                 vectorOf(shape.slice(from, std::max<int64_t>(to - from, 0))));
}

void sizeOf(Call &call) {
  Tensor result(ElementType::I64, {});
  result.ints[0] = call.operand(0).size();
  call.setResult(0, std::move(result));
}

void constant(Call &call) {
  auto setFloats = [&](ArrayRef<double> values, ArrayRef<int64_t> shape) {
    Tensor result(ElementType::F32, shape);
    llvm::copy(values, result.floats.begin());
    call.setResult(0, std::move(result));
  };
  if (call.hasAttribute("value_float")) {
    setFloats(call.getFloat("value_float", 0), {});
  } else if (call.hasAttribute("value_floats")) {
    const SmallVector<double> values = call.getFloats("value_floats");
    setFloats(values, static_cast<int64_t>(values.size()));
  } else if (call.hasAttribute("value_int")) {
    call.setResult(0, reshaped(vectorOf(call.getInt("value_int", 0)), {}));
  } else if (call.hasAttribute("value_ints")) {
    call.setResult(0, vectorOf(call.getInts("value_ints")));
  } else {
    call.setResult(0, call.getTensor("value"));
  }
}

void constantOfShape(Call &call) {
  Tensor one(ElementType::F32, int64_t(1));
  if (call.hasAttribute("value"))
    one = call.getTensor("value");
  const SmallVector<int64_t> shape = call.integers(0);
  if (!call.failed() &&
      call.require(one.size() == 1, "value is no one element"))
    call.setResult(0, broadcastTo(reshaped(one, {}), shape));
}

void range(Call &call) {
  const double from = call.numbers(0)[0], to = call.numbers(1)[0],
               step = call.has(2) ? call.numbers(2)[0] : 1;
  const double steps = std::ceil((to - from) / step);
  if (!call.require(steps < 0x1p31, "the range has no end"))
    return;
  Tensor result(call.operand(0).type,
                static_cast<int64_t>(std::max(steps, 0.0)));
  for (size_t i = 0; i < result.floats.size(); ++i)
    result.floats[i] = from + static_cast<double>(i) * step;
  for (size_t i = 0; i < result.ints.size(); ++i)
    result.ints[i] = static_cast<int64_t>(from) +
                     static_cast<int64_t>(i) * static_cast<int64_t>(step);
  call.setResult(0, std::move(result));
}

} // namespace

std::vector<EvaluatorRow> onnxref::shapeEvaluators() {
  return {
      {"Reshape", {1}, 1, reshapeAttribute},
      {"Reshape", {5, 13, 14, 19, 21, 23, 24, 25}, 2, reshape},
      {"Flatten", {1, 9, 11, 13, 21, 23, 24, 25}, 1, flatten},
      {"Squeeze", {1, 11}, 1, squeeze<false>},
      {"Squeeze", {13, 21, 23, 24, 25}, 1, squeeze<true>},
      {"Unsqueeze", {1, 11}, 1, unsqueeze<false>},
      {"ExpandDims", {1}, 2, expandDims, Continuity::Smooth, "com.microsoft"},
      {"Unsqueeze", {13, 21, 23, 24, 25}, 1, unsqueeze<true>},
      {"Shape", {1, 13, 15, 19, 21, 23, 24, 25}, 1, shapeOf},
      {"Size", {1, 13, 19, 21, 23, 24, 25}, 1, sizeOf},
      {"Constant", {1, 11, 12, 13, 19, 21, 23, 24, 25}, 0, constant},
      {"ConstantOfShape", {9, 20, 21, 23, 24, 25}, 1, constantOfShape},
      {"Range", {11, 27}, 3, range},
      {"Range", {1}, 2, range, Continuity::Smooth, "com.microsoft"},
  };
}
