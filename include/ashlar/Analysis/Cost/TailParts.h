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
  /// Partitions between the channels of two parts, which zeros fill: they are
  /// encoded along with the channels.
  int64_t between = 0;
  int64_t saved = 0;  ///< cycles of the vector unit
  int64_t copies = 0; ///< cycles of the copies that it waits for

  /// Channels of the instruction.
  int64_t across() const { return (parts - 1) * pitch + channels; }
};

/// The parts in which a map over operands like `result` is computed: nothing if
/// its lanes are full, if views overlap without being the same one, or if
/// copying the parts takes longer than what they save. `mayClear`: zeros may
/// fill the partitions after channels that end inside a block, because the map
/// makes zeros of zeros and has no parameters.
std::optional<TailParts> tailParts(llvm::ArrayRef<View> operands,
                                   const View &result, machine::VecCost cost,
                                   machine::VecStore store, bool mayClear,
                                   const machine::Description &machine);

/// True if a function, by its instruction-set name, makes zeros of zeros.
bool keepsZeros(llvm::StringRef function);

/// True if both views name the same elements of a buffer in the same order.
bool isSamePlace(const View &a, const View &b);

/// Positions [first, first + count) of channels of a view, which lie without
/// gaps (tailParts()), from partition `part` on.
View positionsOf(const View &view, int64_t first, int64_t count, int64_t part);

/// All parts but the first of the last channel tile `view`, where its positions
/// lie one part after the other.
View partsAtHome(const View &view, const TailParts &tail);
/// The same where parts lie side by side.
View partsBeside(const View &view, const TailParts &tail);
/// The partitions between parts, for as many positions as a part has.
View betweenParts(const View &view, const TailParts &tail);

} // namespace ashlar::analysis

#endif // ASHLAR_ANALYSIS_COST_TAILPARTS_H
