// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reading and writing of constant attributes.

#include "ashlar/Reference/Constants.h"
#include "ashlar/Support/Error.h"
#include "dialects/NN/NNDialect.h"

#include "mlir/IR/AsmState.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include <cstring>

using namespace mlir;
using namespace ashlar;
using support::ElementType;

std::optional<ElementType> reference::elementTypeOf(Type type) {
  if (type.isF32())
    return ElementType::F32;
  if (type.isF64())
    return ElementType::F64;
  if (type.isF16())
    return ElementType::F16;
  if (type.isBF16())
    return ElementType::BF16;
  auto integer = dyn_cast<IntegerType>(type);
  if (!integer)
    return std::nullopt;
  bool isUnsigned = integer.isUnsigned();
  switch (integer.getWidth()) {
  case 1:
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

Type reference::toIrType(MLIRContext *context, ElementType type) {
  switch (type) {
  case ElementType::F32:
    return Float32Type::get(context);
  case ElementType::F64:
    return Float64Type::get(context);
  case ElementType::F16:
    return Float16Type::get(context);
  case ElementType::BF16:
    return BFloat16Type::get(context);
  case ElementType::Bool:
    return IntegerType::get(context, 1);
  default:
    break;
  }
  auto sign = support::isSignedInteger(type) ? IntegerType::Signless
                                             : IntegerType::Unsigned;
  return IntegerType::get(context, support::byteSize(type) * 8, sign);
}

namespace {

// Repeats one element over the whole tensor.
void fillWith(ArrayRef<char> element, std::vector<uint8_t> &data) {
  for (size_t i = 0; i < data.size(); i += element.size())
    std::memcpy(data.data() + i, element.data(), element.size());
}

llvm::Error sizeError(size_t found, size_t expected) {
  return support::makeError(ErrorClass::Malformed,
                            "constant has {} bytes of data, expected {}", found,
                            expected);
}

llvm::Error copyDense(DenseElementsAttr dense, support::HostTensor &host) {
  if (host.type == ElementType::Bool) {
    // How booleans are packed is MLIR's business.
    size_t i = 0;
    for (bool value : dense.getValues<bool>())
      host.data[i++] = value;
    return llvm::Error::success();
  }
  ArrayRef<char> raw = dense.getRawData();
  if (dense.isSplat()) {
    if (raw.size() != support::byteSize(host.type))
      return sizeError(raw.size(), support::byteSize(host.type));
    fillWith(raw, host.data);
    return llvm::Error::success();
  }
  if (raw.size() != host.data.size())
    return sizeError(raw.size(), host.data.size());
  std::memcpy(host.data.data(), raw.data(), raw.size());
  return llvm::Error::success();
}

llvm::Error copyResource(DenseResourceElementsAttr resource,
                         support::HostTensor &host) {
  AsmResourceBlob *blob = resource.getRawHandle().getBlob();
  if (!blob)
    return support::makeError(ErrorClass::Malformed,
                              "constant resource '{}' has no data",
                              resource.getRawHandle().getKey().str());
  ArrayRef<char> raw = blob->getData();
  if (raw.size() != host.data.size())
    return sizeError(raw.size(), host.data.size());
  if (!raw.empty())
    std::memcpy(host.data.data(), raw.data(), raw.size());
  return llvm::Error::success();
}

} // namespace

llvm::Expected<support::HostTensor>
reference::readElements(ElementsAttr attribute) {
  ShapedType type = attribute.getShapedType();
  std::optional<ElementType> element = elementTypeOf(type.getElementType());
  if (!element || !type.hasStaticShape() ||
      !support::countElements(type.getShape()))
    return support::makeError(ErrorClass::Unsupported,
                              "constant has no plain host form");
  auto host = support::HostTensor::zeros(*element, type.getShape());
  llvm::Error error = llvm::Error::success();
  if (auto dense = dyn_cast<DenseElementsAttr>(attribute))
    error = copyDense(dense, host);
  else if (auto resource = dyn_cast<DenseResourceElementsAttr>(attribute))
    error = copyResource(resource, host);
  else
    error = support::makeError(
        ErrorClass::Unsupported,
        "constant is neither a dense nor a dense_resource attribute");
  if (error)
    return std::move(error);
  return host;
}

ElementsAttr reference::makeElements(RankedTensorType type,
                                     const support::HostTensor &data) {
  ArrayRef<char> bytes(reinterpret_cast<const char *>(data.data.data()),
                       data.data.size());
  if (type.getNumElements() > nn::maxInlineElements)
    return DenseResourceElementsAttr::get(
        type, "constant",
        HeapAsmResourceBlob::allocateAndCopyWithAlign(bytes, /*align=*/64));
  if (data.type == ElementType::Bool) {
    SmallVector<bool> values(data.data.begin(), data.data.end());
    return DenseElementsAttr::get(type, ArrayRef<bool>(values));
  }
  return DenseElementsAttr::getFromRawBuffer(type, bytes);
}
