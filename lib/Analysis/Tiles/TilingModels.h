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

/// Tiles begin with whole groups of neighbours of a spread axis.
void keepGroups(TilingModel &model, const Lanes &lanes);

/// A numpy-broadcast operand of a result of `resultRank` that is stored across
/// `resultAxis`.
OperandModel broadcastOperand(mlir::Value value, int64_t resultRank,
                              int64_t resultAxis);

/// One axis of the windows of a convolution or a pool.
struct WindowAxis {
  int64_t input = 1, stride = 1, pad = 0, kernel = 1, dilation = 1;

  /// What windows [start, start + size) read, padding included.
  WindowRange range(int64_t start, int64_t size) const;
  /// What is read of the input; at least one element.
  WindowRange clipped(int64_t start, int64_t size) const;
  /// Windows from which on they no longer begin in the padding, and from which
  /// on they end in it.
  llvm::SmallVector<int64_t, 2> edges() const;
  /// This axis of the map that `inner` makes, as windows over what that reads.
  WindowAxis over(const WindowAxis &inner) const;
};

/// The scratch memory of `op` if the vector unit finishes some of its results.
void addSharedScratch(TilingModel &model, mlir::Operation *op,
                      const machine::Description &machine);

/// Products: ProductTiling.cpp.
TilingModel convModel(npu::PeConvOp op, const machine::Description &machine);
TilingModel convModel(npu::TcuConvOp op, const machine::Description &machine);
TilingModel matmulModel(npu::PeMatmulOp op,
                        const machine::Description &machine);

/// Movements: MoveTiling.cpp.
TilingModel moveModel(npu::DmaMoveOp op, const machine::Description &machine);
TilingModel transposeModel(npu::PeTransposeOp op,
                           const machine::Description &machine);

} // namespace ashlar::analysis

#endif // ASHLAR_LIB_ANALYSIS_TILES_TILINGMODELS_H
