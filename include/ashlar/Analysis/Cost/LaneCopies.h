// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Copies of feature maps in lane folds.

#ifndef ASHLAR_ANALYSIS_COST_LANECOPIES_H
#define ASHLAR_ANALYSIS_COST_LANECOPIES_H

#include "ashlar/Analysis/Cost/CopyNest.h"
#include "ashlar/Analysis/Layout/Lanes.h"

namespace ashlar::analysis {

/// Rewrites a pattern, whose result is folded by \p lanes, to indices in
/// memory: pixel w of the result becomes pixel w div Ws of lane w mod Ws, whose
/// channels begin at the lane's first partition. Without a fold, the pattern
/// itself.
llvm::SmallVector<npu::AccessPattern, 4>
lanePatterns(const npu::AccessPattern &pattern, const Lanes &lanes);

/// A feature map, or a tile of one, in memory: `view` has its shape in memory,
/// folded by `lanes`; `start` is the first index to copy, in the unfolded axes.
struct FoldedMap {
  View view;
  Lanes lanes;
  Shape start;
};

/// Visits the copies of `size` elements, in the unfolded axes, from \p source
/// to \p result. A result that every lane repeats is written `lanes.count`
/// times.
void forEachRelaid(const FoldedMap &source, const FoldedMap &result,
                   llvm::ArrayRef<int64_t> size, machine::TransferCosts &costs,
                   CopyVisitor visit);

} // namespace ashlar::analysis

#endif // ASHLAR_ANALYSIS_COST_LANECOPIES_H
