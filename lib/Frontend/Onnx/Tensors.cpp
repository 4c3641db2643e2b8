// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads TensorProto in all its storage forms. The host is little endian, as
// ONNX's raw data is.

#include "Tensors.h"
#include "Model.h"

#include "ashlar/Frontend/Onnx/Import.h"
#include "ashlar/Support/CheckedMath.h"
#include "dialects/NN/NNElements.h"
#include "dialects/NN/NNShapes.h"
#include "dialects/NN/NNTypes.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

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
  case 17:
  case 18:
  case 19:
  case 20:
  case 24:
    return "float8";
  case 21:
    return "uint4";
  case 22:
    return "int4";
  case 23:
    return "float4";
  case 25:
    return "uint2";
  case 26:
    return "int2";
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

struct ExternalPlace {
  std::string location;
  uint64_t offset = 0, length = 0;
  bool hasLength = false;
};

Expected<ExternalPlace> readPlace(const onnx::TensorProto &tensor,
                                  StringRef what) {
  ExternalPlace place;
  for (const onnx::StringStringEntryProto &entry : tensor.external_data()) {
    StringRef value = entry.value();
    bool bad = false;
    if (entry.key() == "location")
      place.location = value.str();
    else if (entry.key() == "offset")
      bad = value.getAsInteger(10, place.offset);
    else if (entry.key() == "length") {
      bad = value.getAsInteger(10, place.length);
      place.hasLength = true;
    }
    if (bad)
      return makeError(ErrorClass::Malformed,
                       "{}: external data has the {} '{}', expected a number",
                       what.str(), printable(entry.key()), printable(value));
  }
  if (place.location.empty())
    return makeError(ErrorClass::Malformed, "{}: external data has no location",
                     what.str());
  return place;
}

/// The file of external data, which must lie below the model's folder even
/// after symbolic links are followed.
Expected<std::string> resolvePlace(StringRef location, StringRef folder,
                                   StringRef what) {
  namespace path = llvm::sys::path;
  bool inside =
      !path::is_absolute(location) && location.find('\0') == StringRef::npos;
  for (StringRef part :
       llvm::make_range(path::begin(location), path::end(location)))
    inside = inside && part != "..";
  llvm::SmallString<256> root, file(folder), real;
  path::append(file, location);
  if (!inside)
    return makeError(ErrorClass::Malformed,
                     "{}: external data '{}' lies outside the model's folder",
                     what.str(), printable(location));
  if (llvm::sys::fs::real_path(folder, root) ||
      llvm::sys::fs::real_path(file, real))
    return makeError(ErrorClass::Malformed,
                     "{}: cannot find the external data '{}'", what.str(),
                     printable(location));
  if (!StringRef(root).ends_with("/"))
    root += "/";
  if (!StringRef(real).starts_with(root))
    return makeError(ErrorClass::Malformed,
                     "{}: external data '{}' lies outside the model's folder",
                     what.str(), printable(location));
  return real.str().str();
}

Expected<std::string> readExternal(const onnx::TensorProto &tensor,
                                   StringRef folder, size_t size,
                                   StringRef what) {
  Expected<ExternalPlace> place = readPlace(tensor, what);
  if (!place)
    return place.takeError();
  if (place->hasLength && place->length != size)
    return sizeError(what, place->length, size, "bytes of external data");
  Expected<std::string> file = resolvePlace(place->location, folder, what);
  if (!file)
    return file.takeError();
  llvm::sys::fs::file_status status;
  if (llvm::sys::fs::status(*file, status) ||
      !llvm::sys::fs::is_regular_file(status))
    return makeError(ErrorClass::Malformed,
                     "{}: the external data '{}' is not a regular file",
                     what.str(), printable(place->location));
  std::optional<uint64_t> end =
      support::checkedAdd<uint64_t>(place->offset, size);
  if (!end || *end > status.getSize())
    return makeError(ErrorClass::Malformed,
                     "{}: external data '{}' has {} bytes, expected {} from "
                     "offset {}",
                     what.str(), printable(place->location), status.getSize(),
                     size, place->offset);
  auto buffer = llvm::MemoryBuffer::getFileSlice(*file, size, place->offset);
  if (!buffer)
    return makeError(ErrorClass::Malformed,
                     "{}: cannot read the external data '{}': {}", what.str(),
                     printable(place->location), buffer.getError().message());
  return (*buffer)->getBuffer().str();
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
  StringRef name = foreignTypeName(onnxType);
  if (name.empty())
    return makeError(ErrorClass::Malformed, "{} has the unknown data type {}",
                     what.str(), onnxType);
  return makeError(ErrorClass::Unsupported,
                   "{} has elements of type {}, which is not supported",
                   what.str(), name.str());
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
ashlar::frontend::convertTensor(onnx::TensorProto &tensor, StringRef folder,
                                StringRef what, int64_t maxElements,
                                mlir::MLIRContext *context) {
  Expected<ElementType> type = elementTypeOf(tensor.data_type(), what);
  if (!type)
    return type.takeError();
  llvm::SmallVector<int64_t> shape(tensor.dims().begin(), tensor.dims().end());
  if (Error error = checkSize(shape, maxElements, what))
    return error;
  if (tensor.has_segment())
    return makeError(ErrorClass::Unsupported,
                     "{} is stored in segments, which is not supported",
                     what.str());
  size_t count = llvm::is_contained(shape, 0) ? 0 : nn::elementCount(shape);
  size_t size = count * support::byteSize(*type);
  Expected<std::string> bytes = std::string();
  if (tensor.data_location() == onnx::TensorProto::EXTERNAL) {
    bytes = readExternal(tensor, folder, size, what);
  } else if (tensor.has_raw_data()) {
    if (tensor.raw_data().size() != size)
      return sizeError(what, tensor.raw_data().size(), size, "bytes");
    bytes = std::move(*tensor.mutable_raw_data());
    tensor.clear_raw_data();
  } else {
    bytes = copyTyped(tensor, *type, count, what);
  }
  if (!bytes)
    return bytes.takeError();
  if (*type == ElementType::Bool)
    for (char &byte : *bytes)
      byte = byte != 0;
  auto tensorType =
      mlir::RankedTensorType::get(shape, nn::toMlirType(context, *type));
  return nn::makeElements(tensorType, std::move(*bytes),
                          tensor.name().empty() ? StringRef("constant")
                                                : StringRef(tensor.name()));
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
ashlar::frontend::makeRaw(onnx::TensorProto &tensor, StringRef folder,
                          mlir::MLIRContext *context) {
  std::string what = "initialiser '" + printable(tensor.name()) + "'";
  auto elements =
      convertTensor(tensor, folder, what, ImportOptions().maxElements, context);
  if (!elements)
    return elements.takeError();
  std::vector<char> storage;
  auto bytes = nn::rawElements(*elements, storage);
  if (!bytes)
    return makeError(ErrorClass::Internal, "{} has no bytes", what);
  std::vector<char> result(bytes->begin(), bytes->end());
  storeRaw(tensor, result);
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
