// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From stored mantissas to operands in blocks (Layout.h) with AVX-512.

#ifndef ASHLAR_LIB_NUMERICS_BLOCKS_AVX512_H
#define ASHLAR_LIB_NUMERICS_BLOCKS_AVX512_H

#include "../PairAvx512.h"
#include "../Stationary/Avx512.h"
#include "Layout.h"

#include <immintrin.h>

namespace ashlar::numerics {

// Internal linkage, as in RowKernels.h.
namespace { // NOLINT(misc-anonymous-namespace-in-header)
/// Mantissas as bytes between the largest and its negative.
class ByteLanes {
public:
  explicit ByteLanes(int mantissa)
      : narrow(mantissa != 8),
        bits(_mm512_set1_epi8(static_cast<char>((1 << mantissa) - 1))),
        sign(_mm512_set1_epi8(static_cast<char>(1 << (mantissa - 1)))),
        limit(_mm512_set1_epi8(static_cast<char>(1 - (1 << (mantissa - 1))))) {}

  __m512i fetch(__m512i m) const {
    if (narrow)
      m = _mm512_sub_epi8(_mm512_xor_si512(_mm512_and_si512(m, bits), sign),
                          sign);
    return _mm512_max_epi8(m, limit);
  }

private:
  const bool narrow;
  const __m512i bits, sign, limit;
};

/// The shifts of 64 lanes that share their rows' cells.
struct ByteShifts {
  ByteShifts(const int8_t *cells, __mmask64 mask, const AlignConstants &k) {
    const auto low = static_cast<__mmask32>(mask),
               high = static_cast<__mmask32>(mask >> 32);
    halves[0] =
        shiftsOf(_mm512_cvtepi8_epi16(_mm256_maskz_loadu_epi8(low, cells)), k);
    halves[1] = shiftsOf(
        _mm512_cvtepi8_epi16(_mm256_maskz_loadu_epi8(high, cells + 32)), k);
    left = _mm512_maskz_mov_epi8(
        mask, _mm512_inserti64x4(
                  _mm512_castsi256_si512(_mm512_cvtepi16_epi8(halves[0].left)),
                  _mm512_cvtepi16_epi8(halves[1].left), 1));
    rounds = (_mm512_mask_test_epi16_mask(low, halves[0].over, halves[0].over) |
              _mm512_mask_test_epi16_mask(high, halves[1].over,
                                          halves[1].over)) != 0;
  }
  /// The bytes without the bits that alignment drops.
  __m512i round(__m512i m) const {
    const __m512i low =
        roundLanes(_mm512_cvtepi8_epi16(_mm512_castsi512_si256(m)), halves[0]);
    const __m512i high = roundLanes(
        _mm512_cvtepi8_epi16(_mm512_extracti64x4_epi64(m, 1)), halves[1]);
    return _mm512_inserti64x4(_mm512_castsi256_si512(_mm512_cvtepi16_epi8(low)),
                              _mm512_cvtepi16_epi8(high), 1);
  }

  AlignShifts halves[2];
  __m512i left; ///< A byte a lane.
  bool rounds;
};

/// Four rows of 64 lanes as lanes of four bytes: 16 lanes in each.
struct Quads {
  /// The parts of 16 bytes of each hold lanes 4 i to 4 i + 3.
  Quads(__m512i a, __m512i b, __m512i c, __m512i d) {
    const __m512i ab[2] = {_mm512_unpacklo_epi8(a, b),
                           _mm512_unpackhi_epi8(a, b)},
                  cd[2] = {_mm512_unpacklo_epi8(c, d),
                           _mm512_unpackhi_epi8(c, d)};
    const __m512i q[4] = {_mm512_unpacklo_epi16(ab[0], cd[0]),
                          _mm512_unpackhi_epi16(ab[0], cd[0]),
                          _mm512_unpacklo_epi16(ab[1], cd[1]),
                          _mm512_unpackhi_epi16(ab[1], cd[1])};
    const __m512i low[2] = {_mm512_shuffle_i32x4(q[0], q[1], 0x44),
                            _mm512_shuffle_i32x4(q[2], q[3], 0x44)},
                  high[2] = {_mm512_shuffle_i32x4(q[0], q[1], 0xee),
                             _mm512_shuffle_i32x4(q[2], q[3], 0xee)};
    lanes[0] = _mm512_shuffle_i32x4(low[0], low[1], 0x88);
    lanes[1] = _mm512_shuffle_i32x4(low[0], low[1], 0xdd);
    lanes[2] = _mm512_shuffle_i32x4(high[0], high[1], 0x88);
    lanes[3] = _mm512_shuffle_i32x4(high[0], high[1], 0xdd);
  }
  __m512i lanes[4];
};

/// Rows that share their cells, 64 lanes of them.
struct ByteRows {
  /// Rows lie pages apart, where the host expects nothing: a row is asked for
  /// while the block before its own is packed.
  static constexpr ptrdiff_t kRowsAhead = 16;

