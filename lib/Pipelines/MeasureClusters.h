// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Cycles of a compiled network, to keep the sparse cluster only where it pays.

#ifndef ASHLAR_LIB_PIPELINES_MEASURECLUSTERS_H
#define ASHLAR_LIB_PIPELINES_MEASURECLUSTERS_H

#include "ashlar/Container/Container.h"
#include "llvm/Support/Error.h"

namespace ashlar::pipelines {

/// True if an instruction of the program works on the sparse cluster.
llvm::Expected<bool> usesSparseCluster(const container::Program &program);

/// Cycles of a run by the emulator's clock; nothing is executed.
llvm::Expected<uint64_t> cyclesOf(const container::Program &program);

} // namespace ashlar::pipelines

#endif // ASHLAR_LIB_PIPELINES_MEASURECLUSTERS_H
