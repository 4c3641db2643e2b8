// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// When memory planning cuts an operation into tiles, and into how many. These
// are policies of planning, not prices; predictors use them unchanged.

#ifndef ASHLAR_PARTITION_TILEPOLICY_H
#define ASHLAR_PARTITION_TILEPOLICY_H

#include <cstdint>

namespace ashlar::partition {

/// Tiles into which an operation is cut so that its loads overlap its work.
inline constexpr int64_t kOverlapTiles = 4;
/// Staged bytes of a partition beyond which an operation is cut for that.
inline constexpr int64_t kOverlapBytes = 4096;
/// Least bytes of a partition of a moved and converted result that are cut.
inline constexpr int64_t kLongMoveBytes = 128;
/// Tiles that are preferred at most, where a smaller share of the memory for
/// weights avoids more.
inline constexpr int64_t kPreferredTileLimit = 32;

/// Bands of a map for which the sum is least of what `work` cycles leave after
/// the last band has come and of the cycles `again` in which each band reads
/// what it shares with the one before; \p least at least.
inline int64_t bandsThatShare(int64_t work, int64_t again, int64_t least) {
  int64_t bands = least;
  while (again > 0 && (bands + 1) * bands * again < work)
    ++bands;
  return bands;
}

} // namespace ashlar::partition

#endif // ASHLAR_PARTITION_TILEPOLICY_H
