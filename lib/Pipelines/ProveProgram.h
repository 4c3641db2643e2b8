// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The compiler runs and writes no program that the loader would refuse.

#ifndef ASHLAR_LIB_PIPELINES_PROVEPROGRAM_H
#define ASHLAR_LIB_PIPELINES_PROVEPROGRAM_H

#include "ashlar/Emulator/Emulator.h"

namespace ashlar::pipelines {

/// Who decided what a program does.
enum class ProgramSource {
  Model, ///< The compiler, all of it: what is refused is its own error.
  File,  ///< A file of --compile-from, which anyone may have changed.
};

/// The loader's proof of a program that is about to be written. Internal (or
/// Malformed, for what came from a file) if the loader would refuse it.
llvm::Error proveProgram(const container::Program &program,
                         ProgramSource source);

/// emulator::load() of a program that this compiler made, with the same error.
llvm::Expected<emulator::LoadedProgram>
loadCompiled(container::Program program, const emulator::Options &options);

} // namespace ashlar::pipelines

#endif // ASHLAR_LIB_PIPELINES_PROVEPROGRAM_H
