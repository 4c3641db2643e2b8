// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernel table for AMX int8 tiles. Reached only after a CPU check and after the
// operating system has granted the tile state (Kernels.cpp).
//
// Both operands are cut into 16-bit halves of two byte planes each; only the
// top plane of the top half is signed. Four tile products give the four plane
// pairs of two halves, the two mixed ones in one sum: every int32 sum is below
// 2^17 per row, hence exact over kExactBlocks K blocks (docs/Numerics.md 11).

#define ASHLAR_VNNI 1
#include "AlignAvx512.h"
#include "GemmPack.h"
#include "SimdAvx2.h"
#include "SimdAvx512.h"
#include "TileKernel.h"

#include <immintrin.h>

namespace ashlar::numerics {

constexpr size_t kTile = 16; ///< rows of a tile; columns of 32 bits
constexpr size_t kTileBytes = 1024;
constexpr size_t kTileK = 64;    ///< products per tile row
constexpr size_t kStepTile = 64; ///< moving columns packed at a time
/// K blocks per exact sum: twice 2^16 per row stay below 31 bits.
constexpr size_t kExactBlocks = (1u << 14) / kTileK;
constexpr size_t kChain = 64; ///< Products whose sums stay in tiles.

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
  size_t halves = values.width == OperandWidth::Int16
                      ? 1
                      : halvesFor(magnitudeBits(values, 0, rows, cols));
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

/// Adds to tiles 0 = low*low, 1 = low*high + high*low, 2 = high*high the
/// products of stationary tiles 4, 5 and moving tiles 6, 7.
template <bool SignedS, bool SignedM>
ASHLAR_INLINE void addProducts(const uint8_t *s, const uint8_t *m,
                               size_t kBlocks) {
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
    if constexpr (SignedS && SignedM)
      _tile_dpbssd(2, 5, 7);
    else if constexpr (SignedS)
      _tile_dpbsud(2, 5, 7);
    else if constexpr (SignedM)
      _tile_dpbusd(2, 5, 7);
    else
      _tile_dpbuud(2, 5, 7);
    if constexpr (SignedS)
      _tile_dpbsud(1, 5, 6);
    else
      _tile_dpbuud(1, 5, 6);
  }
}

ASHLAR_INLINE void zeroProducts() {
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
}

/// Eight sums of three products in 64 bits, shifted left.
ASHLAR_INLINE void mergeLanes(const int32_t *part, int shift, bool add,
                              __mmask8 mask, int64_t *acc) {
  auto widen = [](const int32_t *from) {
    return _mm512_cvtepi32_epi64(
        _mm256_load_si256(reinterpret_cast<const __m256i *>(from)));
  };
  __m512i v = _mm512_add_epi64(
      widen(part), _mm512_slli_epi64(
                       _mm512_add_epi64(_mm512_slli_epi64(widen(part + 512), 8),
                                        widen(part + 256)),
                       8));
  v = _mm512_sll_epi64(v, _mm_cvtsi32_si128(shift));
  if (add)
    v = _mm512_add_epi64(v, _mm512_maskz_loadu_epi64(mask, acc));
  _mm512_mask_storeu_epi64(acc, mask, v);
}

namespace {
/// Where the sums of a tile go.
struct TileTarget {
  size_t cols, steps;
  int64_t *acc;
  size_t accPitch;
};
} // namespace

/// Moves tiles 0..2 into the accumulators and clears them.
static inline void mergeProducts(const TileTarget &to, int shift, bool add) {
  alignas(64) int32_t part[3 * 256];
  _tile_stored(0, part, 64);
  _tile_stored(1, part + 256, 64);
  _tile_stored(2, part + 512, 64);
  zeroProducts();
  const uint32_t mask = (1u << to.steps) - 1;
  for (size_t c = 0; c < to.cols; ++c) {
    int64_t *acc = to.acc + c * to.accPitch;
    mergeLanes(part + c * kTile, shift, add, static_cast<__mmask8>(mask), acc);
    mergeLanes(part + c * kTile + 8, shift, add,
               static_cast<__mmask8>(mask >> 8), acc + 8);
  }
}

namespace {
/// A product of a chain: its stationary operand, the tiles of its moving one
/// and the bytes between halves and between tiles of steps.
struct ChainLink {
  const PackedStationary *s;
  const uint8_t *moving;
  size_t halves, halfBytes, stepBytes;
};
} // namespace

/// Adds the products of one half of each operand, tile of steps `t` and column
/// group `g`, for the K blocks from `k` on.
static inline void addHalves(const ChainLink &link, size_t hs, size_t hm,
                             size_t t, size_t g, size_t k, size_t count) {
  const size_t kBlocks = blocksOf(link.s->rows, kTileK);
  const size_t groups = blocksOf(link.s->cols, kTile);
  const uint8_t *s =
      link.s->bytes + ((hs * groups + g) * kBlocks + k) * 2 * kTileBytes;
  const uint8_t *m = link.moving + hm * link.halfBytes + t * link.stepBytes +
                     k * 2 * kTileBytes;
  const bool signedS = hs + 1 == link.s->planes / 2;
  const bool signedM = hm + 1 == link.halves;
  if (signedS && signedM)
    addProducts<true, true>(s, m, count);
  else if (signedS)
    addProducts<true, false>(s, m, count);
  else if (signedM)
    addProducts<false, true>(s, m, count);
  else
    addProducts<false, false>(s, m, count);
}

