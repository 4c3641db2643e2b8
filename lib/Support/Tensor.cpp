// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Host arrays.

#include "ashlar/Support/Tensor.h"
#include "ashlar/Support/CheckedMath.h"
#include "ashlar/Support/Half.h"

#include <cassert>
#include <cstring>

using namespace ashlar::support;

HostTensor ashlar::support::firstIndices(const HostTensor &tensor, size_t axis,
                                         int64_t extent) {
  HostTensor result;
  result.type = tensor.type;
  result.shape = tensor.shape;
  result.shape[axis] = extent;
  const llvm::ArrayRef<int64_t> shape(tensor.shape);
  const uint64_t inner =
      *countElements(shape.drop_front(axis + 1)) * byteSize(tensor.type);
  const uint64_t step = static_cast<uint64_t>(shape[axis]) * inner;
  const uint64_t kept = static_cast<uint64_t>(extent) * inner;
  for (uint64_t i = 0, n = *countElements(shape.take_front(axis)); i < n; ++i) {
    const auto from = tensor.data.begin() + static_cast<ptrdiff_t>(i * step);
    result.data.insert(result.data.end(), from,
                       from + static_cast<ptrdiff_t>(kept));
  }
  return result;
}

std::optional<uint64_t>
ashlar::support::countElements(llvm::ArrayRef<int64_t> shape) {
  int64_t count = 1;
  bool empty = false;
  for (int64_t dim : shape) {
    if (dim < 0)
      return std::nullopt;
    if (dim == 0) {
      empty = true;
      continue;
    }
    std::optional<int64_t> next = checkedMul(count, dim);
    if (!next)
      return std::nullopt;
    count = *next;
  }
  return empty ? 0 : static_cast<uint64_t>(count);
}

std::string ashlar::support::describe(ElementType type,
                                      llvm::ArrayRef<int64_t> shape) {
  std::string text = name(type).str() + "[";
  for (size_t i = 0; i < shape.size(); ++i) {
    if (i != 0)
      text += 'x';
    text += std::to_string(shape[i]);
  }
  return text + "]";
}

HostTensor HostTensor::zeros(ElementType type, llvm::ArrayRef<int64_t> shape) {
  const std::optional<uint64_t> count = countElements(shape);
  assert(count && "shape was not checked");
  HostTensor tensor;
  tensor.type = type;
  tensor.shape.assign(shape.begin(), shape.end());
  tensor.data.resize(count.value_or(0) * byteSize(type));
  return tensor;
}

namespace {

template <typename T>
T loadAs(const uint8_t *bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

} // namespace

double HostTensor::asDouble(uint64_t index) const {
  assert(index < numElements() && "element index out of range");
  const uint8_t *at = data.data() + index * byteSize(type);
  switch (type) {
  case ElementType::F32:
    return loadAs<float>(at);
  case ElementType::F16:
    return halfToFloat(loadAs<uint16_t>(at));
  case ElementType::BF16:
    return bfloatToFloat(loadAs<uint16_t>(at));
  case ElementType::I8:
    return loadAs<int8_t>(at);
  case ElementType::U8:
  case ElementType::Bool:
    return loadAs<uint8_t>(at);
  case ElementType::I16:
    return loadAs<int16_t>(at);
  case ElementType::U16:
    return loadAs<uint16_t>(at);
  case ElementType::I32:
    return loadAs<int32_t>(at);
  case ElementType::U32:
    return loadAs<uint32_t>(at);
  case ElementType::I64:
    return static_cast<double>(loadAs<int64_t>(at));
  case ElementType::U64:
    return static_cast<double>(loadAs<uint64_t>(at));
  case ElementType::F64:
    return loadAs<double>(at);
  }
  return 0;
}
