// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Epilogue and encode in AVX-512 registers: what a drain spends its time on.
// The same binary32 operations in the same order as in RowKernels.h.

#ifndef ASHLAR_LIB_NUMERICS_ROWSAVX512_H
#define ASHLAR_LIB_NUMERICS_ROWSAVX512_H

#include "RowKernels.h"

#include <immintrin.h>

namespace ashlar::numerics {

/// The first `count` of 16 lanes; all of them from there on.
ASHLAR_INLINE __mmask16 lanes16(size_t count) {
  return static_cast<__mmask16>(count >= 16 ? 0xffffu
                                            : (uint32_t(1) << count) - 1);
}

//===----------------------------------------------------------------------===//
// Epilogue
//===----------------------------------------------------------------------===//

template <Function F>
ASHLAR_INLINE __m512 applyLanes(__m512 x, __m512 alpha, __m512 beta) {
  const __m512 zero = _mm512_setzero_ps();
  if constexpr (F == Function::Relu) // a NaN stays
    return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(x, zero, _CMP_NLE_UQ), x);
  if constexpr (F == Function::LeakyRelu)
    return _mm512_mask_mul_ps(x, _mm512_cmp_ps_mask(x, zero, _CMP_LT_OQ), alpha,
                              x);
  if constexpr (F == Function::Clip) {
    x = _mm512_mask_mov_ps(x, _mm512_cmp_ps_mask(x, alpha, _CMP_LT_OQ), alpha);
    return _mm512_mask_mov_ps(x, _mm512_cmp_ps_mask(x, beta, _CMP_GT_OQ), beta);
  }
  return x;
}

ASHLAR_INLINE __m512 canonicalLanes(__m512 x) {
  return _mm512_mask_mov_ps(x, _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q),
                            _mm512_castsi512_ps(_mm512_set1_epi32(0x7fc00000)));
}

/// 16 accumulators in binary32, rounded once.
ASHLAR_INLINE __m512 roundLanes(__m512i low, __m512i high) {
  return _mm512_insertf32x8(_mm512_castps256_ps512(_mm512_cvtepi64_ps(low)),
                            _mm512_cvtepi64_ps(high), 1);
}

/// Powers of two that scale a rounded accumulator exactly: what is not zero is
/// at least one before, hence normal afterwards.
ASHLAR_INLINE bool scalesExactly(int exponent) {
  return exponent >= -126 && exponent <= 127;
}

/// A NaN that an operation makes is a NaN until the end, so that making it
/// canonical once is the same as after each of them, and an encoder, to which
/// all NaN values are alike, needs none of that.
template <Function F, bool Canonical>
static void fusedRow(const int64_t *acc, size_t n, const EpilogueRow &params,
                     float *out) {
  const __m512 factor = _mm512_set1_ps(powerOfTwo(params.exponent)),
               scale = _mm512_set1_ps(params.scale),
               bias = _mm512_set1_ps(params.bias),
               alpha = _mm512_set1_ps(params.alpha),
               beta = _mm512_set1_ps(params.beta);
  for (size_t t = 0; t < n; t += 16) {
    const __mmask16 mask = lanes16(n - t);
    __m512 x = roundLanes(
        _mm512_maskz_loadu_epi64(static_cast<__mmask8>(mask), acc + t),
        _mm512_maskz_loadu_epi64(static_cast<__mmask8>(mask >> 8),
                                 acc + t + 8));
    x = _mm512_mul_ps(x, factor);
    if (params.hasScale)
      x = _mm512_mul_ps(x, scale);
    if (params.hasBias)
      x = _mm512_add_ps(x, bias);
    if (params.residual)
      x = _mm512_add_ps(x, _mm512_maskz_loadu_ps(mask, params.residual + t));
    x = applyLanes<F>(x, alpha, beta);
    _mm512_mask_storeu_ps(out + t, mask, Canonical ? canonicalLanes(x) : x);
  }
}

