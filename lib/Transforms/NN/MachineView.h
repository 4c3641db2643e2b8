// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The machine of a module (#ashlar.target) in the terms that the fold phase
// weighs: signed numbers, and sums of what nothing hides. Every pass of `nn`
// that depends on the machine reads it through this view.

#ifndef ASHLAR_LIB_TRANSFORMS_NN_MACHINEVIEW_H
#define ASHLAR_LIB_TRANSFORMS_NN_MACHINEVIEW_H

#include "ashlar/Machine/Cycles.h"
#include "mlir/IR/Operation.h"

#include <cstdint>

namespace ashlar::nn {

struct MachineView {
  explicit MachineView(const machine::Description &machine);

  /// The machine of the module around `op`; emits an error if it names none.
  static mlir::FailureOr<MachineView> of(mlir::Operation *op);
  /// The same for products of mantissas of so many bits, sign included, maybe
  /// without the sparse cluster.
  static mlir::FailureOr<MachineView> of(mlir::Operation *op,
                                         int64_t activationBits,
                                         int64_t weightBits,
                                         bool useCluster = true);

  /// Rows and columns of the array.
  int64_t rows, columns;
  /// Passes in which the multipliers take all digits of a product.
  int64_t passes = 1;
  /// Row groups of the array are multiples of this.
  int64_t laneUnit;
  /// Partitions that the vector unit encodes at once, and the bytes of each.
  int64_t partitions, partitionBytes;
  /// Bytes per cycle of a copy in the chip and from DRAM.
  int64_t copyBytes, dramBytes;
  /// Percent of its bytes per cycle that DRAM reaches.
  int64_t dramPercent;
  /// DRAM is read in units of this.
  int64_t burstBytes;
  /// Queues that copy at the same time.
  int64_t copyQueues;
  /// Contiguous runs that one of them forms per cycle; 0: any number.
  int64_t copyRuns;
  /// Cycles of a descriptor before its first byte.
  int64_t copySetup;
  /// From the last byte of a copy inside the chip to its completion.
  int64_t copyLatency;
  /// Cycles that nothing hides: of DRAM, the encode, the array's skew, a drain.
  int64_t latency;
  /// Of these, those from a request to DRAM to its first byte.
  int64_t dramLatency;
  /// Cycles until the result of one stage of a chain in bands reaches the next
  /// one; until it does where both are on the vector unit.
  int64_t handOver, vectorLatency;
  /// Cycles in which the vector unit encodes a position of all partitions.
  int64_t encodeCycles;
  /// Cycles in which ACT takes a position of all columns.
  int64_t drainCycles;
  /// Row groups that PSUM takes in a cycle; 0: all.
  int64_t writePorts;
  /// Results that one half of PSUM's banks holds, and one bank.
  int64_t psumEntries, bankEntries;
  /// Multipliers of the sparse cluster that may run a layer; 0: none does.
  int64_t clusterMultipliers;

  /// For formulas of instructions. Its DRAM never waits: folds count that
  /// themselves.
  machine::Description description;

  /// Cycles of an element of a function on the vector unit.
  int64_t vectorCycles(machine::VecCost cost) const;

  /// Cycles of DRAM, the last part of one omitted.
  int64_t dramCycles(int64_t bytes) const {
    return bytes * 100 / (dramBytes * dramPercent);
  }
};

} // namespace ashlar::nn

#endif // ASHLAR_LIB_TRANSFORMS_NN_MACHINEVIEW_H
