// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pieces of sums, dealt to ACT and the vector unit.

#include "ashlar/Partition/SharedDrain.h"

#include <algorithm>

namespace ashlar::partition {

std::optional<int64_t> SharedDrain::next(int64_t positions, int64_t slot) {
  dealt += positions;
  const bool stays = capacity > 0
                         ? (moved + positions) * kDrainShares > dealt * share
                         : (2 * (dealt - moved) - positions) * kDrainShares <=
                               2 * dealt * (kDrainShares - share);
  if (stays)
    return std::nullopt;
  moved += positions;
  if (capacity > 0 && at + slot > capacity)
    at = 0;
  const int64_t first = at;
  at += slot;
  most = std::max(most, at);
  return first;
}

int64_t mostSharedPositions(int64_t rows, int64_t width, int64_t lanes,
                            int64_t entries, int64_t share, int64_t capacity) {
  const int64_t all = rows * ((width + lanes - 1) / lanes);
  // Pieces of a row that do not end with a pixel take one more each.
  const int64_t cut = lanes > 1 ? rows * (width / entries + 2) : 0;
  if (capacity > 0)
    return std::min(all + cut, capacity);
  // A piece, at most a bank, goes where less than half of it is too much.
  return all * share / kDrainShares + std::min(all, entries) / 2 + 1 + cut;
}

} // namespace ashlar::partition
