// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From stored mantissas to pairs of rows (GemmPack.h) in one pass of AVX-512.

#ifndef ASHLAR_LIB_NUMERICS_PAIRAVX512_H
#define ASHLAR_LIB_NUMERICS_PAIRAVX512_H

#include "AlignAvx512.h"
#include "GemmPack.h"

#include <immintrin.h>

namespace ashlar::numerics {

/// 32 steps of one row as aligned integers; masked ones are zero.
template <bool Narrow, bool Rounds>
ASHLAR_INLINE __m512i alignedLanes(const int8_t *mant, __mmask32 mask,
                                   const AlignConstants &k,
                                   const AlignShifts &shifts) {
  __m512i m = fetchLanes<Narrow>(mant, mask, k);
  if constexpr (Rounds)
    m = roundLanes(m, shifts);
  return _mm512_sllv_epi16(m, shifts.left);
}

/// 32 steps of all rows; the second half of them go `secondGroup` words
/// further, or nowhere if that is 0.
template <bool Narrow, bool Rounds>
static void pairColumn(PitchedRows<const int8_t> mant, size_t rows,
                       __mmask32 mask, const AlignConstants &k,
                       const AlignShifts &shifts, uint32_t *out,
                       size_t secondGroup) {
  const __m512i first = _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11);
  const __m512i second = _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15);
  for (size_t i = 0; i < rows;
       i += 2, mant.first += 2 * mant.pitch, out += kStepGroup) {
    const __m512i a = alignedLanes<Narrow, Rounds>(mant.first, mask, k, shifts);
    const __m512i b =
        i + 1 < rows ? alignedLanes<Narrow, Rounds>(mant.first + mant.pitch,
                                                    mask, k, shifts)
                     : _mm512_setzero_si512();
    const __m512i low = _mm512_unpacklo_epi16(a, b);
    const __m512i high = _mm512_unpackhi_epi16(a, b);
    _mm512_store_si512(out, _mm512_permutex2var_epi64(low, first, high));
    if (secondGroup)
      _mm512_store_si512(out + secondGroup,
                         _mm512_permutex2var_epi64(low, second, high));
  }
}

template <bool Narrow>
static void pairStored(const StoredRows &rows, const MovingRange &range,
                       PackedMoving &out) {
  const AlignConstants k = constantsOf(rows.alignment);
  const size_t stepStride = pairStride(out);
  uint32_t *to = pairsAt(out, range.first) + range.row / 2 * kStepGroup;
  for (size_t t = 0; t < range.steps; t += 32, to += 2 * stepStride) {
    const __mmask32 mask = rows.valid[t / 32] & lanes32(range.steps - t);
    const AlignShifts shifts = shiftsOf(
        _mm512_cvtepi8_epi16(_mm256_maskz_loadu_epi8(mask, rows.cells + t)), k);
    const size_t second = t + kStepGroup < range.steps ? stepStride : 0;
    // Most ranges drop no bit: then a shift is all.
    if (_mm512_mask_test_epi16_mask(mask, shifts.over, shifts.over))
      pairColumn<Narrow, true>({rows.mant + t, rows.pitch}, range.rows, mask, k,
                               shifts, to, second);
    else
      pairColumn<Narrow, false>({rows.mant + t, rows.pitch}, range.rows, mask,
                                k, shifts, to, second);
  }
}

/// KernelTable::packStored.
static inline void packStoredPairs512(const StoredRows &rows,
                                      const MovingRange &range,
                                      PackedMoving &out, uint64_t *saturated) {
  if (anyValidAbove(rows, range.steps))
    packStoredPairs<alignGroup8To16Lanes>(rows, range, out, saturated);
  else if (rows.alignment.mantissa == 8)
    pairStored<false>(rows, range, out);
  else
    pairStored<true>(rows, range, out);
}

} // namespace ashlar::numerics

#endif // ASHLAR_LIB_NUMERICS_PAIRAVX512_H
