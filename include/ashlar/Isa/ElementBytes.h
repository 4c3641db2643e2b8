// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef ASHLAR_ISA_ELEMENTBYTES_H
#define ASHLAR_ISA_ELEMENTBYTES_H

#include "ashlar/Isa/Instruction.h"

namespace ashlar::isa {

/// Bytes of one stored element; \p mantissa is the width of a bfp element.
unsigned elementBytes(ElemType type, unsigned mantissa);

} // namespace ashlar::isa

#endif // ASHLAR_ISA_ELEMENTBYTES_H
