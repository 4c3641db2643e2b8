// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Exact matrix product on pairs of 16-bit integers (docs/Numerics.md 11).
//
// The stationary operand is cut into 8-bit planes (the top one signed), the
// moving operand into 15-bit digits. One multiply-add instruction sums two
// products of a digit and a plane; over 128 rows every such sum is below
// 2^15 * 2^8 * 2^7 = 2^30, so that int32 lanes never wrap. The planes meet in
// int64. Simd supplies the vector type of one instruction set.

#ifndef ASHLAR_LIB_NUMERICS_GEMMKERNEL_H
#define ASHLAR_LIB_NUMERICS_GEMMKERNEL_H

#include "RowKernels.h"

namespace ashlar::numerics {

constexpr size_t kBlockPairs = 64; ///< pairs of rows per exact int32 sum
constexpr size_t kGroup = 4;       ///< columns per register tile

static inline int32_t elementOf(const IntegerMatrix &m, size_t row,
                                size_t column) {
  size_t index = row * m.pitch + column;
  return m.width == OperandWidth::Int16
             ? static_cast<const int16_t *>(m.data)[index]
             : static_cast<const int32_t *>(m.data)[index];
}

/// OR of all v ^ (v >> 31): bounds every magnitude by its highest set bit.
template <typename T>
static uint32_t magnitudeBits(const T *data, size_t pitch, size_t rows,
                              size_t cols) {
  uint32_t used = 0;
  for (size_t i = 0; i < rows; ++i) {
    const T *row = data + i * pitch;
    ASHLAR_VECTOR_LOOP
    for (size_t c = 0; c < cols; ++c) {
      int32_t v = row[c];
      used |= static_cast<uint32_t>(v ^ (v >> 31));
    }
  }
  return used;
}

static inline uint32_t magnitudeBits(const IntegerMatrix &m, size_t first,
                                     size_t rows, size_t cols) {
  if (m.width == OperandWidth::Int16)
    return magnitudeBits(static_cast<const int16_t *>(m.data) + first, m.pitch,
                         rows, cols);
  return magnitudeBits(static_cast<const int32_t *>(m.data) + first, m.pitch,
                       rows, cols);
}

/// Planes of 8 bits that hold the values; one plane may be a 9-bit integer.
static inline unsigned planesFor(uint32_t used) {
  if (used < (1u << 8))
    return 1;
  if (used < (1u << 15))
    return 2;
  return used < (1u << 23) ? 3 : 4;
}

static inline int32_t planeOf(int32_t value, unsigned plane, unsigned planes) {
  int32_t moved = value >> (8 * plane);
  return plane + 1 == planes ? moved : moved & 0xff;
}

/// All planes of one pair of rows; pitch 0 stands for a missing second row.
template <typename T>
static void packLine(const T *low, size_t pitch, size_t cols, size_t padded,
                     unsigned planes, uint32_t *line) {
  uint32_t keep = pitch ? 0xffffffffu : 0xffffu;
  const T *high = low + pitch;
  for (unsigned p = 0; p < planes; ++p, line += padded) {
    ASHLAR_VECTOR_LOOP
    for (size_t c = 0; c < cols; ++c)
      line[c] = ((static_cast<uint32_t>(planeOf(low[c], p, planes)) & 0xffff) |
                 (static_cast<uint32_t>(planeOf(high[c], p, planes)) << 16)) &
                keep;
    for (size_t c = cols; c < padded; ++c)
      line[c] = 0;
  }
}

/// Layout: row block, column group, pair, plane, column; one int32 holds the
/// two 16-bit values of a pair.
static inline void packPairs(const IntegerMatrix &values, size_t rows,
                             size_t cols, PackedStationary &out) {
  size_t groups = (cols + kGroup - 1) / kGroup, pairs = (rows + 1) / 2;
  unsigned planes = planesFor(magnitudeBits(values, 0, rows, cols));
  out.rows = rows;
  out.cols = cols;
  out.width = values.width;
  out.planes = planes;
  out.reserve(pairs * groups * kGroup * planes * sizeof(int32_t));
  uint32_t *to = reinterpret_cast<uint32_t *>(out.bytes);
  size_t padded = groups * kGroup;
  uint32_t *line =
      reinterpret_cast<uint32_t *>(gemmScratch(planes * padded * 4));
  for (size_t block = 0; block < pairs; block += kBlockPairs) {
    size_t count = least(kBlockPairs, pairs - block);
    for (size_t k = 0; k < count; ++k) {
      size_t row = 2 * (block + k);
      if (values.width == OperandWidth::Int16)
        packLine(static_cast<const int16_t *>(values.data) + row * values.pitch,
                 row + 1 < rows ? values.pitch : 0, cols, padded, planes, line);
      else
        packLine(static_cast<const int32_t *>(values.data) + row * values.pitch,
                 row + 1 < rows ? values.pitch : 0, cols, padded, planes, line);
      for (size_t g = 0; g < groups; ++g)
        for (unsigned p = 0; p < planes; ++p)
          __builtin_memcpy(to + ((g * count + k) * planes + p) * kGroup,
                           line + p * padded + g * kGroup, 4 * kGroup);
    }
    to += count * groups * planes * kGroup;
  }
}

/// One digit of a moving element: all of it, its low 15 bits, or the rest.
enum class Digit { Whole, Low, High };

template <Digit D, typename T>
ASHLAR_INLINE uint32_t digitOf(T value) {
  int32_t v = value;
  if constexpr (D == Digit::Low)
    return static_cast<uint32_t>(v & 0x7fff);
  if constexpr (D == Digit::High)
    return static_cast<uint32_t>(v >> 15) & 0xffff;
  return static_cast<uint32_t>(v) & 0xffff;
}

template <Digit D, typename T>
static void packDigit(const T *data, size_t pitch, size_t rows, size_t steps,
                      size_t tile, uint32_t *out) {
  for (size_t i = 0; i < rows; i += 2, out += tile) {
    const T *low = data + i * pitch;
    const T *high = i + 1 < rows ? low + pitch : nullptr;
    if (high) {
      ASHLAR_VECTOR_LOOP
      for (size_t t = 0; t < steps; ++t)
        out[t] = digitOf<D>(low[t]) | (digitOf<D>(high[t]) << 16);
    } else {
      ASHLAR_VECTOR_LOOP
      for (size_t t = 0; t < steps; ++t)
        out[t] = digitOf<D>(low[t]);
    }
    for (size_t t = steps; t < tile; ++t)
      out[t] = 0;
  }
}

/// Packs `steps` columns from `first` on into tiles of `tile` columns; returns
/// the number of digits written.
static inline unsigned packMoving(const IntegerMatrix &moving, size_t rows,
                                  size_t first, size_t steps, size_t tile,
                                  uint32_t *out) {
  if (moving.width == OperandWidth::Int16) {
    packDigit<Digit::Whole>(static_cast<const int16_t *>(moving.data) + first,
                            moving.pitch, rows, steps, tile, out);
    return 1;
  }
  const int32_t *data = static_cast<const int32_t *>(moving.data) + first;
  if (magnitudeBits(moving, first, rows, steps) < (1u << 15)) {
    packDigit<Digit::Whole>(data, moving.pitch, rows, steps, tile, out);
    return 1;
  }
  packDigit<Digit::Low>(data, moving.pitch, rows, steps, tile, out);
  packDigit<Digit::High>(data, moving.pitch, rows, steps, tile,
                         out + (rows + 1) / 2 * tile);
  return 2;
}

/// part[p][c][t] = sum over pairs; NP planes from `s` on, `stride` int32 from
/// pair to pair.
template <typename Simd, int NP>
ASHLAR_INLINE void pairTile(const int32_t *s, size_t stride, const uint32_t *m,
                            size_t pairs, int32_t *part) {
  constexpr size_t lanes = Simd::kLanes, vectors = Simd::kVectors;
  typename Simd::Vec acc[NP][kGroup][vectors];
#pragma GCC unroll 16
  for (size_t k = 0; k < NP * kGroup * vectors; ++k)
    acc[k / (kGroup * vectors)][k / vectors % kGroup][k % vectors] =
        Simd::zero();
  for (size_t pair = 0; pair < pairs; ++pair, s += stride) {
    typename Simd::Vec in[vectors];
#pragma GCC unroll 4
    for (size_t v = 0; v < vectors; ++v, m += lanes)
      in[v] = Simd::load(m);
#pragma GCC unroll 4
    for (size_t p = 0; p < NP; ++p)
#pragma GCC unroll 4
      for (size_t c = 0; c < kGroup; ++c) {
        typename Simd::Vec weight = Simd::broadcast(s[p * kGroup + c]);
#pragma GCC unroll 4
        for (size_t v = 0; v < vectors; ++v)
          acc[p][c][v] = Simd::dot(acc[p][c][v], in[v], weight);
      }
  }
#pragma GCC unroll 16
  for (size_t k = 0; k < NP * kGroup * vectors; ++k)
    Simd::store(part + k * lanes,
                acc[k / (kGroup * vectors)][k / vectors % kGroup][k % vectors]);
}

ASHLAR_INLINE int64_t shiftLeft(int64_t value, int places) {
  return static_cast<int64_t>(static_cast<uint64_t>(value) << places);
}

/// Sum that wraps: only an unproved program can get there.
ASHLAR_INLINE int64_t addWrapping(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) +
                              static_cast<uint64_t>(b));
}

