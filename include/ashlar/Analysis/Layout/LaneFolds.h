// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which lane folds a feature map may take for the convolutions that read it.

#ifndef ASHLAR_ANALYSIS_LAYOUT_LANEFOLDS_H
#define ASHLAR_ANALYSIS_LAYOUT_LANEFOLDS_H

#include "ashlar/Analysis/Layout/Lanes.h"
#include "ashlar/Machine/Description.h"
#include "dialects/NPU/NPUDialect.h"

namespace ashlar::analysis {

/// True if row groups can run the convolution: its weights are stationary, and
/// its stride along a row fits the instruction. Groups of channels are blocks
/// of the stationary tile that all row groups share.
bool mayReadLanes(npu::PeConvOp conv);

/// The lane folds that array and memories allow for a feature map of `channels`
/// channels, all in one block, and rows of `width` pixels, in ascending order
/// of lanes.
llvm::SmallVector<Lanes, 6> laneFolds(int64_t channels, int64_t width,
                                      const machine::Description &machine);

/// Those that array, memories and its format allow for `map` in several blocks
/// of channels, where a convolution that reads it may take fewer steps so. Only
/// drains can write them. Blocks begin where channel tiles do; columns end with
/// a block, so that it has at least half as many channels as the array columns.
llvm::SmallVector<Lanes, 6> blockFolds(mlir::Value map,
                                       const machine::Description &machine);

} // namespace ashlar::analysis

#endif // ASHLAR_ANALYSIS_LAYOUT_LANEFOLDS_H
