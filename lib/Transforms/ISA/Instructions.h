// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The instructions of a program as structs. Private to the passes of `isa`.

#ifndef ASHLAR_LIB_TRANSFORMS_ISA_INSTRUCTIONS_H
#define ASHLAR_LIB_TRANSFORMS_ISA_INSTRUCTIONS_H

#include "dialects/ISA/ISADialect.h"

#include <vector>

namespace ashlar::isadialect {

/// The instructions of a program in their order, with their operations.
struct ProgramInstructions {
  std::vector<isa::Instruction> instructions;
  std::vector<mlir::Operation *> operations;
};

/// Issues \p inst to another of the queues of its InstructionInfo.
void setQueue(isa::Instruction &inst, isa::Queue queue);

/// Reads them; emits an error at an operation that is not a legal instruction.
mlir::FailureOr<ProgramInstructions> instructionsOf(ProgramOp program);

/// The first wait or signal of a program; null if it has none.
mlir::Operation *firstSemaphore(const ProgramInstructions &read);

} // namespace ashlar::isadialect

#endif // ASHLAR_LIB_TRANSFORMS_ISA_INSTRUCTIONS_H
