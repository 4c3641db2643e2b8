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
  ASHLAR_INLINE void store(int32_t *to, Vec value) {
    _mm512_storeu_si512(to, value);
  }
};

} // namespace

#if ASHLAR_VNNI
constinit const KernelTable avx512VnniTable =
    makeTable512<gemmPairs<Simd>>("avx512vnni", packPairs);
#else
constinit const KernelTable avx512Table =
    makeTable512<gemmPairs<Simd>>("avx512", packPairs);
#endif

} // namespace ashlar::numerics
