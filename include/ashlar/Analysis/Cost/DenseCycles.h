// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Predicted cycles of a convolution on the dense array, by lane fold of its
// input: what passes compare alternatives by.

#ifndef ASHLAR_ANALYSIS_COST_DENSECYCLES_H
#define ASHLAR_ANALYSIS_COST_DENSECYCLES_H

#include "ashlar/Analysis/Array/StationaryPlan.h"
#include "ashlar/Analysis/Layout/Lanes.h"
#include "ashlar/Machine/Cycles.h"
#include "ashlar/Machine/Transfers.h"
#include "dialects/NPU/NPUDialect.h"

namespace ashlar::analysis {

/// A convolution on its own, from its first stream on.
struct DenseCycles {
  int64_t stream = 0; ///< cycles of streams,
  int64_t array = 0;  ///< of streams and of the loads that exceed them,
  int64_t drain = 0;  ///< of ACT,
  int64_t total = 0;  ///< up to the last result in memory
};

/// A convolution whose input is folded by `lanes`, whose stationary tiles are
/// `columns` and whose result is written in the fold `result`. Every tile is
/// loaded once per group of windows that half of PSUM holds; a group is drained
/// while the next ones stream into other banks. Weights are assumed to be
/// present, and engines to be idle otherwise.
DenseCycles denseCycles(npu::PeConvOp conv, const Lanes &lanes,
                        llvm::ArrayRef<ColumnTile> columns,
                        const machine::Description &machine,
                        const Lanes &result = Lanes());

/// Convolutions of one input, one after the other, with all stationary tiles:
/// the array streams the next one while ACT drains the last sums of the one
/// before.
DenseCycles denseCycles(llvm::ArrayRef<npu::PeConvOp> convs, const Lanes &lanes,
                        const machine::Description &machine,
                        const Lanes &result = Lanes());

/// Class of the function that the drain of a product applies.
machine::VecCost drainFunction(mlir::Operation *product);

/// Cycles in which the vector unit encodes `x` while a move writes it, folded
/// by `lanes`; 0 if nothing encodes it.
int64_t encodeCycles(mlir::Value x, const Lanes &lanes,
                     const machine::Description &machine);

/// Cycles in which copies and the vector unit make `x`, the result of a move,
/// folded by `lanes`: the vector unit encodes what the queues have copied, tile
/// by tile (kOverlapTiles), so that one tile's share of the faster of both is
/// not hidden. 0 if no move makes it.
int64_t makingCycles(mlir::Value x, const Lanes &lanes,
                     machine::TransferCosts &costs);

} // namespace ashlar::analysis

#endif // ASHLAR_ANALYSIS_COST_DENSECYCLES_H
