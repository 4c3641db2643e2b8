// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// 32 columns of stored weights in AVX-512 registers.

#ifndef ASHLAR_LIB_NUMERICS_STATIONARY_AVX512_H
#define ASHLAR_LIB_NUMERICS_STATIONARY_AVX512_H

#include "../PairAvx512.h"
#include "../SimdAvx512.h"
#include "Pack.h"

#include <immintrin.h>

namespace ashlar::numerics {

// Internal linkage, as in RowKernels.h.
namespace { // NOLINT(misc-anonymous-namespace-in-header)
/// What Pack.h asks for.
class StationaryLanes512 {
public:
  using Vec = __m512i;
  static constexpr size_t kColumns = 32, kGroup = Simd512::kColumns;

  StationaryLanes512(const StoredMatrix &values, size_t count)
      : narrow(values.alignment.mantissa != 8), mask(lanes32(count)),
        constants(constantsOf(values.alignment)) {}

  static Vec zero() { return _mm512_setzero_si512(); }
  static bool anyAbove(const int8_t *cells, size_t n, int offset) {
    return numerics::anyAbove(cells, n, offset);
  }

  /// The rows that follow share these cells.
  void start(const int8_t *cells) {
    shifts = shiftsOf(
        _mm512_cvtepi8_epi16(_mm256_maskz_loadu_epi8(mask, cells)), constants);
    rounds = _mm512_mask_test_epi16_mask(mask, shifts.over, shifts.over) != 0;
  }
  Vec align(const int8_t *mant) const {
    Vec m = narrow ? fetchLanes<true>(mant, mask, constants)
                   : fetchLanes<false>(mant, mask, constants);
    if (rounds)
      m = roundLanes(m, shifts);
    return _mm512_sllv_epi16(m, shifts.left);
  }

  /// Of the columns: sums of magnitudes, and all bits that pairs have.
  class Sums {
  public:
    /// Writes two rows as a line of each group.
    void store(Vec a, Vec b, int32_t *to, size_t pitch, size_t groups) {
      const Vec low = _mm512_unpacklo_epi16(a, b);
      const Vec high = _mm512_unpackhi_epi16(a, b);
      const Vec order[2] = {_mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11),
                            _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15)};
#pragma GCC unroll 2
      for (size_t half = 0; half < 2; ++half, to += 2 * pitch) {
        const Vec line = _mm512_permutex2var_epi64(low, order[half], high);
        magnitude[half] = Simd512::dot(magnitude[half], _mm512_abs_epi16(line),
                                       _mm512_set1_epi16(1));
        used[half] = _mm512_or_si512(used[half], line);
        if (2 * half < groups)
          _mm256_storeu_si256(reinterpret_cast<__m256i *>(to),
                              _mm512_castsi512_si256(line));
        if (2 * half + 1 < groups)
          _mm256_storeu_si256(reinterpret_cast<__m256i *>(to + pitch),
                              _mm512_extracti64x4_epi64(line, 1));
      }
    }
    /// Bounds a group, whose values lose the zero bits below all of them.
    void finish(size_t g, const StationaryGroup &group) const {
      const auto lanes = static_cast<__mmask16>(g % 2 ? 0xff00 : 0x00ff);
      const uint32_t shift =
          boundGroup(group,
                     static_cast<uint32_t>(
                         _mm512_mask_reduce_max_epi32(lanes, magnitude[g / 2])),
                     static_cast<uint32_t>(
                         _mm512_mask_reduce_or_epi32(lanes, used[g / 2])));
      const __m128i places = _mm_cvtsi32_si128(static_cast<int>(shift));
      auto *lines = reinterpret_cast<__m256i *>(group.to);
      for (size_t k = 0; shift != 0 && k < group.pairs; ++k)
        _mm256_storeu_si256(
            lines + k, _mm256_sra_epi16(_mm256_loadu_si256(lines + k), places));
    }

  private:
    Vec magnitude[2] = {zero(), zero()}, used[2] = {zero(), zero()};
  };

private:
  const bool narrow;
  const __mmask32 mask;
  const AlignConstants constants;
  AlignShifts shifts;
  bool rounds;
};
} // namespace

} // namespace ashlar::numerics

#endif // ASHLAR_LIB_NUMERICS_STATIONARY_AVX512_H
