// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// N:M weights on the array: stationary tiles in which every column has at most
// N non-zero cells in each M neighbouring rows (docs/Machine.md, PE array).

#ifndef ASHLAR_ANALYSIS_ARRAY_PATTERNTILES_H
#define ASHLAR_ANALYSIS_ARRAY_PATTERNTILES_H

#include "ashlar/Analysis/Array/StationaryPlan.h"
#include "ashlar/Analysis/Layout/Lanes.h"

namespace ashlar::analysis {

class WeightPattern;

/// Marks the tiles of a product whose encoded weights have the N:M pattern of
/// \p machine, and returns their number; 0 if the machine has no pattern.
int64_t markPatterns(std::vector<ColumnTile> &columns, mlir::Operation *op,
                     const WeightPattern &weights,
                     const machine::Description &machine);

/// Does the same if \p op uses the pattern, and nothing otherwise.
int64_t markChosenPatterns(std::vector<ColumnTile> &columns,
                           mlir::Operation *op, const WeightPattern &weights,
                           const machine::Description &machine);

/// True if a product that may use the pattern does use it with its input folded
/// by \p lanes: the row groups have enough rows, and PSUM has room for the
/// results.
bool usesPattern(mlir::Operation *op, const Lanes &lanes,
                 const machine::Description &machine);

/// True if the positions of a product are contiguous in its input, so that a
/// stream of them has a single loop.
bool isPointwise(mlir::Operation *op);

/// Cycles of the loads and streams of a product, with each load overlapping the
/// preceding stream, and the marked tiles as N:M weights.
int64_t tileCycles(llvm::ArrayRef<ColumnTile> columns, mlir::Operation *op,
                   const machine::Description &machine);

} // namespace ashlar::analysis

#endif // ASHLAR_ANALYSIS_ARRAY_PATTERNTILES_H
