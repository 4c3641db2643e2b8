// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Puts the operations of a program into another order. Private to the passes of
// `isa`.

#ifndef ASHLAR_LIB_TRANSFORMS_ISA_REORDER_H
#define ASHLAR_LIB_TRANSFORMS_ISA_REORDER_H

#include "ashlar/Emulator/Order.h"
#include "dialects/ISA/ISADialect.h"

namespace ashlar::isadialect {

/// Moves the instructions of \p program into \p order, each `isa.planned` after
/// the instruction that completes its tensor. Returns how many changed their
/// places.
unsigned reorder(ProgramOp program, const emulator::ProgramOrder &order);

} // namespace ashlar::isadialect

#endif // ASHLAR_LIB_TRANSFORMS_ISA_REORDER_H
