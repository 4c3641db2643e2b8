// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a second axis across partitions costs and saves.

#ifndef ASHLAR_LIB_TRANSFORMS_NPU_SPREADCOST_H
#define ASHLAR_LIB_TRANSFORMS_NPU_SPREADCOST_H

#include "ashlar/Analysis/Layout/Lanes.h"
#include "ashlar/Machine/Description.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"

namespace ashlar::npu {

/// Operations of the vector unit that read and make each other's maps, and how
/// they and their maps lie if a second axis goes across partitions.
class SpreadCost {
public:
  SpreadCost(llvm::ArrayRef<mlir::Operation *> group,
             const machine::Description &machine);

  /// Cycles of the group in `lanes` (one lane: as now): of each operation its
  /// pass of the vector unit or what it moves to and from DRAM, whichever takes
  /// longer, and copies between layouts.
  int64_t cycles(const analysis::Lanes &lanes);

  /// True if operation `op` works in `lanes` then.
  bool works(mlir::Operation *op, const analysis::Lanes &lanes);
  /// True if `value` is kept in `lanes`: more of its readers take it so than
  /// as it lies now, or there is no room for it as it lies now.
  bool keeps(mlir::Value value, const analysis::Lanes &lanes);
  /// True if an input of the network is loaded once, to be kept in `lanes`.
  bool loads(mlir::Value value, const analysis::Lanes &lanes);
  /// Maps that the group reads or makes.
  llvm::ArrayRef<mlir::Value> values() const { return maps.getArrayRef(); }

private:
  bool takes(mlir::OpOperand &use, const analysis::Lanes &lanes);
  analysis::Lanes lanesOf(mlir::OpOperand &use,
                          const analysis::Lanes &lanes) const;
  bool hasAxesOfGroup(mlir::Value value) const;
  bool spills(mlir::Value value, const analysis::Lanes &lanes) const;
  int64_t passCycles(mlir::Operation *op, const analysis::Lanes &lanes) const;
  /// Cycles of DRAM and of copies inside the chip.
  struct Movement {
    int64_t dram = 0, copies = 0;
  };
  void addRead(mlir::OpOperand &use, const analysis::Lanes &lanes,
               Movement &movement);
  void addWrite(mlir::Value value, const analysis::Lanes &lanes,
                Movement &movement);

  const machine::Description &machine;
  size_t rank; ///< Of the results of the group.
  llvm::SmallSetVector<mlir::Operation *, 8> group;
  llvm::SmallSetVector<mlir::Value, 16> maps;
  /// Forgets what is known of other lanes.
  void ask(const analysis::Lanes &lanes);

  llvm::DenseSet<mlir::Value> results; ///< Maps that the network returns.
  /// What is known of the lanes requested last.
  analysis::Lanes known;
  llvm::DenseMap<mlir::Operation *, bool> working;
  llvm::DenseMap<mlir::Value, bool> lying, loading;
};

/// Cycles of a copy of all of `value` inside the chip, from or to `lanes`,
/// shared by the queues of movement.
int64_t relayCycles(mlir::Value value, const analysis::Lanes &lanes,
                    const machine::Description &machine);
/// Cycles of a copy of all of `value` between DRAM and `lanes`.
int64_t dramCycles(mlir::Value value, const analysis::Lanes &lanes,
                   const machine::Description &machine);

} // namespace ashlar::npu

#endif // ASHLAR_LIB_TRANSFORMS_NPU_SPREADCOST_H
