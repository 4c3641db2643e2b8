// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the decision on a convolution says of the plan that is written:
// choose-cluster knows the whole feature map, describe-clusters the tiles that
// memory planning has made of it. Private to the passes of `npu`.

#ifndef ASHLAR_LIB_TRANSFORMS_NPU_CLUSTER_CLUSTERDECISION_H
#define ASHLAR_LIB_TRANSFORMS_NPU_CLUSTER_CLUSTERDECISION_H

#include "ashlar/Analysis/Sparse/TilePlan.h"
#include "dialects/Ashlar/Decision.h"
#include "mlir/IR/BuiltinOps.h"

namespace ashlar::npu {

/// A plan of the sparse cluster with what its decision tells.
struct WrittenPlan {
  const analysis::TilePlan &plan;
  int64_t unskipped = 0; ///< cycles of the cluster without skipping
  int64_t parts = 1;     ///< groups of units that share a drain
  int64_t tiles = 1;     ///< of the state buffer, each run with this plan
  bool scatters = false;
};

/// A mode of the sparse cluster as decisions name it.
llvm::StringRef choiceName(bool scatters);

/// `a` over `b` with two decimals.
std::string ratioText(int64_t a, int64_t b);

/// Sets the facts of a decision that follow from the plan: `plan`, `engines`,
/// the cycles of the chosen alternative, `cycles_saved`, `realised_skip`.
void describe(records::Decision &decision, const WrittenPlan &written);

/// Sets who counts the feature maps that are cut at run time, in all decisions:
/// a drain counts for one feature map, as far as there are counters.
void nameCounters(mlir::ModuleOp module, const machine::Description &machine);

} // namespace ashlar::npu

#endif // ASHLAR_LIB_TRANSFORMS_NPU_CLUSTER_CLUSTERDECISION_H
