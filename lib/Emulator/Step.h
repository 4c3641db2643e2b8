// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One instruction of a run, on whichever engine executes it.

#ifndef ASHLAR_LIB_EMULATOR_STEP_H
#define ASHLAR_LIB_EMULATOR_STEP_H

#include "Impl.h"

namespace ashlar::emulator {

/// Executes instruction \p index, unless its results are still there. The
/// engine has a finding afterwards if the contents of memory make it
/// impossible.
void executeStep(const LoadedProgram::Impl &impl, Engine &engine,
                 uint32_t index);

/// Adds what the last instruction of \p engine counted to \p result.
void addStep(const LoadedProgram::Impl &impl, Engine &engine,
             RunResult &result);

} // namespace ashlar::emulator

#endif // ASHLAR_LIB_EMULATOR_STEP_H
