// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Convolutions of the sparse cluster whose drains may pool (act.pool).

#ifndef ASHLAR_LIB_TRANSFORMS_NPU_CLUSTERPOOLS_H
#define ASHLAR_LIB_TRANSFORMS_NPU_CLUSTERPOOLS_H

#include "ashlar/Machine/Description.h"
#include "dialects/NPU/NPUDialect.h"

#include <optional>

namespace ashlar::npu {

/// The convolutions whose drains on the cluster can take the maxima of `pool`:
/// the one that it reads, or all that are joined along channels into its
/// operand. At least one of them is on the cluster, the others could be. Empty
/// if one can not.
llvm::SmallVector<mlir::Operation *>
poolingConvs(VecPoolOp pool, const machine::Description &machine);

/// What pooling in the drains of the cluster makes of convolutions and of the
/// pool behind them, which stay as they are.
struct ClusterPools {
  llvm::SmallVector<TcuConvOp> pooled;
  /// Of the convolution, or of their concatenation.
  mlir::Value result;
  /// Predicted cycles of the convolutions one after the other, with stored maps
  /// and with pools.
  int64_t stored = 0, direct = 0;

  void erase();
};

/// Nothing if there is no plan for one of `convs`.
std::optional<ClusterPools>
poolOnCluster(llvm::ArrayRef<mlir::Operation *> convs, VecPoolOp pool,
              const machine::Description &machine);

} // namespace ashlar::npu

#endif // ASHLAR_LIB_TRANSFORMS_NPU_CLUSTERPOOLS_H
