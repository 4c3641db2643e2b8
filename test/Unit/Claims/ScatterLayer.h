// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A whole convolution in scatter mode on partitioned tiles, of the units of the
// emulator: what the claims of docs/SparseTiles.md are checked with.

#ifndef ASHLAR_TEST_UNIT_CLAIMS_SCATTERLAYER_H
#define ASHLAR_TEST_UNIT_CLAIMS_SCATTERLAYER_H

#include "lib/Emulator/Cost/Scatter.h"
#include "test/Unit/Emulator/Scatter/WeightOrder.h"

#include "ashlar/Partition/Partition.h"

namespace ashlar::emulator {

/// Aligned integers of one image: data [channels][in rows][in cols], weights
/// [results][channels of a group][kernel rows][kernel cols].
struct ScatterLayer {
  partition::Geometry geometry;
  int64_t channels = 1;
  int64_t results = 1;
  int64_t groups = 1;
  std::vector<int64_t> data;
  std::vector<int64_t> weights;

  int64_t channelsPerGroup() const { return channels / groups; }
  /// Non-zero data summed over channels: what is cut by.
  partition::CountMap counts() const;
};

struct ScatterPlan {
  ScatterUnit unit;
  WeightOrder order = WeightOrder::Ascending;
  int64_t blockRows = 0; ///< Level-2 blocks; 0 = the kernel's extent.
  int64_t blockCols = 0;
  partition::Partition tiles;
  partition::Halo halo = partition::Halo::Overlap;
  std::vector<uint64_t> owner; ///< Unit of each tile; empty = identity.
};

struct ScatterResult {
  std::vector<int64_t> sums; ///< [results][out rows][out cols]
  std::vector<ScatterCounters> units;
  ScatterCounters total; ///< Sums over units; waiting = maximum.

  /// The layer ends with its slowest unit.
  uint64_t cycles() const;
  /// Slowest unit over the mean unit.
  double imbalance() const;
};

/// Runs the layer. Capacity error if a queue overflows.
llvm::Expected<ScatterResult> runScatter(const ScatterLayer &layer,
                                         const ScatterPlan &plan);

/// The same sums by direct correlation, zeros included.
std::vector<int64_t> directSums(const ScatterLayer &layer);

} // namespace ashlar::emulator

#endif // ASHLAR_TEST_UNIT_CLAIMS_SCATTERLAYER_H
