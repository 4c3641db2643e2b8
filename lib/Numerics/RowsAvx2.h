// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Epilogue, encode, decode and reductions in AVX2 registers: what a drain and a
// pool spend their time on. The same binary32 operations in the same order as
// in RowKernels.h.

#ifndef ASHLAR_LIB_NUMERICS_ROWSAVX2_H
#define ASHLAR_LIB_NUMERICS_ROWSAVX2_H

#include "LanesAvx2.h"

namespace ashlar::numerics {

//===----------------------------------------------------------------------===//
// Epilogue
//===----------------------------------------------------------------------===//

template <Function F>
ASHLAR_INLINE __m256 applyLanes(__m256 x, __m256 alpha, __m256 beta) {
  const __m256 zero = _mm256_setzero_ps();
  if constexpr (F == Function::Relu) // a NaN stays
    return _mm256_and_ps(x, _mm256_cmp_ps(x, zero, _CMP_NLE_UQ));
  if constexpr (F == Function::LeakyRelu)
    return _mm256_blendv_ps(x, _mm256_mul_ps(alpha, x),
                            _mm256_cmp_ps(x, zero, _CMP_LT_OQ));
  if constexpr (F == Function::Clip) {
    x = _mm256_blendv_ps(x, alpha, _mm256_cmp_ps(x, alpha, _CMP_LT_OQ));
    return _mm256_blendv_ps(x, beta, _mm256_cmp_ps(x, beta, _CMP_GT_OQ));
  }
  return x;
}

ASHLAR_INLINE __m256 canonicalLanes(__m256 x) {
  return _mm256_blendv_ps(x, _mm256_castsi256_ps(_mm256_set1_epi32(0x7fc00000)),
                          _mm256_cmp_ps(x, x, _CMP_UNORD_Q));
}

// Internal linkage, as in RowKernels.h.
namespace { // NOLINT(misc-anonymous-namespace-in-header)
/// Converts accumulators that fit 32 bits, which most do. Rounded to binary32,
/// what is not zero is at least one, so that scaling by a power of two that
/// leaves it normal is exact.
struct ShortSums {
  explicit ShortSums(int exponent)
      : factor(_mm256_set1_ps(powerOfTwo(exponent))) {}

  static bool scales(int exponent) {
    return exponent >= -126 && exponent <= 127;
  }
  /// Whether all that was rounded so far was in range.
  bool inRange() const { return _mm256_testz_si256(outside, outside) != 0; }
  __m256 round8(__m256i first, __m256i second) {
    const __m256 a = _mm256_castsi256_ps(first),
                 b = _mm256_castsi256_ps(second);
    const __m256i low = _mm256_castps_si256(_mm256_shuffle_ps(a, b, 0x88));
    const __m256i high = _mm256_castps_si256(_mm256_shuffle_ps(a, b, 0xdd));
    outside = _mm256_or_si256(
        outside, _mm256_xor_si256(_mm256_srai_epi32(low, 31), high));
    return _mm256_mul_ps(
        _mm256_cvtepi32_ps(_mm256_permute4x64_epi64(low, 0xd8)), factor);
  }

  __m256 factor;
  __m256i outside = _mm256_setzero_si256();
};

/// Converts accumulators from -2^51 to 2^51 - 1: added to 2^52 + 2^51, they are
/// the low bits of a binary64 number. Scaling by a power of two is exact, and
/// rounding to binary32 comes last.
struct LongSums {
  explicit LongSums(int exponent)
      : factor(_mm256_set1_pd(
            doubleOf(static_cast<uint64_t>(exponent + 1023) << 52))) {}

  static bool scales(int exponent) {
    return exponent >= -900 && exponent <= 900;
  }
  bool inRange() const {
    return _mm256_testz_si256(outside, _mm256_set1_epi64x(static_cast<int64_t>(
                                           uint64_t(0xfff) << 52))) != 0;
  }
  __m128 round4(__m256i acc) {
    const __m256i magic = _mm256_set1_epi64x(0x4338000000000000);
    const __m256i sum = _mm256_add_epi64(acc, magic);
    outside = _mm256_or_si256(
        outside, _mm256_xor_si256(sum, _mm256_set1_epi64x(0x4330000000000000)));
    return _mm256_cvtpd_ps(_mm256_mul_pd(
        _mm256_sub_pd(_mm256_castsi256_pd(sum), _mm256_castsi256_pd(magic)),
        factor));
  }
  __m256 round8(__m256i first, __m256i second) {
    const __m128 low = round4(first);
    return _mm256_insertf128_ps(_mm256_castps128_ps256(low), round4(second), 1);
  }