/// acc[t] (+)= low[t] * 2^shift + high[t] * 2^(shift + 8); high may be null.
static inline void mergeParts(const int32_t *low, const int32_t *high,
                              int shift, size_t steps, bool add, int64_t *acc) {
  const int64_t keep = add ? -1 : 0;
  if (!high) {
    ASHLAR_VECTOR_LOOP
    for (size_t t = 0; t < steps; ++t)
      acc[t] = addWrapping(acc[t] & keep, shiftLeft(low[t], shift));
    return;
  }
  ASHLAR_VECTOR_LOOP
  for (size_t t = 0; t < steps; ++t)
    acc[t] = addWrapping(acc[t] & keep,
                         shiftLeft(shiftLeft(high[t], 8) + low[t], shift));
}

/// One tile of steps against all columns for one row block and digit.
template <typename Simd>
static void tileColumns(const PackedStationary &stationary, const int32_t *s,
                        const uint32_t *m, size_t pairs, int digitShift,
                        size_t steps, int64_t *acc, size_t accPitch, bool add) {
  constexpr size_t tile = Simd::kLanes * Simd::kVectors;
  alignas(64) int32_t part[2 * kGroup * tile];
  size_t planes = stationary.planes, stride = planes * kGroup;
  for (size_t c0 = 0; c0 < stationary.cols; c0 += kGroup, s += pairs * stride)
    for (size_t p = 0; p < planes; p += 2) {
      bool two = p + 1 < planes;
      if (two)
        pairTile<Simd, 2>(s + p * kGroup, stride, m, pairs, part);
      else
        pairTile<Simd, 1>(s + p * kGroup, stride, m, pairs, part);
      for (size_t c = 0; c < least(kGroup, stationary.cols - c0); ++c)
        mergeParts(part + c * tile, two ? part + (kGroup + c) * tile : nullptr,
                   digitShift + static_cast<int>(8 * p), steps, add || p > 0,
                   acc + (c0 + c) * accPitch);
    }
}

