// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Layouts of the operands of the product on pairs of 16-bit integers
// (GemmKernel.h): two rows lie side by side in lanes of 32 bits.
//
// Stationary: row block, plane, column group, pair, column, without the zero
// bits below all values of a group; before them the bounds of every group.
// Values of 32 bits have two planes, the low one without sign.
// Moving, 16 bits: group of 16 steps, pair, step. Moving, 32 bits: rows.

#ifndef ASHLAR_LIB_NUMERICS_GEMMPACK_H
#define ASHLAR_LIB_NUMERICS_GEMMPACK_H

#include "RowKernels.h"

namespace ashlar::numerics {

constexpr size_t kBlockPairs = 64;  ///< Pairs of rows of a block.
constexpr size_t kStepGroup = 16;   ///< Steps of a packed group.
constexpr unsigned kPlaneBits = 15; ///< Of the low plane of 32-bit values.
static_assert(kStepGroup == kMovingUnit && kMovingRowUnit % 2 == 0,
              "ranges of a packed operand are whole groups and pairs");

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

/// The product of empty operands.
static inline void clearSums(size_t cols, size_t steps, int64_t *acc,
                             size_t accPitch) {
  for (size_t c = 0; c < cols; ++c)
    for (size_t t = 0; t < steps; ++t)
      acc[c * accPitch + t] = 0;
}

//===----------------------------------------------------------------------===//
// Stationary
//===----------------------------------------------------------------------===//

namespace {
/// What is known of a column group of a row block and plane.
struct GroupBounds {
  uint32_t norm;  ///< Largest sum of magnitudes of a column, as packed.
  uint32_t shift; ///< Bits that the packed values lack below.
};

/// Where the parts of a packed stationary operand are.
struct PairLayout {
  PairLayout(const PackedStationary &packed, size_t columns)
      : bytes(packed.bytes), columns(columns), rows(packed.rows),
        pairs((packed.rows + 1) / 2),
        groups((packed.cols + columns - 1) / columns), planes(packed.planes) {}

  size_t blocks() const { return (pairs + kBlockPairs - 1) / kBlockPairs; }
  size_t headerBytes() const {
    return (blocks() * planes * groups * sizeof(GroupBounds) + 63) / 64 * 64;
  }
  size_t size() const {
    return headerBytes() + pairs * planes * groups * columns * sizeof(uint32_t);
  }
  /// Per column group, of the block that starts at pair `block`.
  GroupBounds *bounds(size_t block, unsigned plane) const {
    return reinterpret_cast<GroupBounds *>(bytes) +
           (block / kBlockPairs * planes + plane) * groups;
  }
  /// Column group 0 of a block; groups are `pairs of the block * columns`
  /// apart.
  int32_t *group(size_t block, unsigned plane) const {
    const size_t count = least(kBlockPairs, pairs - block);
    return reinterpret_cast<int32_t *>(bytes + headerBytes()) +
           (block * planes + plane * count) * groups * columns;
  }

