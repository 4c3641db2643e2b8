// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The alignment of one-byte mantissas in 16-bit lanes (AVX2), where no bit is
// dropped: a shift to the left by lanes, which AVX2 has as a product with a
// power of two only. Same formula as alignBelow in RowKernels.h.

#ifndef ASHLAR_LIB_NUMERICS_ALIGNAVX2_H
#define ASHLAR_LIB_NUMERICS_ALIGNAVX2_H

#include "RowKernels.h"

#include <immintrin.h>

namespace ashlar::numerics {

/// Columns that go side by side.
constexpr size_t kAlignColumns = 8;

/// 2^k in lanes of 16 bits, 0 <= k <= 15: a byte of it from each of two tables.
ASHLAR_INLINE __m128i powersOfTwo(__m128i k) {
  const __m128i low =
      _mm_setr_epi8(1, 2, 4, 8, 16, 32, 64, -128, 0, 0, 0, 0, 0, 0, 0, 0);
  const __m128i high =
      _mm_setr_epi8(0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 4, 8, 16, 32, 64, -128);
  return _mm_or_si128(
      _mm_and_si128(_mm_shuffle_epi8(low, k), _mm_set1_epi16(0xff)),
      _mm_slli_epi16(_mm_shuffle_epi8(high, k), 8));
}

/// kAlignColumns columns of all rows; false if one of them drops bits.
ASHLAR_INLINE bool alignColumns(const int8_t *mant, ptrdiff_t mantPitch,
                                size_t rows, const int8_t *cells, int offset,
                                int mantissa, int range, int16_t *out,
                                ptrdiff_t outPitch) {
  const __m128i lowest =
      _mm_set1_epi16(static_cast<int16_t>(1 - (int32_t(1) << (mantissa - 1))));
  const __m128i drop = _mm_cvtsi32_si128(16 - mantissa);
  // range - (offset - cell); the limit keeps 16-bit lanes exact.
  const __m128i left = _mm_add_epi16(
      _mm_set1_epi16(static_cast<int16_t>(range - least(offset, 2000))),
      _mm_cvtepi8_epi16(
          _mm_loadl_epi64(reinterpret_cast<const __m128i *>(cells))));
  if (_mm_movemask_epi8(_mm_cmpgt_epi16(_mm_setzero_si128(), left)) != 0)
    return false;
  const __m128i factors = powersOfTwo(left);
  for (size_t i = 0; i < rows; ++i, mant += mantPitch, out += outPitch) {
    __m128i m = _mm_cvtepi8_epi16(
        _mm_loadl_epi64(reinterpret_cast<const __m128i *>(mant)));
    m = _mm_sra_epi16(_mm_sll_epi16(m, drop), drop);
    _mm_storeu_si128(reinterpret_cast<__m128i *>(out),
                     _mm_mullo_epi16(_mm_max_epi16(m, lowest), factors));
  }
  return true;
}

static inline void alignGroupColumns(const int8_t *mant, ptrdiff_t mantPitch,
                                     size_t rows, const int8_t *cells, size_t n,
                                     int scale, int mantissa, int range,
                                     int16_t *out, ptrdiff_t outPitch,
                                     uint64_t *saturated) {
  const int offset = scale + mantissa - 2;
  if (n < kAlignColumns || maxCell(cells, n) > offset)
    return alignGroup(mant, mantPitch, rows, cells, n, scale, mantissa, range,
                      out, outPitch, saturated);
  for (size_t done = 0; done < n; done += kAlignColumns) {
    // The last columns overlap those before: doing them twice is no harm.
    const size_t t = least(done, n - kAlignColumns);
    if (!alignColumns(mant + t, mantPitch, rows, cells + t, offset, mantissa,
                      range, out + t, outPitch))
      alignGroup(mant + t, mantPitch, rows, cells + t, kAlignColumns, scale,
                 mantissa, range, out + t, outPitch, saturated);
  }
}

static inline void align8To16Columns(const int8_t *mant, const int8_t *cells,
                                     size_t n, int scale, int mantissa,
                                     int range, int16_t *out,
                                     uint64_t *saturated) {
  alignGroupColumns(mant, 0, 1, cells, n, scale, mantissa, range, out, 0,
                    saturated);
}

} // namespace ashlar::numerics

#endif // ASHLAR_LIB_NUMERICS_ALIGNAVX2_H