/// The epilogue of 16 sums, of which the first `count` count, on steps from t
/// on; `factor` is their power of two.
template <Function F>
ASHLAR_INLINE void drainLanes(__m512i sums, float factor,
                              const EpilogueRow &params, size_t t, size_t count,
                              float *out) {
  __m512 x = _mm512_mul_ps(_mm512_cvtepi32_ps(sums), _mm512_set1_ps(factor));
  if (params.hasScale)
    x = _mm512_mul_ps(x, _mm512_set1_ps(params.scale));
  if (params.hasBias)
    x = _mm512_add_ps(x, _mm512_set1_ps(params.bias));
  if (params.residual)
    x = _mm512_add_ps(
        x, _mm512_maskz_loadu_ps(lanes16(count), params.residual + t));
  _mm512_store_ps(out, applyLanes<F>(x, _mm512_set1_ps(params.alpha),
                                     _mm512_set1_ps(params.beta)));
}

template <bool Canonical>
static void epilogueLanes(const int64_t *acc, size_t n,
                          const EpilogueRow &params, float *out) {
  if (!scalesExactly(params.exponent))
    return epilogueRow(acc, n, params, out);
  switch (params.function) {
  case Function::Copy:
    return fusedRow<Function::Copy, Canonical>(acc, n, params, out);
  case Function::Relu:
    return fusedRow<Function::Relu, Canonical>(acc, n, params, out);
  case Function::Clip:
    return fusedRow<Function::Clip, Canonical>(acc, n, params, out);
  case Function::LeakyRelu:
    return fusedRow<Function::LeakyRelu, Canonical>(acc, n, params, out);
  default:
    fusedRow<Function::Copy, true>(acc, n, params, out);
    return unaryRow(params.function, out, n, params.alpha, params.beta, out);
  }
}

//===----------------------------------------------------------------------===//
// Decode
//===----------------------------------------------------------------------===//

// Internal linkage, as in RowKernels.h.
namespace { // NOLINT(misc-anonymous-namespace-in-header)
/// decodeRow() of one-byte mantissas, 16 of them.
class Decode8Lanes {
public:
  explicit Decode8Lanes(int mantissa)
      : limit(_mm512_set1_epi32(1 - (int32_t(1) << (mantissa - 1)))),
        shift(_mm512_set1_epi32(mantissa - 2)),
        drop(_mm_cvtsi32_si128(32 - mantissa)) {}

  [[gnu::always_inline]] __m512
  operator()(const int8_t *mant, const int8_t *cells, __mmask16 mask) const {
    const __m512i bias = _mm512_set1_epi32(127),
                  lowest = _mm512_set1_epi32(-126);
    __m512i m = _mm512_cvtepi8_epi32(_mm_maskz_loadu_epi8(mask, mant));
    m = _mm512_sra_epi32(_mm512_sll_epi32(m, drop), drop);
    const __m512i e = _mm512_sub_epi32(
        _mm512_cvtepi8_epi32(_mm_maskz_loadu_epi8(mask, cells)), shift);
    const __m512i high = _mm512_max_epi32(e, lowest);
    const __m512 x =
        _mm512_mul_ps(_mm512_cvtepi32_ps(_mm512_max_epi32(m, limit)),
                      _mm512_castsi512_ps(
                          _mm512_slli_epi32(_mm512_add_epi32(high, bias), 23)));
    if (_mm512_cmplt_epi32_mask(e, lowest) == 0)
      return x;
    return _mm512_mul_ps(
        x, _mm512_castsi512_ps(_mm512_slli_epi32(
               _mm512_add_epi32(_mm512_sub_epi32(e, high), bias), 23)));
  }

private:
  __m512i limit, shift;
  __m128i drop;
};
} // namespace

static inline void decode8Lanes(const int8_t *mant, const int8_t *cells,
                                size_t n, int mantissa, float *out) {
  const Decode8Lanes decode(mantissa);
  for (size_t t = 0; t < n; t += 16) {
    const __mmask16 mask = lanes16(n - t);
    _mm512_mask_storeu_ps(out + t, mask, decode(mant + t, cells + t, mask));
  }
}

