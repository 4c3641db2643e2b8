// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the builders of tiling models share.

#ifndef ASHLAR_LIB_ANALYSIS_TILES_TILINGMODELS_H
#define ASHLAR_LIB_ANALYSIS_TILES_TILINGMODELS_H

#include "ashlar/Analysis/Tiles/TilingModel.h"
#include "dialects/NPU/NPUDialect.h"

namespace ashlar::analysis {

/// Result, axes, granularity and lanes of `op`; no operands yet.
TilingModel baseModel(mlir::Operation *op);

/// Axes of a result of `rank` except `skip`, outermost first.
llvm::SmallVector<int64_t, 6> axesExcept(int64_t rank, int64_t skip);

/// The scratch memory of `op` if the vector unit finishes some of its results.
void addSharedScratch(TilingModel &model, mlir::Operation *op,
                      const machine::Description &machine);

/// Movements: MoveTiling.cpp.
TilingModel moveModel(npu::DmaMoveOp op, const machine::Description &machine);
TilingModel transposeModel(npu::PeTransposeOp op,
                           const machine::Description &machine);

} // namespace ashlar::analysis

#endif // ASHLAR_LIB_ANALYSIS_TILES_TILINGMODELS_H
