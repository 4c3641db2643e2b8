// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Element types of arrays outside the machine: graph inputs and outputs,
// constants, .npy files. The numbers equal the instruction set's `ElemType`,
// which adds block floating point as 13.

#ifndef ASHLAR_SUPPORT_ELEMENTTYPE_H
#define ASHLAR_SUPPORT_ELEMENTTYPE_H

#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <optional>

namespace ashlar::support {

/// An element type with a plain little-endian memory form.
enum class ElementType : uint8_t {
  F32 = 0,
  F16 = 1,
  BF16 = 2,
  I8 = 3,
  U8 = 4,
  I16 = 5,
  U16 = 6,
  I32 = 7,
  U32 = 8,
  I64 = 9,
  U64 = 10,
  Bool = 11, ///< One byte, 0 or 1.
  F64 = 12,
};

inline constexpr unsigned numElementTypes = 13;

/// Bytes of one element: 1, 2, 4 or 8.
unsigned byteSize(ElementType type);

/// Bits of the significand of a float, including the hidden bit; 0 for other
/// types.
unsigned significandBits(ElementType type);

/// "f32", "bf16", "i8", "u8", "bool", ...
llvm::StringRef name(ElementType type);

/// The type called \p text by name(), or nothing.
std::optional<ElementType> parseElementType(llvm::StringRef text);

/// The little-endian numpy type string, "<f4", "|i1", "|b1", ... numpy has no
/// bfloat16, so BF16 has that of its bits, "<u2"; arrays of ml_dtypes, which
/// call it "<V2", are read as well.
llvm::StringRef numpyDescr(ElementType type);

/// F32, F16, BF16 or F64.
bool isFloat(ElementType type);

/// I8..U64; Bool is neither integer nor float.
bool isInteger(ElementType type);

/// I8, I16, I32 or I64.
bool isSignedInteger(ElementType type);

} // namespace ashlar::support

namespace ashlar {
using support::ElementType;
} // namespace ashlar

#endif // ASHLAR_SUPPORT_ELEMENTTYPE_H
