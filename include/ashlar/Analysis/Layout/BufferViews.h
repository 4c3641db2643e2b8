// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The placement of results in the state buffer, and the check that every
// operation accepts the layout of what it reads and writes there. Code
// generation takes its addresses from these views, and
// ashlar-npu-verify-layouts checks the same ones.

#ifndef ASHLAR_ANALYSIS_LAYOUT_BUFFERVIEWS_H
#define ASHLAR_ANALYSIS_LAYOUT_BUFFERVIEWS_H

#include "ashlar/Analysis/Layout/Lanes.h"
#include "ashlar/Analysis/Layout/View.h"
#include "ashlar/Analysis/Tiles/TilingModel.h"
#include "dialects/NPU/Layout.h"
#include "llvm/Support/Error.h"

namespace ashlar::analysis {

/// The view of the result of `op` in the state buffer. The result starts at
/// byte `offset` of its partitions, or lies inside the concatenation that it is
/// part of. If `op` is a data movement that copies nothing, the result aliases
/// `source`, the view of its operand (null if the operand has no view); an
/// error says why that is impossible. `op` must have a partition axis.
llvm::Expected<View> resultView(mlir::Operation *op, int64_t offset,
                                const View *source,
                                const machine::Description &machine);

/// The layout of `view`, in the terms in which operations accept or refuse
/// layouts. `lanes` is the lane fold of the view.
npu::Layout layoutOf(const View &view, const Lanes &lanes,
                     const machine::Description &machine);

/// The reason why `op` cannot read operand `index` in place from `view`; empty
/// if it can, or if it reads a staged copy instead. `model` is the tiling model
/// of `op`.
std::string refuseInPlace(mlir::Operation *op, unsigned index,
                          const TilingModel &model, const View &view,
                          const machine::Description &machine);

} // namespace ashlar::analysis

#endif // ASHLAR_ANALYSIS_LAYOUT_BUFFERVIEWS_H