/// The whole chain for one tile of sums: every pair of halves stays in the
/// tiles for as many rows as are exact.
static inline void runTile(const ChainLink *links, size_t count, size_t t,
                           size_t g, const TileTarget &to, bool add) {
  zeroProducts();
  for (size_t hs = 0; hs < 2; ++hs)
    for (size_t hm = 0; hm < 2; ++hm) {
      size_t blocks = 0;
      const int shift = static_cast<int>(16 * (hs + hm));
      for (const ChainLink *link = links; link != links + count; ++link) {
        if (hs >= link->s->planes / 2 || hm >= link->halves)
          continue;
        const size_t kBlocks = blocksOf(link->s->rows, kTileK);
        for (size_t k = 0, n; k < kBlocks; k += n, blocks += n) {
          if (blocks == kExactBlocks) {
            mergeProducts(to, shift, add);
            add = true;
            blocks = 0;
          }
          n = least(kExactBlocks - blocks, kBlocks - k);
          addHalves(*link, hs, hm, t, g, k, n);
        }
      }
      if (blocks == 0)
        continue;
      mergeProducts(to, shift, add);
      add = true;
    }
}

/// All column groups of steps that start at the first tile of every link. The
/// links have rows and equally many columns.
static inline void runSteps(const ChainLink *links, size_t count, size_t steps,
                            int64_t *acc, size_t accPitch, bool accumulate) {
  const size_t cols = links->s->cols;
  for (size_t t = 0; t < steps; t += kTile)
    for (size_t c = 0; c < cols; c += kTile)
      runTile(links, count, t / kTile, c / kTile,
              {least(kTile, cols - c), least(kTile, steps - t),
               acc + c * accPitch + t, accPitch},
              accumulate);
}

/// Bytes of one tile of steps.
static inline size_t stepTileBytes(size_t rows) {
  return blocksOf(rows, kTileK) * 2 * kTileBytes;
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
  size_t halfBytes = kStepTile / kTile * stepTileBytes(stationary.rows);
  uint8_t *packed = gemmScratch(2 * halfBytes);
  for (size_t t = 0; t < steps; t += kStepTile) {
    size_t width = least(kStepTile, steps - t);
    size_t halves =
        packMovingTiles(moving, stationary.rows, t, width, halfBytes, packed);
    const ChainLink link = {&stationary, packed, halves, halfBytes,
                            stepTileBytes(stationary.rows)};
    runSteps(&link, 1, width, acc + t, accPitch, accumulate);
  }
  _tile_release();
}

/// Halves of a packed moving operand: of its type, because ranges are packed
/// apart from each other.
static inline size_t movingHalves(OperandWidth width) {
  return width == OperandWidth::Int16 ? 1 : 2;
}

/// Bytes of one half of a packed moving operand.
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

namespace {
/// Byte planes of four rows of 32 steps: `first` holds steps 0 to 15.
struct QuadPair {
  __m512i first, second;
};
} // namespace

/// Lanes of 16 bits that hold rows 0 and 1, and rows 2 and 3, of every step
/// become lanes of 32 bits that hold all four.
ASHLAR_INLINE QuadPair joinRows(__m512i rows01, __m512i rows23) {
  const __m512i a = _mm512_unpacklo_epi16(rows01, rows23);
  const __m512i b = _mm512_unpackhi_epi16(rows01, rows23);
  const __m512i low = _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11);
  const __m512i high = _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15);
  return {_mm512_permutex2var_epi64(a, low, b),
          _mm512_permutex2var_epi64(a, high, b)};
}

/// Stores both planes of four rows of 32 aligned steps; the second half of the
/// steps `nextTile` bytes further, or nowhere if that is 0.
ASHLAR_INLINE void storeQuads(const __m512i *v, uint8_t *tile,
                              size_t nextTile) {
  const __m512i bytes = _mm512_set1_epi16(0xff);
  // Ternary 0xea is (a & b) | c, 0xba is (a & ~b) | c.
  auto low = [&](__m512i a, __m512i b) {
    return _mm512_ternarylogic_epi64(a, bytes, _mm512_slli_epi16(b, 8), 0xea);
  };
  auto high = [&](__m512i a, __m512i b) {
    return _mm512_ternarylogic_epi64(b, bytes, _mm512_srli_epi16(a, 8), 0xba);
  };
  const QuadPair lows = joinRows(low(v[0], v[1]), low(v[2], v[3]));
  const QuadPair highs = joinRows(high(v[0], v[1]), high(v[2], v[3]));
  _mm512_store_si512(tile, lows.first);
  _mm512_store_si512(tile + kTileBytes, highs.first);
  if (nextTile == 0)
    return;
  _mm512_store_si512(tile + nextTile, lows.second);
  _mm512_store_si512(tile + nextTile + kTileBytes, highs.second);
}

