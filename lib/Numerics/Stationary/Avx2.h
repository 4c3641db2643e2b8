// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// 16 columns of stored weights in AVX2 registers.

#ifndef ASHLAR_LIB_NUMERICS_STATIONARY_AVX2_H
#define ASHLAR_LIB_NUMERICS_STATIONARY_AVX2_H

#include "../AlignAvx2.h"
#include "../SimdAvx2.h"
#include "Pack.h"

namespace ashlar::numerics {

// Internal linkage, as in RowKernels.h.
namespace { // NOLINT(misc-anonymous-namespace-in-header)
/// What Pack.h asks for.
class StationaryLanes256 {
public:
  using Vec = __m256i;
  static constexpr size_t kColumns = kAlignColumns, kGroup = Simd256::kColumns;

  StationaryLanes256(const StoredMatrix &values, size_t columns)
      : count(least(columns, kColumns)),
        constants(constantsOf(values.alignment)) {}

  static Vec zero() { return _mm256_setzero_si256(); }
  static bool anyAbove(const int8_t *cells, size_t n, int offset) {
    return maxCell(cells, n) > offset;
  }

  /// The rows that follow share these cells.
  void start(const int8_t *cells) {
    shifts = shiftsOf(loadBytes16(cells, count), constants);
  }
  Vec align(const int8_t *mant) const {
    const __m128i bytes = loadBytes16(mant, count);
    return shifts.rounds ? alignedLanes<true>(bytes, constants, shifts)
                         : alignedLanes<false>(bytes, constants, shifts);
  }

  /// Of the columns: sums of magnitudes, and all bits that pairs have.
  class Sums {
  public:
    /// Writes two rows as a line of each group.
    void store(Vec a, Vec b, int32_t *to, size_t pitch, size_t groups) {
      const Vec low = _mm256_unpacklo_epi16(a, b);
      const Vec high = _mm256_unpackhi_epi16(a, b);
      // Columns 0 to 3 and 8 to 11, and those after them.
      add(0, low);
      add(1, high);
      const __m128i lines[4] = {
          _mm256_castsi256_si128(low), _mm256_castsi256_si128(high),
          _mm256_extracti128_si256(low, 1), _mm256_extracti128_si256(high, 1)};
#pragma GCC unroll 4
      for (size_t g = 0; g < 4; ++g)
        if (g < groups)
          _mm_storeu_si128(reinterpret_cast<__m128i *>(to + g * pitch),
                           lines[g]);
    }
    /// Bounds a group, whose values lose the zero bits below all of them.
    void finish(size_t g, const StationaryGroup &group) const {
      alignas(32) uint32_t norms[8], bits[8];
      _mm256_store_si256(reinterpret_cast<__m256i *>(norms), magnitude[g % 2]);
      _mm256_store_si256(reinterpret_cast<__m256i *>(bits), used[g % 2]);
      uint32_t norm = 0, all = 0;
      for (size_t c = g / 2 * kGroup; c < (g / 2 + 1) * kGroup; ++c) {
        norm = greatest(norm, norms[c]);
        all |= bits[c];
      }
      const uint32_t shift = boundGroup(group, norm, all);
      const __m128i places = _mm_cvtsi32_si128(static_cast<int>(shift));
      auto *lines = reinterpret_cast<__m128i *>(group.to);
      for (size_t k = 0; shift != 0 && k < group.pairs; ++k)
        _mm_storeu_si128(lines + k,
                         _mm_sra_epi16(_mm_loadu_si128(lines + k), places));
    }

  private:
    void add(size_t half, Vec pairs) {
      magnitude[half] = Simd256::dot(magnitude[half], _mm256_abs_epi16(pairs),
                                     _mm256_set1_epi16(1));
      used[half] = _mm256_or_si256(used[half], pairs);
    }

    Vec magnitude[2] = {zero(), zero()}, used[2] = {zero(), zero()};
  };

private:
  const size_t count;
  const AlignConstants constants;
  AlignShifts shifts;
};
} // namespace

} // namespace ashlar::numerics

#endif // ASHLAR_LIB_NUMERICS_STATIONARY_AVX2_H
