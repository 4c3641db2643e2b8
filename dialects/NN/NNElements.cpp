// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Conversion between constants and bytes.

#include "dialects/NN/NNElements.h"
#include "ashlar/Support/Tensor.h"
#include "dialects/NN/NNDeferred.h"
#include "dialects/NN/NNDialect.h"

#include "mlir/IR/AsmState.h"
#include "mlir/IR/BuiltinDialect.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "llvm/ADT/TypeSwitch.h"

#include <cassert>
#include <cstring>
#include <memory>

using namespace mlir;
using namespace ashlar::nn;
using ashlar::support::ElementType;

Type ashlar::nn::toMlirType(MLIRContext *context, ElementType type) {
  Builder b(context);
  switch (type) {
  case ElementType::F32:
    return b.getF32Type();
  case ElementType::F16:
    return b.getF16Type();
  case ElementType::BF16:
    return b.getBF16Type();
  case ElementType::F64:
    return b.getF64Type();
  case ElementType::I8:
    return b.getI8Type();
  case ElementType::U8:
    return b.getIntegerType(8, false);
  case ElementType::I16:
    return b.getI16Type();
  case ElementType::U16:
    return b.getIntegerType(16, false);
  case ElementType::I32:
    return b.getI32Type();
  case ElementType::U32:
    return b.getIntegerType(32, false);
  case ElementType::I64:
    return b.getI64Type();
  case ElementType::U64:
    return b.getIntegerType(64, false);
  case ElementType::Bool:
    return b.getI1Type();
  }
  return {};
}

std::optional<ElementType> ashlar::nn::toElementType(Type type) {
  if (type.isF32())
    return ElementType::F32;
  if (type.isF16())
    return ElementType::F16;
  if (type.isBF16())
    return ElementType::BF16;
  if (type.isF64())
    return ElementType::F64;
  auto integer = dyn_cast<IntegerType>(type);
  if (!integer || integer.isSigned())
    return std::nullopt;
  bool isUnsigned = integer.isUnsigned();
  switch (integer.getWidth()) {
  case 1:
    if (isUnsigned)
      return std::nullopt;
    return ElementType::Bool;
  case 8:
    return isUnsigned ? ElementType::U8 : ElementType::I8;
  case 16:
    return isUnsigned ? ElementType::U16 : ElementType::I16;
  case 32:
    return isUnsigned ? ElementType::U32 : ElementType::I32;
  case 64:
    return isUnsigned ? ElementType::U64 : ElementType::I64;
  default:
    return std::nullopt;
  }
}

/// A free name for a resource. The context finds one itself, but tries all
/// numbers from 1 on: with the number of resources it need not.
static std::string resourceName(MLIRContext *context, llvm::StringRef hint) {
  // Folders leave constants that they share without a location; text of modules
  // has no resource without a name.
  if (hint.empty())
    hint = "constant";
  auto &manager = DenseResourceElementsHandle::getManagerInterface(context)
                      .getBlobManager();
  if (!manager.lookup(hint))
    return hint.str();
  size_t count = 0;
  manager.getBlobMap([&](const auto &blobs) { count = blobs.size(); });
  return (hint + "_" + llvm::Twine(count)).str();
}

DenseResourceElementsHandle ashlar::nn::reserveResource(MLIRContext *context,
                                                        llvm::StringRef hint) {
  return DenseResourceElementsHandle::getManagerInterface(context).insert(
      resourceName(context, hint));
}

ElementsAttr ashlar::nn::makeElements(RankedTensorType type, std::string bytes,
                                      llvm::StringRef hint) {
  assert(toElementType(type.getElementType()) &&
         bytes.size() == static_cast<uint64_t>(type.getNumElements()) *
                             byteSize(*toElementType(type.getElementType())));
  if (type.getNumElements() <= maxInlineElements) {
    if (!type.getElementType().isInteger(1))
      return cast<ElementsAttr>(
          DenseElementsAttr::getFromRawBuffer(type, bytes));
    SmallVector<bool> values;
    for (char byte : bytes)
      values.push_back(byte != 0);
    return cast<ElementsAttr>(DenseElementsAttr::get(type, values));
  }
  // The blob owns the string, so the bytes are never copied; operator new
  // aligns them for every element type.
  auto owner = std::make_unique<std::string>(std::move(bytes));
  ArrayRef<char> data(owner->data(), owner->size());
  AsmResourceBlob blob(
      data, alignof(uint64_t),
      [owner = std::move(owner)](void *, size_t, size_t) mutable {
        owner.reset();
      },
      /*dataIsMutable=*/false);
  return DenseResourceElementsAttr::get(
      type, resourceName(type.getContext(), hint), std::move(blob));
}

void ashlar::nn::repeatBytes(ArrayRef<char> element, size_t first,
                             MutableArrayRef<char> to) {
  // What is copied stays in the first cache level.
  constexpr size_t most = size_t(1) << 14;
  const size_t begin = std::min(element.size(), to.size());
  for (size_t i = 0; i < begin; ++i)
    to[i] = element[(first + i) % element.size()];
  for (size_t done = begin; done < to.size();) {
    const size_t count = std::min(
        {done, most / element.size() * element.size(), to.size() - done});
    std::memcpy(to.data() + done, to.data(), count);
    done += count;
  }
}

