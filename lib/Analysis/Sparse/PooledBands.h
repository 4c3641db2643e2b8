// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bands of rows of convolutions whose drains pool.

#ifndef ASHLAR_LIB_ANALYSIS_SPARSE_POOLEDBANDS_H
#define ASHLAR_LIB_ANALYSIS_SPARSE_POOLEDBANDS_H

#include "ashlar/Analysis/Sparse/TilePlan.h"

namespace ashlar::analysis {

/// Turns the extents of a tile of pooled results into those of the entries of
/// its bands, for the pooling convolution \p op.
void setBands(TileProblem &problem, mlir::Operation *op,
              const machine::Description &machine);

} // namespace ashlar::analysis

#endif // ASHLAR_LIB_ANALYSIS_SPARSE_POOLEDBANDS_H
