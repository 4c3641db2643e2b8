// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Encodes blocks side by side in AVX2 registers. The same binary32 operations
// as in RowKernels.h.

#ifndef ASHLAR_LIB_NUMERICS_ENCODEAVX2_H
#define ASHLAR_LIB_NUMERICS_ENCODEAVX2_H

#include "RowsAvx2.h"

namespace ashlar::numerics {

// Internal linkage, as in RowKernels.h.
namespace { // NOLINT(misc-anonymous-namespace-in-header)
/// Factors and counts of 16 blocks side by side.
struct EncodeLanes {
  __m256 first[2], second[2];
  bool twoFactors = false;
  __m256i saturated = _mm256_setzero_si256(), ///< Counts.
      underflow = _mm256_setzero_si256();
};

/// Columns t to t + 15, or as many of them as there are.
struct ColumnMask {
  explicit ColumnMask(size_t count)
      : lanes{lanes8(count), lanes8(count > 8 ? count - 8 : 0)} {}
  __m256i lanes[2];
};
} // namespace

template <bool All>
ASHLAR_INLINE __m256 columnLanes(const float *row, size_t half,
                                 const ColumnMask &mask) {
  return loadFloats<All>(row + 8 * half, mask.lanes[half]);
}

/// Largest magnitude bits of 16 columns.
template <bool All>
ASHLAR_INLINE void lanesMaxima(const float *const *rows, size_t count, size_t t,
                               const ColumnMask &mask, __m256i (&top)[2]) {
  const __m256i magnitude = _mm256_set1_epi32(0x7fffffff);
  top[0] = top[1] = _mm256_setzero_si256();
  for (size_t i = 0; i < count; ++i)
#pragma GCC unroll 2
    for (size_t h = 0; h < 2; ++h)
      top[h] = _mm256_max_epi32(
          top[h], _mm256_and_si256(_mm256_castps_si256(
                                       columnLanes<All>(rows[i] + t, h, mask)),
                                   magnitude));
}

/// The nearest integers of scaled values, ties to even.
ASHLAR_INLINE __m256i mantissaLanes(__m256 value, size_t half,
                                    const EncodeLanes &lanes) {
  const __m256 magic = _mm256_set1_ps(0x1.8p23f);
  __m256 scaled = _mm256_mul_ps(value, lanes.first[half]);
  if (lanes.twoFactors)
    scaled = _mm256_mul_ps(scaled, lanes.second[half]);
  return _mm256_sub_epi32(_mm256_castps_si256(_mm256_add_ps(scaled, magic)),
                          _mm256_castps_si256(magic));
}

/// encodeRow() of 8 columns; `Limited`: an element may saturate.
template <bool Limited>
ASHLAR_INLINE __m256i encodeLanes(__m256 value, size_t half, __m256i limit,
                                  EncodeLanes &lanes) {
  const __m256i zero = _mm256_setzero_si256();
  __m256i m = mantissaLanes(value, half, lanes);
  if constexpr (Limited) {
    const __m256i limited = _mm256_max_epi32(_mm256_min_epi32(m, limit),
                                             _mm256_sub_epi32(zero, limit));
    // A comparison gives -1 where it holds.
    lanes.saturated = _mm256_add_epi32(
        lanes.saturated,
        _mm256_add_epi32(_mm256_cmpeq_epi32(m, limited), _mm256_set1_epi32(1)));
    m = limited;
  }
  const __m256i some = _mm256_castps_si256(
      _mm256_cmp_ps(value, _mm256_setzero_ps(), _CMP_NEQ_UQ));
  lanes.underflow = _mm256_sub_epi32(
      lanes.underflow, _mm256_and_si256(_mm256_cmpeq_epi32(m, zero), some));
  return m;
}

/// 16 mantissas of a row.
template <typename Out>
ASHLAR_INLINE void storeMantissas(Out *to, __m256i low, __m256i high,
                                  size_t count) {
  const __m256i shorts =
      _mm256_permute4x64_epi64(_mm256_packs_epi32(low, high), 0xd8);
  if constexpr (sizeof(Out) == 2)
    storeShorts(reinterpret_cast<int16_t *>(to), shorts, count);
  else
    storeBytes16(to,
                 _mm_packs_epi16(_mm256_castsi256_si128(shorts),
                                 _mm256_extracti128_si256(shorts, 1)),
                 count);
}

template <bool Limited, bool All, typename Out>
static void encodeMantissas(const float *const *rows, size_t t, size_t columns,
                            const ColumnMask &mask, __m256i limit,
                            const BlockColumns<Out> &blocks,
                            EncodeLanes &lanes) {
  for (size_t i = 0; i < blocks.count; ++i) {
    const __m256i low = encodeLanes<Limited>(
        columnLanes<All>(rows[i] + t, 0, mask), 0, limit, lanes);
    const __m256i high = encodeLanes<Limited>(
        columnLanes<All>(rows[i] + t, 1, mask), 1, limit, lanes);
    auto *to = reinterpret_cast<Out *>(
        reinterpret_cast<char *>(blocks.mant[i]) + t * sizeof(Out));
    storeMantissas(to, low, high, All ? 16 : columns);
  }
}

ASHLAR_INLINE uint32_t sumLanes(__m256i x) {
  __m128i sum =
      _mm_add_epi32(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));
  sum = _mm_add_epi32(sum, _mm_shuffle_epi32(sum, 0x4e));
  sum = _mm_add_epi32(sum, _mm_shuffle_epi32(sum, 0xb1));
  return static_cast<uint32_t>(_mm_cvtsi128_si32(sum));
}

