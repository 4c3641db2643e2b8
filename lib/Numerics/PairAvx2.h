// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From stored mantissas to pairs of rows (GemmPack.h) in one pass of AVX2.

#ifndef ASHLAR_LIB_NUMERICS_PAIRAVX2_H
#define ASHLAR_LIB_NUMERICS_PAIRAVX2_H

#include "AlignAvx2.h"
#include "GemmPack.h"

namespace ashlar::numerics {

// Internal linkage, as in RowKernels.h.
namespace { // NOLINT(misc-anonymous-namespace-in-header)
/// Which of 16 steps are read: those from the first to the last that is valid,
/// which lie in the memory one and all.
struct ValidSteps {
  explicit ValidSteps(uint32_t bits) {
    first = bits ? static_cast<size_t>(__builtin_ctz(bits)) : 0;
    count = bits ? 32 - static_cast<size_t>(__builtin_clz(bits)) - first : 0;
    const __m256i places =
        _mm256_setr_epi16(1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048,
                          4096, 8192, 16384, static_cast<int16_t>(0x8000));
    mask = _mm256_cmpeq_epi16(
        _mm256_and_si256(_mm256_set1_epi16(static_cast<int16_t>(bits)), places),
        places);
    // Every byte `first` places up; an index with the highest bit gives zero.
    const __m128i indices =
        _mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    shuffle = _mm_sub_epi8(indices, _mm_set1_epi8(static_cast<char>(first)));
  }
  __m128i load(const int8_t *from) const {
    return _mm_shuffle_epi8(loadBytes16(from + first, count), shuffle);
  }

  size_t first, count;
  __m256i mask;
  __m128i shuffle;
};
} // namespace

/// 16 steps of all rows; without All, those that are not valid are zero.
template <bool All, bool Rounds>
static void pairGroup(PitchedRows<const int8_t> mant, size_t rows,
                      const ValidSteps &valid, const AlignConstants &k,
                      const AlignShifts &shifts, uint32_t *out) {
  const auto aligned = [&](const int8_t *row) {
    if constexpr (All)
      return alignedLanes<Rounds>(
          _mm_loadu_si128(reinterpret_cast<const __m128i *>(row)), k, shifts);
    return _mm256_and_si256(alignedLanes<Rounds>(valid.load(row), k, shifts),
                            valid.mask);
  };
  for (size_t i = 0; i < rows;
       i += 2, mant.first += 2 * mant.pitch, out += kStepGroup) {
    const __m256i a = aligned(mant.first);
    const __m256i b = i + 1 < rows ? aligned(mant.first + mant.pitch)
                                   : _mm256_setzero_si256();
    const __m256i low = _mm256_unpacklo_epi16(a, b);
    const __m256i high = _mm256_unpackhi_epi16(a, b);
    auto *to = reinterpret_cast<__m256i *>(out);
    _mm256_storeu_si256(to, _mm256_permute2x128_si256(low, high, 0x20));
    _mm256_storeu_si256(to + 1, _mm256_permute2x128_si256(low, high, 0x31));
  }
}

/// 16 steps of all rows, with what they need.
static inline void pairColumns(PitchedRows<const int8_t> mant, size_t rows,
                               uint32_t bits, const ValidSteps &valid,
                               const AlignConstants &k,
                               const AlignShifts &shifts, uint32_t *out) {
  const bool all = bits == 0xffff;
  if (all && !shifts.rounds)
    pairGroup<true, false>(mant, rows, valid, k, shifts, out);
  else if (all)
    pairGroup<true, true>(mant, rows, valid, k, shifts, out);
  else if (shifts.rounds)
    pairGroup<false, true>(mant, rows, valid, k, shifts, out);
  else
    pairGroup<false, false>(mant, rows, valid, k, shifts, out);
}

/// KernelTable::packStored.
static inline void packStoredPairs256(const StoredRows &rows,
                                      const MovingRange &range,
                                      PackedMoving &out, uint64_t *saturated) {
  const AlignConstants k = constantsOf(rows.alignment);
  const __m256i highest = _mm256_set1_epi16(static_cast<int16_t>(greatest(
      least(rows.alignment.scale + rows.alignment.mantissa - 2, 2000), -2000)));
  uint32_t *to = pairsAt(out, range.first) + range.row / 2 * kStepGroup;
  for (size_t t = 0; t < range.steps; t += kStepGroup, to += pairStride(out)) {
    const size_t steps = least(kStepGroup, range.steps - t);
    const uint32_t bits =
        rows.valid[t / 32] >> (t % 32) & ((uint32_t(1) << steps) - 1);
    const ValidSteps valid(bits);
    const __m128i cells = valid.load(rows.cells + t);
    if (_mm256_testz_si256(
            _mm256_cmpgt_epi16(_mm256_cvtepi8_epi16(cells), highest),
            valid.mask)) {
      pairColumns({rows.mant + t, rows.pitch}, range.rows, bits, valid, k,
                  shiftsOf(cells, k), to);
      continue;
    }
    // Something may saturate, which counts.
    StoredRows part = rows;
    part.mant += t;
    part.cells += t;
    part.valid = &bits;
    packStoredPairs<alignGroupColumns>(
        part, {range.row, range.rows, range.first + t, steps}, out, saturated);
  }
}

} // namespace ashlar::numerics

#endif // ASHLAR_LIB_NUMERICS_PAIRAVX2_H
