// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which drains are the last to read their sums. What such a drain computes
// needs no place in PSUM: the next matmul into its entries starts them again,
// or nothing reads them until the end.

#ifndef ASHLAR_LIB_EMULATOR_PROVE_LASTREADS_H
#define ASHLAR_LIB_EMULATOR_PROVE_LASTREADS_H

#include "ashlar/Isa/Instruction.h"
#include "llvm/ADT/ArrayRef.h"
#include <cstdint>
#include <vector>

namespace ashlar::emulator {

/// By instruction, whether it is an act.drain whose sums nothing reads after
/// it. \p entries: of a column of PSUM, which bounds what instructions name.
std::vector<bool> lastReads(llvm::ArrayRef<isa::Instruction> code,
                            uint64_t entries);

} // namespace ashlar::emulator

#endif // ASHLAR_LIB_EMULATOR_PROVE_LASTREADS_H
