// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Maps whose last channel tile fills few lanes of the vector unit.

#ifndef ASHLAR_ANALYSIS_COST_TAILPARTS_H
#define ASHLAR_ANALYSIS_COST_TAILPARTS_H

#include "ashlar/Analysis/Cost/OperationCycles.h"
#include "ashlar/Analysis/Layout/View.h"

#include <optional>

namespace ashlar::analysis {

/// The positions of the last channel tile in equal parts, which lie `pitch`
/// partitions apart when one instruction works on all of them.
struct TailParts {
  int64_t first = 0;     ///< channel of the map at which the tile begins
  int64_t channels = 0;  ///< of the tile
  int64_t pitch = 0;     ///< partitions from one part to the next
  int64_t parts = 0;     ///< of the positions
  int64_t count = 0;     ///< positions of a part
  int64_t positions = 0; ///< of the map; what is left over is no part
  int64_t block = 0;     ///< channels of a block of the result in a part
  /// Cycles of the vector unit, less those of copies that it waits for.
  int64_t saved = 0;

  /// Channels of the instruction.
  int64_t across() const { return (parts - 1) * pitch + channels; }
};

/// The parts in which a map over operands like `result` is computed: nothing if
/// its lanes are full, if views overlap without being the same one, or if
/// copying the parts takes longer than what they save.
std::optional<TailParts> tailParts(llvm::ArrayRef<View> operands,
                                   const View &result, machine::VecCost cost,
                                   machine::VecStore store,
                                   const machine::Description &machine);

/// True if both views name the same elements of a buffer in the same order.
bool isSamePlace(const View &a, const View &b);

/// Positions [first, first + count) of channels of a view, which lie without
/// gaps (tailParts()), from partition `part` on.
View positionsOf(const View &view, int64_t first, int64_t count, int64_t part);

} // namespace ashlar::analysis

#endif // ASHLAR_ANALYSIS_COST_TAILPARTS_H
