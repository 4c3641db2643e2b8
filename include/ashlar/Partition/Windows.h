// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Boxes of result positions that the array accumulates at a time, and the parts
// of them that are drained at a time. Code generation emits a stream and a
// drain for each; predictors count the same ones.

#ifndef ASHLAR_PARTITION_WINDOWS_H
#define ASHLAR_PARTITION_WINDOWS_H

#include "ashlar/Partition/PoolAxis.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <array>
#include <cstdint>

namespace ashlar::partition {

/// Batch, depth, height and width of result positions.
using Positions4 = std::array<int64_t, 4>;

/// Result positions that fill one PSUM bank: a box. At most one of batch and
/// depth is longer than 1.
struct Window {
  Positions4 start{};
  Positions4 size{1, 1, 1, 1};
  /// Rows that a drain reduces the window to, and the first of them; 0: it
  /// reduces none.
  int64_t firstResult = 0, results = 0;
  int leadingDim() const { return size[0] > 1 ? 0 : 1; }
  int64_t leading() const { return size[0] * size[1]; }
  int64_t rows() const { return leading() * size[2]; }
  int64_t positions() const { return rows() * size[3]; }
};

/// The largest window of at most \p entries positions of \p extent: whole rows,
/// and whole maps, in equal shares. A part of a row that is folded by
/// \p lanes lanes (1: it is not) ends with a whole pixel where it can.
Positions4 windowSize(const Positions4 &extent, int64_t lanes, int64_t entries);

/// Visits the windows that cover \p extent, width innermost.
void forEachWindow(const Positions4 &extent, int64_t lanes, int64_t entries,
                   llvm::function_ref<void(const Window &)> visit);

/// Visits the pieces of equal size into which \p whole is cut so that its
/// drain follows its stream, each with the first of its positions in \p whole,
/// in their order. Lanes of a \p folded row stay together.
void forEachPiece(
    const Window &whole, bool folded,
    llvm::function_ref<void(const Window &, int64_t first)> visit);

/// Rows of results of \p rows whose windows over sums of \p width columns fit
/// \p entries entries at a time; 0: not even one.
int64_t pooledRows(const PoolAxis &rows, int64_t width, int64_t entries);

/// Visits the sums of as many rows of results at a time, image by image, in
/// equal shares. Rows of sums that two of them need belong to both.
void forEachPooledWindow(int64_t images, const PoolAxis &rows, int64_t width,
                         int64_t entries,
                         llvm::function_ref<void(const Window &)> visit);

} // namespace ashlar::partition

#endif // ASHLAR_PARTITION_WINDOWS_H
