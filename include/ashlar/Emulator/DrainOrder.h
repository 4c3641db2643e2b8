// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Drains that may start before their stream ends.

#ifndef ASHLAR_EMULATOR_DRAINORDER_H
#define ASHLAR_EMULATOR_DRAINORDER_H

#include "ashlar/Isa/Instruction.h"
#include "ashlar/Machine/Description.h"
#include "llvm/ADT/ArrayRef.h"
#include <vector>

namespace ashlar::emulator {

/// A drain of order block that may follow its stream.
struct FollowingDrain {
  uint32_t instruction; ///< Index in the program.
  isa::DrainOrder order;
};

/// The drains of \p code, a program with its semaphores, that end earlier in
/// order row or partition: the order of the earliest end of each, row among
/// equals. Only those of which load() proves that they may follow.
std::vector<FollowingDrain>
followingDrains(llvm::ArrayRef<isa::Instruction> code,
                const machine::Description &machine);

} // namespace ashlar::emulator

#endif // ASHLAR_EMULATOR_DRAINORDER_H
