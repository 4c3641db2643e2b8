// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef ASHLAR_ISA_ELEMENTBYTES_H
#define ASHLAR_ISA_ELEMENTBYTES_H

#include "ashlar/Isa/Instruction.h"

namespace ashlar::isa {

/// True for block floating point, with signs or without.
inline bool isBlock(ElemType type) {
  return type == ElemType::Bfp || type == ElemType::Ubfp;
}

/// Bytes of one stored element; \p mantissa is the width of a bfp element.
unsigned elementBytes(ElemType type, unsigned mantissa);

/// Bits of an operand as reports count them: of mantissas W, of integers those
/// in memory, of floats the significand; in select mode cells pass whole words.
unsigned operandBits(OperandMode mode, ElemType type, unsigned mantissa);

/// Bits that an operand passes through the digit multipliers (docs/Machine.md
/// 4): the same, but a digit has a sign of its own, which is that of a
/// mantissa.
unsigned multipliedBits(OperandMode mode, ElemType type, unsigned mantissa);

} // namespace ashlar::isa

#endif // ASHLAR_ISA_ELEMENTBYTES_H
