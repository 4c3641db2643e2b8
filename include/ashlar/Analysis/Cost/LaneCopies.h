// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Copies of maps that lie in lane folds.

#ifndef ASHLAR_ANALYSIS_COST_LANECOPIES_H
#define ASHLAR_ANALYSIS_COST_LANECOPIES_H

#include "ashlar/Analysis/Cost/CopyNest.h"
#include "ashlar/Analysis/Lanes.h"

namespace ashlar::analysis {

/// A pattern of a result that is folded by \p lanes in memory indices: result w
/// is pixel w div Ws of lane w mod Ws, whose channels begin at the lane's first
/// partition. The pattern itself without a fold.
llvm::SmallVector<npu::AccessPattern, 4>
lanePatterns(const npu::AccessPattern &pattern, const Lanes &lanes);

/// A map, or the tile of one, in a memory: `view` has the shape that it has
/// there, in `lanes`; `start` is the first index to copy, in the map's own
/// axes.
struct FoldedMap {
  View view;
  Lanes lanes;
  Shape start;
};

/// Visits the copies of `size` elements of \p source to \p result, index by
/// index of the map's own axes. A result that is repeated in every lane takes
/// the same elements `lanes.count` times.
void forEachRelaid(const FoldedMap &source, const FoldedMap &result,
                   llvm::ArrayRef<int64_t> size,
                   const machine::Description &machine, CopyVisitor visit);

} // namespace ashlar::analysis

#endif // ASHLAR_ANALYSIS_COST_LANECOPIES_H
