// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Row packing: the number of rows of results that a convolution with few output
// channels computes side by side in the columns of the array, and whether as
// many rows of its operand lie side by side in the rows (docs/Machine.md, PE
// array).

#ifndef ASHLAR_ANALYSIS_ARRAY_ROWPACKING_H
#define ASHLAR_ANALYSIS_ARRAY_ROWPACKING_H

#include "ashlar/Analysis/Cost/DenseCycles.h"

namespace ashlar::analysis {

/// A number of packed rows, and its predicted cycles.
struct PackedRows {
  int64_t rows = 1;
  bool apart = false; ///< in the operand as well
  DenseCycles cycles;
  int64_t fetch = 0;  ///< cycles of DRAM for the weights; zeros count
  int64_t copies = 0; ///< cycles until the rows of the operand lie apart
  /// Cycles up to the last result, with the fetch of weights overlapped.
  int64_t total() const { return std::max(cycles.total + copies, fetch); }
};

/// All alternatives, starting with one row.
struct PackingChoice {
  llvm::SmallVector<PackedRows, 8> alternatives;
  size_t best = 0; ///< of those that the module allows
  /// What the module asks for (`npu.tuning`).
  npu::RowPackingMode mode = npu::RowPackingMode::Auto;
  const PackedRows &chosen() const { return alternatives[best]; }
  /// True if the module leaves this one open.
  bool allows(const PackedRows &rows) const {
    return !rows.apart || mode == npu::RowPackingMode::Auto ||
           mode == npu::RowPackingMode::Apart;
  }
};

/// True if `conv` can read `rows` rows of its operand apart: they divide its
/// rows, have whole exponent cells each, and fit the rows of the array, as the
/// results of as many rows fit its columns.
bool mayReadApart(npu::PeConvOp conv, int64_t rows,
                  const machine::Description &machine);

/// The packings that fit the array for `conv`, whose input is folded by
/// `lanes`: none first, then numbers of rows in the columns, then those with
/// rows of the operand apart.
llvm::SmallVector<RowPacking, 8>
rowPackings(npu::PeConvOp conv, const Lanes &lanes,
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