//===----------------------------------------------------------------------===//
// Encode
//===----------------------------------------------------------------------===//

// Internal linkage, as in RowKernels.h.
namespace { // NOLINT(misc-anonymous-namespace-in-header)
/// Factors and counts of 16 blocks side by side.
struct EncodeLanes {
  __m512 first, second;
  bool twoFactors;
  __m512i saturated, underflow; ///< Counts.
};
} // namespace

/// Largest magnitude bits of 16 columns.
ASHLAR_INLINE __m512i lanesMaxima(const float *const *rows, size_t count,
                                  size_t t, __mmask16 mask) {
  const __m512i magnitude = _mm512_set1_epi32(0x7fffffff);
  __m512i top = _mm512_setzero_si512(), other = top;
  size_t i = 0;
  for (; i + 2 <= count; i += 2) {
    top = _mm512_max_epi32(
        top, _mm512_and_si512(_mm512_maskz_loadu_epi32(mask, rows[i] + t),
                              magnitude));
    other = _mm512_max_epi32(
        other, _mm512_and_si512(_mm512_maskz_loadu_epi32(mask, rows[i + 1] + t),
                                magnitude));
  }
  if (i < count)
    top = _mm512_max_epi32(
        top, _mm512_and_si512(_mm512_maskz_loadu_epi32(mask, rows[i] + t),
                              magnitude));
  return _mm512_max_epi32(top, other);
}

/// Above all mantissas, and with an ulp of one: its low bits are zero.
ASHLAR_INLINE __m512 roundingMagic() { return _mm512_set1_ps(0x1.8p23f); }

/// The nearest integers of scaled values, ties to even, in the low 16 bits of
/// what is added to the bits of roundingMagic(). A product that is not exact is
/// far below one half, so that one rounding is as good as two.
ASHLAR_INLINE __m512i mantissaBits(__m512 value, const EncodeLanes &lanes) {
  if (!lanes.twoFactors)
    return _mm512_castps_si512(
        _mm512_fmadd_ps(value, lanes.first, roundingMagic()));
  return _mm512_castps_si512(_mm512_fmadd_ps(_mm512_mul_ps(value, lanes.first),
                                             lanes.second, roundingMagic()));
}
ASHLAR_INLINE __m512i mantissaLanes(__m512 value, const EncodeLanes &lanes) {
  return _mm512_sub_epi32(mantissaBits(value, lanes),
                          _mm512_castps_si512(roundingMagic()));
}

/// encodeRow() of 16 columns, in the low bits; `Limited`: an element may
/// saturate.
template <bool Limited>
ASHLAR_INLINE __m512i encodeLanes(const float *row, __mmask16 mask,
                                  __m512i limit, EncodeLanes &lanes) {
  const __m512i one = _mm512_set1_epi32(1);
  const __m512 value = _mm512_maskz_loadu_ps(mask, row);
  const __m512i nought = _mm512_castps_si512(roundingMagic());
  __m512i m = mantissaBits(value, lanes);
  const __mmask16 vanished = _mm512_cmpeq_epi32_mask(m, nought);
  if constexpr (Limited) {
    m = _mm512_sub_epi32(m, nought);
    const __m512i limited =
        _mm512_max_epi32(_mm512_min_epi32(m, limit),
                         _mm512_sub_epi32(_mm512_setzero_si512(), limit));
    lanes.saturated = _mm512_mask_add_epi32(
        lanes.saturated, _mm512_cmpneq_epi32_mask(m, limited), lanes.saturated,
        one);
    m = limited;
  }
  lanes.underflow = _mm512_mask_add_epi32(
      lanes.underflow,
      _mm512_mask_test_epi32_mask(vanished, _mm512_castps_si512(value),
                                  _mm512_set1_epi32(0x7fffffff)),
      lanes.underflow, one);
  return m;
}

