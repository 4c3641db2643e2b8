// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The alignment of one-byte mantissas in 16-bit lanes (AVX-512 BW): the step
// that feeds every matrix product. Same formula as alignBelow in RowKernels.h.

#ifndef ASHLAR_LIB_NUMERICS_ALIGNAVX512_H
#define ASHLAR_LIB_NUMERICS_ALIGNAVX512_H

#include "RowsAvx512.h"
#include "WindowMaximaAvx512.h"

#include <immintrin.h>

namespace ashlar::numerics {

// Internal linkage, as in RowKernels.h.
namespace { // NOLINT(misc-anonymous-namespace-in-header)
/// Constants of one operand.
struct AlignConstants {
  __m128i drop;
  __m512i least, offset, range;
};

/// What the cells of 32 steps do to every row that shares them.
struct AlignShifts {
  __m512i left, over, bias;
};
} // namespace

/// The first `count` of 32 or 64 lanes; all of them from there on.
ASHLAR_INLINE __mmask32 lanes32(size_t count) {
  return count >= 32 ? ~0u : (uint32_t(1) << count) - 1;
}
ASHLAR_INLINE __mmask64 lanes64(size_t count) {
  return count >= 64 ? ~uint64_t(0) : (uint64_t(1) << count) - 1;
}

/// True if any cell lies above `offset`: something may saturate.
static inline bool anyAbove(const int8_t *cells, size_t n, int offset) {
  if (offset >= 127)
    return false;
  if (offset < -128)
    return n != 0;
  const __m512i limit = _mm512_set1_epi8(static_cast<char>(offset));
  __mmask64 above = 0;
  for (size_t t = 0; t < n; t += 64) {
    __mmask64 mask = lanes64(n - t);
    above |= _mm512_mask_cmpgt_epi8_mask(
        mask, _mm512_maskz_loadu_epi8(mask, cells + t), limit);
  }
  return above != 0;
}

ASHLAR_INLINE AlignConstants constantsOf(Alignment alignment) {
  const auto [scale, mantissa, range] = alignment;
  AlignConstants k;
  k.drop = _mm_cvtsi32_si128(16 - mantissa);
  k.least = _mm512_set1_epi16(
      static_cast<int16_t>(1 - (int32_t(1) << (mantissa - 1))));
  // Past 2000 octaves nothing is left; the limit keeps 16-bit lanes exact.
  k.offset = _mm512_set1_epi16(
      static_cast<int16_t>(least(scale + mantissa - 2, 2000)));
  k.range = _mm512_set1_epi16(static_cast<int16_t>(range));
  return k;
}

ASHLAR_INLINE AlignShifts shiftsOf(__m512i cells, const AlignConstants &k) {
  const __m512i zero = _mm512_setzero_si512(), one = _mm512_set1_epi16(1);
  __m512i distance =
      _mm512_sub_epi16(_mm512_sub_epi16(k.offset, cells), k.range);
  AlignShifts shifts;
  // |m| < 2^7: everything is gone after 9 places, and 15 keeps shifts legal.
  shifts.over =
      _mm512_min_epi16(_mm512_max_epi16(distance, zero), _mm512_set1_epi16(15));
  shifts.left = _mm512_max_epi16(_mm512_sub_epi16(zero, distance), zero);
  shifts.bias = _mm512_srli_epi16(
      _mm512_sub_epi16(_mm512_sllv_epi16(one, shifts.over), one), 1);
  return shifts;
}

template <bool Narrow>
ASHLAR_INLINE __m512i fetchLanes(const int8_t *mant, __mmask32 mask,
                                 const AlignConstants &k) {
  __m512i m = _mm512_cvtepi8_epi16(_mm256_maskz_loadu_epi8(mask, mant));
  if constexpr (Narrow)
    m = _mm512_sra_epi16(_mm512_sll_epi16(m, k.drop), k.drop);
  return _mm512_max_epi16(m, k.least);
}

ASHLAR_INLINE __m512i roundLanes(__m512i m, const AlignShifts &shifts) {
  const __m512i one = _mm512_set1_epi16(1);
  __m512i odd = _mm512_and_si512(_mm512_srav_epi16(m, shifts.over),
                                 _mm512_min_epi16(shifts.over, one));
  __m512i sum = _mm512_add_epi16(m, _mm512_add_epi16(shifts.bias, odd));
  return _mm512_srav_epi16(sum, shifts.over);
}

/// 32 steps of all rows. Most ranges drop no bit: then a shift is all.
template <bool Narrow>
ASHLAR_INLINE void
alignColumn(PitchedRows<const int8_t> mant, size_t rows, __m512i cells,
            __mmask32 mask, const AlignConstants &k, PitchedRows<int16_t> out) {
  AlignShifts shifts = shiftsOf(cells, k);
  const bool rounds =
      _mm512_mask_test_epi16_mask(mask, shifts.over, shifts.over) != 0;
  for (size_t i = 0; i < rows;
       ++i, mant.first += mant.pitch, out.first += out.pitch) {
    __m512i m = fetchLanes<Narrow>(mant.first, mask, k);
    if (rounds)
      m = roundLanes(m, shifts);
    _mm512_mask_storeu_epi16(out.first, mask,
                             _mm512_sllv_epi16(m, shifts.left));
  }
}

static inline void alignGroup8To16Lanes(PitchedRows<const int8_t> mant,
                                        size_t rows, const int8_t *cells,
                                        size_t n, Alignment alignment,
                                        PitchedRows<int16_t> out,
                                        uint64_t *saturated) {
  if (anyAbove(cells, n, alignment.scale + alignment.mantissa - 2)) {
    alignGroup(mant, rows, cells, n, alignment, out, saturated);
    return;
  }
  const AlignConstants k = constantsOf(alignment);
  for (size_t t = 0; t < n; t += 32) {
    __mmask32 mask = lanes32(n - t);
    __m512i c = _mm512_cvtepi8_epi16(_mm256_maskz_loadu_epi8(mask, cells + t));
    if (alignment.mantissa == 8)
      alignColumn<false>(mant.from(t), rows, c, mask, k, out.from(t));
    else
      alignColumn<true>(mant.from(t), rows, c, mask, k, out.from(t));
  }
}

static inline void align8To16Lanes(const int8_t *mant, const int8_t *cells,
                                   size_t n, Alignment alignment, int16_t *out,
                                   uint64_t *saturated) {
  alignGroup8To16Lanes({mant, 0}, 1, cells, n, alignment, {out, 0}, saturated);
}

/// True if any valid step lies above the scale: something may saturate.
static inline bool anyValidAbove(const StoredRows &rows, size_t steps) {
  const int offset = rows.alignment.scale + rows.alignment.mantissa - 2;
  for (size_t t = 0; t < steps; t += 32) {
    const uint32_t valid = rows.valid[t / 32] & lanes32(steps - t);
    const __m256i cells = _mm256_maskz_loadu_epi8(valid, rows.cells + t);
    const __m256i limit =
        _mm256_set1_epi8(static_cast<char>(least(greatest(offset, -128), 127)));
    // A cell of -128 is above an offset below it.
    if (offset < -128 ? valid != 0
                      : _mm256_mask_cmpgt_epi8_mask(valid, cells, limit) != 0)
      return true;
  }
  return false;
}

/// Every second byte is the low half of a 16-bit lane: convolutions of stride
/// two fetch like this.
static inline void gather8Lanes(const void *src, ptrdiff_t stride, size_t n,
                                void *out) {
  if (stride != 2) {
    gatherRow<uint8_t>(src, stride, n, out);
    return;
  }
  const char *from = static_cast<const char *>(src);
  char *to = static_cast<char *>(out);
  for (size_t t = 0; t < n; t += 32) {
    // The byte after the last element may lie outside the memory.
    __m512i pairs = _mm512_maskz_loadu_epi8(
        lanes64(2 * least(n - t, size_t(64)) - 1), from + 2 * t);
    _mm256_mask_storeu_epi8(to + t, lanes32(n - t),
                            _mm512_cvtepi16_epi8(pairs));
  }
}

/// The even words: pooling of stride two.
static inline void gather32Lanes(const void *src, ptrdiff_t stride, size_t n,
                                 void *out) {
  if (stride != 8) {
    gatherRow<uint32_t>(src, stride, n, out);
    return;
  }
  const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20,
                                         22, 24, 26, 28, 30);
  const char *from = static_cast<const char *>(src);
  char *to = static_cast<char *>(out);
  for (size_t t = 0; t < n; t += 16) {
    // The word after the last one may lie outside the memory.
    const size_t words = 2 * least(n - t, size_t(16)) - 1;
    const __m512i low = _mm512_maskz_loadu_epi32(lanes16(words), from + 8 * t);
    const __m512i high = _mm512_maskz_loadu_epi32(
        lanes16(words > 16 ? words - 16 : 0), from + 8 * t + 64);
    _mm512_mask_storeu_epi32(to + 4 * t, lanes16(n - t),
                             _mm512_permutex2var_epi32(low, even, high));
  }
}