  uint8_t *bytes;
  size_t columns, rows, pairs, groups;
  unsigned planes;
};
} // namespace

/// The largest of `groups` column groups.
static inline uint32_t largestNorm(const GroupBounds *bounds, size_t groups) {
  uint32_t largest = 0;
  for (size_t g = 0; g < groups; ++g)
    largest = greatest(largest, bounds[g].norm);
  return largest;
}

/// Plane `plane` of `planes`.
ASHLAR_INLINE int32_t planeOf(int32_t value, unsigned plane, unsigned planes) {
  if (plane + 1 == planes)
    return value >> (kPlaneBits * plane);
  return value & ((1 << kPlaneBits) - 1);
}

namespace {
/// Per column: the sum of magnitudes, and all bits that any value has.
struct ColumnSums {
  uint32_t *magnitude, *used;
};
} // namespace

/// One pair of rows in one plane; pitch 0 stands for a missing second row.
template <typename T>
static void packLine(const T *low, size_t pitch, size_t cols, unsigned plane,
                     unsigned planes, uint32_t *line, ColumnSums sums) {
  const int32_t keep = pitch ? -1 : 0;
  const T *high = low + pitch;
  ASHLAR_VECTOR_LOOP
  for (size_t c = 0; c < cols; ++c) {
    const int32_t a = planeOf(low[c], plane, planes);
    const int32_t b = planeOf(high[c], plane, planes) & keep;
    line[c] =
        (static_cast<uint32_t>(a) & 0xffff) | (static_cast<uint32_t>(b) << 16);
    sums.magnitude[c] += static_cast<uint32_t>(a < 0 ? -a : a) +
                         static_cast<uint32_t>(b < 0 ? -b : b);
    sums.used[c] |= static_cast<uint32_t>(a | b);
  }
}

/// Zero bits below all values of a group; their signs are bits as well.
static inline uint32_t commonZeros(const uint32_t *used, size_t columns) {
  uint32_t all = 0;
  for (size_t c = 0; c < columns; ++c)
    all |= used[c];
  return all == 0 ? 0 : static_cast<uint32_t>(__builtin_ctz(all));
}

/// The bounds of every group; leaves the shifts of the columns in sums.used.
template <size_t Columns>
static void boundGroups(size_t groups, ColumnSums sums, GroupBounds *bounds) {
  for (size_t g = 0; g < groups; ++g) {
    uint32_t *used = sums.used + g * Columns;
    const uint32_t shift = commonZeros(used, Columns);
    uint32_t norm = 0;
    for (size_t c = 0; c < Columns; ++c) {
      norm = greatest(norm, sums.magnitude[g * Columns + c]);
      used[c] = shift;
    }
    bounds[g] = {norm >> shift, shift};
  }
}

/// Both values of every lane without the bits that the column has not.
static inline void shiftLine(uint32_t *line, const uint32_t *shifts,
                             size_t cols) {
  ASHLAR_VECTOR_LOOP
  for (size_t c = 0; c < cols; ++c) {
    const int32_t high = static_cast<int32_t>(line[c]) >> shifts[c];
    const int32_t low = static_cast<int32_t>(line[c] << 16) >> shifts[c];
    line[c] = (static_cast<uint32_t>(high) & 0xffff0000u) |
              (static_cast<uint32_t>(low) >> 16);
  }
}

/// One plane of one row block.
template <size_t Columns, typename T>
static void packBlock(const T *data, size_t pitch, size_t cols,
                      const PairLayout &layout, size_t block, unsigned plane) {
  const size_t padded = layout.groups * layout.columns;
  const size_t count = least(kBlockPairs, layout.pairs - block);
  const size_t bytes = (count + 2) * padded * sizeof(uint32_t);
  auto *lines = reinterpret_cast<uint32_t *>(gemmScratch(bytes));
  const ColumnSums sums = {lines + count * padded,
                           lines + (count + 1) * padded};
  __builtin_memset(sums.magnitude, 0, 2 * padded * sizeof(uint32_t));
  for (size_t k = 0; k < count; ++k) {
    const size_t row = 2 * (block + k);
    for (size_t c = cols; c < padded; ++c)
      lines[k * padded + c] = 0;
    packLine(data + row * pitch, row + 1 < layout.rows ? pitch : 0, cols, plane,
             layout.planes, lines + k * padded, sums);
  }
  boundGroups<Columns>(layout.groups, sums, layout.bounds(block, plane));
  int32_t *to = layout.group(block, plane);
  for (size_t k = 0; k < count; ++k) {
    uint32_t *line = lines + k * padded;
    shiftLine(line, sums.used, padded);
    for (size_t g = 0; g < layout.groups; ++g)
      __builtin_memcpy(to + (g * count + k) * Columns, line + g * Columns,
                       4 * Columns);
  }
}

/// KernelTable::packStationary for groups of `Columns` columns.
template <size_t Columns>
static void packPairs(const IntegerMatrix &values, size_t rows, size_t cols,
                      PackedStationary &out) {
  const bool narrow =
      values.width == OperandWidth::Int16 ||
      magnitudeBits(values, 0, rows, cols) < (uint32_t(1) << kPlaneBits);
  out.rows = rows;
  out.cols = cols;
  out.width = values.width;
  out.planes = narrow ? 1 : 2;
  out.inBlocks = false;
  out.reserve(PairLayout(out, Columns).size());
  const PairLayout layout(out, Columns);
  for (size_t block = 0; block < layout.pairs; block += kBlockPairs)
    for (unsigned plane = 0; plane < out.planes; ++plane)
      if (values.width == OperandWidth::Int16)
        packBlock<Columns>(static_cast<const int16_t *>(values.data),
                           values.pitch, cols, layout, block, plane);
      else
        packBlock<Columns>(static_cast<const int32_t *>(values.data),
                           values.pitch, cols, layout, block, plane);
}

//===----------------------------------------------------------------------===//
// Moving
//===----------------------------------------------------------------------===//

/// Lanes from step group to step group of a packed operand of 16 bits.
static inline size_t pairStride(const PackedMoving &moving) {
  return (moving.rows + 1) / 2 * kStepGroup;
}

/// Pair 0 of such an operand, at a step group.
static inline uint32_t *pairsAt(const PackedMoving &moving, size_t step) {
  return reinterpret_cast<uint32_t *>(moving.bytes) +
         step / kStepGroup * pairStride(moving);
}

/// Above every magnitude of `pairs` pairs of rows.
static inline uint32_t largestPacked(const uint32_t *m, size_t stepStride,
                                     size_t pairs, size_t steps) {
  int16_t largest = 0;
  for (size_t t = 0; t < steps; t += kStepGroup, m += stepStride) {
    const auto *values = reinterpret_cast<const int16_t *>(m);
    ASHLAR_VECTOR_LOOP
    for (size_t i = 0; i < pairs * 2 * kStepGroup; ++i)
      largest = greatest(largest,
                         static_cast<int16_t>(values[i] ^ (values[i] >> 15)));
  }
  return static_cast<uint32_t>(largest) + 1;
}

/// Digit of `bits` bits of two rows, `steps` steps, as one group; the missing
/// steps are zero. `high` is null for a missing row.
template <typename T>
ASHLAR_INLINE void pairSteps(const T *low, const T *high, size_t steps,
                             int shift, uint32_t mask, uint32_t *out) {
  if (high) {
    ASHLAR_VECTOR_LOOP
    for (size_t t = 0; t < steps; ++t)
      out[t] = (static_cast<uint32_t>(low[t] >> shift) & mask) |
               ((static_cast<uint32_t>(high[t] >> shift) & mask) << 16);
  } else {
    ASHLAR_VECTOR_LOOP
    for (size_t t = 0; t < steps; ++t)
      out[t] = static_cast<uint32_t>(low[t] >> shift) & mask;
  }
  for (size_t t = steps; t < kStepGroup; ++t)
    out[t] = 0;
}

/// All pairs of rows of a digit into groups of steps.
template <typename T>
static void pairRows(const T *data, size_t pitch, size_t rows, size_t steps,
                     int shift, uint32_t mask, uint32_t *out,
                     size_t stepStride) {
  for (size_t i = 0; i < rows; i += 2, out += kStepGroup) {
    const T *low = data + i * pitch,
            *high = i + 1 < rows ? low + pitch : nullptr;
    uint32_t *to = out;
    for (size_t t = 0; t < steps; t += kStepGroup, to += stepStride) {
      if (t + kStepGroup <= steps)
        pairSteps(low + t, high ? high + t : nullptr, kStepGroup, shift, mask,
                  to);
      else
        pairSteps(low + t, high ? high + t : nullptr, steps - t, shift, mask,
                  to);
    }
  }
}

namespace {
/// A moving operand cut into digits of 8 or one of 16 bits.
struct MovingDigits {
  const uint32_t *values;
  unsigned count, bits;
};
} // namespace

/// Cuts `steps` columns from `first` on into scratch.
static inline MovingDigits packDigits(const IntegerMatrix &moving, size_t rows,
                                      size_t first, size_t steps,
                                      size_t stepStride, size_t digitStride) {
  const uint32_t used = moving.width == OperandWidth::Int16
                            ? 0
                            : magnitudeBits(moving, first, rows, steps);
  unsigned digits = 1;
  if (used >= (1u << 15))
    digits = used < (1u << 23) ? 3 : 4;
  auto *out = reinterpret_cast<uint32_t *>(
      gemmScratch(digits * digitStride * sizeof(uint32_t)));
  for (unsigned d = 0; d < digits; ++d) {
    const int shift = static_cast<int>(8 * d);
    const uint32_t mask = d + 1 == digits ? 0xffff : 0xff;
    uint32_t *to = out + d * digitStride;
    if (moving.width == OperandWidth::Int16)
      pairRows(static_cast<const int16_t *>(moving.data) + first, moving.pitch,
               rows, steps, shift, mask, to, stepStride);
    else
      pairRows(static_cast<const int32_t *>(moving.data) + first, moving.pitch,
               rows, steps, shift, mask, to, stepStride);
  }
  return {out, digits, digits == 1 ? 16u : 8u};
}

/// KernelTable::startMoving.
static inline void startMovingPairs(size_t rows, size_t steps,
                                    OperandWidth width, PackedMoving &out) {
  if (width == OperandWidth::Int32)
    return startMovingPlain(rows, steps, width, out);
  out.inBlocks = false;
  out.rows = rows;
  out.steps = steps;
  out.width = width;
  out.reserve((steps + kStepGroup - 1) / kStepGroup * pairStride(out) *
              sizeof(uint32_t));
}

/// KernelTable::packMoving.
static inline void packMovingPairs(const IntegerMatrix &values,
                                   const MovingRange &range,
                                   PackedMoving &out) {
  if (values.width == OperandWidth::Int32)
    return packMovingPlain(values, range, out);
  pairRows(static_cast<const int16_t *>(values.data), values.pitch, range.rows,
           range.steps, 0, 0xffff,
           pairsAt(out, range.first) + range.row / 2 * kStepGroup,
           pairStride(out));
}

/// KernelTable::packStored, through aligned rows.
template <decltype(KernelTable::alignGroup8To16) Align>
static void packStoredPairs(const StoredRows &rows, const MovingRange &range,
                            PackedMoving &out, uint64_t *saturated) {
  auto *aligned = reinterpret_cast<int16_t *>(
      gemmScratch(range.rows * range.steps * sizeof(int16_t)));
  alignValid<Align>(rows, range.rows, range.steps, aligned, range.steps,
                    saturated);
  packMovingPairs({OperandWidth::Int16, aligned, range.steps}, range, out);
}

} // namespace ashlar::numerics

#endif // ASHLAR_LIB_NUMERICS_GEMMPACK_H
