// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads TensorProto in all its storage forms. The host is little endian, as
// ONNX's raw data is.

#include "Tensors.h"
#include "Files/TensorFiles.h"
#include "Model.h"
#include "Types/NarrowType.h"

#include "ashlar/Frontend/Onnx/Import.h"
#include "dialects/NN/NNDeferred.h"
#include "dialects/NN/NNElements.h"
#include "dialects/NN/NNShapes.h"
#include "dialects/NN/NNTypes.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/StringExtras.h"

#include <cstring>
#include <limits>

using namespace ashlar;
using namespace ashlar::frontend;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;
using support::ElementType;

namespace {

/// Names of data types that exist but are not read; empty for unknown numbers.
/// Newer than the package's enumeration, hence numbers.
StringRef foreignTypeName(int32_t onnxType) {
  switch (onnxType) {
  case 8:
    return "string";
  case 14:
    return "complex64";
  case 15:
    return "complex128";
  default:
    return {};
  }
}

Error sizeError(StringRef what, size_t found, size_t expected, StringRef unit) {
  return makeError(ErrorClass::Malformed, "{} holds {} {}, expected {}",
                   what.str(), found, unit.str(), expected);
}

/// Copies a typed repeated field, narrowing each entry to `T`.
template <class T, class Field>
Expected<std::string> copyField(const Field &field, size_t count,
                                StringRef what) {
  if (static_cast<size_t>(field.size()) != count)
    return sizeError(what, field.size(), count, "elements");
  std::string bytes(count * sizeof(T), '\0');
  for (size_t i = 0; i < count; ++i) {
    T value = static_cast<T>(field.Get(i));
    std::memcpy(&bytes[i * sizeof(T)], &value, sizeof(T));
  }
  return bytes;
}

Expected<std::string> copyTyped(const onnx::TensorProto &tensor,
                                ElementType type, size_t count,
                                StringRef what) {
  switch (type) {
  case ElementType::F32:
    return copyField<float>(tensor.float_data(), count, what);
  case ElementType::F64:
    return copyField<double>(tensor.double_data(), count, what);
  case ElementType::I64:
    return copyField<int64_t>(tensor.int64_data(), count, what);
  case ElementType::U64:
    return copyField<uint64_t>(tensor.uint64_data(), count, what);
  case ElementType::U32:
    return copyField<uint32_t>(tensor.uint64_data(), count, what);
  case ElementType::I32:
    return copyField<int32_t>(tensor.int32_data(), count, what);
  case ElementType::F16:
  case ElementType::BF16:
  case ElementType::U16:
    return copyField<uint16_t>(tensor.int32_data(), count, what);
  case ElementType::I16:
    return copyField<int16_t>(tensor.int32_data(), count, what);
  case ElementType::I8:
    return copyField<int8_t>(tensor.int32_data(), count, what);
  case ElementType::U8:
  case ElementType::Bool:
    return copyField<uint8_t>(tensor.int32_data(), count, what);
  }
  return makeError(ErrorClass::Internal, "{} has an unknown type", what.str());
}

/// Where the elements lie that `tensor` does not hold: `size` bytes.
Expected<std::optional<FileRange>> findRange(const onnx::TensorProto &tensor,
                                             size_t size, TensorFiles &files,
                                             StringRef what) {
  if (tensor.data_location() == onnx::TensorProto::EXTERNAL) {
    Expected<FileRange> range = files.external(tensor, size, what);
    if (!range)
      return range.takeError();
    return std::move(*range);
  }
  std::optional<FileRange> range = files.left(tensor);
  if (range && range->bytes != size)
    return sizeError(what, range->bytes, size, "bytes");
  return range;
}

/// The elements of a tensor as the file has them: `count` of `type`.
Expected<std::string> readBytes(onnx::TensorProto &tensor, ElementType type,
                                size_t count,
                                const std::optional<FileRange> &range,
                                StringRef what) {
  const size_t size = count * support::byteSize(type);
  if (range) {
    std::string bytes(size, '\0');
    if (range->read({bytes.data(), bytes.size()}))
      return bytes;
    return withContext(range->file->check(), what.str());
  }
  if (!tensor.has_raw_data())
    return copyTyped(tensor, type, count, what);
  if (tensor.raw_data().size() != size)
    return sizeError(what, tensor.raw_data().size(), size, "bytes");
  std::string bytes = std::move(*tensor.mutable_raw_data());
  tensor.clear_raw_data();
  return bytes;
}

/// A constant whose elements stay in their file.
mlir::ElementsAttr leaveInFile(mlir::RankedTensorType type, FileRange range,
                               StringRef name) {
  nn::DeferredElements::of(type.getContext()).addCheck([file = range.file] {
    return file->check();
  });
  return nn::deferElements(
      type,
      [range = std::move(range)](size_t first, llvm::MutableArrayRef<char> to) {
        return range.read(to, first);
      },
      name);
}

/// One code in every byte; in a file the first is in the low bits.
std::string unpacked(const NarrowType &type, StringRef bytes, size_t count) {
  if (type.perByte() == 1)
    return bytes.str();
  std::string codes(count, '\0');
  for (size_t i = 0; i < count; ++i)
    codes[i] =
        static_cast<char>(static_cast<uint8_t>(bytes[i / type.perByte()]) >>
                          (i % type.perByte() * type.bits));
  return codes;
}

/// A value in the storage of its type.
std::string storedBytes(const NarrowType &type, double value) {
  llvm::APInt bits(
      8,
      static_cast<uint64_t>(static_cast<int64_t>(type.isFloat() ? 0 : value)),
      /*isSigned=*/false, /*implicitTrunc=*/true);
  if (type.isFloat()) {
    llvm::APFloat exact(value);
    bool inexact = false;
    exact.convert(type.storage == ElementType::F16
                      ? llvm::APFloat::IEEEhalf()
                      : llvm::APFloat::IEEEsingle(),
                  llvm::APFloat::rmNearestTiesToEven, &inexact);
    bits = exact.bitcastToAPInt();
  }
  const uint64_t word = bits.getZExtValue();
  return std::string(reinterpret_cast<const char *>(&word),
                     support::byteSize(type.storage));
}

} // namespace

