// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Places semaphores: a program that is right when executed in program order
// becomes one that is right when its queues run concurrently.

#ifndef ASHLAR_LIB_CONVERSION_NPUTOISA_SYNC_H
#define ASHLAR_LIB_CONVERSION_NPUTOISA_SYNC_H

#include "ProgramBuilder.h"

namespace ashlar::codegen {

/// A synchronised program.
struct SynchronisedProgram {
  std::vector<Entry> entries;
  /// Index in `entries` of every entry of the input.
  std::vector<size_t> newIndex;
  uint32_t semaphores = 0;
};

/// Inserts `sem.wait` before and `sem.signal` after instructions so that every
/// two conflicting accesses of different queues are ordered as in program
/// order. Waits that follow from earlier ones are left out.
SynchronisedProgram insertSemaphores(const std::vector<Entry> &entries,
                                     const machine::Description &machine);

} // namespace ashlar::codegen

#endif // ASHLAR_LIB_CONVERSION_NPUTOISA_SYNC_H
