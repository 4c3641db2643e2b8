// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Elements of constants as binary64 or 64-bit integers, and back.

#include "HostNumbers.h"

#include "ashlar/Support/Half.h"

#include <algorithm>
#include <cstring>

using namespace ashlar;
using namespace ashlar::frontend;
using namespace ashlar::nn;
using mlir::ElementsAttr;
using mlir::RankedTensorType;
using support::ElementType;

std::optional<ArrayRef<char>> ashlar::frontend::bytesOf(Value value,
                                                        ElementStorage &storage,
                                                        int64_t largest) {
  ElementsAttr elements = constantOf(value);
  if (!isFloatElement(value))
    largest = std::max(largest, largestWhole);
  if (!elements || tensorOf(value).getNumElements() > largest)
    return std::nullopt;
  return rawElements(elements, storage);
}

namespace {

template <class T>
T loadAs(const char *data, size_t i) {
  T value;
  std::memcpy(&value, data + i * sizeof(T), sizeof(T));
  return value;
}

double loadReal(const char *data, size_t i, ElementType type) {
  switch (type) {
  case ElementType::F32:
    return loadAs<float>(data, i);
  case ElementType::F16:
    return support::halfToFloat(loadAs<uint16_t>(data, i));
  case ElementType::BF16:
    return support::bfloatToFloat(loadAs<uint16_t>(data, i));
  default:
    return loadAs<double>(data, i);
  }
}

int64_t loadWhole(const char *data, size_t i, ElementType type) {
  switch (type) {
  case ElementType::I8:
    return loadAs<int8_t>(data, i);
  case ElementType::U8:
  case ElementType::Bool:
    return loadAs<uint8_t>(data, i);
  case ElementType::I16:
    return loadAs<int16_t>(data, i);
  case ElementType::U16:
    return loadAs<uint16_t>(data, i);
  case ElementType::I32:
    return loadAs<int32_t>(data, i);
  case ElementType::U32:
    return loadAs<uint32_t>(data, i);
  default:
    return loadAs<int64_t>(data, i);
  }
}

template <class T>
void store(std::string &bytes, T value) {
  bytes.append(reinterpret_cast<const char *>(&value), sizeof(T));
}

} // namespace

std::optional<Numbers> ashlar::frontend::numbersIn(Value value,
                                                   int64_t largest) {
  ElementStorage storage;
  std::optional<ArrayRef<char>> data = bytesOf(value, storage, largest);
  if (!data)
    return std::nullopt;
  ElementType type = *toElementType(elementOf(value));
  Numbers numbers;
  numbers.isFloat = support::isFloat(type);
  int64_t count = tensorOf(value).getNumElements();
  for (int64_t i = 0; i < count; ++i)
    if (numbers.isFloat)
      numbers.reals.push_back(loadReal(data->data(), i, type));
    else
      numbers.wholes.push_back(loadWhole(data->data(), i, type));
  return numbers;
}

ElementsAttr ashlar::frontend::pack(RankedTensorType type,
                                    const Numbers &numbers) {
  ElementType element = *toElementType(type.getElementType());
  unsigned width = byteSize(element);
  std::string bytes;
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (element == ElementType::F32)
      store(bytes, static_cast<float>(numbers.reals[i]));
    else if (element == ElementType::F64)
      store(bytes, numbers.reals[i]);
    else
      bytes.append(reinterpret_cast<const char *>(&numbers.wholes[i]), width);
  }
  return makeElements(type, std::move(bytes), "folded");
}

bool ashlar::frontend::canPack(Type type) {
  std::optional<ElementType> element = toElementType(type);
  return element && *element != ElementType::F16 &&
         *element != ElementType::BF16 && *element != ElementType::U64;
}
std::optional<SmallVector<int64_t>> ashlar::frontend::integersOf(Value value) {
  std::optional<Numbers> numbers = numbersIn(value, anySize);
  if (!numbers || numbers->isFloat)
    return std::nullopt;
  return SmallVector<int64_t>(numbers->wholes.begin(), numbers->wholes.end());
}

std::optional<SmallVector<double>> ashlar::frontend::numbersOf(Value value) {
  std::optional<Numbers> numbers = numbersIn(value, anySize);
  if (!numbers)
    return std::nullopt;
  if (numbers->isFloat)
    return SmallVector<double>(numbers->reals.begin(), numbers->reals.end());
  return SmallVector<double>(numbers->wholes.begin(), numbers->wholes.end());
}