  __m256d factor;
  __m256i outside = _mm256_setzero_si256();
};
} // namespace

/// Eight accumulators, or the first of them.
template <bool All, typename Sums>
ASHLAR_INLINE __m256 loadRounded(const int64_t *acc, __m256i mask, Sums &sums) {
  const auto *words = reinterpret_cast<const long long *>(acc);
  if constexpr (All)
    return sums.round8(
        _mm256_loadu_si256(reinterpret_cast<const __m256i *>(words)),
        _mm256_loadu_si256(reinterpret_cast<const __m256i *>(words + 4)));
  return sums.round8(
      _mm256_maskload_epi64(
          words, _mm256_cvtepi32_epi64(_mm256_castsi256_si128(mask))),
      _mm256_maskload_epi64(
          words + 4, _mm256_cvtepi32_epi64(_mm256_extracti128_si256(mask, 1))));
}

template <bool All>
ASHLAR_INLINE __m256 loadFloats(const float *from, __m256i mask) {
  return All ? _mm256_loadu_ps(from) : _mm256_maskload_ps(from, mask);
}

template <bool All>
ASHLAR_INLINE void storeFloats(float *to, __m256i mask, __m256 x) {
  if constexpr (All)
    _mm256_storeu_ps(to, x);
  else
    _mm256_maskstore_ps(to, mask, x);
}

// Internal linkage, as in RowKernels.h.
namespace { // NOLINT(misc-anonymous-namespace-in-header)
/// The parameters of a row in all lanes.
struct EpilogueLanes {
  explicit EpilogueLanes(const EpilogueRow &row)
      : row(row), scale(_mm256_set1_ps(row.scale)),
        bias(_mm256_set1_ps(row.bias)), alpha(_mm256_set1_ps(row.alpha)),
        beta(_mm256_set1_ps(row.beta)) {}

