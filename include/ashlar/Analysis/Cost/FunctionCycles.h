// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Predicted cycles of the engines that finish a product with a function: what
// the choice between ACT, the vector unit and both compares.

#ifndef ASHLAR_ANALYSIS_COST_FUNCTIONCYCLES_H
#define ASHLAR_ANALYSIS_COST_FUNCTIONCYCLES_H

#include "ashlar/Analysis/Layout/Lanes.h"
#include "ashlar/Machine/Cycles.h"

#include <algorithm>

namespace ashlar::analysis {

/// Cycles of each engine for a whole product on the dense array. Engines work
/// side by side, tile by tile: the slowest one decides.
struct FunctionCycles {
  int64_t array = 0;
  int64_t drain = 0;  ///< of ACT with the function
  int64_t plain = 0;  ///< of ACT without it
  int64_t vector = 0; ///< of the vector unit for the function
  /// What is left to do when the array ends: one in so many of the cycles of
  /// ACT, of the vector unit with a share, and of the vector unit alone.
  int64_t drainEnds = 1, sharedEnds = 1, vectorEnds = 1;

  /// ACT applies the function.
  int64_t together() const { return std::max(array, drain); }
  /// The vector unit does.
  int64_t apart() const { return std::max({array, plain, vector}); }

  /// Up to the last result: the vector unit applies the function alone, or to
  /// \p share sixteenths of the results.
  int64_t apartToEnd() const { return apart() + vector / vectorEnds; }
  int64_t sharedToEnd(int64_t share) const;
  /// The share with the fewest cycles, at most 15 sixteenths.
  int64_t bestShare() const;
};

/// Cycles of ACT for \p positions positions of \p columns columns, of whose
/// functions the vector unit applies \p share sixteenths.
int64_t sharedDrain(const machine::Description &machine, int64_t columns,
                    int64_t positions, machine::VecCost function,
                    int64_t share);

/// The cycles of \p op, a pe.conv or pe.matmul whose result lies in the fold
/// \p lanes.
FunctionCycles functionCycles(mlir::Operation *op, const Lanes &lanes,
                              const machine::Description &machine);

/// True if the drains of \p op may leave its function to the vector unit: the
/// layout of its result is that in which they write it.
bool mayShareFunction(mlir::Operation *op, const machine::Description &machine);

} // namespace ashlar::analysis

#endif // ASHLAR_ANALYSIS_COST_FUNCTIONCYCLES_H
