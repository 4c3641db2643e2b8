// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Cycles of a compiled network, to keep the sparse cluster and compressed maps
// only where they pay.

#ifndef ASHLAR_LIB_PIPELINES_MEASURECLUSTERS_H
#define ASHLAR_LIB_PIPELINES_MEASURECLUSTERS_H

#include "ashlar/Container/Container.h"
#include "ashlar/Support/Tensor.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

namespace ashlar::pipelines {

/// What instructions of a program do that its data decide the time of.
struct ClusterUse {
  bool runs = false;       ///< the sparse cluster
  bool scatters = false;   ///< some in scatter mode
  bool compresses = false; ///< maps on their way to DRAM
};
llvm::Expected<ClusterUse> clusterUseOf(const container::Program &program);

/// Cycles of a run by the emulator's clock. With \p sample a program whose time
/// depends on data is executed on it; otherwise nothing is executed: scatter
/// mode takes its bound for data without zeros, compressed maps the bytes that
/// the compiler expects.
llvm::Expected<uint64_t> cyclesOf(const container::Program &program,
                                  llvm::ArrayRef<HostTensor> sample);

} // namespace ashlar::pipelines

#endif // ASHLAR_LIB_PIPELINES_MEASURECLUSTERS_H
