// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The exponent cells of blocks along the free axis.

#include "Collector.h"

namespace ashlar::isa {

/// floor(a / b); b > 0.
static int64_t divideDown(int64_t a, int64_t b) {
  return a >= 0 ? a / b : -((b - 1 - a) / b);
}

void freeAxisCells(const Access &elements, unsigned bytes, uint64_t group,
                   llvm::SmallVectorImpl<Access> &out) {
  const auto tile = static_cast<int64_t>(group * bytes);
  // Steps over whole tiles repeat the cells; the rest stays in a range of them,
  // which has all of them as long as no gap holds a tile.
  Dims dims;
  Access cells;
  cells.exact = elements.exact;
  int64_t reach = static_cast<int64_t>(elements.runLength);
  for (unsigned d = 0; d < elements.numDims; ++d) {
    const AccessDim &dim = elements.dims[d];
    if (dim.stride % tile == 0) {
      dims.push_back(dim);
      continue;
    }
    cells.exact &= dim.stride - reach < tile;
    reach += static_cast<int64_t>(dim.count - 1) * dim.stride;
  }
  const int64_t first = divideDown(elements.base, tile);
  const int64_t last = divideDown(elements.base + reach - 1, tile);
  dims.push_back({static_cast<uint64_t>(last - first + 1), tile});
  cells.space = Space::Xm;
  cells.write = elements.write;
  for (uint64_t r = 0; r < group; ++r) {
    // Groups of partitions whose partition r is among the elements'.
    const uint64_t begin = elements.partBegin > r
                               ? (elements.partBegin - r + group - 1) / group
                               : 0;
    const uint64_t end =
        elements.partEnd > r ? (elements.partEnd - r + group - 1) / group : 0;
    if (begin >= end)
      continue;
    cells.partBegin = static_cast<uint32_t>(begin);
    cells.partEnd = static_cast<uint32_t>(end);
    setPattern(cells, first * tile + static_cast<int64_t>(r * bytes), 1, dims);
    out.push_back(cells);
  }
}

} // namespace ashlar::isa
