// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Cycles of a compiled network, to keep the sparse cluster only where it pays.

#ifndef ASHLAR_LIB_PIPELINES_MEASURECLUSTERS_H
#define ASHLAR_LIB_PIPELINES_MEASURECLUSTERS_H

#include "ashlar/Container/Container.h"
#include "ashlar/Support/Tensor.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

namespace ashlar::pipelines {

/// What instructions of a program do on the sparse cluster.
struct ClusterUse {
  bool runs = false;     ///< some
  bool scatters = false; ///< some in scatter mode
};
llvm::Expected<ClusterUse> clusterUseOf(const container::Program &program);

/// Cycles of a run by the emulator's clock. With \p sample a program in scatter
/// mode is executed on it; otherwise nothing is executed, and scatter mode
/// takes its bound for data without zeros.
llvm::Expected<uint64_t> cyclesOf(const container::Program &program,
                                  llvm::ArrayRef<HostTensor> sample);

} // namespace ashlar::pipelines

#endif // ASHLAR_LIB_PIPELINES_MEASURECLUSTERS_H
