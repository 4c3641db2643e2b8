// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Storage, widening and the one rounding of interpreter values.

#include "ashlar/Reference/Tensor.h"
#include "ashlar/Support/Error.h"
#include "ashlar/Support/Half.h"

#include <bit>
#include <cmath>
#include <cstring>

using namespace ashlar;
using namespace ashlar::reference;
using llvm::ArrayRef;

namespace {

// The binary32 value nearest to `value` with its last bit set when inexact
// ("round to odd"): a second rounding to a 16-bit type is then the same as one
// direct rounding.
float toOddFloat(double value) {
  float near = static_cast<float>(value);
  if (std::isnan(value) || static_cast<double>(near) == value)
    return near;
  uint32_t bits = std::bit_cast<uint32_t>(near);
  bool away = std::fabs(static_cast<double>(near)) > std::fabs(value);
  // Neighbouring magnitudes are neighbouring integers.
  if (away)
    bits -= 1;
  return std::bit_cast<float>(bits | 1u);
}

double roundFloat(double value, ElementType type) {
  switch (type) {
  case ElementType::F32:
    return static_cast<float>(value);
  case ElementType::F16:
    return support::halfToFloat(support::floatToHalf(toOddFloat(value)));
  case ElementType::BF16:
    return support::bfloatToFloat(support::floatToBfloat(toOddFloat(value)));
  default:
    return value;
  }
}

int64_t wrapInt(int64_t value, ElementType type) {
  switch (type) {
  case ElementType::I8:
    return static_cast<int8_t>(value);
  case ElementType::U8:
    return static_cast<uint8_t>(value);
  case ElementType::I16:
    return static_cast<int16_t>(value);
  case ElementType::U16:
    return static_cast<uint16_t>(value);
  case ElementType::I32:
    return static_cast<int32_t>(value);
  case ElementType::U32:
    return static_cast<uint32_t>(value);
  case ElementType::Bool:
    return value != 0;
  default:
    return value;
  }
}

template <typename T, typename Out>
void widen(ArrayRef<uint8_t> bytes, std::vector<Out> &out) {
  for (size_t i = 0; i < out.size(); ++i) {
    T value;
    std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
    out[i] = static_cast<Out>(value);
  }
}

template <typename Convert>
void widenHalf(ArrayRef<uint8_t> bytes, std::vector<double> &out,
               Convert convert) {
  for (size_t i = 0; i < out.size(); ++i) {
    uint16_t bits;
    std::memcpy(&bits, bytes.data() + i * 2, 2);
    out[i] = convert(bits);
  }
}

template <typename T, typename In>
void narrow(const std::vector<In> &values, std::vector<uint8_t> &bytes) {
  for (size_t i = 0; i < values.size(); ++i) {
    T value = static_cast<T>(values[i]);
    std::memcpy(bytes.data() + i * sizeof(T), &value, sizeof(T));
  }
}

template <typename Convert>
void narrowHalf(const std::vector<double> &values, std::vector<uint8_t> &bytes,
                Convert convert) {
  for (size_t i = 0; i < values.size(); ++i) {
    uint16_t bits = convert(toOddFloat(values[i]));
    std::memcpy(bytes.data() + i * 2, &bits, 2);
  }
}

void widenAll(const support::HostTensor &host, Tensor &out) {
  ArrayRef<uint8_t> data = host.data;
  switch (host.type) {
  case ElementType::F32:
    return widen<float>(data, out.floats);
  case ElementType::F64:
    return widen<double>(data, out.floats);
  case ElementType::F16:
    return widenHalf(data, out.floats, support::halfToFloat);
  case ElementType::BF16:
    return widenHalf(data, out.floats, support::bfloatToFloat);
  case ElementType::I8:
    return widen<int8_t>(data, out.ints);
  case ElementType::U8:
  case ElementType::Bool:
    return widen<uint8_t>(data, out.ints);
  case ElementType::I16:
    return widen<int16_t>(data, out.ints);
  case ElementType::U16:
    return widen<uint16_t>(data, out.ints);
  case ElementType::I32:
    return widen<int32_t>(data, out.ints);
  case ElementType::U32:
    return widen<uint32_t>(data, out.ints);
  case ElementType::I64:
  case ElementType::U64:
    return widen<int64_t>(data, out.ints);
  }
}

} // namespace

