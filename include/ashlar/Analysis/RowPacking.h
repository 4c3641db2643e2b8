// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How many rows of results a convolution of few output channels has side by
// side in the columns of the array (docs/Machine.md, PE array).

#ifndef ASHLAR_ANALYSIS_ROWPACKING_H
#define ASHLAR_ANALYSIS_ROWPACKING_H

#include "ashlar/Analysis/DenseCycles.h"

namespace ashlar::analysis {

/// A number of rows and what the convolution takes with it.
struct PackedRows {
  int64_t rows = 1;
  DenseCycles cycles;
  int64_t fetch = 0; ///< cycles of DRAM for the weights; zeros count
  /// Up to the last result, with weights that arrive meanwhile.
  int64_t total() const { return std::max(cycles.total, fetch); }
};

/// All alternatives, one row first.
struct PackingChoice {
  llvm::SmallVector<PackedRows, 8> alternatives;
  size_t best = 0;
  const PackedRows &chosen() const { return alternatives[best]; }
};

/// The numbers of rows that the columns of the array hold beside each other for
/// `conv`, ascending from 1.
llvm::SmallVector<int64_t, 8> packableRows(npu::PeConvOp conv,
                                           const machine::Description &machine);

/// The fastest packing of `conv` on its own, whose input lies folded by `lanes`
/// and whose result is written in the fold `result`; with the array before the
/// drain among equals, and fewer rows then. With `weights`, tiles of zeros are
/// omitted.
PackingChoice choosePacking(npu::PeConvOp conv, const Lanes &lanes,
                            const machine::Description &machine,
                            const Lanes &result = Lanes(),
                            const EncodedWeights *weights = nullptr);

} // namespace ashlar::analysis

#endif // ASHLAR_ANALYSIS_ROWPACKING_H
