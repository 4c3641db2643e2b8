// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Cycles of a compiled network, to keep the sparse cluster and compressed
// feature maps only where they pay.

#ifndef ASHLAR_LIB_PIPELINES_MEASURECLUSTERS_H
#define ASHLAR_LIB_PIPELINES_MEASURECLUSTERS_H

#include "ashlar/Container/Container.h"
#include "ashlar/Support/Tensor.h"
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

/// Reason of layers on the array in a program that is compared with one that
/// uses the sparse cluster; giveReason() puts the outcome in its place.
inline constexpr llvm::StringLiteral kComparedReason =
    "the network is compared without the sparse cluster";

/// Reason of layers on the sparse cluster in a program that has all of them
/// there, compared with one where each was decided by itself.
inline constexpr llvm::StringLiteral kAllComparedReason =
    "the network is compared with all convolutions on the sparse cluster";

/// True if \p decisions, JSON, have convolutions on the array that the cluster
/// could run too, of a network of \p total cycles, and predict that all of
/// them together lose less there than their loads may save
/// where results stay in the cluster.
bool mayUseClusterAlone(llvm::StringRef decisions, uint64_t total);

/// The same of pools in a program that is compared with one where they drain
/// PSUM.
inline constexpr llvm::StringLiteral kPoolsComparedReason =
    "the network is compared without pools that drain PSUM";

/// Decisions as JSON with \p reason wherever they say \p placeholder.
std::string giveReason(llvm::StringRef decisions, llvm::StringRef placeholder,
                       llvm::StringRef reason);

/// True if \p decisions, JSON, have a convolution that reads rows of its
/// operand apart.
bool hasRowsApart(llvm::StringRef decisions);

/// True if \p decisions, JSON, have a pool that drains PSUM.
bool hasPoolsInDrains(llvm::StringRef decisions);

/// Stands for the outcome in decisions while a network is compared without maps
/// that stay in the sparse cluster.
inline constexpr llvm::StringLiteral kKeptComparedReason =
    "the network is compared without kept maps";

/// True if a decision keeps a map in the sparse cluster.
bool hasKeptMaps(llvm::StringRef decisions);

/// True if \p decisions, JSON, have a feature map that spread-maps keeps on
/// chip instead of DRAM.
bool keepsLargeMaps(llvm::StringRef decisions);

/// For option `measured` of choose-cluster: what the nodes take in the network
/// that was chosen and in the same without the sparse cluster.
std::string measuredText(const NetworkCycles &dense,
                         const NetworkCycles &written);

/// Decisions as JSON with what measuredText() says, as choose-cluster and
/// describe-clusters put it there.
std::string addMeasured(llvm::StringRef decisions, llvm::StringRef measured);

/// Cycles of a run by the emulator's clock. With \p sample a program whose time
/// depends on data is executed on it; otherwise nothing is executed: scatter
/// mode takes its bound for data without zeros, compressed feature maps the
/// bytes that the compiler expects.
llvm::Expected<NetworkCycles> cyclesOf(const container::Program &program,
                                       llvm::ArrayRef<HostTensor> sample);

} // namespace ashlar::pipelines

#endif // ASHLAR_LIB_PIPELINES_MEASURECLUSTERS_H
