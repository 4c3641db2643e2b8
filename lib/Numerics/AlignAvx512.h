// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The alignment of one-byte mantissas in 16-bit lanes (AVX-512 BW): the step
// that feeds every matrix product. Same formula as alignBelow in RowKernels.h.

#ifndef ASHLAR_LIB_NUMERICS_ALIGNAVX512_H
#define ASHLAR_LIB_NUMERICS_ALIGNAVX512_H

#include "RowKernels.h"

#include <immintrin.h>

namespace ashlar::numerics {

/// Loop-invariant vectors of one row.
struct AlignConstants {
  __m128i drop;
  __m512i least, offset, range;
};

ASHLAR_INLINE __m512i alignLanes(__m512i stored, __m512i cells,
                                 const AlignConstants &k) {
  const __m512i zero = _mm512_setzero_si512(), one = _mm512_set1_epi16(1);
  __m512i m = _mm512_sra_epi16(_mm512_sll_epi16(stored, k.drop), k.drop);
  m = _mm512_max_epi16(m, k.least);
  __m512i distance =
      _mm512_sub_epi16(_mm512_sub_epi16(k.offset, cells), k.range);
  // |m| < 2^7: everything is gone after 9 places, and 15 keeps shifts legal.
  __m512i over =
      _mm512_min_epi16(_mm512_max_epi16(distance, zero), _mm512_set1_epi16(15));
  __m512i left = _mm512_max_epi16(_mm512_sub_epi16(zero, distance), zero);
  __m512i odd =
      _mm512_and_si512(_mm512_srav_epi16(m, over), _mm512_min_epi16(over, one));
  __m512i bias =
      _mm512_srli_epi16(_mm512_sub_epi16(_mm512_sllv_epi16(one, over), one), 1);
  __m512i rounded =
      _mm512_srav_epi16(_mm512_add_epi16(m, _mm512_add_epi16(bias, odd)), over);
  return _mm512_sllv_epi16(rounded, left);
}

static inline void align8To16Lanes(const int8_t *mant, const int8_t *cells,
                                   size_t n, int scale, int mantissa, int range,
                                   int16_t *out, uint64_t *saturated) {
  int offset = scale + mantissa - 2;
  if (maxCell(cells, n) > offset) {
    alignRow(mant, cells, n, scale, mantissa, range, out, saturated);
    return;
  }
  AlignConstants k;
  k.drop = _mm_cvtsi32_si128(16 - mantissa);
  k.least = _mm512_set1_epi16(
      static_cast<int16_t>(1 - (int32_t(1) << (mantissa - 1))));
  // Past 2000 octaves nothing is left; the limit keeps 16-bit lanes exact.
  k.offset = _mm512_set1_epi16(static_cast<int16_t>(least(offset, 2000)));
  k.range = _mm512_set1_epi16(static_cast<int16_t>(range));
  for (size_t t = 0; t < n; t += 32) {
    __mmask32 mask = n - t >= 32 ? ~0u : (uint32_t(1) << (n - t)) - 1;
    __m512i m = _mm512_cvtepi8_epi16(_mm256_maskz_loadu_epi8(mask, mant + t));
    __m512i c = _mm512_cvtepi8_epi16(_mm256_maskz_loadu_epi8(mask, cells + t));
    _mm512_mask_storeu_epi16(out + t, mask, alignLanes(m, c, k));
  }
}

/// The table of an AVX-512 set.
static constexpr KernelTable
makeTable512(llvm::StringRef name, decltype(KernelTable::packStationary) pack,
             decltype(KernelTable::gemm) gemm) {
  KernelTable table = makeTable(name, pack, gemm);
  table.align8To16 = align8To16Lanes;
  return table;
}

} // namespace ashlar::numerics

#endif // ASHLAR_LIB_NUMERICS_ALIGNAVX512_H