Expected<ElementType> ashlar::frontend::elementTypeOf(int32_t onnxType,
                                                      StringRef what) {
  switch (onnxType) {
  case onnx::TensorProto::FLOAT:
    return ElementType::F32;
  case onnx::TensorProto::FLOAT16:
    return ElementType::F16;
  case onnx::TensorProto::BFLOAT16:
    return ElementType::BF16;
  case onnx::TensorProto::DOUBLE:
    return ElementType::F64;
  case onnx::TensorProto::INT8:
    return ElementType::I8;
  case onnx::TensorProto::UINT8:
    return ElementType::U8;
  case onnx::TensorProto::INT16:
    return ElementType::I16;
  case onnx::TensorProto::UINT16:
    return ElementType::U16;
  case onnx::TensorProto::INT32:
    return ElementType::I32;
  case onnx::TensorProto::UINT32:
    return ElementType::U32;
  case onnx::TensorProto::INT64:
    return ElementType::I64;
  case onnx::TensorProto::UINT64:
    return ElementType::U64;
  case onnx::TensorProto::BOOL:
    return ElementType::Bool;
  default:
    break;
  }
  const NarrowType *narrow = findNarrow(onnxType);
  StringRef name = narrow ? narrow->name : foreignTypeName(onnxType);
  if (name.empty())
    return makeError(ErrorClass::Malformed, "{} has the unknown data type {}",
                     what.str(), onnxType);
  return makeError(ErrorClass::Unsupported,
                   "{} has elements of type {}, which is not supported",
                   what.str(), name.str());
}

Expected<ElementType> ashlar::frontend::storageTypeOf(int32_t onnxType,
                                                      StringRef what) {
  const NarrowType *narrow = findNarrow(onnxType);
  return narrow ? Expected<ElementType>(narrow->storage)
                : elementTypeOf(onnxType, what);
}

Expected<mlir::ElementsAttr>
ashlar::frontend::decodeCodes(const NarrowType &type, StringRef codes,
                              llvm::ArrayRef<int64_t> shape, StringRef name,
                              mlir::MLIRContext *context) {
  std::vector<std::string> table;
  for (unsigned code = 0; code < (1u << type.bits); ++code)
    table.push_back(storedBytes(type, decode(type, code)));
  std::string bytes;
  bytes.reserve(codes.size() * support::byteSize(type.storage));
  for (const char code : codes)
    bytes += table[static_cast<uint8_t>(code) & (table.size() - 1)];
  auto tensor =
      mlir::RankedTensorType::get(shape, nn::toMlirType(context, type.storage));
  return nn::makeElements(tensor, std::move(bytes), name);
}

Error ashlar::frontend::checkSize(llvm::ArrayRef<int64_t> shape,
                                  int64_t maxElements, StringRef what) {
  if (shape.size() > static_cast<size_t>(nn::kMostDims))
    return makeError(ErrorClass::Capacity,
                     "{} has {} dimensions, at most {} are possible",
                     what.str(), shape.size(), nn::kMostDims);
  for (int64_t d : shape)
    if (d < 0)
      return makeError(ErrorClass::Malformed,
                       "{} has the negative dimension {}", what.str(), d);
  // A zero makes the whole tensor empty whatever the others are.
  int64_t count = llvm::is_contained(shape, 0) ? 0 : nn::elementCount(shape);
  if (count >= 0 && count <= maxElements)
    return Error::success();
  return makeError(ErrorClass::Capacity,
                   "{} has the shape {}, which is more than {} elements",
                   what.str(), nn::shapeToString(shape), maxElements);
}

