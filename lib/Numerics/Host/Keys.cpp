// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Elements as integers in the order of their values.

#include "ashlar/Numerics/HostFunctions.h"
#include "ashlar/Support/Half.h"

#include <bit>
#include <cstring>
#include <limits>

using namespace ashlar;
using namespace ashlar::numerics;
using ashlar::support::ElementType;

int64_t numerics::orderKey(double value) {
  if (value != value)
    return std::numeric_limits<int64_t>::max();
  const auto bits = std::bit_cast<int64_t>(value == 0 ? 0.0 : value);
  // Magnitudes of negative numbers count down.
  return bits < 0 ? bits ^ std::numeric_limits<int64_t>::max() : bits;
}

namespace {

template <typename T>
T read(const uint8_t *from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

int64_t keyAt(ElementType type, const uint8_t *at) {
  switch (type) {
  case ElementType::F32:
    return orderKey(static_cast<double>(read<float>(at)));
  case ElementType::F64:
    return orderKey(read<double>(at));
  case ElementType::F16:
    return orderKey(
        static_cast<double>(ashlar::support::halfToFloat(read<uint16_t>(at))));
  case ElementType::BF16:
    return orderKey(static_cast<double>(
        ashlar::support::bfloatToFloat(read<uint16_t>(at))));
  case ElementType::I8:
    return read<int8_t>(at);
  case ElementType::U8:
  case ElementType::Bool:
    return *at;
  case ElementType::I16:
    return read<int16_t>(at);
  case ElementType::U16:
    return read<uint16_t>(at);
  case ElementType::I32:
    return read<int32_t>(at);
  case ElementType::U32:
    return read<uint32_t>(at);
  case ElementType::I64:
    return read<int64_t>(at);
  case ElementType::U64:
    return unsignedKey(read<int64_t>(at));
  }
  return 0;
}

} // namespace

std::vector<int64_t> numerics::orderKeys(ElementType type, const uint8_t *data,
                                         uint64_t count) {
  std::vector<int64_t> keys(count);
  const uint64_t bytes = support::byteSize(type);
  for (uint64_t i = 0; i < count; ++i)
    keys[i] = keyAt(type, data + i * bytes);
  return keys;
}
