// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Elementwise evaluators with numpy broadcasting.

#include "Kernels.h"
#include "ashlar/Reference/Movement.h"

#include <cmath>
#include <limits>

using namespace ashlar;
using namespace ashlar::reference;
using llvm::ArrayRef;

namespace {

// Reads an operand as if broadcast to the output; equal shapes need no map.
template <typename T>
class Broadcast {
public:
  Broadcast(const std::vector<T> &data, ArrayRef<int64_t> shape,
            ArrayRef<int64_t> outShape)
      : data(data) {
    // The kind of data an operand does not use is empty: no map either.
    if (shape != outShape && data.size() > 1)
      map = broadcastMap(shape, outShape).flatten();
    scalar = data.size() == 1;
  }
  T operator[](size_t i) const {
    return data[scalar ? 0 : map.empty() ? i : map[i]];
  }

private:
  const std::vector<T> &data;
  std::vector<int64_t> map;
  bool scalar;
};

// Float to integer as ONNX's Cast: toward zero; where ONNX leaves the result
// open (out of range, NaN) it saturates, and NaN becomes 0.
int64_t saturatingInt(double value, ElementType type) {
  if (std::isnan(value))
    return 0;
  if (type == ElementType::Bool)
    return value != 0;
  bool isSigned = support::isSignedInteger(type);
  int bits = static_cast<int>(support::byteSize(type)) * 8;
  double limit = std::ldexp(1.0, isSigned ? bits - 1 : bits);
  double whole = std::trunc(value);
  if (whole >= limit) {
    uint64_t top = bits == 64 ? ~uint64_t(0) : (uint64_t(1) << bits) - 1;
    return static_cast<int64_t>(isSigned ? top >> 1 : top);
  }
  double floor = isSigned ? -limit : 0.0;
  if (whole <= floor)
    return isSigned ? std::numeric_limits<int64_t>::min() >> (64 - bits) : 0;
  if (!isSigned && bits == 64)
    return static_cast<int64_t>(static_cast<uint64_t>(whole));
  return static_cast<int64_t>(whole);
}

} // namespace

Tensor reference::evalUnary(const Tensor &x,
                            llvm::function_ref<double(double)> onFloat,
                            llvm::function_ref<int64_t(int64_t)> onInt) {
  Tensor result(x.type, x.shape);
  for (size_t i = 0; i < x.floats.size(); ++i)
    result.floats[i] = onFloat(x.floats[i]);
  for (size_t i = 0; i < x.ints.size(); ++i)
    result.ints[i] = onInt(x.ints[i]);
  return result;
}

/// `set(i, value)` for every element i of the result: onFloat or onInt of the
/// broadcast operands, as their type is.
template <typename OnFloat, typename OnInt, typename Set>
static void forBroadcast(const Tensor &a, const Tensor &b,
                         ArrayRef<int64_t> outShape, OnFloat onFloat,
                         OnInt onInt, Set set) {
  size_t count = elementCount(outShape);
  if (a.isFloat()) {
    Broadcast<double> left(a.floats, a.shape, outShape);
    Broadcast<double> right(b.floats, b.shape, outShape);
    for (size_t i = 0; i < count; ++i)
      set(i, onFloat(left[i], right[i]));
    return;
  }
  Broadcast<int64_t> left(a.ints, a.shape, outShape);
  Broadcast<int64_t> right(b.ints, b.shape, outShape);
  for (size_t i = 0; i < count; ++i)
    set(i, onInt(left[i], right[i]));
}

Tensor
reference::evalBinary(const Tensor &a, const Tensor &b, ElementType type,
                      ArrayRef<int64_t> outShape,
                      llvm::function_ref<double(double, double)> onFloat,
                      llvm::function_ref<int64_t(int64_t, int64_t)> onInt) {
  Tensor result(type, outShape);
  forBroadcast(a, b, outShape, onFloat, onInt, [&](size_t i, auto value) {
    if (a.isFloat())
      result.floats[i] = value;
    else
      result.ints[i] = value;
  });
  return result;
}

Tensor
reference::evalCompare(const Tensor &a, const Tensor &b,
                       ArrayRef<int64_t> outShape,
                       llvm::function_ref<bool(double, double)> onFloat,
                       llvm::function_ref<bool(int64_t, int64_t)> onInt) {
  Tensor result(ElementType::Bool, outShape);
  forBroadcast(a, b, outShape, onFloat, onInt,
               [&](size_t i, bool value) { result.ints[i] = value; });
  return result;
}

Tensor reference::evalWhere(const Tensor &condition, const Tensor &a,
                            const Tensor &b, ArrayRef<int64_t> outShape) {
  Tensor result(a.type, outShape);
  Broadcast<int64_t> choose(condition.ints, condition.shape, outShape);
  Broadcast<double> leftF(a.floats, a.shape, outShape);
  Broadcast<double> rightF(b.floats, b.shape, outShape);
  Broadcast<int64_t> leftI(a.ints, a.shape, outShape);
  Broadcast<int64_t> rightI(b.ints, b.shape, outShape);
  for (size_t i = 0; i < result.floats.size(); ++i)
    result.floats[i] = choose[i] ? leftF[i] : rightF[i];
  for (size_t i = 0; i < result.ints.size(); ++i)
    result.ints[i] = choose[i] ? leftI[i] : rightI[i];
  return result;
}

Tensor reference::evalCast(const Tensor &x, ElementType type) {
  Tensor result(type, x.shape);
  bool fromUnsigned = x.type == ElementType::U64;
  for (int64_t i = 0, e = x.size(); i < e; ++i) {
    if (x.isFloat() && result.isFloat())
      result.floats[i] = x.floats[i];
    else if (x.isFloat())
      result.ints[i] = saturatingInt(x.floats[i], type);
    else if (result.isFloat())
      result.floats[i] =
          fromUnsigned ? static_cast<double>(static_cast<uint64_t>(x.ints[i]))
                       : static_cast<double>(x.ints[i]);
    else
      result.ints[i] = type == ElementType::Bool ? x.ints[i] != 0 : x.ints[i];
  }
  roundToType(result, type);
  return result;
}
