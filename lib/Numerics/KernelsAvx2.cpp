// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernel table for AVX2. Built with -mavx2; reached only after a CPU check.

#include "GemmKernel.h"

#include <immintrin.h>

namespace ashlar::numerics {
namespace {

struct Simd {
  using Vec = __m256i;
  static constexpr size_t kLanes = 8;
  static constexpr size_t kVectors = 1;
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
  ASHLAR_INLINE void store(int32_t *to, Vec value) {
    _mm256_storeu_si256(reinterpret_cast<__m256i *>(to), value);
  }
};

} // namespace

constinit const KernelTable avx2Table =
    makeTable<gemmPairs<Simd>>("avx2", packPairs);

} // namespace ashlar::numerics
