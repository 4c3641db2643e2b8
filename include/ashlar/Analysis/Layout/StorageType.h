// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Storage types of planned tensors as plain data: what an MLIR element type
// means to planning and code generation.

#ifndef ASHLAR_ANALYSIS_LAYOUT_STORAGETYPE_H
#define ASHLAR_ANALYSIS_LAYOUT_STORAGETYPE_H

#include "ashlar/Numerics/Format.h"
#include "ashlar/Support/ElementType.h"
#include "mlir/IR/BuiltinTypes.h"
#include <optional>

namespace ashlar::machine {
struct Description;
} // namespace ashlar::machine

namespace ashlar::analysis {

/// An element as stored: a plain type, or mantissas of a block format.
struct StorageType {
  support::ElementType plain = support::ElementType::F32;
  bool encoded = false;
  numerics::BlockFormat format; ///< if encoded
  int64_t blockAxis = -1;       ///< if encoded
  /// For integer operands of the array: the zero point that the array subtracts
  /// from an element (docs/Numerics.md 12).
  int zero = 0;

  /// Bytes of one element (mantissa) in memory.
  int64_t bytes() const {
    return encoded ? format.mantissaBytes() : support::byteSize(plain);
  }
  /// Bits of a mantissa as stored, or of an integer.
  int storedBits() const {
    return encoded ? format.storedBits() : static_cast<int>(8 * bytes());
  }
  /// Bits of an element that pass through the array's multipliers, if encoded
  /// or an integer: the sign of a mantissa is that of its highest digit
  /// (isa::multipliedBits).
  int digitBits() const { return encoded ? format.mantissa - 1 : storedBits(); }
  /// Instruction field value (isa::ElemType).
  unsigned isaType() const {
    const unsigned block = format.isUnsigned ? 14 : 13;
    return encoded ? block : static_cast<unsigned>(plain);
  }
  /// A plain floating-point type.
  bool isFloat() const {
    using E = support::ElementType;
    return !encoded && (plain == E::F32 || plain == E::F16 ||
                        plain == E::BF16 || plain == E::F64);
  }
  /// An integer of 8 bits, which the array reads as it is.
  bool isByte() const {
    using E = support::ElementType;
    return !encoded && (plain == E::I8 || plain == E::U8);
  }
  bool operator==(const StorageType &other) const = default;
};

/// True if cells of the array multiply two elements of \p moving by one of \p
/// stationary in a cycle (machine::isNarrow()).
bool isNarrow(const StorageType &moving, const StorageType &stationary,
              const machine::Description &machine);

/// Plain f32.
inline StorageType f32Storage() { return {}; }

/// The storage type of \p elementType; nothing if no memory can hold it.
std::optional<StorageType> storageOf(mlir::Type elementType);

/// The storage type of a tensor's elements, which must have one (checked by the
/// entry verifier of the assign phase).
StorageType storageOf(mlir::Value value);
/// Of the elements of a tensor that is never stored.
StorageType storageOf(mlir::RankedTensorType type);

/// Shape of a ranked tensor value.
llvm::ArrayRef<int64_t> shapeOf(mlir::Value value);

} // namespace ashlar::analysis

#endif // ASHLAR_ANALYSIS_LAYOUT_STORAGETYPE_H
