// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernel tables for AVX-512 (F, BW, DQ, VL), without and with VNNI: the file is
// built twice, ASHLAR_VNNI tells which.

#include "AlignAvx512.h"
#include "GemmKernel.h"

#include <immintrin.h>

namespace ashlar::numerics {
namespace {

struct Simd {
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
};

} // namespace

static constexpr KernelTable makePairTable(llvm::StringRef name) {
  KernelTable table =
      makeTable512<gemmPairs<Simd>>(name, packPairs<Simd::kColumns>);
  table.startMoving = startMovingPairs;
  table.packMoving = packMovingPairs;
  table.packStored = packStoredPairs<alignGroup8To16Lanes>;
  table.gemmPacked = gemmPackedPairs<Simd>;
  return table;
}

#if ASHLAR_VNNI
constinit const KernelTable avx512VnniTable = makePairTable("avx512vnni");
#else
constinit const KernelTable avx512Table = makePairTable("avx512");
#endif

} // namespace ashlar::numerics
