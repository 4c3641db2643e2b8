// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Transfers of constants whose results stay for all samples. On-chip memories
// keep their contents from run to run, so that what one run has fetched, and
// nothing else writes to, need not be fetched by the next.

#ifndef ASHLAR_LIB_EMULATOR_PROVE_SETTLEDCOPIES_H
#define ASHLAR_LIB_EMULATOR_PROVE_SETTLEDCOPIES_H

#include "ashlar/Container/Container.h"
#include "ashlar/Isa/Instruction.h"
#include "llvm/ADT/ArrayRef.h"
#include <vector>

namespace ashlar::emulator {

/// By instruction, whether it is a copy, fill or unpacking that reads nothing
/// but constants in DRAM and writes, in SB, XM or WM, where no other
/// instruction of the program does.
std::vector<bool> settledCopies(llvm::ArrayRef<isa::Instruction> code,
                                const container::Program &program);

} // namespace ashlar::emulator

#endif // ASHLAR_LIB_EMULATOR_PROVE_SETTLEDCOPIES_H
