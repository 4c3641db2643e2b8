// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Windows of results and their pieces.

#include "ashlar/Partition/Windows.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>

namespace ashlar::partition {

/// Equal shares: ceil(extent / ceil(extent / limit)).
static int64_t share(int64_t extent, int64_t limit) {
  const int64_t parts =
      llvm::divideCeilSigned(extent, std::max<int64_t>(limit, 1));
  return llvm::divideCeilSigned(extent, std::max<int64_t>(parts, 1));
}

Positions4 windowSize(const Positions4 &extent, int64_t lanes,
                      int64_t entries) {
  Positions4 size{1, 1, 1, 1};
  size[3] = share(extent[3], entries);
  // A part of a folded row that ends inside a pixel would cost a step.
  if (size[3] < extent[3] && lanes > 1 && lanes <= entries)
    size[3] = std::min<int64_t>(llvm::alignTo(size[3], lanes),
                                llvm::alignDown(entries, lanes));
  size[2] = size[3] < extent[3]
                ? 1
                : share(extent[2], entries / std::max<int64_t>(size[3], 1));
  // Whole maps may be joined along depth, or along the batch if depth is 1.
  if (size[3] == extent[3] && size[2] == extent[2]) {
    const int join = extent[1] > 1 ? 1 : 0;
    size[join] =
        share(extent[join], entries / std::max<int64_t>(size[2] * size[3], 1));
  }
  return size;
}

void forEachWindow(const Positions4 &extent, int64_t lanes, int64_t entries,
                   llvm::function_ref<void(const Window &)> visit) {
  const Positions4 size = windowSize(extent, lanes, entries);
  if (std::any_of(size.begin(), size.end(), [](int64_t n) { return n < 1; }))
    return; // No positions.
  Positions4 at;
  for (at[0] = 0; at[0] < extent[0]; at[0] += size[0])
    for (at[1] = 0; at[1] < extent[1]; at[1] += size[1])
      for (at[2] = 0; at[2] < extent[2]; at[2] += size[2])
        for (at[3] = 0; at[3] < extent[3]; at[3] += size[3]) {
          Window window{at, size};
          for (int d = 0; d < 4; ++d)
            window.size[d] = std::min(size[d], extent[d] - at[d]);
          visit(window);
        }
}

int64_t pooledRows(const PoolAxis &rows, int64_t width, int64_t entries) {
  const int64_t most = entries / std::max<int64_t>(width, 1);
  // All that the first window and those after it reach; borders cut some off.
  const int64_t window = (rows.kernel - 1) * rows.dilation + 1;
  if (most >= rows.in)
    return rows.out;
  return most < window ? 0
                       : std::min((most - window) / rows.step + 1, rows.out);
}

void forEachPooledWindow(int64_t images, const PoolAxis &rows, int64_t width,
                         int64_t entries,
                         llvm::function_ref<void(const Window &)> visit) {
  const int64_t step = share(rows.out, pooledRows(rows, width, entries));
  for (int64_t image = 0; image < images; ++image)
    for (int64_t first = 0; first < rows.out; first += step) {
      int64_t start = 0;
      const PoolAxis part =
          rows.part(first, std::min(step, rows.out - first), start);
      Window window{{image, 0, start, 0}, {1, 1, part.in, width}};
      window.firstResult = first;
      window.results = part.out;
      visit(window);
    }
}

void forEachPiece(
    const Window &whole, bool folded,
    llvm::function_ref<void(const Window &, int64_t first)> visit) {
  // More pieces would not be faster: a drain takes longer than its stream only
  // by the latencies. Lanes of a folded row are not cut apart.
  constexpr int64_t count = 8, least = 32;
  const Positions4 &size = whole.size;
  int dim = whole.leading() > 1 ? whole.leadingDim() : 2;
  if (dim == 2 && size[2] == 1 && !folded)
    dim = 3;
  int64_t inner = 1;
  for (int d = std::max(dim, 1) + 1; d < 4; ++d)
    inner *= size[d];
  const int64_t step =
      std::max<int64_t>({llvm::divideCeilSigned(size[dim], count),
                         llvm::divideCeilSigned(least, inner), 1});
  for (int64_t at = 0; at < size[dim]; at += step) {
    Window piece = whole;
    piece.start[dim] += at;
    piece.size[dim] = std::min(step, size[dim] - at);
    visit(piece, at * inner);
  }
}

} // namespace ashlar::partition
