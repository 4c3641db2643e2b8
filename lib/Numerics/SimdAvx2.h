// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The vectors of AVX2 for the product of pairs and the rows of tiles.

#ifndef ASHLAR_LIB_NUMERICS_SIMDAVX2_H
#define ASHLAR_LIB_NUMERICS_SIMDAVX2_H

#include "RowKernels.h"

#include <immintrin.h>

namespace ashlar::numerics {

// Internal linkage, as in RowKernels.h.
namespace { // NOLINT(misc-anonymous-namespace-in-header)
struct Simd256 {
  using Vec = __m256i;
  static constexpr size_t kLanes = 8;
  static constexpr size_t kVectors = 2;
  static constexpr size_t kColumns = 4;
  static constexpr bool kBytes = false; ///< No operands in blocks.
  static constexpr size_t kTile = kLanes * kVectors;
  ASHLAR_INLINE Vec zero() { return _mm256_setzero_si256(); }
  ASHLAR_INLINE Vec load(const uint32_t *from) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i *>(from));
  }
  ASHLAR_INLINE Vec broadcast(int32_t value) {
    return _mm256_set1_epi32(value);
  }
  ASHLAR_INLINE Vec dot(Vec acc, Vec a, Vec b) {
    return _mm256_add_epi32(acc, _mm256_madd_epi16(a, b));
  }
  ASHLAR_INLINE Vec lowBytes(Vec v) {
    return _mm256_and_si256(v, _mm256_set1_epi16(0xff));
  }
  ASHLAR_INLINE Vec highBytes(Vec v) { return _mm256_srai_epi16(v, 8); }
  /// acc[t] (+)= v[t] * 2^shift for t < count; sums wrap.
  ASHLAR_INLINE void widenInto(Vec v, int shift, size_t count, bool add,
                               int64_t *acc) {
    const __m128i places = _mm_cvtsi32_si128(shift);
    const __m256i half[2] = {
        _mm256_sll_epi64(_mm256_cvtepi32_epi64(_mm256_castsi256_si128(v)),
                         places),
        _mm256_sll_epi64(_mm256_cvtepi32_epi64(_mm256_extracti128_si256(v, 1)),
                         places)};
    auto *whole = reinterpret_cast<__m256i *>(acc);
    if (count >= kLanes) {
#pragma GCC unroll 2
      for (size_t h = 0; h < 2; ++h)
        _mm256_storeu_si256(
            whole + h,
            add ? _mm256_add_epi64(half[h], _mm256_loadu_si256(whole + h))
                : half[h]);
      return;
    }
    for (size_t h = 0; h < 2 && 4 * h < count; ++h) {
      __m256i sum = half[h];
      auto *to = whole + h;
      const __m256i mask =
          _mm256_cmpgt_epi64(_mm256_set1_epi64x(static_cast<int64_t>(count) -
                                                static_cast<int64_t>(4 * h)),
                             _mm256_setr_epi64x(0, 1, 2, 3));
      if (add)
        sum = _mm256_add_epi64(
            sum, _mm256_maskload_epi64(reinterpret_cast<const long long *>(to),
                                       mask));
      _mm256_maskstore_epi64(reinterpret_cast<long long *>(to), mask, sum);
    }
  }
  // The rows of a tile (TileKernel.h).
  static constexpr size_t kSpan = 2 * kLanes;
  static constexpr size_t kSweepRows = 4;
  ASHLAR_INLINE Vec loadShorts(const int16_t *from) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i *>(from));
  }
  ASHLAR_INLINE Vec pairLow(Vec a, Vec b) {
    return _mm256_unpacklo_epi16(a, b);
  }
  ASHLAR_INLINE Vec pairHigh(Vec a, Vec b) {
    return _mm256_unpackhi_epi16(a, b);
  }
  /// acc[t] += what the lanes of pairLow and pairHigh have become.
  ASHLAR_INLINE void widenPairs(Vec low, Vec high, int shift, size_t count,
                                int64_t *acc) {
    widenInto(_mm256_permute2x128_si256(low, high, 0x20), shift,
              least(count, kLanes), true, acc);
    if (count > kLanes)
      widenInto(_mm256_permute2x128_si256(low, high, 0x31), shift,
                count - kLanes, true, acc + kLanes);
  }
};
} // namespace

} // namespace ashlar::numerics

#endif // ASHLAR_LIB_NUMERICS_SIMDAVX2_H
