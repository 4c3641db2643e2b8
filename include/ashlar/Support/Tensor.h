// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An array in host memory: what goes into a run and comes out of it. Elements
// are little endian and row major (C order), without gaps.

#ifndef ASHLAR_SUPPORT_TENSOR_H
#define ASHLAR_SUPPORT_TENSOR_H

#include "ashlar/Support/ElementType.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ashlar::support {

/// A dense array. Invariant wherever one is handed over:
/// data.size() == product(shape) * byteSize(type).
struct HostTensor {
  ElementType type = ElementType::F32;
  llvm::SmallVector<int64_t> shape;
  std::vector<uint8_t> data;

  /// A zero-filled array. \p shape must have been checked (countElements).
  static HostTensor zeros(ElementType type, llvm::ArrayRef<int64_t> shape);

  /// Number of elements (1 for rank 0).
  uint64_t numElements() const { return data.size() / byteSize(type); }

  /// Element \p index in row-major order, converted to binary64 (64-bit
  /// integers round); no bounds check beyond an assertion.
  double asDouble(uint64_t index) const;

  bool operator==(const HostTensor &other) const = default;
};

/// Elements in \p shape, or nothing if a dimension is negative or the product
/// leaves int64.
std::optional<uint64_t> countElements(llvm::ArrayRef<int64_t> shape);

/// The first \p extent indices of \p tensor along \p axis; no more than there
/// are.
HostTensor firstIndices(const HostTensor &tensor, size_t axis, int64_t extent);

/// "f32[1x3x224x224]"; a scalar is "f32[]".
std::string describe(ElementType type, llvm::ArrayRef<int64_t> shape);
inline std::string describe(const HostTensor &tensor) {
  return describe(tensor.type, tensor.shape);
}

} // namespace ashlar::support

namespace ashlar {
using support::HostTensor;
} // namespace ashlar

#endif // ASHLAR_SUPPORT_TENSOR_H
