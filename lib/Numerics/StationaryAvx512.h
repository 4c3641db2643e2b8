// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From stored weights to pairs of rows (GemmPack.h) in one pass of AVX-512:
// what an aligned copy and the packing of it would make, 32 columns at a time.

#ifndef ASHLAR_LIB_NUMERICS_STATIONARYAVX512_H
#define ASHLAR_LIB_NUMERICS_STATIONARYAVX512_H

#include "PairAvx512.h"
#include "SimdAvx512.h"

#include <immintrin.h>

namespace ashlar::numerics {

namespace {
/// Sums of magnitudes and all bits of 16 columns.
struct StationarySums {
  __m512i magnitude = _mm512_setzero_si512(), used = _mm512_setzero_si512();

  void add(__m512i pairs) {
    magnitude =
        Simd512::dot(magnitude, _mm512_abs_epi16(pairs), _mm512_set1_epi16(1));
    used = _mm512_or_si512(used, pairs);
  }
};

/// The rows of a stored matrix, 32 columns of them, pair by pair.
class StationaryRows {
public:
  StationaryRows(const StoredMatrix &values, size_t column, size_t row,
                 __mmask32 mask)
      : values(values), column(column), row(row), mask(mask),
        constants(constantsOf(values.scale, values.mantissa, values.range)) {
    const size_t group = row < values.firstRows
                             ? 0
                             : 1 + (row - values.firstRows) / values.groupRows;
    nextGroup = values.firstRows + group * values.groupRows;
    cells = values.cells + static_cast<ptrdiff_t>(group) * values.cellPitch +
            column;
    startGroup();
  }

  /// The next row as aligned integers; masked columns are zero.
  __m512i next() {
    if (row == nextGroup) {
      nextGroup += values.groupRows;
      cells += values.cellPitch;
      startGroup();
    }
    const int8_t *mant =
        values.mant + static_cast<ptrdiff_t>(row++) * values.pitch + column;
    __m512i m = values.mantissa == 8 ? fetchLanes<false>(mant, mask, constants)
                                     : fetchLanes<true>(mant, mask, constants);
    if (rounds)
      m = roundLanes(m, shifts);
    return _mm512_sllv_epi16(m, shifts.left);
  }

private:
  void startGroup() {
    shifts = shiftsOf(
        _mm512_cvtepi8_epi16(_mm256_maskz_loadu_epi8(mask, cells)), constants);
    rounds = _mm512_mask_test_epi16_mask(mask, shifts.over, shifts.over) != 0;
  }

  const StoredMatrix &values;
  const size_t column;
  size_t row, nextGroup;
  const __mmask32 mask;
  const AlignConstants constants;
  const int8_t *cells;
  AlignShifts shifts;
  bool rounds;
};
} // namespace

/// Where a column group of a block lies, and its bounds.
struct StationaryGroup {
  int32_t *to;
  GroupBounds *bounds;
  size_t pairs;
};

/// The bounds of one column group, whose values lose the zero bits that all of
/// them have below.
static inline void finishGroup(const StationaryGroup &group, __m256i magnitude,
                               __m256i used) {
  const __m256i halves = _mm256_or_si256(used, _mm256_srli_epi32(used, 16));
  const auto all = static_cast<uint32_t>(
      _mm512_mask_reduce_or_epi32(0xff, _mm512_castsi256_si512(halves)) &
      0xffff);
  const uint32_t shift =
      all == 0 ? 0 : static_cast<uint32_t>(__builtin_ctz(all));
  const auto norm = static_cast<uint32_t>(
      _mm512_mask_reduce_max_epi32(0xff, _mm512_castsi256_si512(magnitude)));
  *group.bounds = {norm >> shift, shift};
  const __m128i places = _mm_cvtsi32_si128(static_cast<int>(shift));
  auto *lines = reinterpret_cast<__m256i *>(group.to);
  for (size_t k = 0; shift != 0 && k < group.pairs; ++k)
    _mm256_storeu_si256(
        lines + k, _mm256_sra_epi16(_mm256_loadu_si256(lines + k), places));
}

/// Columns [column, column + 32) of a row block; those from `cols` on are zero.
static inline void packStationaryColumns(const StoredMatrix &values,
                                         const PairLayout &layout, size_t block,
                                         size_t column, size_t cols) {
  const size_t pairs = least(kBlockPairs, layout.pairs - block);
  const size_t first = column / layout.columns;
  const size_t groups = least(size_t(4), layout.groups - first);
  const __m512i indices[2] = {_mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11),
                              _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15)};
  StationaryRows rows(values, column, 2 * block, lanes32(cols - column));
  StationarySums sums[2];
  auto *to =
      reinterpret_cast<__m256i *>(layout.group(block, 0)) + first * pairs;
  for (size_t k = 0; k < pairs; ++k) {
    const __m512i a = rows.next();
    const __m512i b = 2 * (block + k) + 1 < layout.rows
                          ? rows.next()
                          : _mm512_setzero_si512();
    const __m512i low = _mm512_unpacklo_epi16(a, b);
    const __m512i high = _mm512_unpackhi_epi16(a, b);
#pragma GCC unroll 2
    for (size_t half = 0; half < 2; ++half) {
      const __m512i line = _mm512_permutex2var_epi64(low, indices[half], high);
      sums[half].add(line);
      if (2 * half < groups)
        _mm256_storeu_si256(to + 2 * half * pairs + k,
                            _mm512_castsi512_si256(line));
      if (2 * half + 1 < groups)
        _mm256_storeu_si256(to + (2 * half + 1) * pairs + k,
                            _mm512_extracti64x4_epi64(line, 1));
    }
  }
  for (size_t g = 0; g < groups; ++g) {
    const StationarySums &own = sums[g / 2];
    const StationaryGroup group = {reinterpret_cast<int32_t *>(to + g * pairs),
                                   layout.bounds(block, 0) + first + g, pairs};
    finishGroup(group,
                g % 2 ? _mm512_extracti64x4_epi64(own.magnitude, 1)
                      : _mm512_castsi512_si256(own.magnitude),
                g % 2 ? _mm512_extracti64x4_epi64(own.used, 1)
                      : _mm512_castsi512_si256(own.used));
  }
}

/// KernelTable::packStoredStationary.
static inline bool packStoredStationary512(const StoredMatrix &values,
                                           size_t rows, size_t cols,
                                           PackedStationary &out) {
  const int offset = values.scale + values.mantissa - 2;
  const int8_t *cells = values.cells;
  for (size_t row = 0; row < rows; cells += values.cellPitch) {
    if (anyAbove(cells, cols, offset))
      return false;
    row += row == 0 ? values.firstRows : values.groupRows;
  }
  out.rows = rows;
  out.cols = cols;
  out.width = OperandWidth::Int16;
  out.planes = 1;
  out.reserve(PairLayout(out, Simd512::kColumns).size());
  const PairLayout layout(out, Simd512::kColumns);
  for (size_t block = 0; block < layout.pairs; block += kBlockPairs)
    for (size_t column = 0; column < cols; column += 32)
      packStationaryColumns(values, layout, block, column, cols);
  return true;
}

} // namespace ashlar::numerics

#endif // ASHLAR_LIB_NUMERICS_STATIONARYAVX512_H
