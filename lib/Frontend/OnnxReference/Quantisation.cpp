// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Quantised operators: (q - zero) * scale, and its inverse with rounding to the
// nearest integer, halves to the even one. Sums of products of integers of up
// to 16 bits are exact in binary64.

#include "Convolution.h"
#include "Narrow.h"
#include "Registry.h"
#include "Walk.h"
#include "Windows.h"
#include "lib/Frontend/Onnx/Tensors.h"

#include <cmath>

using namespace ashlar;
using namespace ashlar::onnxref;

namespace {

/// Parameters of a tensor: one for all of it, one per element of an axis, or
/// one per `block` elements of an axis.
class PerSlice {
public:
  PerSlice(Call &call, const Tensor &parameter, ArrayRef<int64_t> shape,
           int64_t axis, int64_t block = 0)
      : parameter(parameter), extent(parameter.size()) {
    if (block > 0 && !parameter.shape.empty()) {
      setBlocks(call, shape, axis, block);
      return;
    }
    if (extent == 1)
      return;
    axis = call.normalAxis(axis, static_cast<int64_t>(shape.size()));
    if (call.failed() || !call.require(shape[axis] == extent,
                                       "parameters are not one per slice"))
      return;
    inner = elementCount(shape.drop_front(axis + 1));
  }
  /// Of element i.
  double operator[](int64_t i) const {
    int64_t k = extent == 1 ? 0 : i / inner % extent;
    if (size > 0)
      k = (i / inner / whole * blocks + i / inner % whole / size) * inner +
          i % inner;
    return parameter.isFloat() ? parameter.floats[k]
                               : static_cast<double>(parameter.ints[k]);
  }

private:
  void setBlocks(Call &call, ArrayRef<int64_t> shape, int64_t axis,
                 int64_t block) {
    axis = call.normalAxis(axis, static_cast<int64_t>(shape.size()));
    if (call.failed())
      return;
    Shape expected(shape);
    expected[axis] = (shape[axis] + block - 1) / block;
    if (!call.require(ArrayRef<int64_t>(parameter.shape) ==
                          ArrayRef<int64_t>(expected),
                      "parameters are not one per block"))
      return;
    size = block;
    whole = shape[axis];
    blocks = expected[axis];
    inner = elementCount(shape.drop_front(axis + 1));
  }

