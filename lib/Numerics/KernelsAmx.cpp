// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernel table for AMX int8 tiles. Reached only after a CPU check and after the
// operating system has granted the tile state (Kernels.cpp).
//
// Both operands are cut into 16-bit halves of two byte planes each; only the
// top plane of the top half is signed. Four tile products give the four plane
// pairs of two halves: every int32 sum over kBlockRows rows is below
// 2^16 * kBlockRows, hence exact (docs/Numerics.md 11).

#include "AlignAvx512.h"
#include "GemmKernel.h"

#include <immintrin.h>

namespace ashlar::numerics {

constexpr size_t kTile = 16; ///< rows of a tile; columns of 32 bits
constexpr size_t kTileBytes = 1024;
constexpr size_t kTileK = 64;    ///< products per tile row
constexpr size_t kStepTile = 64; ///< moving columns packed at a time
/// Rows per exact sum: the fast merge keeps 256 * |hh| + |hl + lh| in 31 bits.
constexpr size_t kBlockRows = 128;

namespace {
struct alignas(64) TileConfig {
  uint8_t palette = 1;
  uint8_t startRow = 0;
  uint8_t reserved[14] = {};
  uint16_t columnBytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
} // namespace
static_assert(sizeof(TileConfig) == 64);

ASHLAR_INLINE size_t blocksOf(size_t n, size_t size) {
  return (n + size - 1) / size;
}

/// Halves that hold the values: one if all fit 16 bits.
static inline size_t halvesFor(uint32_t used) {
  return used < (1u << 15) ? 1 : 2;
}

/// Sixteen 16-bit halves of a row; masked lanes are zero and not read.
ASHLAR_INLINE __m256i loadHalves(const int16_t *row, __mmask16 mask, int) {
  return _mm256_maskz_loadu_epi16(mask, row);
}
ASHLAR_INLINE __m256i loadHalves(const int32_t *row, __mmask16 mask,
                                 int shift) {
  __m512i v = _mm512_maskz_loadu_epi32(mask, row);
  return _mm512_cvtepi32_epi16(_mm512_sra_epi32(v, _mm_cvtsi32_si128(shift)));
}

namespace {
/// Byte planes of four rows: byte k of 32-bit lane t belongs to row k.
struct Quad {
  __m512i low, high;
};
} // namespace

template <typename T>
ASHLAR_INLINE Quad loadQuad(const T *row, size_t pitch, size_t rows,
                            __mmask16 mask, int shift) {
  const __m256i bytes = _mm256_set1_epi16(0xff);
  __m256i v[4];
#pragma GCC unroll 4
  for (size_t k = 0; k < 4; ++k)
    v[k] = k < rows ? loadHalves(row + k * pitch, mask, shift)
                    : _mm256_setzero_si256();
  auto lowOf = [&](__m256i a, __m256i b) {
    return _mm512_cvtepu16_epi32(
        _mm256_or_si256(_mm256_and_si256(a, bytes), _mm256_slli_epi16(b, 8)));
  };
  auto highOf = [&](__m256i a, __m256i b) {
    return _mm512_cvtepu16_epi32(_mm256_or_si256(
        _mm256_srli_epi16(a, 8), _mm256_andnot_si256(bytes, b)));
  };
  auto join = [](__m512i first, __m512i second) {
    return _mm512_or_si512(first, _mm512_slli_epi32(second, 16));
  };
  return {join(lowOf(v[0], v[1]), lowOf(v[2], v[3])),
          join(highOf(v[0], v[1]), highOf(v[2], v[3]))};
}

ASHLAR_INLINE __mmask16 laneMask(size_t count) {
  return static_cast<__mmask16>((1u << count) - 1);
}

/// Stores the transpose of 16 x 16 32-bit lanes: `out` row c is lane c of every
/// vector.
ASHLAR_INLINE void storeTransposed(const __m512i *v, uint8_t *out) {
  // Pairs, quads, then 128-bit lanes change places.
  __m512i a[16], b[16];
#pragma GCC unroll 8
  for (size_t i = 0; i < 8; ++i) {
    a[2 * i] = _mm512_unpacklo_epi32(v[2 * i], v[2 * i + 1]);
    a[2 * i + 1] = _mm512_unpackhi_epi32(v[2 * i], v[2 * i + 1]);
  }
#pragma GCC unroll 4
  for (size_t i = 0; i < 4; ++i) {
    b[4 * i] = _mm512_unpacklo_epi64(a[4 * i], a[4 * i + 2]);
    b[4 * i + 1] = _mm512_unpackhi_epi64(a[4 * i], a[4 * i + 2]);
    b[4 * i + 2] = _mm512_unpacklo_epi64(a[4 * i + 1], a[4 * i + 3]);
    b[4 * i + 3] = _mm512_unpackhi_epi64(a[4 * i + 1], a[4 * i + 3]);
  }
  // b[4 q + r] holds, in its lane of 128 bits l, column 4 l + r of vectors
  // 4 q to 4 q + 3.
#pragma GCC unroll 4
  for (size_t r = 0; r < 4; ++r) {
    const __m512i x = _mm512_shuffle_i32x4(b[r], b[4 + r], 0x88);
    const __m512i y = _mm512_shuffle_i32x4(b[8 + r], b[12 + r], 0x88);
    const __m512i z = _mm512_shuffle_i32x4(b[r], b[4 + r], 0xdd);
    const __m512i w = _mm512_shuffle_i32x4(b[8 + r], b[12 + r], 0xdd);
    _mm512_store_si512(out + r * 64, _mm512_shuffle_i32x4(x, y, 0x88));
    _mm512_store_si512(out + (8 + r) * 64, _mm512_shuffle_i32x4(x, y, 0xdd));
    _mm512_store_si512(out + (4 + r) * 64, _mm512_shuffle_i32x4(z, w, 0x88));
    _mm512_store_si512(out + (12 + r) * 64, _mm512_shuffle_i32x4(z, w, 0xdd));
  }
}

/// Stationary tiles of one half, layout: column group, K block, plane, column,
/// k. The transposed order of a quad is what a tile row holds.
template <typename T>
static void packColumns(const T *data, size_t pitch, size_t rows, size_t cols,
                        int shift, uint8_t *out) {
  constexpr size_t quads = kTileK / 4;
  for (size_t c = 0; c < cols; c += kTile) {
    const __mmask16 mask = laneMask(least(kTile, cols - c));
    for (size_t k = 0; k < rows; k += kTileK, out += 2 * kTileBytes) {
      __m512i low[quads], high[quads];
      for (size_t q = 0; q < quads; ++q) {
        // Rows beyond the last are zero and their pointer is not formed.
        const size_t i = k + 4 * q;
        const size_t left = i < rows ? least(rows - i, size_t(4)) : 0;
        const Quad quad = loadQuad(left ? data + i * pitch + c : data, pitch,
                                   left, mask, shift);
        low[q] = quad.low;
        high[q] = quad.high;
      }
      storeTransposed(low, out);
      storeTransposed(high, out + kTileBytes);
    }
  }
}

static inline void packTiles(const IntegerMatrix &values, size_t rows,
                             size_t cols, PackedStationary &out) {
  size_t halves = halvesFor(magnitudeBits(values, 0, rows, cols));
  size_t halfBytes =
      blocksOf(cols, kTile) * blocksOf(rows, kTileK) * 2 * kTileBytes;
  out.rows = rows;
  out.cols = cols;
  out.width = values.width;
  out.planes = static_cast<unsigned>(2 * halves);
  out.reserve(halves * halfBytes);
  for (size_t h = 0; h < halves; ++h) {
    uint8_t *to = out.bytes + h * halfBytes;
    if (values.width == OperandWidth::Int16)
      packColumns(static_cast<const int16_t *>(values.data), values.pitch, rows,
                  cols, 0, to);
    else
      packColumns(static_cast<const int32_t *>(values.data), values.pitch, rows,
                  cols, static_cast<int>(16 * h), to);
  }
}

/// Moving tiles of one half, layout: step tile, K block, plane, quad, step.
/// `data` is the range; the last range fills the last K block with zeros.
template <typename T>
static void packSteps(const T *data, size_t pitch, const MovingRange &range,
                      size_t allRows, int shift, uint8_t *out) {
  static_assert(kMovingRowUnit == 4, "rows of a quad");
  const size_t kBlocks = blocksOf(allRows, kTileK);
  const size_t end = range.row + range.rows;
  const size_t last = end == allRows ? kBlocks * kTileK : end;
  for (size_t i = range.row; i < last; i += 4) {
    size_t left = i < end ? least(end - i, size_t(4)) : 0;
    const T *row = left ? data + (i - range.row) * pitch : data;
    uint8_t *tile = out + i / kTileK * 2 * kTileBytes + i % kTileK / 4 * 64;
    for (size_t t = 0; t < range.steps; t += kTile) {
      Quad quad = loadQuad(row + t, pitch, left,
                           laneMask(least(kTile, range.steps - t)), shift);
      _mm512_store_si512(tile, quad.low);
      _mm512_store_si512(tile + kTileBytes, quad.high);
      tile += kBlocks * 2 * kTileBytes;
    }
  }
}

/// Returns the number of halves written, each of `halfBytes`.
static inline size_t packMovingTiles(const IntegerMatrix &moving, size_t rows,
                                     size_t first, size_t steps,
                                     size_t halfBytes, uint8_t *out) {
  const MovingRange all = {0, rows, 0, steps};
  if (moving.width == OperandWidth::Int16) {
    packSteps(static_cast<const int16_t *>(moving.data) + first, moving.pitch,
              all, rows, 0, out);
    return 1;
  }
  const int32_t *data = static_cast<const int32_t *>(moving.data) + first;
  size_t halves = halvesFor(magnitudeBits(moving, first, rows, steps));
  for (size_t h = 0; h < halves; ++h)
    packSteps(data, moving.pitch, all, rows, static_cast<int>(16 * h),
              out + h * halfBytes);
  return halves;
}

/// Tiles 0..3 = low*low, low*high, high*low, high*high of stationary tiles 4, 5
/// and moving tiles 6, 7; then stored one after the other.
template <bool SignedS, bool SignedM>
ASHLAR_INLINE void tileProducts(const uint8_t *s, const uint8_t *m,
                                size_t kBlocks, int32_t *part) {
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  for (size_t k = 0; k < kBlocks;
       ++k, s += 2 * kTileBytes, m += 2 * kTileBytes) {
    _tile_loadd(4, s, 64);
    _tile_loadd(6, m, 64);
    _tile_dpbuud(0, 4, 6);
    _tile_loadd(7, m + kTileBytes, 64);
    if constexpr (SignedM)
      _tile_dpbusd(1, 4, 7);
    else
      _tile_dpbuud(1, 4, 7);
    _tile_loadd(5, s + kTileBytes, 64);
    if constexpr (SignedS)
      _tile_dpbsud(2, 5, 6);
    else
      _tile_dpbuud(2, 5, 6);
    if constexpr (SignedS && SignedM)
      _tile_dpbssd(3, 5, 7);
    else if constexpr (SignedS)
      _tile_dpbsud(3, 5, 7);
    else if constexpr (SignedM)
      _tile_dpbusd(3, 5, 7);
    else
      _tile_dpbuud(3, 5, 7);
  }
  _tile_stored(0, part, 64);
  _tile_stored(1, part + 256, 64);
  _tile_stored(2, part + 512, 64);
  _tile_stored(3, part + 768, 64);
}

/// Merges one row of the four products: both halves signed, so that the upper
/// three fit 32 bits together.
ASHLAR_INLINE void mergeRow(const int32_t *part, bool add, __mmask8 lowMask,
                            __mmask8 highMask, int64_t *acc) {
  __m512i ll = _mm512_load_si512(part);
  __m512i middle = _mm512_add_epi32(_mm512_load_si512(part + 256),
                                    _mm512_load_si512(part + 512));
  __m512i upper = _mm512_add_epi32(
      _mm512_slli_epi32(_mm512_load_si512(part + 768), 8), middle);
  auto widen = [](__m512i v, int half) {
    return half ? _mm512_cvtepi32_epi64(_mm512_extracti64x4_epi64(v, 1))
                : _mm512_cvtepi32_epi64(_mm512_castsi512_si256(v));
  };
  auto put = [&](int half, __mmask8 mask, int64_t *to) {
    __m512i v = _mm512_add_epi64(_mm512_slli_epi64(widen(upper, half), 8),
                                 widen(ll, half));
    if (add)
      v = _mm512_add_epi64(v, _mm512_maskz_loadu_epi64(mask, to));
    _mm512_mask_storeu_epi64(to, mask, v);
  };
  put(0, lowMask, acc);
  put(1, highMask, acc + 8);
}

/// The general merge, for halves below the top.
static inline void mergeRowWide(const int32_t *part, int shift, size_t steps,
                                bool add, int64_t *acc) {
  for (size_t t = 0; t < steps; ++t) {
    int64_t value = part[t] + shiftLeft(part[256 + t], 8) +
                    shiftLeft(part[512 + t], 8) + shiftLeft(part[768 + t], 16);
    acc[t] = addWrapping(add ? acc[t] : 0, shiftLeft(value, shift));
  }
}

namespace {
struct TileJob {
  const uint8_t *s;
  const uint8_t *m;
  size_t kBlocks;
  bool signedS, signedM;
  int shift;
  size_t cols, steps;
  bool add;
  int64_t *acc;
  size_t accPitch;
};
} // namespace

static inline void runTile(const TileJob &job) {
  alignas(64) int32_t part[4 * 256];
  if (job.signedS && job.signedM)
    tileProducts<true, true>(job.s, job.m, job.kBlocks, part);
  else if (job.signedS)
    tileProducts<true, false>(job.s, job.m, job.kBlocks, part);
  else if (job.signedM)
    tileProducts<false, true>(job.s, job.m, job.kBlocks, part);
  else
    tileProducts<false, false>(job.s, job.m, job.kBlocks, part);
  if (!job.signedS || !job.signedM || job.shift) {
    for (size_t c = 0; c < job.cols; ++c)
      mergeRowWide(part + c * kTile, job.shift, job.steps, job.add,
                   job.acc + c * job.accPitch);
    return;
  }
  uint32_t mask = (1u << job.steps) - 1;
  for (size_t c = 0; c < job.cols; ++c)
    mergeRow(part + c * kTile, job.add, static_cast<__mmask8>(mask),
             static_cast<__mmask8>(mask >> 8), job.acc + c * job.accPitch);
}

/// All column groups and K ranges of one packed step range.
static inline void runSteps(const PackedStationary &s, const uint8_t *packed,
                            size_t halvesM, size_t halfBytes, size_t steps,
                            int64_t *acc, size_t accPitch, bool accumulate) {
  size_t kBlocks = blocksOf(s.rows, kTileK), groups = blocksOf(s.cols, kTile);
  size_t halvesS = s.planes / 2;
  constexpr size_t kRange = kBlockRows / kTileK;
  for (size_t t = 0; t < steps; t += kTile)
    for (size_t g = 0; g < groups; ++g) {
      bool add = accumulate;
      for (size_t pair = 0; pair < halvesS * halvesM; ++pair)
        for (size_t k = 0; k < kBlocks; k += kRange) {
          size_t hs = pair / halvesM, hm = pair % halvesM;
          runTile({s.bytes + ((hs * groups + g) * kBlocks + k) * 2 * kTileBytes,
                   packed + hm * halfBytes +
                       (t / kTile * kBlocks + k) * 2 * kTileBytes,
                   least(kRange, kBlocks - k), hs + 1 == halvesS,
                   hm + 1 == halvesM, static_cast<int>(16 * (hs + hm)),
                   least(kTile, s.cols - g * kTile), least(kTile, steps - t),
                   add, acc + g * kTile * accPitch + t, accPitch});
          add = true;
        }
    }
}

static inline void gemmTiles(const PackedStationary &stationary,
                             const IntegerMatrix &moving, size_t steps,
                             int64_t *acc, size_t accPitch, bool accumulate) {
  if (stationary.rows == 0) {
    if (!accumulate)
      clearSums(stationary.cols, steps, acc, accPitch);
    return;
  }
  static const TileConfig config;
  _tile_loadconfig(&config);
  size_t halfBytes =
      kStepTile / kTile * blocksOf(stationary.rows, kTileK) * 2 * kTileBytes;
  uint8_t *packed = gemmScratch(2 * halfBytes);
  for (size_t t = 0; t < steps; t += kStepTile) {
    size_t width = least(kStepTile, steps - t);
    size_t halves =
        packMovingTiles(moving, stationary.rows, t, width, halfBytes, packed);
    runSteps(stationary, packed, halves, halfBytes, width, acc + t, accPitch,
             accumulate);
  }
  _tile_release();
}

/// Halves of a packed moving operand: of its type, because ranges are packed
/// apart from each other.
static inline size_t movingHalves(OperandWidth width) {
  return width == OperandWidth::Int16 ? 1 : 2;
}

/// Bytes of one tile of steps, and of one half of the operand.
static inline size_t stepTileBytes(size_t rows) {
  return blocksOf(rows, kTileK) * 2 * kTileBytes;
}
static inline size_t movingHalfBytes(const PackedMoving &moving) {
  return blocksOf(moving.steps, kTile) * stepTileBytes(moving.rows);
}

static inline void startMovingTiles(size_t rows, size_t steps,
                                    OperandWidth width, PackedMoving &out) {
  out.rows = rows;
  out.steps = steps;
  out.width = width;
  out.reserve(movingHalves(width) * movingHalfBytes(out));
}

static inline void packMovingRange(const IntegerMatrix &values,
                                   const MovingRange &range,
                                   PackedMoving &out) {
  uint8_t *to = out.bytes + range.first / kTile * stepTileBytes(out.rows);
  if (values.width == OperandWidth::Int16) {
    packSteps(static_cast<const int16_t *>(values.data), values.pitch, range,
              out.rows, 0, to);
    return;
  }
  for (size_t h = 0; h < 2; ++h)
    packSteps(static_cast<const int32_t *>(values.data), values.pitch, range,
              out.rows, static_cast<int>(16 * h),
              to + h * movingHalfBytes(out));
}

static inline void gemmPackedTiles(const PackedStationary &stationary,
                                   const PackedMoving &moving, size_t first,
                                   size_t steps, int64_t *acc, size_t accPitch,
                                   bool accumulate) {
  if (stationary.rows == 0) {
    if (!accumulate)
      clearSums(stationary.cols, steps, acc, accPitch);
    return;
  }
  static const TileConfig config;
  _tile_loadconfig(&config);
  runSteps(stationary,
           moving.bytes + first / kTile * stepTileBytes(moving.rows),
           movingHalves(moving.width), movingHalfBytes(moving), steps, acc,
           accPitch, accumulate);
  _tile_release();
}

static constexpr KernelTable makeAmxTable() {
  KernelTable table = makeTable512<gemmTiles>("amx", packTiles);
  table.startMoving = startMovingTiles;
  table.packMoving = packMovingRange;
  table.gemmPacked = gemmPackedTiles;
  return table;
}

constinit const KernelTable amxTable = makeAmxTable();

} // namespace ashlar::numerics