Expected<mlir::ElementsAttr>
ashlar::frontend::convertTensor(onnx::TensorProto &tensor, TensorFiles &files,
                                StringRef what, int64_t maxElements,
                                mlir::MLIRContext *context) {
  const NarrowType *narrow = findNarrow(tensor.data_type());
  Expected<ElementType> type = narrow ? Expected<ElementType>(ElementType::U8)
                                      : elementTypeOf(tensor.data_type(), what);
  if (!type)
    return type.takeError();
  llvm::SmallVector<int64_t> shape(tensor.dims().begin(), tensor.dims().end());
  if (Error error = checkSize(shape, maxElements, what))
    return error;
  if (tensor.has_segment())
    return makeError(ErrorClass::Unsupported,
                     "{} is stored in segments, which is not supported",
                     what.str());
  const size_t count =
      llvm::is_contained(shape, 0) ? 0 : nn::elementCount(shape);
  const size_t stored =
      narrow ? llvm::divideCeil(count, narrow->perByte()) : count;
  auto range =
      findRange(tensor, stored * support::byteSize(*type), files, what);
  if (!range)
    return range.takeError();
  StringRef name =
      tensor.name().empty() ? StringRef("constant") : StringRef(tensor.name());
  auto tensorType =
      mlir::RankedTensorType::get(shape, nn::toMlirType(context, *type));
  if (*range && (*range)->bytes >= nn::DeferredElements::kLeastBytes &&
      !narrow && *type != ElementType::Bool &&
      nn::DeferredElements::of(context).isEnabled())
    return leaveInFile(tensorType, std::move(**range), name);
  Expected<std::string> bytes = readBytes(tensor, *type, stored, *range, what);
  if (!bytes)
    return bytes.takeError();
  if (narrow)
    return decodeCodes(*narrow, unpacked(*narrow, *bytes, count), shape, name,
                       context);
  if (*type == ElementType::Bool)
    for (char &byte : *bytes)
      byte = byte != 0;
  return nn::makeElements(tensorType, std::move(*bytes), name);
}

int32_t ashlar::frontend::onnxTypeOf(ElementType type) {
  switch (type) {
  case ElementType::F32:
    return onnx::TensorProto::FLOAT;
  case ElementType::F16:
    return onnx::TensorProto::FLOAT16;
  case ElementType::BF16:
    return onnx::TensorProto::BFLOAT16;
  case ElementType::F64:
    return onnx::TensorProto::DOUBLE;
  case ElementType::I8:
    return onnx::TensorProto::INT8;
  case ElementType::U8:
    return onnx::TensorProto::UINT8;
  case ElementType::I16:
    return onnx::TensorProto::INT16;
  case ElementType::U16:
    return onnx::TensorProto::UINT16;
  case ElementType::I32:
    return onnx::TensorProto::INT32;
  case ElementType::U32:
    return onnx::TensorProto::UINT32;
  case ElementType::I64:
    return onnx::TensorProto::INT64;
  case ElementType::U64:
    return onnx::TensorProto::UINT64;
  case ElementType::Bool:
    return onnx::TensorProto::BOOL;
  }
  return onnx::TensorProto::UNDEFINED;
}

void ashlar::frontend::storeRaw(onnx::TensorProto &tensor,
                                llvm::ArrayRef<char> bytes) {
  tensor.clear_float_data();
  tensor.clear_double_data();
  tensor.clear_int32_data();
  tensor.clear_int64_data();
  tensor.clear_uint64_data();
  tensor.clear_external_data();
  tensor.clear_data_location();
  tensor.set_raw_data(bytes.data(), bytes.size());
}

Expected<std::vector<char>>
ashlar::frontend::makeRaw(onnx::TensorProto &tensor, TensorFiles &files,
                          mlir::MLIRContext *context) {
  std::string what = "initialiser '" + printable(tensor.name()) + "'";
  // Its elements would no longer be of its type.
  if (auto type = elementTypeOf(tensor.data_type(), what); !type)
    return type.takeError();
  auto elements =
      convertTensor(tensor, files, what, ImportOptions().maxElements, context);
  if (!elements)
    return elements.takeError();
  nn::ElementStorage storage;
  auto bytes = nn::rawElements(*elements, storage);
  if (!bytes)
    return makeError(ErrorClass::Internal, "{} has no bytes", what);
  std::vector<char> result(bytes->begin(), bytes->end());
  storeRaw(tensor, result);
  files.take(tensor);
  return result;
}

Expected<std::string> ashlar::frontend::serialise(const onnx::ModelProto &model,
                                                  StringRef what) {
  std::string bytes;
  if (model.ByteSizeLong() >
          static_cast<size_t>(std::numeric_limits<int>::max()) ||
      !model.SerializeToString(&bytes))
    return makeError(ErrorClass::Capacity,
                     "{} is larger than a protobuf file can be", what.str());
  return bytes;
}
