// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The first lanes of AVX2 vectors, in memory. AVX2 masks words of 32 and 64
// bits only: fewer bytes go in moves that overlap, and nothing else is touched.

#ifndef ASHLAR_LIB_NUMERICS_LANESAVX2_H
#define ASHLAR_LIB_NUMERICS_LANESAVX2_H

#include "RowKernels.h"

#include <immintrin.h>

namespace ashlar::numerics {

/// The first `count` of eight lanes of 32 bits; all of them from there on.
ASHLAR_INLINE __m256i lanes8(size_t count) {
  return _mm256_cmpgt_epi32(
      _mm256_set1_epi32(static_cast<int32_t>(least(count, size_t(8)))),
      _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

template <typename T>
ASHLAR_INLINE T readUnaligned(const void *from) {
  T value;
  __builtin_memcpy(&value, from, sizeof(T));
  return value;
}
template <typename T>
ASHLAR_INLINE void writeUnaligned(void *to, T value) {
  __builtin_memcpy(to, &value, sizeof(T));
}

/// The first count <= 8 bytes, zeros after them.
ASHLAR_INLINE uint64_t loadBytes8(const void *from, size_t count) {
  const auto *bytes = static_cast<const uint8_t *>(from);
  if (count >= 8)
    return readUnaligned<uint64_t>(bytes);
  if (count >= 4)
    return readUnaligned<uint32_t>(bytes) |
           static_cast<uint64_t>(readUnaligned<uint32_t>(bytes + count - 4))
               << (8 * (count - 4));
  if (count == 0)
    return 0;
  return bytes[0] | static_cast<uint64_t>(bytes[count / 2]) << (count / 2 * 8) |
         static_cast<uint64_t>(bytes[count - 1]) << ((count - 1) * 8);
}

/// The first count <= 16 bytes, zeros after them.
ASHLAR_INLINE __m128i loadBytes16(const void *from, size_t count) {
  const auto *bytes = static_cast<const uint8_t *>(from);
  if (count >= 16)
    return _mm_loadu_si128(reinterpret_cast<const __m128i *>(bytes));
  const uint64_t low = loadBytes8(bytes, least(count, size_t(8)));
  const uint64_t high =
      count > 8
          ? readUnaligned<uint64_t>(bytes + count - 8) >> (8 * (16 - count))
          : 0;
  return _mm_set_epi64x(static_cast<int64_t>(high), static_cast<int64_t>(low));
}

/// Writes the first count <= 8 bytes.
ASHLAR_INLINE void storeBytes8(void *to, uint64_t value, size_t count) {
  auto *bytes = static_cast<uint8_t *>(to);
  if (count >= 8)
    return writeUnaligned(bytes, value);
  if (count >= 4) {
    writeUnaligned(bytes, static_cast<uint32_t>(value));
    writeUnaligned(bytes + count - 4,
                   static_cast<uint32_t>(value >> (8 * (count - 4))));
    return;
  }
  for (size_t i = 0; i < count; ++i)
    bytes[i] = static_cast<uint8_t>(value >> (8 * i));
}

/// Writes the first count <= 16 bytes.
ASHLAR_INLINE void storeBytes16(void *to, __m128i value, size_t count) {
  auto *bytes = static_cast<uint8_t *>(to);
  if (count >= 16)
    return _mm_storeu_si128(reinterpret_cast<__m128i *>(bytes), value);
  const auto low = static_cast<uint64_t>(_mm_cvtsi128_si64(value));
  storeBytes8(bytes, low, least(count, size_t(8)));
  if (count > 8)
    storeBytes8(bytes + 8, static_cast<uint64_t>(_mm_extract_epi64(value, 1)),
                count - 8);
}

/// Writes the first count <= 16 lanes of 16 bits.
ASHLAR_INLINE void storeShorts(int16_t *to, __m256i value, size_t count) {
  if (count >= 16)
    return _mm256_storeu_si256(reinterpret_cast<__m256i *>(to), value);
  storeBytes16(to, _mm256_castsi256_si128(value), 2 * least(count, size_t(8)));
  if (count > 8)
    storeBytes16(to + 8, _mm256_extracti128_si256(value, 1), 2 * (count - 8));
}

} // namespace ashlar::numerics

#endif // ASHLAR_LIB_NUMERICS_LANESAVX2_H