template <typename Out>
ASHLAR_INLINE void storeLanes(Out *to, __mmask16 mask, __m512i values) {
  if constexpr (sizeof(Out) == 1)
    if (mask == 0xffff)
      _mm_storeu_si128(reinterpret_cast<__m128i *>(to),
                       _mm512_cvtepi32_epi8(values));
    else
      _mm_mask_storeu_epi8(to, mask, _mm512_cvtepi32_epi8(values));
  else
    _mm256_mask_storeu_epi16(to, mask, _mm512_cvtepi32_epi16(values));
}

/// Columns t to t + 15 of all rows; false if the reference has to decide.
template <typename Out>
static inline bool encodeColumns(const float *const *rows, size_t t,
                                 __mmask16 mask, BlockColumns<Out> to) {
  const auto [count, mantissa, mant, cells, stats] = to;
  const __m512i top = lanesMaxima(rows, count, t, mask);
  const __m512i bias = _mm512_set1_epi32(127);
  __m512i x = _mm512_sub_epi32(_mm512_srli_epi32(top, 23), bias);
  const __mmask16 some = _mm512_test_epi32_mask(top, top);
  // Not finite, or denormal.
  if (_mm512_cmpeq_epi32_mask(x, _mm512_set1_epi32(128)) != 0 ||
      _mm512_mask_cmpeq_epi32_mask(some, x, _mm512_set1_epi32(-127)) != 0)
    return false;
  x = _mm512_mask_mov_epi32(_mm512_set1_epi32(kZeroBlock), some, x);
  _mm_mask_storeu_epi8(cells + t, mask, _mm512_cvtepi32_epi8(x));
  // value * 2^k is the mantissa; a block of zeros has zeros for any k.
  const __m512i k = _mm512_sub_epi32(_mm512_set1_epi32(mantissa - 2), x);
  const __m512i low = _mm512_min_epi32(k, bias);
  const __m512i rest = _mm512_sub_epi32(k, low);
  EncodeLanes lanes;
  lanes.first =
      _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_add_epi32(low, bias), 23));
  lanes.second =
      _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_add_epi32(rest, bias), 23));
  lanes.twoFactors = _mm512_mask_test_epi32_mask(some, rest, rest) != 0;
  lanes.saturated = lanes.underflow = _mm512_setzero_si512();
  const __m512i limit = _mm512_set1_epi32((int32_t(1) << (mantissa - 1)) - 1);
  // Nothing saturates unless the largest magnitude does.
  if (_mm512_cmpgt_epi32_mask(mantissaLanes(_mm512_castsi512_ps(top), lanes),
                              limit) == 0)
    for (size_t i = 0; i < count; ++i)
      storeLanes(mant[i] + t, mask,
                 encodeLanes<false>(rows[i] + t, mask, limit, lanes));
  else
    for (size_t i = 0; i < count; ++i)
      storeLanes(mant[i] + t, mask,
                 encodeLanes<true>(rows[i] + t, mask, limit, lanes));
  stats->counters.saturated +=
      static_cast<uint32_t>(_mm512_reduce_add_epi32(lanes.saturated));
  stats->counters.underflow +=
      static_cast<uint32_t>(_mm512_reduce_add_epi32(lanes.underflow));
  if (some)
    stats->maxExponent =
        greatest(stats->maxExponent,
                 static_cast<int16_t>(_mm512_mask_reduce_max_epi32(some, x) -
                                      (mantissa - 2)));
  return true;
}

template <typename Out>
static void encodeRowsLanes(const float *const *rows, size_t n,
                            BlockColumns<Out> to) {
  for (size_t t = 0; t < n; t += 16) {
    const size_t width = least(size_t(16), n - t);
    if (!encodeColumns(rows, t, lanes16(width), to))
      scalarEncode(rows, t, width, to);
  }
}

} // namespace ashlar::numerics

#endif // ASHLAR_LIB_NUMERICS_ROWSAVX512_H
