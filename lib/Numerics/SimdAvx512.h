// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The vectors of AVX-512 (F, BW, DQ, VL) for the product of pairs and the rows
// of tiles. ASHLAR_VNNI says whether the dot product is one instruction.

#ifndef ASHLAR_LIB_NUMERICS_SIMDAVX512_H
#define ASHLAR_LIB_NUMERICS_SIMDAVX512_H

#include "RowKernels.h"

#include <immintrin.h>

namespace ashlar::numerics {

// Internal linkage, as in RowKernels.h.
namespace { // NOLINT(misc-anonymous-namespace-in-header)
struct Simd512 {
  using Vec = __m512i;
  static constexpr size_t kLanes = 16;
  static constexpr size_t kVectors = 2;
  static constexpr size_t kColumns = 8;
  static constexpr size_t kTile = kLanes * kVectors;
  ASHLAR_INLINE Vec zero() { return _mm512_setzero_si512(); }
  ASHLAR_INLINE Vec load(const uint32_t *from) {
    return _mm512_loadu_si512(from);
  }
  ASHLAR_INLINE Vec broadcast(int32_t value) {
    return _mm512_set1_epi32(value);
  }
  ASHLAR_INLINE Vec dot(Vec acc, Vec a, Vec b) {
#if ASHLAR_VNNI
    return _mm512_dpwssd_epi32(acc, a, b);
#else
    return _mm512_add_epi32(acc, _mm512_madd_epi16(a, b));
#endif
  }
#if ASHLAR_VNNI
  // Operands in blocks (Blocks/Layout.h).
  static constexpr bool kBytes = true;
  ASHLAR_INLINE Vec dotBytes(Vec acc, Vec a, Vec b) {
    return _mm512_dpbusd_epi32(acc, a, b);
  }
  /// Bytes, each with `more` added: in bytes, so that compilers do not add it
  /// to what addShifted() broadcasts from memory.
  ASHLAR_INLINE Vec loadPlaces(const uint8_t *from, int more) {
    return _mm512_cvtepu8_epi32(
        _mm_add_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i *>(from)),
                     _mm_set1_epi8(static_cast<char>(more))));
  }
  /// Of the lanes below `limit`; past all bits for others.
  ASHLAR_INLINE Vec placesBelow(Vec v, int limit) {
    return _mm512_mask_mov_epi32(
        _mm512_set1_epi32(64),
        _mm512_cmplt_epi32_mask(v, _mm512_set1_epi32(limit)), v);
  }
  /// Of the lanes from `limit` on, without `less`; past all bits for others.
  ASHLAR_INLINE Vec placesFrom(Vec v, int limit, int less) {
    return _mm512_mask_sub_epi32(
        _mm512_set1_epi32(64),
        _mm512_cmpge_epi32_mask(v, _mm512_set1_epi32(limit)), v,
        _mm512_set1_epi32(less));
  }
  /// acc + v * 2^(places + more).
  ASHLAR_INLINE Vec addShifted(Vec acc, Vec v, Vec places, Vec more) {
    return _mm512_add_epi32(
        acc, _mm512_sllv_epi32(v, _mm512_add_epi32(places, more)));
  }
#else
  static constexpr bool kBytes = false;
#endif
  ASHLAR_INLINE Vec lowBytes(Vec v) {
    return _mm512_and_si512(v, _mm512_set1_epi16(0xff));
  }
  ASHLAR_INLINE Vec highBytes(Vec v) { return _mm512_srai_epi16(v, 8); }
  /// acc[t] (+)= v[t] * 2^shift for t < count; sums wrap.
  ASHLAR_INLINE void widenInto(Vec v, int shift, size_t count, bool add,
                               int64_t *acc) {
    const __m128i places = _mm_cvtsi32_si128(shift);
    __m512i low = _mm512_sll_epi64(
        _mm512_cvtepi32_epi64(_mm512_castsi512_si256(v)), places);
    __m512i high = _mm512_sll_epi64(
        _mm512_cvtepi32_epi64(_mm512_extracti64x4_epi64(v, 1)), places);
    const uint32_t lanes = (uint32_t(1) << count) - 1;
    const auto first = static_cast<__mmask8>(lanes),
               second = static_cast<__mmask8>(lanes >> 8);
    if (add) {
      low = _mm512_add_epi64(low, _mm512_maskz_loadu_epi64(first, acc));
      high = _mm512_add_epi64(high, _mm512_maskz_loadu_epi64(second, acc + 8));
    }
    _mm512_mask_storeu_epi64(acc, first, low);
    _mm512_mask_storeu_epi64(acc + 8, second, high);
  }
  // The rows of a tile (TileKernel.h).
  static constexpr size_t kSpan = 2 * kLanes;
  static constexpr size_t kSweepRows = 4;
  ASHLAR_INLINE Vec loadShorts(const int16_t *from) {
    return _mm512_loadu_si512(from);
  }
  ASHLAR_INLINE Vec pairLow(Vec a, Vec b) {
    return _mm512_unpacklo_epi16(a, b);
  }
  ASHLAR_INLINE Vec pairHigh(Vec a, Vec b) {
    return _mm512_unpackhi_epi16(a, b);
  }
  /// acc[t] += what the lanes of pairLow and pairHigh have become.
  ASHLAR_INLINE void widenPairs(Vec low, Vec high, int shift, size_t count,
                                int64_t *acc) {
    const Vec first = _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11);
    const Vec second = _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15);
    widenInto(_mm512_permutex2var_epi64(low, first, high), shift,
              least(count, kLanes), true, acc);
    if (count > kLanes)
      widenInto(_mm512_permutex2var_epi64(low, second, high), shift,
                count - kLanes, true, acc + kLanes);
  }
};
} // namespace

} // namespace ashlar::numerics

#endif // ASHLAR_LIB_NUMERICS_SIMDAVX512_H