ASHLAR_INLINE int32_t maxLanes(__m256i x) {
  __m128i top =
      _mm_max_epi32(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));
  top = _mm_max_epi32(top, _mm_shuffle_epi32(top, 0x4e));
  top = _mm_max_epi32(top, _mm_shuffle_epi32(top, 0xb1));
  return _mm_cvtsi128_si32(top);
}

/// Exponents and factors of 8 columns from their largest magnitude bits; false
/// if one is not finite, or denormal. `x` becomes the cells.
ASHLAR_INLINE bool factorsOf(__m256i top, int mantissa, size_t half, __m256i &x,
                             EncodeLanes &lanes) {
  const __m256i bias = _mm256_set1_epi32(127);
  const __m256i none = _mm256_cmpeq_epi32(top, _mm256_setzero_si256());
  x = _mm256_sub_epi32(_mm256_srli_epi32(top, 23), bias);
  const __m256i odd = _mm256_or_si256(
      _mm256_cmpeq_epi32(x, _mm256_set1_epi32(128)),
      _mm256_andnot_si256(none,
                          _mm256_cmpeq_epi32(x, _mm256_set1_epi32(-127))));
  if (!_mm256_testz_si256(odd, odd))
    return false;
  x = _mm256_blendv_epi8(x, _mm256_set1_epi32(kZeroBlock), none);
  // value * 2^k is the mantissa; a block of zeros has zeros for any k.
  const __m256i k = _mm256_sub_epi32(_mm256_set1_epi32(mantissa - 2), x);
  const __m256i low = _mm256_min_epi32(k, bias);
  const __m256i rest = _mm256_sub_epi32(k, low);
  lanes.first[half] =
      _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(low, bias), 23));
  lanes.second[half] =
      _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(rest, bias), 23));
  lanes.twoFactors |=
      !_mm256_testz_si256(_mm256_andnot_si256(none, rest), rest);
  return true;
}

/// 16 columns from t on, or as many as there are, of all rows; false if the
/// reference has to decide.
template <bool All, typename Out>
static bool encodeColumns(const float *const *rows, size_t t, size_t columns,
                          BlockColumns<Out> to) {
  const auto [count, mantissa, mant, cells, stats] = to;
  const ColumnMask mask(columns);
  __m256i top[2], x[2];
  lanesMaxima<All>(rows, count, t, mask, top);
  EncodeLanes lanes;
  if (!factorsOf(top[0], mantissa, 0, x[0], lanes) ||
      !factorsOf(top[1], mantissa, 1, x[1], lanes))
    return false;
  storeMantissas(cells + t, x[0], x[1], columns);
  const __m256i limit = _mm256_set1_epi32((int32_t(1) << (mantissa - 1)) - 1);
  // Nothing saturates unless the largest magnitude does.
  const __m256i above = _mm256_or_si256(
      _mm256_cmpgt_epi32(mantissaLanes(_mm256_castsi256_ps(top[0]), 0, lanes),
                         limit),
      _mm256_cmpgt_epi32(mantissaLanes(_mm256_castsi256_ps(top[1]), 1, lanes),
                         limit));
  if (_mm256_testz_si256(above, above))
    encodeMantissas<false, All>(rows, t, columns, mask, limit, to, lanes);
  else
    encodeMantissas<true, All>(rows, t, columns, mask, limit, to, lanes);
  stats->counters.saturated += sumLanes(lanes.saturated);
  stats->counters.underflow += sumLanes(lanes.underflow);
  if (const int32_t cell = maxLanes(_mm256_max_epi32(x[0], x[1]));
      cell != kZeroBlock)
    stats->maxExponent = greatest(stats->maxExponent,
                                  static_cast<int16_t>(cell - (mantissa - 2)));
  return true;
}

template <typename Out>
static void encodeRowsLanes(const float *const *rows, size_t n,
                            BlockColumns<Out> to) {
  for (size_t t = 0; t < n; t += 16) {
    const size_t columns = least(size_t(16), n - t);
    const bool done = columns == 16
                          ? encodeColumns<true>(rows, t, columns, to)
                          : encodeColumns<false>(rows, t, columns, to);
    if (!done)
      scalarEncode(rows, t, columns, to);
  }
}

} // namespace ashlar::numerics

#endif // ASHLAR_LIB_NUMERICS_ENCODEAVX2_H
