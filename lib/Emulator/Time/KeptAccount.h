// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The cycle account of a program is the same for every run if no instruction's
// time depends on data: it is counted once and kept with the program, and with
// its proof (Cache).

#ifndef ASHLAR_LIB_EMULATOR_TIME_KEPTACCOUNT_H
#define ASHLAR_LIB_EMULATOR_TIME_KEPTACCOUNT_H

#include "../Impl.h"

namespace ashlar::emulator {

/// Fills the timed fields of \p result, and no others, from the account that
/// is kept; false if there is none, or if \p options ask for more than it has.
bool addKeptAccount(const LoadedProgram::Impl &impl, const Options &options,
                    RunResult &result);

/// Keeps the timed fields of \p result if every run has the same ones.
void keepAccount(LoadedProgram::Impl &impl, const Options &options,
                 const RunResult &result);

} // namespace ashlar::emulator

#endif // ASHLAR_LIB_EMULATOR_TIME_KEPTACCOUNT_H
