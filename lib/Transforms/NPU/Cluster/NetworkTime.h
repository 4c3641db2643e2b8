// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a choice of clusters makes of a whole network. The choice for one
// convolution does not see that another branch ends later anyway, or that all
// that follow it lose their lane fold; this does. Private to the passes of
// `npu`.

#ifndef ASHLAR_LIB_TRANSFORMS_NPU_CLUSTER_NETWORKTIME_H
#define ASHLAR_LIB_TRANSFORMS_NPU_CLUSTER_NETWORKTIME_H

#include "ClusterChoice.h"

#include "llvm/ADT/DenseMap.h"

namespace ashlar::npu {

/// The operations of a network by engine, in program order: each starts when
/// its operands are there and its engine is free.
class NetworkTime {
public:
  /// \p candidates are convolutions of one network.
  NetworkTime(llvm::ArrayRef<Candidate> candidates,
              const machine::Description &machine);

  /// Cycles up to the end of the last operation if convolutions are where
  /// \p candidates, those of the constructor, say.
  int64_t cycles(llvm::ArrayRef<Candidate> candidates) const;

private:
  enum Engine { Array, Cluster, Vector, Copies, Host, Drain, Engines };
  struct Step {
    Engine engine = Vector;
    int64_t cycles = 0;
    int64_t folded = 0;  ///< If its result lies in lanes.
    int64_t latency = 0; ///< From the end of its work to its result.
    mlir::Value result;  ///< Whose lanes count; may be null.
    int64_t candidate = -1;
    llvm::SmallVector<size_t, 3> after; ///< Steps.
  };

  void add(mlir::Operation *op);
  void addMove(mlir::Operation *op);
  size_t addStep(Engine engine, int64_t cycles,
                 llvm::ArrayRef<mlir::Value> operands);
  size_t addVector(int64_t cycles, llvm::ArrayRef<mlir::Value> operands);
  size_t decoded(mlir::Value map);
  bool liesFolded(mlir::Value map, llvm::ArrayRef<Candidate> candidates) const;

  const machine::Description &machine;
  std::vector<Step> steps;
  llvm::DenseMap<mlir::Value, size_t> producers;
  llvm::DenseMap<mlir::Value, size_t> decodes;        ///< Of encoded maps.
  llvm::DenseMap<mlir::Operation *, int64_t> numbers; ///< Of candidates.
  llvm::DenseMap<mlir::Value, llvm::SmallVector<int64_t, 2>> readers;
};

} // namespace ashlar::npu

#endif // ASHLAR_LIB_TRANSFORMS_NPU_CLUSTER_NETWORKTIME_H