/// acc = combine(acc, in), the last lanes by a mask: rows of a pooling window
/// are a few vectors long.
template <typename Combine>
static void combineLanes(const float *in, size_t n, float *acc,
                         Combine combine) {
  for (size_t t = 0; t < n; t += 16) {
    const __mmask16 mask = lanes16(n - t);
    _mm512_mask_storeu_ps(acc + t, mask,
                          combine(_mm512_maskz_loadu_ps(mask, acc + t),
                                  _mm512_maskz_loadu_ps(mask, in + t)));
  }
}

/// The instruction for the larger one gives the second of equal values, as
/// reduceStep() does; a NaN wins.
static inline void reduceLanes(Reduction reduction, const float *in, size_t n,
                               float *acc) {
  const __m512 nan = _mm512_castsi512_ps(_mm512_set1_epi32(0x7fc00000));
  switch (reduction) {
  case Reduction::Sum:
  case Reduction::Mean:
    return combineLanes(in, n, acc, [](__m512 x, __m512 y) {
      return canonicalLanes(_mm512_add_ps(x, y));
    });
  case Reduction::Max:
    return combineLanes(in, n, acc, [nan](__m512 x, __m512 y) {
      return _mm512_mask_mov_ps(_mm512_max_ps(x, y),
                                _mm512_cmp_ps_mask(x, y, _CMP_UNORD_Q), nan);
    });
  default:
    return reduceRow(reduction, in, n, acc);
  }
}

/// The table of an AVX-512 set.
template <decltype(KernelTable::gemm) Gemm>
static constexpr KernelTable
makeTable512(llvm::StringRef name, decltype(KernelTable::packStationary) pack) {
  KernelTable table = makeTable<Gemm>(name, pack);
  table.align8To16 = align8To16Lanes;
  table.alignGroup8To16 = alignGroup8To16Lanes;
  table.gather8 = gather8Lanes;
  table.gather32 = gather32Lanes;
  table.packStored = packStoredPlain<alignGroup8To16Lanes>;
  table.epilogue = epilogueLanes<true>;
  table.decode8 = decode8Lanes;
  table.reduceStep = reduceLanes;
  table.windowMaxima8 = windowMaximaLanes<reduceLanes, gather32Lanes>;
  table.encode8 = encodeRowsLanes<int8_t>;
  table.encode16 = encodeRowsLanes<int16_t>;
  table.drain8 = drainRows<epilogueLanes<false>, encodeRowsLanes<int8_t>>;
  return table;
}

} // namespace ashlar::numerics

#endif // ASHLAR_LIB_NUMERICS_ALIGNAVX512_H
