// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef ASHLAR_ISA_ELEMENTBYTES_H
#define ASHLAR_ISA_ELEMENTBYTES_H

#include "ashlar/Isa/Instruction.h"

namespace ashlar::isa {

/// Bytes of one stored element; \p mantissa is the width of a bfp element.
unsigned elementBytes(ElemType type, unsigned mantissa);

/// Bits that an operand of the array passes through the digit multipliers
/// (docs/Machine.md 4): the significands of floats; in select mode the cells
/// pass whole words, in one pass.
unsigned multipliedBits(OperandMode mode, ElemType type, unsigned mantissa);

} // namespace ashlar::isa

#endif // ASHLAR_ISA_ELEMENTBYTES_H
