// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ashlar/Partition/Windows.h"

#include "gtest/gtest.h"

#include <vector>

namespace ashlar::partition {
namespace {

std::vector<Positions4> sizesOf(const Positions4 &extent, int64_t lanes,
                                int64_t entries) {
  std::vector<Positions4> sizes;
  int64_t positions = 0;
  forEachWindow(extent, lanes, entries, [&](const Window &window) {
    sizes.push_back(window.size);
    positions += window.positions();
    EXPECT_LE(window.positions(), entries);
  });
  EXPECT_EQ(positions, extent[0] * extent[1] * extent[2] * extent[3]);
  return sizes;
}

TEST(WindowsTest, RowsAreSharedEqually) {
  // 18 rows of 28 fit 512 entries: two windows of 14, not 18 and 10.
  EXPECT_EQ(sizesOf({1, 1, 28, 28}, 1, 512),
            (std::vector<Positions4>(2, {1, 1, 14, 28})));
  EXPECT_EQ(sizesOf({1, 1, 55, 55}, 1, 512).back(),
            (Positions4{1, 1, 7, 55})); // after six of 8 rows
}

TEST(WindowsTest, SmallMapsAreJoined) {
  EXPECT_EQ(sizesOf({4, 1, 7, 7}, 1, 100),
            (std::vector<Positions4>(2, {2, 1, 7, 7})));
  EXPECT_EQ(sizesOf({2, 3, 4, 4}, 1, 512),
            (std::vector<Positions4>(2, {1, 3, 4, 4})));
}

TEST(WindowsTest, FoldedRowsEndWithAPixel) {
  // Halves of 300 positions, not a multiple of 8 lanes.
  EXPECT_EQ(windowSize({1, 1, 1, 600}, 8, 512), (Positions4{1, 1, 1, 304}));
  EXPECT_EQ(windowSize({1, 1, 1, 600}, 1, 512), (Positions4{1, 1, 1, 300}));
}

TEST(WindowsTest, PiecesCoverTheirWindow) {
  const Window window{{0, 0, 4, 0}, {1, 1, 14, 28}};
  int64_t next = 0, pieces = 0;
  forEachPiece(window, false, [&](const Window &piece, int64_t first) {
    EXPECT_EQ(first, next);
    EXPECT_EQ(piece.start[2], 4 + first / 28);
    next += piece.positions();
    ++pieces;
  });
  EXPECT_EQ(next, window.positions());
  EXPECT_EQ(pieces, 7); // of two rows: a row is shorter than a drain is worth
}

TEST(WindowsTest, LanesStayTogether) {
  const Window row{{0, 0, 0, 0}, {1, 1, 1, 64}};
  auto count = [&](bool folded) {
    int64_t pieces = 0;
    forEachPiece(row, folded, [&](const Window &, int64_t) { ++pieces; });
    return pieces;
  };
  EXPECT_EQ(count(false), 2);
  EXPECT_EQ(count(true), 1);
}

TEST(WindowsTest, RowsOfReducedResultsHaveTheirSumsAtATime) {
  // Every row of results has its windows' rows, whatever the padding, and no
  // sums take more entries than there are.
  for (int64_t in = 1; in <= 24; ++in)
    for (int64_t kernel = 1; kernel <= 4; ++kernel)
      for (int64_t step = 1; step <= kernel; ++step)
        for (int64_t pad = 0; 2 * pad <= kernel; ++pad) {
          PoolAxis rows;
          rows.in = in, rows.kernel = kernel, rows.step = step, rows.pad = pad;
          rows.out = (in + 2 * pad - kernel) / step + 1;
          if (in + 2 * pad < kernel || pooledRows(rows, 6, 40) == 0)
            continue;
          int64_t next = 0;
          forEachPooledWindow(1, rows, 6, 40, [&](const Window &window) {
            EXPECT_EQ(window.firstResult, next);
            next += window.results;
            EXPECT_LE(window.positions(), 40);
            const int64_t first = window.firstResult * step - pad;
            const int64_t end = (next - 1) * step - pad + kernel;
            EXPECT_LE(window.start[2], std::max<int64_t>(first, 0));
            EXPECT_GE(window.start[2] + window.size[2], std::min(end, in));
          });
          EXPECT_EQ(next, rows.out);
        }
  PoolAxis high;
  high.in = 30, high.out = 10, high.kernel = high.step = 3;
  EXPECT_EQ(pooledRows(high, 20, 59), 0); // three rows of 20 are 60
  EXPECT_EQ(pooledRows(high, 20, 60), 1);
}

} // namespace
} // namespace ashlar::partition
