// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where results lie in the state buffer, as planning placed them, and what the
// operations that read and write them there think of it. Code generation takes
// its addresses from here, and ashlar-npu-verify-layouts checks the same views.

#ifndef ASHLAR_ANALYSIS_BUFFERVIEWS_H
#define ASHLAR_ANALYSIS_BUFFERVIEWS_H

#include "ashlar/Analysis/Lanes.h"
#include "ashlar/Analysis/TilingModel.h"
#include "ashlar/Analysis/View.h"
#include "dialects/NPU/Layout.h"
#include "llvm/Support/Error.h"

namespace ashlar::analysis {

/// The result of `op` in the state buffer: at byte `offset` of its partitions,
/// inside the concatenation that it is a part of, or, for a data movement that
/// moves nothing, in `source`, the view of its operand (null: it has none).
/// Fails with a reason if the data movement cannot be such a view. The
/// operation has an axis.
llvm::Expected<View> resultView(mlir::Operation *op, int64_t offset,
                                const View *source,
                                const machine::Description &machine);

/// A view in the state buffer as operations judge it; `lanes` is the fold that
/// it holds.
npu::Layout layoutOf(const View &view, const Lanes &lanes,
                     const machine::Description &machine);

/// Why `op` cannot read operand `index` in place in `view`; empty if it can, or
/// if it reads a copy. `model` is the operation's tiling model.
std::string refuseInPlace(mlir::Operation *op, unsigned index,
                          const TilingModel &model, const View &view,
                          const machine::Description &machine);

} // namespace ashlar::analysis

#endif // ASHLAR_ANALYSIS_BUFFERVIEWS_H
