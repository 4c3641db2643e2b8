// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The number of positions of a convolution that the array accumulates at a
// time.

#ifndef ASHLAR_ANALYSIS_COST_PRODUCTWINDOWS_H
#define ASHLAR_ANALYSIS_COST_PRODUCTWINDOWS_H

#include "ashlar/Analysis/Layout/Lanes.h"
#include "ashlar/Machine/Description.h"
#include "ashlar/Partition/PoolAxis.h"
#include "dialects/NPU/NPUDialect.h"

#include <cstdint>

namespace ashlar::analysis {

/// Entries of a PSUM bank that a window of \p conv uses: all of them, or fewer
/// if shorter first and last drains gain more than additional loads of the
/// weights cost. \p lanes and \p result are the folds of the operand and of the
/// result.
int64_t windowEntries(npu::PeConvOp conv, const Lanes &lanes,
                      const Lanes &result, const machine::Description &machine);

/// Entries of PSUM that sums wait in until a drain reduces their windows: half
/// of it, while the other half is drained.
int64_t pooledEntries(const machine::Description &machine);

/// Axis \p i, 0 the rows and 1 the columns, of the windows that the drain of
/// the convolution \p op reduces.
partition::PoolAxis pooledAxis(mlir::Operation *op, int64_t i);

} // namespace ashlar::analysis

#endif // ASHLAR_ANALYSIS_COST_PRODUCTWINDOWS_H
