// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds where a program needs semaphores. Private to the passes of `isa`.

#ifndef ASHLAR_LIB_TRANSFORMS_ISA_SYNCHRONISER_H
#define ASHLAR_LIB_TRANSFORMS_ISA_SYNCHRONISER_H

#include "ashlar/Isa/Instruction.h"
#include "ashlar/Machine/Description.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <vector>

namespace ashlar::isadialect {

/// Semaphores around each instruction: waits before it, signals after it, on
/// the instruction's own queue.
struct SemaphorePlan {
  std::vector<llvm::SmallVector<uint32_t, 2>> waits, signals;
  uint32_t semaphores = 0;
};

/// The semaphores that order every two conflicting accesses of different
/// queues as in program order. Waits that follow from earlier ones are left
/// out.
SemaphorePlan planSemaphores(llvm::ArrayRef<isa::Instruction> instructions,
                             const machine::Description &machine);

/// The same of instructions that come in the order \p order, with numbers of
/// \p instructions.
SemaphorePlan planSemaphores(llvm::ArrayRef<isa::Instruction> instructions,
                             llvm::ArrayRef<uint32_t> order,
                             const machine::Description &machine);

class Predecessors;

/// The same by what each instruction must follow, of an order that keeps it:
/// accesses are not looked at again. The plans are equal unless a program is so
/// long that accesses are joined in boxes.
SemaphorePlan planSemaphores(llvm::ArrayRef<isa::Instruction> instructions,
                             llvm::ArrayRef<uint32_t> order,
                             const Predecessors &predecessors);

} // namespace ashlar::isadialect

#endif // ASHLAR_LIB_TRANSFORMS_ISA_SYNCHRONISER_H
