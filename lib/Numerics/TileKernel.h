// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sums of shifted rows, the work of a unit of the sparse cluster: coefficients
// in pairs, one multiply-add instruction for two of them and a lane of steps.
// Simd supplies the vectors of one instruction set.

#ifndef ASHLAR_LIB_NUMERICS_TILEKERNEL_H
#define ASHLAR_LIB_NUMERICS_TILEKERNEL_H

#include "RowKernels.h"

namespace ashlar::numerics {

/// R rows from `first` on, elements [x, x + kSpan) of each, which may reach
/// beyond the last column: as far as TileTaps allows reading.
template <typename Simd, size_t R>
static void sweepRows(const int16_t *first, const TileTaps &taps,
                      const TileShape &shape, size_t x, int64_t *sums) {
  typename Simd::Vec low[R], high[R];
#pragma GCC unroll 8
  for (size_t r = 0; r < R; ++r)
    low[r] = high[r] = Simd::zero();
  for (size_t k = 0; k < taps.pairs; ++k) {
    const typename Simd::Vec weight =
        Simd::broadcast(static_cast<int32_t>(taps.values[k]));
    const int16_t *even = first + taps.elements[2 * k] + x;
    const int16_t *odd = first + taps.elements[2 * k + 1] + x;
#pragma GCC unroll 8
    for (size_t r = 0; r < R; ++r) {
      const typename Simd::Vec a = Simd::loadShorts(even + r * shape.line);
      const typename Simd::Vec b = Simd::loadShorts(odd + r * shape.line);
      low[r] = Simd::dot(low[r], Simd::pairLow(a, b), weight);
      high[r] = Simd::dot(high[r], Simd::pairHigh(a, b), weight);
    }
  }
  const size_t count = least(Simd::kSpan, shape.cols - x);
#pragma GCC unroll 8
  for (size_t r = 0; r < R; ++r)
    Simd::widenPairs(low[r], high[r], taps.shift, count,
                     sums + r * shape.sumLine + x);
}

/// Elements [x, x + kSpan) of all lines of an image.
template <typename Simd>
static void sweepImage(const int16_t *image, const TileTaps &taps,
                       const TileShape &shape, size_t x, int64_t *sums) {
  constexpr size_t rows = Simd::kSweepRows;
  size_t y = 0;
  for (; y + rows <= shape.rows; y += rows)
    sweepRows<Simd, rows>(image + y * shape.line, taps, shape, x,
                          sums + y * shape.sumLine);
  for (; y < shape.rows; ++y)
    sweepRows<Simd, 1>(image + y * shape.line, taps, shape, x,
                       sums + y * shape.sumLine);
}

/// KernelTable::sweepTile; Narrow where its vectors suffice.
template <typename Wide, typename Narrow>
static void sweepTile(const int16_t *slots, const TileTaps &taps,
                      const TileShape &shape, int64_t *sums) {
  for (size_t n = 0; n < shape.images; ++n)
    for (size_t x = 0; x < shape.cols; x += Wide::kSpan) {
      const int16_t *image = slots + n * shape.image;
      int64_t *to = sums + n * shape.sumImage;
      if (shape.cols - x <= Narrow::kSpan)
        sweepImage<Narrow>(image, taps, shape, x, to);
      else
        sweepImage<Wide>(image, taps, shape, x, to);
    }
}

} // namespace ashlar::numerics

#endif // ASHLAR_LIB_NUMERICS_TILEKERNEL_H
