// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Running a loaded program on arrays and keeping what a report needs. Writes
// nothing: ashlar-run and the library (lib/Api) both use this.

#ifndef ASHLAR_REPORT_EXECUTION_H
#define ASHLAR_REPORT_EXECUTION_H

#include "ashlar/Emulator/Emulator.h"
#include "ashlar/Report/RunWarnings.h"
#include "ashlar/Report/Runner.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace ashlar::report {

/// All samples of one run.
struct Execution {
  std::vector<support::NamedTensor> outputs; ///< In order of the bindings.
  RunState state;                            ///< After the last sample.
  RunStatistics statistics;
  /// Texts without a prefix: outputs that are not finite, nodes that saturate.
  std::vector<std::string> warnings;
  emulator::RunResult first; ///< Of the first sample, outputs included.
};

/// Runs \p inputs, which bindInputs() made, sample after sample. Cycles, traces
/// and dumps are those of the first sample: time hardly depends on data. The
/// state goes from \p state through all samples. \p progress is told how many
/// are done.
llvm::Expected<Execution>
executeSamples(emulator::LoadedProgram &program, const InputSet &inputs,
               emulator::Options how, RunState state,
               llvm::function_ref<void(uint64_t)> progress);

/// Replaces the machine of the program by \p name (a built-in one or a file).
/// Returns the name of the machine that it was compiled for, or nothing if the
/// two are the same. The loader reports what the new machine cannot execute.
llvm::Expected<std::string> changeMachine(container::Program &program,
                                          llvm::StringRef name);

} // namespace ashlar::report

#endif // ASHLAR_REPORT_EXECUTION_H
