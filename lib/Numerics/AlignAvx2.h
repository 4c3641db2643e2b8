// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The alignment of one-byte mantissas in 16-bit lanes (AVX2). A shift that
// differs by lane is a product there: to the left with a power of two, to the
// right the upper half of one. Same formula as alignBelow in RowKernels.h.

#ifndef ASHLAR_LIB_NUMERICS_ALIGNAVX2_H
#define ASHLAR_LIB_NUMERICS_ALIGNAVX2_H

#include "LanesAvx2.h"

namespace ashlar::numerics {

/// Columns that go side by side.
constexpr size_t kAlignColumns = 16;

// Internal linkage, as in RowKernels.h.
namespace { // NOLINT(misc-anonymous-namespace-in-header)
/// Constants of one operand.
struct AlignConstants {
  __m128i drop;
  __m256i least, offset; ///< offset: less the range.
};

/// What the cells of 16 steps do to every row that shares them.
struct AlignShifts {
  __m256i left;  ///< 2^places.
  __m256i right; ///< 2^(9 - places).
  __m256i bias, odd;
  bool rounds; ///< Some lane drops bits.
};
} // namespace

/// 2^k in lanes of 16 bits, 0 <= k <= 15: a byte of it from each of two tables.
ASHLAR_INLINE __m256i powersOfTwo(__m256i k) {
  const __m256i low = _mm256_broadcastsi128_si256(
      _mm_setr_epi8(1, 2, 4, 8, 16, 32, 64, -128, 0, 0, 0, 0, 0, 0, 0, 0));
  const __m256i high = _mm256_broadcastsi128_si256(
      _mm_setr_epi8(0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 4, 8, 16, 32, 64, -128));
  return _mm256_or_si256(
      _mm256_and_si256(_mm256_shuffle_epi8(low, k), _mm256_set1_epi16(0xff)),
      _mm256_slli_epi16(_mm256_shuffle_epi8(high, k), 8));
}

ASHLAR_INLINE AlignConstants constantsOf(Alignment alignment) {
  const auto [scale, mantissa, range] = alignment;
  AlignConstants k;
  k.drop = _mm_cvtsi32_si128(16 - mantissa);
  k.least = _mm256_set1_epi16(
      static_cast<int16_t>(1 - (int32_t(1) << (mantissa - 1))));
  // Past 2000 octaves nothing is left; the limit keeps 16-bit lanes exact.
  k.offset = _mm256_set1_epi16(
      static_cast<int16_t>(least(scale + mantissa - 2, 2000) - range));
  return k;
}

ASHLAR_INLINE AlignShifts shiftsOf(__m128i cells, const AlignConstants &k) {
  const __m256i zero = _mm256_setzero_si256(), one = _mm256_set1_epi16(1);
  const __m256i distance =
      _mm256_sub_epi16(k.offset, _mm256_cvtepi8_epi16(cells));
  // |m| < 2^7: everything has rounded to zero after eight places.
  const __m256i over =
      _mm256_min_epi16(_mm256_max_epi16(distance, zero), _mm256_set1_epi16(8));
  AlignShifts shifts;
  shifts.left =
      powersOfTwo(_mm256_max_epi16(_mm256_sub_epi16(zero, distance), zero));
  shifts.rounds = _mm256_testz_si256(over, over) == 0;
  if (!shifts.rounds)
    return shifts;
  shifts.right = powersOfTwo(_mm256_sub_epi16(_mm256_set1_epi16(9), over));
  shifts.bias = _mm256_srli_epi16(_mm256_sub_epi16(powersOfTwo(over), one), 1);
  shifts.odd = _mm256_and_si256(_mm256_cmpgt_epi16(over, zero), one);
  return shifts;
}

/// 16 mantissas of one row as aligned integers.
template <bool Rounds>
ASHLAR_INLINE __m256i alignedLanes(__m128i mant, const AlignConstants &k,
                                   const AlignShifts &shifts) {
  __m256i m = _mm256_cvtepi8_epi16(mant);
  m = _mm256_sra_epi16(_mm256_sll_epi16(m, k.drop), k.drop);
  m = _mm256_max_epi16(m, k.least);
  if constexpr (Rounds) {
    // Magnitudes are below 2^8: the upper half of (m * 2^7) * 2^(9 - s) is
    // m / 2^s, rounded down.
    const __m256i floor =
        _mm256_mulhi_epi16(_mm256_slli_epi16(m, 7), shifts.right);
    m = _mm256_add_epi16(_mm256_add_epi16(m, shifts.bias),
                         _mm256_and_si256(floor, shifts.odd));
    m = _mm256_mulhi_epi16(_mm256_slli_epi16(m, 7), shifts.right);
  }
  return _mm256_mullo_epi16(m, shifts.left);
}

/// `count` columns of all rows.
template <bool Rounds>
ASHLAR_INLINE void alignColumns(PitchedRows<const int8_t> mant, size_t rows,
                                size_t count, const AlignConstants &k,
                                const AlignShifts &shifts,
                                PitchedRows<int16_t> out) {
  for (size_t i = 0; i < rows;
       ++i, mant.first += mant.pitch, out.first += out.pitch)
    storeShorts(out.first,
                alignedLanes<Rounds>(loadBytes16(mant.first, count), k, shifts),
                count);
}

static inline void alignGroupColumns(PitchedRows<const int8_t> mant,
                                     size_t rows, const int8_t *cells, size_t n,
                                     Alignment alignment,
                                     PitchedRows<int16_t> out,
                                     uint64_t *saturated) {
  if (maxCell(cells, n) > alignment.scale + alignment.mantissa - 2)
    return alignGroup(mant, rows, cells, n, alignment, out, saturated);
  const AlignConstants k = constantsOf(alignment);
  const size_t width = least(n, kAlignColumns);
  for (size_t done = 0; done < n; done += kAlignColumns) {
    // The last columns overlap those before: doing them twice is no harm.
    const size_t t = least(done, n - width);
    const AlignShifts shifts = shiftsOf(loadBytes16(cells + t, width), k);
    if (shifts.rounds)
      alignColumns<true>(mant.from(t), rows, width, k, shifts, out.from(t));
    else
      alignColumns<false>(mant.from(t), rows, width, k, shifts, out.from(t));
  }
}

static inline void align8To16Columns(const int8_t *mant, const int8_t *cells,
                                     size_t n, Alignment alignment,
                                     int16_t *out, uint64_t *saturated) {
  alignGroupColumns({mant, 0}, 1, cells, n, alignment, {out, 0}, saturated);
}

} // namespace ashlar::numerics

#endif // ASHLAR_LIB_NUMERICS_ALIGNAVX2_H
