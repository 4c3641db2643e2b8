// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Row packing: the number of rows of results that a convolution with few output
// channels computes side by side in the columns of the array (docs/Machine.md,
// PE array).

#ifndef ASHLAR_ANALYSIS_ARRAY_ROWPACKING_H
#define ASHLAR_ANALYSIS_ARRAY_ROWPACKING_H

#include "ashlar/Analysis/Cost/DenseCycles.h"

namespace ashlar::analysis {

/// A number of packed rows, and its predicted cycles.
struct PackedRows {
  int64_t rows = 1;
  DenseCycles cycles;
  int64_t fetch = 0; ///< cycles of DRAM for the weights; zeros count
  /// Cycles up to the last result, with the fetch of weights overlapped.
  int64_t total() const { return std::max(cycles.total, fetch); }
};

/// All alternatives, starting with one row.
struct PackingChoice {
  llvm::SmallVector<PackedRows, 8> alternatives;
  size_t best = 0;
  const PackedRows &chosen() const { return alternatives[best]; }
};

/// The numbers of rows that fit the columns of the array for `conv`, ascending
/// from 1.
llvm::SmallVector<int64_t, 8> packableRows(npu::PeConvOp conv,
                                           const machine::Description &machine);

/// The packing with the fewest predicted cycles for `conv` alone. Its input is
/// folded by `lanes`, its result is written in the fold `result`. Ties are
/// broken by the cycles of the array, then by fewer rows. With `weights`, tiles
/// of zeros are omitted.
PackingChoice choosePacking(npu::PeConvOp conv, const Lanes &lanes,
                            const machine::Description &machine,
                            const Lanes &result = Lanes(),
                            const WeightPattern *weights = nullptr);

} // namespace ashlar::analysis

#endif // ASHLAR_ANALYSIS_ARRAY_ROWPACKING_H
