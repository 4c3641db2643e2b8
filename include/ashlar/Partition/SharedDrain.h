// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which pieces of the sums of a product ACT finishes, and for which it leaves
// the function to the vector unit. Code generation and the plan of memory ask
// the same class.

#ifndef ASHLAR_PARTITION_SHAREDDRAIN_H
#define ASHLAR_PARTITION_SHAREDDRAIN_H

#include "ashlar/Partition/Windows.h"

#include <optional>

namespace ashlar::partition {

/// Shares are counted in parts of this many.
constexpr int64_t kDrainShares = 16;

/// Deals the pieces of a column of the array, in their order.
class SharedDrain {
public:
  /// \p share of kDrainShares is the vector unit's. Values wait for it in
  /// \p capacity positions, which pieces take in turn; the first piece is ACT's
  /// then, which starts the scale exponent of the result. With \p capacity 0
  /// all values wait, for those of other columns, and the vector unit gets the
  /// first piece, so that it begins early.
  SharedDrain(int64_t share, int64_t capacity)
      : share(share), capacity(capacity) {}

  /// The next piece, of \p positions positions, which take \p slot positions of
  /// scratch memory: the first of them, or nothing if ACT finishes the piece.
  std::optional<int64_t> next(int64_t positions, int64_t slot);

  /// The next column has the same pieces.
  void restart() { dealt = moved = at = 0; }

  /// Positions of scratch memory that have been in use.
  int64_t used() const { return most; }

private:
  int64_t share, capacity;
  int64_t dealt = 0, moved = 0; ///< positions: all, and the vector unit's
  int64_t at = 0, most = 0;     ///< of scratch memory
};

/// Positions of scratch memory that \p piece takes where \p lanes positions of
/// a row lie at one place of different partitions.
inline int64_t slotOf(const Window &piece, int64_t lanes) {
  return piece.rows() * ((piece.size[3] + lanes - 1) / lanes);
}

/// Positions of scratch memory that the pieces of \p rows rows of \p width
/// positions take at most, in windows of at most \p entries positions, and
/// never fewer than for fewer rows or shorter ones. \p lanes as for slotOf();
/// \p share and \p capacity as for SharedDrain.
int64_t mostSharedPositions(int64_t rows, int64_t width, int64_t lanes,
                            int64_t entries, int64_t share, int64_t capacity);

} // namespace ashlar::partition

#endif // ASHLAR_PARTITION_SHAREDDRAIN_H