  const int8_t *mant;
  ptrdiff_t pitch;
  size_t rows;
  __mmask64 mask;

  /// Zero after the last one.
  __m512i row(size_t i, const ByteLanes &lanes,
              const ByteShifts &shifts) const {
    if (i >= rows)
      return _mm512_setzero_si512();
    const int8_t *from = mant + static_cast<ptrdiff_t>(i) * pitch;
    __builtin_prefetch(from + kRowsAhead * pitch);
    const __m512i m = lanes.fetch(_mm512_maskz_loadu_epi8(mask, from));
    return shifts.rounds ? shifts.round(m) : m;
  }
  /// Four rows from `i` on.
  Quads quads(size_t i, const ByteLanes &lanes,
              const ByteShifts &shifts) const {
    return {row(i, lanes, shifts), row(i + 1, lanes, shifts),
            row(i + 2, lanes, shifts), row(i + 3, lanes, shifts)};
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// Moving
//===----------------------------------------------------------------------===//

namespace { // NOLINT(misc-anonymous-namespace-in-header)
/// 64 steps of an operand, or those that are left.
struct MovingColumn {
  const MovingBlocks &to;
  size_t step, groups;

  /// The shifts of a block, or whether it has them already.
  void startBlock(size_t block, const ByteShifts &shifts) const {
    alignas(64) uint8_t places[64];
    _mm512_store_si512(places, shifts.left);
    for (size_t g = 0; g < groups; ++g)
      __builtin_memcpy(shiftsOfGroup(block, g), places + g * kStepGroup,
                       kStepGroup);
  }
  bool hasShifts(size_t block, const ByteShifts &shifts) const {
    alignas(64) uint8_t places[64];
    _mm512_store_si512(places, shifts.left);
    int differs = 0;
    for (size_t g = 0; g < groups; ++g)
      differs |= __builtin_memcmp(shiftsOfGroup(block, g),
                                  places + g * kStepGroup, kStepGroup);
    return differs == 0;
  }
  void store(size_t row, const Quads &quads) const {
    const __m512i offset = _mm512_set1_epi8(static_cast<char>(0x80));
    uint8_t *out = to.rows(step, 0) + row * kStepGroup;
#pragma GCC unroll 4
    for (size_t g = 0; g < 4; ++g)
      if (g < groups)
        _mm512_storeu_si512(out + g * to.groupBytes(),
                            _mm512_xor_si512(quads.lanes[g], offset));
  }

private:
  uint8_t *shiftsOfGroup(size_t block, size_t g) const {
    return to.shifts(step, block) + g * to.groupBytes();
  }
};
} // namespace

/// Rows of 64 steps; false if some have other shifts than their block.
static bool packColumn(const ByteRows &rows, size_t row, size_t end,
                       const ByteLanes &lanes, const ByteShifts &shifts,
                       const MovingColumn &to) {
  for (size_t i = 0; i < rows.rows; i += 4) {
    const size_t block = (row + i) / kBlockRows;
    if ((row + i) % kBlockRows == 0)
      to.startBlock(block, shifts);
    else if (i == 0 && !to.hasShifts(block, shifts))
      return false;
    to.store(row + i, rows.quads(i, lanes, shifts));
  }
  // The rest of the last block of an operand.
  const ByteRows none = {rows.mant, 0, 0, 0};
  for (size_t i = (row + rows.rows + 3) / 4 * 4;
       row + rows.rows == end && i % kBlockRows != 0; i += 4)
    to.store(i, none.quads(0, lanes, shifts));
  return true;
}

/// KernelTable::packStored of an operand in blocks.
static inline void packStoredBlocks(const StoredRows &rows,
                                    const MovingRange &range, PackedMoving &out,
                                    uint64_t *saturated) {
  if (anyValidAbove(rows, range.steps)) {
    ++*saturated;
    return;
  }
  const AlignConstants k = constantsOf(rows.alignment);
  const ByteLanes lanes(rows.alignment.mantissa);
  const MovingBlocks to(out);
  for (size_t t = 0; t < range.steps; t += 64) {
    __mmask64 mask = rows.valid[t / 32];
    if (t + 32 < range.steps)
      mask |= static_cast<__mmask64>(rows.valid[t / 32 + 1]) << 32;
    mask &= lanes64(range.steps - t);
    const size_t groups =
        least(size_t(4), (range.steps - t + kStepGroup - 1) / kStepGroup);
    if (!packColumn({rows.mant + t, rows.pitch, range.rows, mask}, range.row,
                    out.rows, lanes, ByteShifts(rows.cells + t, mask, k),
                    {to, range.first + t, groups})) {
      ++*saturated;
      return;
    }
  }
}

/// KernelTable::packStored.
static inline void packStoredEither(const StoredRows &rows,
                                    const MovingRange &range, PackedMoving &out,
                                    uint64_t *saturated) {
  if (out.inBlocks)
    packStoredBlocks(rows, range, out, saturated);
  else
    packStoredPairs512(rows, range, out, saturated);
}

//===----------------------------------------------------------------------===//
// Stationary
//===----------------------------------------------------------------------===//

namespace { // NOLINT(misc-anonymous-namespace-in-header)
/// A segment of 64 columns, or of those that are left.
class StationarySegment {
public:
  static constexpr size_t kColumns = 64, kGroup = 8,
                          kGroups = kColumns / kGroup;

  StationarySegment(const StoredMatrix &values, const BlockLayout &layout,
                    size_t block, size_t column, size_t cols)
      : values(values), layout(layout), block(block), column(column),
        groups(least(kGroups, layout.groups - column / kGroup)),
        mask(lanes64(cols - column)), lanes(values.alignment.mantissa),
        constants(constantsOf(values.alignment)) {}

  /// False if rows of a block have different shifts.
  bool pack(size_t rows) {
    const size_t count = layout.count(block);
    for (size_t b = 0; b < count; ++b)
      if (!packBlock(b, rows))
        return false;
    for (size_t g = 0; g < groups; ++g)
      finish(g, count);
    return true;
  }

private:
  int32_t *group(size_t g) const {
    return layout.group(block, column / kGroup + g);
  }

  /// The cells of a row's group.
  const int8_t *cellsOf(size_t row) const {
    const size_t group = row < values.firstRows
                             ? 0
                             : 1 + (row - values.firstRows) / values.groupRows;
    return values.cells + static_cast<ptrdiff_t>(group) * values.cellPitch +
           static_cast<ptrdiff_t>(column);
  }

  /// Block b of the segment, with shifts as alignment gives them.
  bool packBlock(size_t b, size_t rows) {
    const size_t row = (block + b) * kBlockRows;
    const size_t count = numerics::least(kBlockRows, rows - row);
    const ByteRows from = {values.mant +
                               static_cast<ptrdiff_t>(row) * values.pitch +
                               static_cast<ptrdiff_t>(column),
                           values.pitch, count, mask};
    const int8_t *cells = cellsOf(row);
    ByteShifts shifts(cells, mask, constants);
    const __m512i left = shifts.left;
    __m512i start[4] = {}, sum[4] = {};
    for (size_t quad = 0; quad < kQuads; ++quad) {
      if (4 * quad < count && cellsOf(row + 4 * quad) != cells) {
        cells = cellsOf(row + 4 * quad);
        shifts = ByteShifts(cells, mask, constants);
        if (_mm512_cmpneq_epi8_mask(shifts.left, left) != 0)
          return false;
      }
      const Quads quads = from.quads(4 * quad, lanes, shifts);
#pragma GCC unroll 4
      for (size_t i = 0; i < 4; ++i) {
        const __m512i q = quads.lanes[i];
        start[i] = dot(start[i], _mm512_set1_epi8(static_cast<char>(0x80)), q);
        sum[i] = dot(sum[i], _mm512_abs_epi8(q), _mm512_set1_epi8(1));
        store(i, b, 2 + quad, q);
      }
    }
    const __m512i zero = _mm512_setzero_si512();
    const __m128i places[4] = {
        _mm512_extracti32x4_epi32(left, 0), _mm512_extracti32x4_epi32(left, 1),
        _mm512_extracti32x4_epi32(left, 2), _mm512_extracti32x4_epi32(left, 3)};
#pragma GCC unroll 4
    for (size_t i = 0; i < 4; ++i) {
      const __m512i shift = _mm512_cvtepu8_epi32(places[i]);
      store(i, b, 0, _mm512_sub_epi32(zero, start[i]));
      store(i, b, 1, shift);
      norms[i] = _mm512_add_epi32(norms[i], _mm512_sllv_epi32(sum[i], shift));
      // What is zero has no least shift.
      leastShifts[i] = _mm512_mask_min_epi32(
          leastShifts[i], _mm512_test_epi32_mask(sum[i], sum[i]),
          leastShifts[i], shift);
    }
    return true;
  }

  /// Lines of two groups of columns.
  void store(size_t i, size_t b, size_t line, __m512i v) const {
    const size_t at = b * layout.blockLanes() + line * kGroup;
    if (2 * i < groups)
      _mm256_storeu_si256(reinterpret_cast<__m256i *>(group(2 * i) + at),
                          _mm512_castsi512_si256(v));
    if (2 * i + 1 < groups)
      _mm256_storeu_si256(reinterpret_cast<__m256i *>(group(2 * i + 1) + at),
                          _mm512_extracti64x4_epi64(v, 1));
  }

  /// Bounds a group, whose shifts lose the least of them.
  void finish(size_t g, size_t count) const {
    const auto half = static_cast<__mmask16>(g % 2 ? 0xff00 : 0x00ff);
    const auto norm =
        static_cast<uint32_t>(_mm512_mask_reduce_max_epi32(half, norms[g / 2]));
    const int shift =
        norm == 0 ? 0 : _mm512_mask_reduce_min_epi32(half, leastShifts[g / 2]);
    layout.bounds(block)[column / kGroup + g] = {norm >> shift,
                                                 static_cast<uint32_t>(shift)};
    const __m256i places = _mm256_set1_epi32(shift);
    for (size_t b = 0; shift != 0 && b < count; ++b) {
      auto *line = reinterpret_cast<__m256i *>(
          group(g) + b * layout.blockLanes() + kGroup);
      _mm256_storeu_si256(
          line,
          _mm256_max_epi32(_mm256_sub_epi32(_mm256_loadu_si256(line), places),
                           _mm256_setzero_si256()));
    }
  }

  static __m512i dot(__m512i acc, __m512i a, __m512i b) {
    return Simd512::dotBytes(acc, a, b);
  }

  const StoredMatrix &values;
  const BlockLayout &layout;
  const size_t block, column, groups;
  const __mmask64 mask;
  const ByteLanes lanes;
  const AlignConstants constants;
  __m512i norms[4] = {};
  __m512i leastShifts[4] = {_mm512_set1_epi32(31), _mm512_set1_epi32(31),
                            _mm512_set1_epi32(31), _mm512_set1_epi32(31)};
};
} // namespace

/// KernelTable::packStoredStationary, in blocks where the cells allow it.
static bool packStoredSet(const StoredMatrix &values, size_t rows, size_t cols,
                          PackedStationary &out) {
  // Four rows of a lane have the same cells.
  if ((values.firstRows < rows &&
       (values.firstRows % 4 || values.groupRows % 4)) ||
      values.alignment.range > kBlockRange)
    return packStoredMatrix<StationaryLanes512>(values, rows, cols, out);
  if (anyCellAbove<StationaryLanes512>(values, rows, cols))
    return false;
  out.rows = rows;
  out.cols = cols;
  out.width = OperandWidth::Int16;
  out.planes = 1;
  out.inBlocks = true;
  static_assert(Simd512::kColumns == StationarySegment::kGroup);
  out.reserve(BlockLayout(out, Simd512::kColumns).size());
  const BlockLayout layout(out, Simd512::kColumns);
  for (size_t block = 0; block < layout.blocks; block += kSegmentBlocks)
    for (size_t column = 0; column < cols;
         column += StationarySegment::kColumns)
      if (!StationarySegment(values, layout, block, column, cols).pack(rows))
        return packStoredMatrix<StationaryLanes512>(values, rows, cols, out);
  return true;
}

} // namespace ashlar::numerics

#endif // ASHLAR_LIB_NUMERICS_BLOCKS_AVX512_H