Tensor::Tensor(support::ElementType type, ArrayRef<int64_t> shape)
    : type(type), shape(shape.begin(), shape.end()) {
  if (isFloatType(type))
    floats.resize(elementCount(shape));
  else
    ints.resize(elementCount(shape));
}

bool Tensor::isFloat() const { return isFloatType(type); }

int64_t Tensor::size() const {
  return static_cast<int64_t>(isFloat() ? floats.size() : ints.size());
}

bool reference::isFloatType(support::ElementType type) {
  return support::isFloat(type);
}

int64_t reference::elementCount(ArrayRef<int64_t> shape) {
  int64_t count = 1;
  for (int64_t extent : shape)
    count *= extent;
  return count;
}

llvm::SmallVector<int64_t> reference::rowMajorStrides(ArrayRef<int64_t> shape) {
  llvm::SmallVector<int64_t> strides(shape.size(), 1);
  for (size_t d = shape.size(); d-- > 1;)
    strides[d - 1] = strides[d] * shape[d];
  return strides;
}

Tensor reference::firstIndices(const Tensor &tensor, int64_t axis,
                               int64_t extent) {
  extent = std::clamp<int64_t>(extent, 0, tensor.shape[axis]);
  Tensor result = tensor;
  result.shape[axis] = extent;
  const llvm::ArrayRef<int64_t> shape(tensor.shape);
  const int64_t inner = elementCount(shape.drop_front(axis + 1));
  const int64_t outer = elementCount(shape.take_front(axis));
  auto cut = [&](auto &values) {
    auto to = values.begin();
    for (int64_t i = 0; i < outer; ++i)
      to = std::copy_n(values.begin() + i * shape[axis] * inner, extent * inner,
                       to);
    values.erase(to, values.end());
  };
  if (tensor.isFloat())
    cut(result.floats);
  else
    cut(result.ints);
  return result;
}

void reference::roundToType(Tensor &tensor, support::ElementType type) {
  if (type == ElementType::F64 || type == ElementType::I64 ||
      type == ElementType::U64)
    return;
  for (double &value : tensor.floats)
    value = roundFloat(value, type);
  for (int64_t &value : tensor.ints)
    value = wrapInt(value, type);
}

llvm::Expected<Tensor> reference::fromHost(const support::HostTensor &host) {
  std::optional<uint64_t> count = support::countElements(host.shape);
  if (!count || host.data.size() % support::byteSize(host.type) != 0 ||
      host.numElements() != *count)
    return support::makeError(ErrorClass::Malformed,
                              "array {} has {} bytes of data",
                              support::describe(host), host.data.size());
  Tensor result(host.type, host.shape);
  widenAll(host, result);
  return result;
}

support::HostTensor reference::toHost(const Tensor &tensor,
                                      support::ElementType type) {
  auto host = support::HostTensor::zeros(type, tensor.shape);
  switch (type) {
  case ElementType::F32:
    narrow<float>(tensor.floats, host.data);
    break;
  case ElementType::F64:
    narrow<double>(tensor.floats, host.data);
    break;
  case ElementType::F16:
    narrowHalf(tensor.floats, host.data, support::floatToHalf);
    break;
  case ElementType::BF16:
    narrowHalf(tensor.floats, host.data, support::floatToBfloat);
    break;
  default:
    switch (support::byteSize(type)) {
    case 1:
      narrow<uint8_t>(tensor.ints, host.data);
      break;
    case 2:
      narrow<uint16_t>(tensor.ints, host.data);
      break;
    case 4:
      narrow<uint32_t>(tensor.ints, host.data);
      break;
    default:
      narrow<uint64_t>(tensor.ints, host.data);
      break;
    }
  }
  return host;
}
