// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which instructions of a program must follow which. Private to the passes of
// `isa`.

#ifndef ASHLAR_LIB_TRANSFORMS_ISA_DEPENDENCES_H
#define ASHLAR_LIB_TRANSFORMS_ISA_DEPENDENCES_H

#include "ashlar/Emulator/Order.h"
#include "ashlar/Emulator/Result.h"
#include "ashlar/Isa/Instruction.h"
#include "ashlar/Machine/Description.h"
#include "llvm/ADT/ArrayRef.h"

#include <optional>
#include <vector>

namespace ashlar::isadialect {

/// For every two conflicting accesses a path from the earlier to the later
/// instruction, within a queue and between queues. Queues that
/// emulator::keepsOrder() names are taken to complete in program order. Nothing
/// if there are so many that no schedule is worth the time.
std::optional<emulator::Dependences>
findDependences(llvm::ArrayRef<isa::Instruction> instructions,
                const machine::Description &machine);

/// What each instruction must follow, by instruction.
class Predecessors {
public:
  /// Nothing where steps collect: what follows such a step follows no
  /// instruction.
  static std::optional<Predecessors>
  of(const emulator::Dependences &dependences, size_t instructions);

  llvm::ArrayRef<uint32_t> of(uint32_t instruction) const {
    return llvm::ArrayRef(earlier).slice(
        first[instruction], first[instruction + 1] - first[instruction]);
  }

private:
  std::vector<uint32_t> first, earlier;
};

} // namespace ashlar::isadialect

#endif // ASHLAR_LIB_TRANSFORMS_ISA_DEPENDENCES_H
