// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One windowed axis of a tile of a window reduction.

#ifndef ASHLAR_PARTITION_POOLAXIS_H
#define ASHLAR_PARTITION_POOLAXIS_H

#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace ashlar::partition {

/// One windowed axis of a pooling tile, relative to what the tile
/// holds.
struct PoolAxis {
  int64_t in = 1, out = 1, kernel = 1, step = 1, dilation = 1, pad = 0;
  int64_t countLow = 0, countHigh = 1;
  int64_t sourceStride = 0, resultStride = 0;

  /// The results [first, first + count) of this axis. `start` becomes the
  /// index of the first input they hold.
  PoolAxis part(int64_t first, int64_t count, int64_t &start) const {
    PoolAxis result = *this;
    int64_t begin = first * step - pad;
    int64_t end = begin + (count - 1) * step + (kernel - 1) * dilation + 1;
    start = std::clamp<int64_t>(begin, 0, in - 1);
    result.in = std::clamp<int64_t>(end, start + 1, in) - start;
    result.out = count;
    result.pad = start - begin;
    result.countLow -= start;
    result.countHigh -= start;
    return result;
  }
  /// Results whose windows lie in the input, [first, last).
  std::pair<int64_t, int64_t> interior() const {
    int64_t first = llvm::divideCeil(pad, step);
    int64_t reach = in + pad - (kernel - 1) * dilation - 1;
    int64_t last = reach < 0 ? 0 : std::min(reach / step + 1, out);
    return {std::min(first, last), last};
  }
};

} // namespace ashlar::partition

#endif // ASHLAR_PARTITION_POOLAXIS_H
