// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arrays and errors on their way through the interface.

#include "Convert.h"

#include <cstring>
#include <fmt/format.h>

using namespace ashlar;

namespace {

/// Keeps the vector that it shows.
class VectorBuffer : public llvm::MemoryBuffer {
public:
  VectorBuffer(std::vector<uint8_t> given, std::string name)
      : bytes(std::move(given)), name(std::move(name)) {
    const auto *begin = reinterpret_cast<const char *>(bytes.data());
    init(begin, begin + bytes.size(), /*RequiresNullTerminator=*/false);
  }
  llvm::StringRef getBufferIdentifier() const override { return name; }
  BufferKind getBufferKind() const override { return MemoryBuffer_Malloc; }

private:
  std::vector<uint8_t> bytes;
  std::string name;
};

llvm::Expected<support::HostTensor> copyArray(const api::ArrayView &view) {
  const auto number = static_cast<unsigned>(view.type);
  if (number >= support::numElementTypes)
    return makeError(ErrorClass::Malformed,
                     "array '{}' has the element type {}, expected 0 to {}",
                     view.name, number, support::numElementTypes - 1);
  support::HostTensor tensor;
  tensor.type = static_cast<support::ElementType>(number);
  tensor.shape.assign(view.shape.begin(), view.shape.end());
  const std::string text = support::describe(tensor.type, tensor.shape);
  const std::optional<uint64_t> count = support::countElements(tensor.shape);
  const uint64_t width = support::byteSize(tensor.type);
  if (!count || *count > UINT64_MAX / width || *count * width != view.bytes)
    return makeError(ErrorClass::Malformed,
                     "array '{}' is {} with {} bytes, expected {}", view.name,
                     text, view.bytes,
                     count ? std::to_string(*count * width)
                           : "extents that are not negative");
  if (view.bytes > 0 && !view.data)
    return makeError(ErrorClass::Malformed, "array '{}' ({}) has no data",
                     view.name, text);
  const auto *data = static_cast<const uint8_t *>(view.data);
  if (view.bytes > 0)
    tensor.data.assign(data, data + view.bytes);
  return tensor;
}

} // namespace

api::Error detail::toApi(llvm::Error error) {
  const auto code = static_cast<api::ErrorCode>(support::classify(error));
  return {code, llvm::toString(std::move(error))};
}

llvm::Expected<std::vector<support::NamedTensor>>
detail::copyArrays(std::span<const api::ArrayView> views) {
  std::vector<support::NamedTensor> arrays;
  for (const api::ArrayView &view : views) {
    auto tensor = copyArray(view);
    if (!tensor)
      return tensor.takeError();
    arrays.push_back({std::string(view.name), std::move(*tensor)});
  }
  return arrays;
}

std::shared_ptr<llvm::MemoryBuffer>
detail::makeBuffer(std::vector<uint8_t> bytes, const std::string &name) {
  return std::make_shared<VectorBuffer>(std::move(bytes), name);
}