  const EpilogueRow &row;
  __m256 scale, bias, alpha, beta;
};
} // namespace

/// Steps [t, t + 8), or the first of them.
template <Function F, bool Canonical, bool All, typename Sums>
ASHLAR_INLINE void fusedSteps(const int64_t *acc, size_t t, __m256i mask,
                              const EpilogueLanes &params, Sums &sums,
                              float *out) {
  __m256 x = loadRounded<All>(acc + t, mask, sums);
  if (params.row.hasScale)
    x = _mm256_mul_ps(x, params.scale);
  if (params.row.hasBias)
    x = _mm256_add_ps(x, params.bias);
  if (params.row.residual)
    x = _mm256_add_ps(x, loadFloats<All>(params.row.residual + t, mask));
  x = applyLanes<F>(x, params.alpha, params.beta);
  storeFloats<All>(out + t, mask, Canonical ? canonicalLanes(x) : x);
}

/// False if an accumulator is out of range: then the row means nothing. A NaN
/// that an operation makes is a NaN until the end, so that making it canonical
/// once is the same as after each of them, and an encoder, to which all NaN
/// values are alike, needs none of that.
template <typename Sums, Function F, bool Canonical>
static bool fusedRow(const int64_t *acc, size_t n, const EpilogueRow &params,
                     float *out) {
  if (!Sums::scales(params.exponent))
    return false;
  const EpilogueLanes row(params);
  Sums sums(params.exponent);
  size_t t = 0;
  for (; t + 8 <= n; t += 8)
    fusedSteps<F, Canonical, true>(acc, t, __m256i(), row, sums, out);
  if (t < n)
    fusedSteps<F, Canonical, false>(acc, t, lanes8(n - t), row, sums, out);
  return sums.inRange();
}

template <typename Sums, bool Canonical>
static bool fusedFunction(const int64_t *acc, size_t n,
                          const EpilogueRow &params, float *out) {
  switch (params.function) {
  case Function::Copy:
    return fusedRow<Sums, Function::Copy, Canonical>(acc, n, params, out);
  case Function::Relu:
    return fusedRow<Sums, Function::Relu, Canonical>(acc, n, params, out);
  case Function::Clip:
    return fusedRow<Sums, Function::Clip, Canonical>(acc, n, params, out);
  case Function::LeakyRelu:
    return fusedRow<Sums, Function::LeakyRelu, Canonical>(acc, n, params, out);
  default:
    if (!fusedRow<Sums, Function::Copy, true>(acc, n, params, out))
      return false;
    unaryRow(params.function, out, n, params.alpha, params.beta, out);
    return true;
  }
}

/// Powers of two that scale a rounded accumulator exactly.
ASHLAR_INLINE bool scalesExactly(int exponent) {
  return ShortSums::scales(exponent);
}

/// The epilogue of eight sums, of which the first `count` count, on steps from
/// t on; `factor` is their power of two.
template <Function F>
ASHLAR_INLINE void drainLanes(__m256i sums, float factor,
                              const EpilogueRow &params, size_t t, size_t count,
                              float *out) {
  __m256 x = _mm256_mul_ps(_mm256_cvtepi32_ps(sums), _mm256_set1_ps(factor));
  if (params.hasScale)
    x = _mm256_mul_ps(x, _mm256_set1_ps(params.scale));
  if (params.hasBias)
    x = _mm256_add_ps(x, _mm256_set1_ps(params.bias));
  if (params.residual)
    x = _mm256_add_ps(
        x, count >= 8 ? _mm256_loadu_ps(params.residual + t)
                      : _mm256_maskload_ps(params.residual + t, lanes8(count)));
  _mm256_store_ps(out, applyLanes<F>(x, _mm256_set1_ps(params.alpha),
                                     _mm256_set1_ps(params.beta)));
}

template <bool Canonical>
static void epilogueLanes(const int64_t *acc, size_t n,
                          const EpilogueRow &params, float *out) {
  if (!fusedFunction<ShortSums, Canonical>(acc, n, params, out) &&
      !fusedFunction<LongSums, Canonical>(acc, n, params, out))
    epilogueRow(acc, n, params, out);
}

//===----------------------------------------------------------------------===//
// Decode
//===----------------------------------------------------------------------===//

// Internal linkage, as in RowKernels.h.
namespace { // NOLINT(misc-anonymous-namespace-in-header)
/// The constants of decodeRow() for one-byte mantissas.
struct DecodeLanes {
  explicit DecodeLanes(int mantissa)
      : drop(_mm_cvtsi32_si128(32 - mantissa)),
        limit(_mm256_set1_epi32(1 - (int32_t(1) << (mantissa - 1)))),
        shift(_mm256_set1_epi32(mantissa - 2)) {}

  /// Eight mantissas and their cells.
  __m256 run(__m128i mant, __m128i cells) const {
    const __m256i bias = _mm256_set1_epi32(127),
                  lowest = _mm256_set1_epi32(-126);
    __m256i m = _mm256_cvtepi8_epi32(mant);
    m = _mm256_sra_epi32(_mm256_sll_epi32(m, drop), drop);
    const __m256i e = _mm256_sub_epi32(_mm256_cvtepi8_epi32(cells), shift);
    const __m256i high = _mm256_max_epi32(e, lowest);
    __m256 x = _mm256_cvtepi32_ps(_mm256_max_epi32(m, limit));
    x = _mm256_mul_ps(x, _mm256_castsi256_ps(_mm256_slli_epi32(
                             _mm256_add_epi32(high, bias), 23)));
    const __m256i rest = _mm256_sub_epi32(e, high);
    if (!_mm256_testz_si256(rest, rest))
      x = _mm256_mul_ps(x, _mm256_castsi256_ps(_mm256_slli_epi32(
                               _mm256_add_epi32(rest, bias), 23)));
    return x;
  }

