// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Samples that do not depend on each other, side by side over the threads. One
// sample keeps its threads waiting for each other at every instruction;
// several, each with a copy of the machine's memories, do not.

#ifndef ASHLAR_LIB_REPORT_SIDEBYSIDE_H
#define ASHLAR_LIB_REPORT_SIDEBYSIDE_H

#include "ashlar/Emulator/Emulator.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <vector>

namespace ashlar::report {

/// Samples [first, end).
struct SampleRange {
  uint64_t first = 0, end = 0;
};

/// Runs all samples of \p range; \p inputsOf gives the inputs of one and must
/// allow calls from several threads, \p take gets the results in the order of
/// the samples, one at a time. \p options.threads threads take part, fewer
/// samples at a time if their memories would be more than \p options.maxMemory
/// or 1 GiB. Error: that of the first sample that has one or that \p take
/// refuses, whatever the threads; every earlier sample has been taken.
llvm::Error runSideBySide(
    emulator::LoadedProgram &program, SampleRange range,
    const emulator::Options &options,
    llvm::function_ref<std::vector<support::HostTensor>(uint64_t)> inputsOf,
    llvm::function_ref<llvm::Error(uint64_t, emulator::RunResult)> take);

} // namespace ashlar::report

#endif // ASHLAR_LIB_REPORT_SIDEBYSIDE_H
