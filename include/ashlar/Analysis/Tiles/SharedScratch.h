// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef ASHLAR_ANALYSIS_TILES_SHAREDSCRATCH_H
#define ASHLAR_ANALYSIS_TILES_SHAREDSCRATCH_H

#include "ashlar/Machine/Description.h"
#include "ashlar/Partition/TilePolicy.h"
#include "mlir/IR/Operation.h"

#include <algorithm>

namespace ashlar::analysis {

/// Positions of the ring in which values of a product with a `vector_share`
/// wait for the vector unit; 0: all those of a channel tile wait together.
int64_t sharedCapacity(mlir::Operation *op,
                       const machine::Description &machine);

/// Positions of scratch memory where the values of a channel tile take at most
/// \p positions: twice as many if they fit a bank of PSUM, of \p entries
/// entries, so that the drains of the next channel tile need not wait for the
/// vector unit. Never fewer than for fewer positions.
inline int64_t withSecondSet(int64_t positions, int64_t entries) {
  return 2 * positions <= entries ? 2 * positions
                                  : std::max(positions, entries);
}

/// Tiles into which \p positions positions of such a product are cut where
/// values of several columns wait together, so that the vector unit does not
/// wait for whole columns. Streams of a tile are twice as long as the load of
/// the stationary tile after it, which each tile repeats.
inline int64_t sharedTiles(int64_t positions,
                           const machine::Description &machine) {
  const auto rows = static_cast<int64_t>(machine.pe.rows);
  return positions / partition::kOverlapTiles >= 2 * rows
             ? partition::kOverlapTiles
             : 1;
}

} // namespace ashlar::analysis

#endif // ASHLAR_ANALYSIS_TILES_SHAREDSCRATCH_H