  __m128i drop;
  __m256i limit, shift;
};
} // namespace

/// decodeRow() of one-byte mantissas.
static inline void decode8Lanes(const int8_t *mant, const int8_t *cells,
                                size_t n, int mantissa, float *out) {
  const DecodeLanes lanes(mantissa);
  size_t t = 0;
  for (; t + 8 <= n; t += 8)
    _mm256_storeu_ps(
        out + t,
        lanes.run(
            _mm_loadl_epi64(reinterpret_cast<const __m128i *>(mant + t)),
            _mm_loadl_epi64(reinterpret_cast<const __m128i *>(cells + t))));
  if (t < n)
    _mm256_maskstore_ps(
        out + t, lanes8(n - t),
        lanes.run(loadBytes16(mant + t, n - t), loadBytes16(cells + t, n - t)));
}

//===----------------------------------------------------------------------===//
// Reductions and strides
//===----------------------------------------------------------------------===//

/// acc = combine(acc, in), the last lanes by a mask.
template <typename Combine>
ASHLAR_INLINE void combineLanes(const float *in, size_t n, float *acc,
                                Combine combine) {
  size_t t = 0;
  for (; t + 8 <= n; t += 8)
    _mm256_storeu_ps(
        acc + t, combine(_mm256_loadu_ps(acc + t), _mm256_loadu_ps(in + t)));
  if (t == n)
    return;
  const __m256i mask = lanes8(n - t);
  _mm256_maskstore_ps(acc + t, mask,
                      combine(_mm256_maskload_ps(acc + t, mask),
                              _mm256_maskload_ps(in + t, mask)));
}

/// The instruction for the larger one gives the second of equal values, as
/// reduceStep() does; a NaN wins.
static inline void reduceLanes(Reduction reduction, const float *in, size_t n,
                               float *acc) {
  switch (reduction) {
  case Reduction::Sum:
  case Reduction::Mean:
    return combineLanes(in, n, acc, [](__m256 x, __m256 y) {
      return canonicalLanes(_mm256_add_ps(x, y));
    });
  case Reduction::Max:
    return combineLanes(in, n, acc, [](__m256 x, __m256 y) {
      return _mm256_blendv_ps(
          _mm256_max_ps(x, y),
          _mm256_castsi256_ps(_mm256_set1_epi32(0x7fc00000)),
          _mm256_cmp_ps(x, y, _CMP_UNORD_Q));
    });
  default:
    return reduceRow(reduction, in, n, acc);
  }
}

/// Every second byte is the low half of a 16-bit lane: convolutions of stride
/// two fetch like this. The byte after the last element may lie outside the
/// memory: elements are taken in whole vectors as far as one more follows.
static inline void gather8Lanes(const void *src, ptrdiff_t stride, size_t n,
                                void *out) {
  size_t t = 0;
  const char *from = static_cast<const char *>(src);
  char *to = static_cast<char *>(out);
  const __m256i low = _mm256_set1_epi16(0xff);
  for (; stride == 2 && t + 16 < n; t += 16) {
    const __m256i even = _mm256_and_si256(
        _mm256_loadu_si256(reinterpret_cast<const __m256i *>(from + 2 * t)),
        low);
    _mm_storeu_si128(reinterpret_cast<__m128i *>(to + t),
                     _mm_packus_epi16(_mm256_castsi256_si128(even),
                                      _mm256_extracti128_si256(even, 1)));
  }
  gatherRow<uint8_t>(from + static_cast<ptrdiff_t>(t) * stride, stride, n - t,
                     to + t);
}

/// The even words: pooling of stride two.
static inline void gather32Lanes(const void *src, ptrdiff_t stride, size_t n,
                                 void *out) {
  size_t t = 0;
  const char *from = static_cast<const char *>(src);
  float *to = static_cast<float *>(out);
  for (; stride == 8 && t + 8 < n; t += 8) {
    const auto *words = reinterpret_cast<const float *>(from + 8 * t);
    const __m256 even = _mm256_shuffle_ps(_mm256_loadu_ps(words),
                                          _mm256_loadu_ps(words + 8), 0x88);
    _mm256_storeu_pd(reinterpret_cast<double *>(to + t),
                     _mm256_permute4x64_pd(_mm256_castps_pd(even), 0xd8));
  }
  gatherRow<uint32_t>(from + static_cast<ptrdiff_t>(t) * stride, stride, n - t,
                      to + t);
}

} // namespace ashlar::numerics

#endif // ASHLAR_LIB_NUMERICS_ROWSAVX2_H