/// 32 steps of all rows, from stored mantissas to tiles.
template <bool Narrow, bool Rounds>
ASHLAR_INLINE void
packColumn(PitchedRows<const int8_t> mant, const MovingRange &range,
           size_t last, __mmask32 mask, const AlignConstants &k,
           const AlignShifts &shifts, uint8_t *tile, size_t nextTile) {
  const size_t end = range.row + range.rows;
  for (size_t i = range.row; i < last; i += 4) {
    __m512i v[4];
#pragma GCC unroll 4
    for (size_t r = 0; r < 4; ++r) {
      v[r] = _mm512_setzero_si512();
      if (i + r >= end)
        continue;
      const auto row = static_cast<ptrdiff_t>(i + r - range.row);
      __m512i m = fetchLanes<Narrow>(mant.first + row * mant.pitch, mask, k);
      if constexpr (Rounds)
        m = roundLanes(m, shifts);
      v[r] = _mm512_sllv_epi16(m, shifts.left);
    }
    storeQuads(v, tile + i / kTileK * 2 * kTileBytes + i % kTileK / 4 * 64,
               nextTile);
  }
}

template <bool Narrow>
static void packStoredLanes(const StoredRows &rows, const MovingRange &range,
                            PackedMoving &out) {
  const AlignConstants k = constantsOf(rows.alignment);
  const size_t stepBytes = stepTileBytes(out.rows);
  const size_t end = range.row + range.rows;
  const size_t last =
      end == out.rows ? blocksOf(out.rows, kTileK) * kTileK : end;
  uint8_t *tile = out.bytes + range.first / kTile * stepBytes;
  for (size_t t = 0; t < range.steps; t += 32, tile += 2 * stepBytes) {
    const __mmask32 mask = rows.valid[t / 32] & lanes32(range.steps - t);
    const AlignShifts shifts = shiftsOf(
        _mm512_cvtepi8_epi16(_mm256_maskz_loadu_epi8(mask, rows.cells + t)), k);
    const size_t next = t + kTile < range.steps ? stepBytes : 0;
    // Most ranges drop no bit: then a shift is all.
    if (_mm512_mask_test_epi16_mask(mask, shifts.over, shifts.over))
      packColumn<Narrow, true>({rows.mant + t, rows.pitch}, range, last, mask,
                               k, shifts, tile, next);
    else
      packColumn<Narrow, false>({rows.mant + t, rows.pitch}, range, last, mask,
                                k, shifts, tile, next);
  }
}

static inline void packStoredTiles(const StoredRows &rows,
                                   const MovingRange &range, PackedMoving &out,
                                   uint64_t *saturated) {
  if (anyValidAbove(rows, range.steps)) {
    auto *aligned = reinterpret_cast<int16_t *>(
        gemmScratch(range.rows * range.steps * sizeof(int16_t)));
    alignValid<alignGroup8To16Lanes>(rows, range.rows, range.steps, aligned,
                                     range.steps, saturated);
    packMovingRange({OperandWidth::Int16, aligned, range.steps}, range, out);
  } else if (rows.alignment.mantissa == 8) {
    packStoredLanes<false>(rows, range, out);
  } else {
    packStoredLanes<true>(rows, range, out);
  }
}

static inline void gemmPackedTiles(const PackedProduct *products, size_t count,
                                   size_t first, size_t steps, int64_t *acc,
                                   size_t accPitch, bool accumulate) {
  static const TileConfig config;
  _tile_loadconfig(&config);
  ChainLink links[kChain];
  size_t used = 0;
  for (size_t i = 0; i < count; ++i) {
    const PackedMoving &m = *products[i].moving;
    if (products[i].stationary->rows != 0)
      links[used++] = {products[i].stationary,
                       m.bytes + first / kTile * stepTileBytes(m.rows),
                       movingHalves(m.width), movingHalfBytes(m),
                       stepTileBytes(m.rows)};
    if (used == 0 || (used < kChain && i + 1 < count))
      continue;
    runSteps(links, used, steps, acc, accPitch, accumulate);
    accumulate = true;
    used = 0;
  }
  _tile_release();
  if (!accumulate && count != 0)
    clearSums(products->stationary->cols, steps, acc, accPitch);
}

static constexpr KernelTable makeAmxTable() {
  KernelTable table = makeTable512<gemmTiles>("amx", packTiles);
  table.startMoving = startMovingTiles;
  table.packMoving = packMovingRange;
  table.packStored = packStoredTiles;
  table.gemmPacked = gemmPackedTiles;
  table.sweepTile = sweepTile<Simd512, Simd256>;
  return table;
}

constinit const KernelTable amxTable = makeAmxTable();

} // namespace ashlar::numerics
