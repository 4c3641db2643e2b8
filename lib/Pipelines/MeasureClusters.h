// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Cycles of a compiled network, to keep the sparse cluster and compressed
// feature maps only where they pay.

#ifndef ASHLAR_LIB_PIPELINES_MEASURECLUSTERS_H
#define ASHLAR_LIB_PIPELINES_MEASURECLUSTERS_H

#include "ashlar/Container/Container.h"
#include "ashlar/Support/Tensor.h"
#include "dialects/NPU/NPUDialect.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

#include <map>
#include <string>

namespace ashlar::pipelines {

/// What instructions of a program do that its data decide the time of.
struct ClusterUse {
  bool runs = false;       ///< the sparse cluster
  bool scatters = false;   ///< some in scatter mode
  bool compresses = false; ///< maps on their way to DRAM
};
llvm::Expected<ClusterUse> clusterUseOf(const container::Program &program);

/// Cycles of a run, and the share of each node by its name.
struct NetworkCycles {
  uint64_t total = 0;
  std::map<std::string, uint64_t> nodes;
  /// Cycles that the queue which waited longest for banks of the state buffer
  /// did so.
  uint64_t bankWaits = 0;
  uint64_t multiplications = 0; ///< that were executed on a sample
};

/// The cycles of a network that uses the sparse cluster, and of the same
/// network without it.
struct MeasuredCycles {
  NetworkCycles dense, written;

  /// Module attribute npu.measured: what both say of nodes.
  npu::MeasuredAttr toAttr(mlir::MLIRContext &context) const;
};

/// Cycles of a run by the emulator's clock. With \p sample a program whose time
/// depends on data is executed on it; otherwise nothing is executed: scatter
/// mode takes its bound for data without zeros, compressed feature maps the
/// bytes that the compiler expects.
llvm::Expected<NetworkCycles> cyclesOf(const container::Program &program,
                                       llvm::ArrayRef<HostTensor> sample);

} // namespace ashlar::pipelines

#endif // ASHLAR_LIB_PIPELINES_MEASURECLUSTERS_H