std::optional<ArrayRef<char>> ashlar::nn::rawElements(ElementsAttr elements,
                                                      ElementStorage &storage) {
  auto type = dyn_cast<RankedTensorType>(elements.getType());
  if (!type)
    return std::nullopt;
  std::optional<ElementType> element = toElementType(type.getElementType());
  if (!element)
    return std::nullopt;
  size_t width = byteSize(*element);
  size_t count = type.getNumElements();
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(elements)) {
    if (auto source = deferredSource(elements)) {
      storage.resize(count * width);
      if (!(*source)(0, storage))
        return std::nullopt;
      return ArrayRef<char>(storage);
    }
    AsmResourceBlob *blob = resource.getRawHandle().getBlob();
    if (!blob || blob->getData().size() != count * width)
      return std::nullopt;
    return blob->getData();
  }
  auto dense = dyn_cast<DenseElementsAttr>(elements);
  if (!dense)
    return std::nullopt;
  if (*element == ElementType::Bool) {
    storage.clear();
    for (bool value : dense.getValues<bool>())
      storage.push_back(value);
    return ArrayRef<char>(storage);
  }
  ArrayRef<char> raw = dense.getRawData();
  if (!dense.isSplat())
    return raw;
  storage.resize(count * width);
  repeatBytes(raw, 0, storage);
  return ArrayRef<char>(storage);
}

/// The bytes of the element that all others are equal to; nothing for
/// constants that are not stored so.
static std::optional<ArrayRef<char>> splatBytes(ElementsAttr elements) {
  auto dense = dyn_cast<DenseElementsAttr>(elements);
  if (!dense || !dense.isSplat() || dense.getElementType().isInteger(1))
    return std::nullopt;
  return dense.getRawData();
}

bool ashlar::nn::hasElements(ElementsAttr elements) {
  ElementStorage storage;
  return deferredSource(elements) || rawElements(elements, storage);
}

bool ashlar::nn::copyElements(ElementsAttr elements, MutableArrayRef<char> to) {
  if (auto source = deferredSource(elements))
    return (*source)(0, to);
  ElementStorage storage;
  auto bytes = rawElements(elements, storage);
  if (!bytes || bytes->size() != to.size())
    return false;
  std::memcpy(to.data(), bytes->data(), to.size());
  return true;
}

bool ashlar::nn::copyPart(ElementsAttr elements, size_t first,
                          MutableArrayRef<char> to) {
  if (auto source = deferredSource(elements))
    return (*source)(first, to);
  if (auto element = splatBytes(elements)) {
    repeatBytes(*element, first, to);
    return true;
  }
  ElementStorage storage;
  auto bytes = rawElements(elements, storage);
  if (!bytes || bytes->size() < first + to.size())
    return false;
  std::memcpy(to.data(), bytes->data() + first, to.size());
  return true;
}

std::vector<float> ashlar::nn::floatElements(ElementsAttr elements) {
  std::vector<float> floats;
  // Made in its place: a second copy of a large constant would be made for
  // nothing.
  if (elements.getElementType().isF32() && deferredSource(elements)) {
    floats.resize(elements.getNumElements());
    if (!copyElements(elements, {reinterpret_cast<char *>(floats.data()),
                                 floats.size() * sizeof(float)}))
      floats.clear();
    return floats;
  }
  ElementStorage storage;
  auto bytes = rawElements(elements, storage);
  if (!bytes)
    return floats;
  ElementType type = *toElementType(elements.getElementType());
  if (type == ElementType::F32) {
    const size_t count = bytes->size() / sizeof(float);
    // In one pass where the bytes lie as floats do: resizing would touch every
    // page of a large constant once more.
    if (reinterpret_cast<uintptr_t>(bytes->data()) % alignof(float) == 0) {
      const auto *first = reinterpret_cast<const float *>(bytes->data());
      floats.assign(first, first + count);
      return floats;
    }
    floats.resize(count);
    std::memcpy(floats.data(), bytes->data(), bytes->size());
    return floats;
  }
  ashlar::support::HostTensor tensor{type, {}, {bytes->begin(), bytes->end()}};
  for (uint64_t i = 0; i < tensor.numElements(); ++i)
    floats.push_back(static_cast<float>(tensor.asDouble(i)));
  return floats;
}

FloatElements::FloatElements(ElementsAttr elements) {
  if (elements.getElementType().isF32()) {
    auto bytes = rawElements(elements, storage);
    if (bytes &&
        reinterpret_cast<uintptr_t>(bytes->data()) % alignof(float) == 0) {
      values = {reinterpret_cast<const float *>(bytes->data()),
                bytes->size() / sizeof(float)};
      return;
    }
  }
  copy = floatElements(elements);
  values = copy;
}

/// Loops without a way out early, which compilers turn into vectors.
static ElementFacts findFacts(llvm::ArrayRef<float> values) {
  constexpr uint32_t exponent = 0x7f800000u;
  uint32_t zeros = 0, others = 0;
  for (float value : values) {
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof(bits));
    zeros |= (bits << 1) == 0 ? 1 : 0;
    others |= (bits & exponent) == exponent ? 1 : 0;
  }
  return {zeros != 0, others == 0};
}

std::optional<ElementFacts> ashlar::nn::factsOf(ElementsAttr elements) {
  if (!elements.getElementType().isF32())
    return std::nullopt;
  auto find = [&]() -> std::optional<ElementFacts> {
    if (auto element = splatBytes(elements)) {
      float value;
      std::memcpy(&value, element->data(), sizeof(value));
      return findFacts(value);
    }
    FloatElements values(elements);
    if (values.get().empty())
      return std::nullopt;
    return findFacts(values.get());
  };
  auto resource = dyn_cast<DenseResourceElementsAttr>(elements);
  if (!resource || !deferredSource(elements))
    return find();
  return DeferredElements::of(elements.getContext())
      .factsOf(resource.getRawHandle().getResource(), find);
}
