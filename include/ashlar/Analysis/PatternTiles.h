// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// N:M weights on the array: stationary tiles of whose M neighbouring rows a
// column has at most N cells that are not zero (docs/Machine.md, PE array).

#ifndef ASHLAR_ANALYSIS_PATTERNTILES_H
#define ASHLAR_ANALYSIS_PATTERNTILES_H

#include "ashlar/Analysis/Lanes.h"
#include "ashlar/Analysis/StationaryPlan.h"

namespace ashlar::analysis {

class EncodedWeights;

/// Marks the tiles of a product with the pattern of \p machine, of its weights
/// as they are encoded; none where the machine has none. Returns how many.
int64_t markPatterns(std::vector<ColumnTile> &columns, mlir::Operation *op,
                     const EncodedWeights &weights,
                     const machine::Description &machine);

/// The same if \p op says that it uses the pattern, else nothing.
int64_t markChosenPatterns(std::vector<ColumnTile> &columns,
                           mlir::Operation *op, const EncodedWeights &weights,
                           const machine::Description &machine);

/// True if a product that may use the pattern does so where its input lies in
/// \p lanes: their row groups have rows for it, and PSUM takes the results.
bool usesPattern(mlir::Operation *op, const Lanes &lanes,
                 const machine::Description &machine);

/// True if the positions of a product follow each other in its input: a stream
/// of them has a single loop.
bool isPointwise(mlir::Operation *op);

/// Cycles that loads and streams of a product take one after the other, each
/// load next to the stream before it, with the marked tiles as N:M weights.
int64_t tileCycles(llvm::ArrayRef<ColumnTile> columns, mlir::Operation *op,
                   const machine::Description &machine);

} // namespace ashlar::analysis

#endif // ASHLAR_ANALYSIS_PATTERNTILES_H
