// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Register-blocked matrix product; see Gemm.h for the order it promises.

#include "Gemm.h"

#include <algorithm>
#include <vector>

namespace {

constexpr int64_t rowBlock = 4;
constexpr int64_t columnBlock = 8;

// One rowBlock x columnBlock tile of the product. `panel` is [k][columnBlock].
// A short last tile repeats its last valid row; the copies are not stored.
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__)
// Wider registers change how many sums run side by side, not their order.
__attribute__((target_clones("avx512f", "avx2", "default")))
#endif
void tileProduct(int64_t k, const double *const *rows, const double *panel,
                 double *result) {
  double acc[rowBlock][columnBlock] = {};
  for (int64_t i = 0; i < k; ++i) {
    const double *line = panel + i * columnBlock;
    for (int64_t r = 0; r < rowBlock; ++r) {
      double a = rows[r][i];
      for (int64_t j = 0; j < columnBlock; ++j)
        acc[r][j] += a * line[j];
    }
  }
  for (int64_t r = 0; r < rowBlock; ++r)
    for (int64_t j = 0; j < columnBlock; ++j)
      result[r * columnBlock + j] = acc[r][j];
}

} // namespace

void ashlar::reference::gemm(const GemmShape &shape, MatrixRows<const double> a,
                             MatrixRows<const double> b, MatrixRows<double> c) {
  const auto [m, n, k] = shape;
  std::vector<double> panel(k * columnBlock);
  double tile[rowBlock * columnBlock];
  for (int64_t n0 = 0; n0 < n; n0 += columnBlock) {
    int64_t columns = std::min(columnBlock, n - n0);
    for (int64_t i = 0; i < k; ++i)
      for (int64_t j = 0; j < columns; ++j)
        panel[i * columnBlock + j] = b.row(i)[n0 + j];
    for (int64_t m0 = 0; m0 < m; m0 += rowBlock) {
      int64_t count = std::min(rowBlock, m - m0);
      const double *rows[rowBlock];
      for (int64_t r = 0; r < rowBlock; ++r)
        rows[r] = a.row(m0 + std::min(r, count - 1));
      tileProduct(k, rows, panel.data(), tile);
      for (int64_t r = 0; r < count; ++r)
        for (int64_t j = 0; j < columns; ++j)
          c.row(m0 + r)[n0 + j] = tile[r * columnBlock + j];
    }
  }
}

void ashlar::reference::gemm(const GemmShape &shape,
                             MatrixRows<const int64_t> a,
                             MatrixRows<const int64_t> b,
                             MatrixRows<int64_t> c) {
  for (int64_t i = 0; i < shape.m; ++i)
    for (int64_t j = 0; j < shape.n; ++j) {
      // Unsigned: wrapping is the defined behaviour of integer tensors.
      uint64_t sum = 0;
      for (int64_t t = 0; t < shape.k; ++t)
        sum += static_cast<uint64_t>(a.row(i)[t]) *
               static_cast<uint64_t>(b.row(t)[j]);
      c.row(i)[j] = static_cast<int64_t>(sum);
    }
}
