// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Feature maps that stay in the sparse cluster: the drains of a convolution
// write its results to the feature-map units, as tiles of the next one
// (docs/SparseTiles.md 6).

#ifndef ASHLAR_ANALYSIS_SPARSE_KEPTMAPS_H
#define ASHLAR_ANALYSIS_SPARSE_KEPTMAPS_H

#include "ashlar/Analysis/Sparse/TilePlan.h"
#include "dialects/NPU/NPUDialect.h"

#include <string>

namespace ashlar::analysis {

/// The convolution that reads the result of `op` in the feature-map units; null
/// if none does.
npu::TcuConvOp keptReader(mlir::Operation *op);

/// True if the result of `op` is nowhere but in the feature-map units.
bool isUnstored(mlir::Operation *op);

/// True if a result that `reader` finds in the feature-map units has no other
/// use for a copy in the state buffer.
bool needsNoCopy(npu::TcuConvOp reader);

/// Why the result of the convolution before `reader` on the cluster,
/// `producer`, cannot stay there for it; empty if it can, as far as that does
/// not depend on the plans of both.
std::string keepObstacle(npu::TcuConvOp producer, npu::TcuConvOp reader,
                         const machine::Description &machine);

/// The problem of a planned convolution with a result of one tile, as it is
/// written.
TileProblem plannedProblem(npu::TcuConvOp conv,
                           const machine::Description &machine);

/// Cycles of the port of the memory unit that gets most of the operand of
/// `problem`, written by drains; 0 without a limit.
int64_t keptPortCycles(const TileProblem &problem, const TilePlan &plan,
                       const machine::Description &machine);

} // namespace ashlar::analysis

#endif // ASHLAR_ANALYSIS_SPARSE_KEPTMAPS_H
