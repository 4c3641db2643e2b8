// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Element types of ONNX below a byte and floats of 8 bits. The machine has none
// of them: their values are kept in a wider type that holds them exactly, and
// the name of a value tells which of them it is of
// (docs/decisions/numerics/2026-11-22-narrow-types.md).

#ifndef ASHLAR_LIB_FRONTEND_ONNX_TYPES_NARROWTYPE_H
#define ASHLAR_LIB_FRONTEND_ONNX_TYPES_NARROWTYPE_H

#include "ashlar/Support/ElementType.h"

#include "llvm/ADT/StringRef.h"

#include <cstdint>

namespace ashlar::frontend {

/// What the code with all ones in its exponent means.
enum class NarrowKind : uint8_t {
  Signed,   ///< An integer in two's complement.
  Unsigned, ///< An integer.
  Ieee,     ///< A float with infinities and NaN, as IEEE 754 has them.
  Finite,   ///< A float without infinities; all ones are NaN.
  NoZero,   ///< A float without infinities and -0, whose code is NaN ("fnuz").
  Plain,    ///< A float without infinities and NaN.
  Scale,    ///< A power of two without a sign; all ones are NaN.
};

struct NarrowType {
  int32_t onnx; ///< Number of the data type.
  const char *name;
  unsigned bits;
  NarrowKind kind;
  unsigned fraction; ///< Bits of a float's fraction.
  int leastExponent; ///< Of normal numbers; also that of the others.
  double largest;    ///< The largest finite number.
  /// Holds every value.
  support::ElementType storage;
  /// What a graph input or output has instead: one code in the low bits of
  /// each byte.
  support::ElementType outside;

  bool isFloat() const {
    return kind != NarrowKind::Signed && kind != NarrowKind::Unsigned;
  }
  bool hasNaN() const { return isFloat() && kind != NarrowKind::Plain; }
  /// Elements in one byte of a file's raw data.
  unsigned perByte() const { return 8 / bits; }
};

/// Null if `onnxType` is no such type.
const NarrowType *findNarrow(int32_t onnxType);
/// The same by its name as in ONNX, in lower case.
const NarrowType *findNarrow(llvm::StringRef name);

/// The value of a code, whose bits beyond those of the type are ignored.
double decode(const NarrowType &type, unsigned code);

} // namespace ashlar::frontend

#endif // ASHLAR_LIB_FRONTEND_ONNX_TYPES_NARROWTYPE_H