  const Tensor &parameter;
  int64_t extent, inner = 1;
  int64_t size = 0, whole = 1, blocks = 1; ///< Of blocks; size 0: none.
};

double nearestEven(double x) {
  const double below = std::floor(x), rest = x - below;
  if (rest != 0.5)
    return rest < 0.5 ? below : below + 1;
  return std::fmod(below, 2) == 0 ? below : below + 1;
}

/// The nearest number of an integer type of up to 32 bits; 0 for NaN.
int64_t saturated(double x, ElementType type) {
  const int bits = static_cast<int>(support::byteSize(type)) * 8;
  const bool isSigned = support::isSignedInteger(type);
  const double low = isSigned ? -std::ldexp(1.0, bits - 1) : 0;
  const double high = std::ldexp(1.0, isSigned ? bits - 1 : bits) - 1;
  if (std::isnan(x))
    return 0;
  return static_cast<int64_t>(std::min(std::max(x, low), high));
}

Tensor zeroOf(ElementType type) { return Tensor(type, {}); }

/// saturate(round(x / scale) + zero).
Tensor quantised(Call &call, const Tensor &x, const Tensor &scale,
                 const Tensor &zero, ElementType type, int64_t axis,
                 int64_t block = 0) {
  const PerSlice step(call, scale, x.shape, axis, block),
      shift(call, zero, x.shape, axis, block);
  Tensor y(type, x.shape);
  if (call.failed())
    return y;
  for (int64_t i = 0, e = x.size(); i < e; ++i)
    y.ints[i] =
        saturated(nearestEven(numberAt(x, i) / step[i]) + shift[i], type);
  return y;
}

/// The quotients as numbers of a type that is kept in a wider one.
Tensor narrowed(Call &call, const frontend::NarrowType &type) {
  const Tensor &x = call.operand(0);
  const Tensor zero = call.has(2) ? call.operand(2) : zeroOf(ElementType::I8);
  const int64_t axis = call.getInt("axis", 1),
                block = call.getInt("block_size", 0);
  const PerSlice step(call, call.operand(1), x.shape, axis, block),
      shift(call, zero, x.shape, axis, block);
  Tensor y(type.storage, x.shape);
  for (int64_t i = 0, e = call.failed() ? 0 : x.size(); i < e; ++i) {
    // The quotient is one of binary32.
    const double quotient = static_cast<float>(numberAt(x, i) / step[i]);
    if (type.isFloat()) {
      y.floats[i] = nearestIn(type, quotient, call.getInt("saturate", 1) != 0);
      continue;
    }
    const double low =
        type.kind == frontend::NarrowKind::Signed ? -type.largest - 1 : 0;
    const double v = nearestEven(quotient) + shift[i];
    y.ints[i] =
        std::isnan(v)
            ? 0
            : static_cast<int64_t>(std::min(std::max(v, low), type.largest));
  }
  return y;
}

/// The type of the zero point, or output_dtype, or 8 bits without a sign.
void quantizeLinear(Call &call) {
  if (const frontend::NarrowType *narrow = call.narrowResult()) {
    call.setResult(0, narrowed(call, *narrow));
    return;
  }
  const Tensor zero = call.has(2) ? call.operand(2) : zeroOf(ElementType::U8);
  ElementType type = zero.type;
  if (const int64_t wanted = call.getInt("output_dtype", 0);
      wanted != 0 && !call.has(2)) {
    auto known = frontend::elementTypeOf(static_cast<int32_t>(wanted), "y");
    if (!known) {
      call.fail("{}", llvm::toString(known.takeError()));
      return;
    }
    type = *known;
  }
  call.setResult(0, quantised(call, call.operand(0), call.operand(1), zero,
                              type, call.getInt("axis", 1),
                              call.getInt("block_size", 0)));
}

void dequantizeLinear(Call &call) {
  const Tensor &x = call.operand(0), &scale = call.operand(1);
  const Tensor zero = call.has(2) ? call.operand(2) : zeroOf(x.type);
  const int64_t axis = call.getInt("axis", 1),
                block = call.getInt("block_size", 0);
  const PerSlice step(call, scale, x.shape, axis, block),
      shift(call, zero, x.shape, axis, block);
  ElementType type = scale.type;
  if (const int64_t wanted = call.getInt("output_dtype", 0); wanted != 0) {
    auto known = frontend::elementTypeOf(static_cast<int32_t>(wanted), "y");
    if (!known) {
      call.fail("{}", llvm::toString(known.takeError()));
      return;
    }
    type = *known;
  }
  if (call.failed())
    return;
  Tensor y(type, x.shape);
  for (int64_t i = 0, e = x.size(); i < e; ++i)
    y.floats[i] = (numberAt(x, i) - shift[i]) * step[i];
  call.setResult(0, std::move(y));
}

/// Results are y, its scale and its zero point: the range from min(x, 0) to
/// max(x, 0) on 8 bits.
void dynamicQuantizeLinear(Call &call) {
  const Tensor &x = call.operand(0);
  if (!call.require(x.isFloat(), "the operand is not of floats"))
    return;
  double low = 0, high = 0;
  for (double value : x.floats) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  Tensor scale(x.type, {}), zero(ElementType::U8, {});
  // A range of nothing is taken to be 1, so that nothing divides by 0.
  scale.floats[0] = (high == low ? 1 : high - low) / 255;
  zero.ints[0] = saturated(nearestEven(std::min(-low / scale.floats[0], 255.0)),
                           ElementType::U8);
  call.setResult(0, quantised(call, x, scale, zero, ElementType::U8, 0));
  call.setResult(1, std::move(scale));
  call.setResult(2, std::move(zero));
}

/// Operand i minus its zero point, operand z, as binary64.
Tensor centred(Call &call, size_t i, size_t z, int64_t axis) {
  const Tensor &x = call.operand(i);
  const Tensor zero = call.has(z) ? call.operand(z) : zeroOf(x.type);
  const PerSlice shift(call, zero, x.shape, axis);
  Tensor y(ElementType::F64, x.shape);
  for (int64_t k = 0, e = call.failed() ? 0 : x.size(); k < e; ++k)
    y.floats[k] = numberAt(x, k) - shift[k];
  return y;
}

Tensor toIntegers(const Tensor &x, ElementType type) {
  Tensor y(type, x.shape);
  for (size_t i = 0; i < x.floats.size(); ++i)
    y.ints[i] = static_cast<int64_t>(x.floats[i]);
  return wrapped(std::move(y));
}

/// One parameter per row of the left matrix is along its last axis but one.
constexpr int64_t rows = -2, columns = -1, channels = 1, kernels = 0;

void matmulInteger(Call &call) {
  const Tensor a = centred(call, 0, 2, rows), b = centred(call, 1, 3, columns);
  if (call.failed())
    return;
  const Tensor sums = multiplyMatrices(call, a, b);
  call.setResult(0, toIntegers(sums, ElementType::I32));
}

void convInteger(Call &call) {
  const Tensor x = centred(call, 0, 2, channels),
               w = centred(call, 1, 3, kernels);
  if (call.failed())
    return;
  const Tensor sums = convolve(call, x, w);
  call.setResult(0, toIntegers(sums, ElementType::I32));
}

/// saturate(round(sums * (scale of x * scale of w / scale of y)) + zero of y).
/// Operands 1, 4, 6 and 7 are these scales and the zero point.
void setRequantised(Call &call, Tensor sums, int64_t left, int64_t right,
                    bool last = false) {
  if (call.failed())
    return;
  const PerSlice ofX(call, call.operand(1), sums.shape, left),
      ofW(call, call.operand(4), sums.shape, right),
      ofY(call, call.operand(6), sums.shape, left),
      zero(call, call.operand(7), sums.shape, left);
  if (call.failed())
    return;
  const ElementType type = call.operand(7).type;
  Tensor y(type, sums.shape);
  for (int64_t i = 0, e = sums.size(); i < e; ++i)
    y.ints[i] = saturated(
        nearestEven(sums.floats[i] * (ofX[i] * ofW[i] / ofY[i])) + zero[i],
        type);
  call.setResult(0, last ? channelsLast(y) : std::move(y));
}

void qlinearMatmul(Call &call) {
  const Tensor a = centred(call, 0, 2, rows), b = centred(call, 3, 5, columns);
  if (!call.failed())
    setRequantised(call, multiplyMatrices(call, a, b), rows, columns);
}

void qlinearConv(Call &call) {
  // An attribute of com.microsoft's form alone.
  const bool last = call.getInt("channels_last", 0) != 0;
  Tensor x = centred(call, 0, 2, channels);
  const Tensor w = centred(call, 3, 5, kernels);
  if (call.failed() || !call.require(rankOf(x) >= 3, "the rank is too small"))
    return;
  if (last)
    x = channelsFirst(x);
  Tensor sums = convolve(call, x, w);
  if (!call.failed() && call.has(8)) {
    const PerSlice bias(call, call.operand(8), sums.shape, channels);
    for (int64_t i = 0, e = call.failed() ? 0 : sums.size(); i < e; ++i)
      sums.floats[i] += bias[i];
  }
  setRequantised(call, std::move(sums), channels, channels, last);
}

constexpr Continuity open = Continuity::OpenSteps;

} // namespace

std::vector<EvaluatorRow> onnxref::quantisationEvaluators() {
  return {
      {"QuantizeLinear",
       {10, 13, 19, 21, 23, 24, 25},
       2,
       quantizeLinear,
       Continuity::Steps},
      {"DequantizeLinear", {10, 13, 19, 21, 23, 24, 25}, 2, dequantizeLinear},
      {"QuantizeLinear",
       {1},
       2,
       quantizeLinear,
       Continuity::Steps,
       "com.microsoft"},
      {"DequantizeLinear",
       {1},
       2,
       dequantizeLinear,
       Continuity::Smooth,
       "com.microsoft"},
      {"DynamicQuantizeLinear", {11}, 1, dynamicQuantizeLinear, open},
      {"ConvInteger", {10}, 2, convInteger},
      {"MatMulInteger", {10}, 2, matmulInteger},
      {"QLinearConv", {10}, 8, qlinearConv, open},
      {"QLinearConv", {1}, 8, qlinearConv, open, "com.microsoft"},
      {"QLinearMatMul", {10, 21}, 8, qlinearMatmul, open},
  };
}