/// The product of empty operands.
static inline void clearSums(size_t cols, size_t steps, int64_t *acc,
                             size_t accPitch) {
  for (size_t c = 0; c < cols; ++c)
    for (size_t t = 0; t < steps; ++t)
      acc[c * accPitch + t] = 0;
}

template <typename Simd>
static void gemmPairs(const PackedStationary &stationary,
                      const IntegerMatrix &moving, size_t steps, int64_t *acc,
                      size_t accPitch, bool accumulate) {
  if (stationary.rows == 0) {
    if (!accumulate)
      clearSums(stationary.cols, steps, acc, accPitch);
    return;
  }
  constexpr size_t tile = Simd::kLanes * Simd::kVectors;
  size_t pairs = (stationary.rows + 1) / 2;
  size_t columns = (stationary.cols + kGroup - 1) / kGroup * kGroup;
  uint32_t *packed =
      reinterpret_cast<uint32_t *>(gemmScratch(2 * pairs * tile * 4));
  const int32_t *weights = reinterpret_cast<const int32_t *>(stationary.bytes);
  for (size_t t = 0; t < steps; t += tile) {
    size_t width = least(tile, steps - t);
    unsigned digits =
        packMoving(moving, stationary.rows, t, width, tile, packed);
    bool add = accumulate;
    for (unsigned d = 0; d < digits; ++d)
      for (size_t block = 0; block < pairs; block += kBlockPairs) {
        tileColumns<Simd>(
            stationary, weights + block * columns * stationary.planes,
            packed + (d * pairs + block) * tile,
            least(kBlockPairs, pairs - block), static_cast<int>(15 * d), width,
            acc + t, accPitch, add);
        add = true;
      }
  }
}

} // namespace ashlar::numerics

#endif // ASHLAR_LIB_NUMERICS_GEMMKERNEL_H
