// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operands in blocks: mantissas of a byte as they are stored, and the shifts
// that alignment gives them. All rows of a block have the same exponents, so
// that a block of a column has one shift, and so has a block of a step. A dot
// product of bytes sums 64 products where one of aligned integers sums 32, and
// the sum of a block is shifted once for 16 rows.
//
// The dot product takes moving bytes without sign: they are 128 too large, and
// each sum of a block starts with what that adds to it.
//
// Stationary: segment of 128 rows, column group, block, and there the first
// sums and the shifts of the columns and four lines of four rows. Shifts are
// those above the least of the column group in the segment.
// Moving: group of 16 steps, and there all blocks' shifts, then all blocks.

#ifndef ASHLAR_LIB_NUMERICS_BLOCKS_LAYOUT_H
#define ASHLAR_LIB_NUMERICS_BLOCKS_LAYOUT_H

#include "../GemmPack.h"

namespace ashlar::numerics {

constexpr size_t kQuads = kBlockRows / 4; ///< Lines of a block.
/// Blocks of a segment: the rows that one bound speaks for.
constexpr size_t kSegmentBlocks = 2 * kBlockPairs / kBlockRows;
/// Shifts of a digit of the moving operand. Sums of a segment and a digit fit
/// 32 bits: 128 rows of 127 * 2^7 and 127 * 2^3.
constexpr int kDigitShifts = 4;
constexpr uint64_t kLargestByte = 127;
static_assert(2 * kBlockPairs * (kLargestByte << kBlockRange) *
                      (kLargestByte << (kDigitShifts - 1)) <
                  uint64_t(1) << 31 &&
              kBlockRange < 2 * kDigitShifts);

namespace { // NOLINT(misc-anonymous-namespace-in-header)
/// Where the parts of a stationary operand in blocks are.
struct BlockLayout {
  BlockLayout(const PackedStationary &packed, size_t columns)
      : bytes(packed.bytes), columns(columns),
        blocks((packed.rows + kBlockRows - 1) / kBlockRows),
        groups((packed.cols + columns - 1) / columns) {}

  size_t headerBytes() const {
    const size_t segments = (blocks + kSegmentBlocks - 1) / kSegmentBlocks;
    return (segments * groups * sizeof(GroupBounds) + 63) / 64 * 64;
  }
  /// Lanes of a block of a column group.
  size_t blockLanes() const { return (2 + kQuads) * columns; }
  size_t size() const {
    return headerBytes() + blocks * groups * blockLanes() * sizeof(int32_t);
  }
  /// Blocks of the segment that starts at `block`.
  size_t count(size_t block) const {
    return least(kSegmentBlocks, blocks - block);
  }
  /// Per column group, of the segment that starts at `block`.
  GroupBounds *bounds(size_t block) const {
    return reinterpret_cast<GroupBounds *>(bytes) +
           block / kSegmentBlocks * groups;
  }
  /// A column group of that segment.
  int32_t *group(size_t block, size_t number) const {
    return reinterpret_cast<int32_t *>(bytes + headerBytes()) +
           (block * groups + number * count(block)) * blockLanes();
  }

  uint8_t *bytes;
  size_t columns, blocks, groups;
};

/// Where the parts of a moving operand in blocks are.
struct MovingBlocks {
  explicit MovingBlocks(const PackedMoving &packed)
      : bytes(packed.bytes),
        blocks((packed.rows + kBlockRows - 1) / kBlockRows) {}

  size_t shiftBytes() const { return (blocks * kStepGroup + 63) / 64 * 64; }
  /// From a group of steps to the next.
  size_t groupBytes() const {
    return shiftBytes() + blocks * kBlockRows * kStepGroup;
  }
  uint8_t *shifts(size_t step, size_t block) const {
    return bytes + step / kStepGroup * groupBytes() + block * kStepGroup;
  }
  uint8_t *rows(size_t step, size_t block) const {
    return bytes + step / kStepGroup * groupBytes() + shiftBytes() +
           block * kBlockRows * kStepGroup;
  }

  uint8_t *bytes;
  size_t blocks;
};
} // namespace

/// KernelTable::startBlocks.
static inline void startMovingBlocks(size_t rows, size_t steps,
                                     PackedMoving &out) {
  out.rows = rows;
  out.steps = steps;
  out.width = OperandWidth::Int16;
  out.inBlocks = true;
  out.reserve((steps + kStepGroup - 1) / kStepGroup *
              MovingBlocks(out).groupBytes());
}

/// The largest shift of `count` blocks in `steps` steps from a group on.
static inline int largestShift(const uint8_t *shifts, size_t groupBytes,
                               size_t count, size_t steps) {
  uint8_t largest = 0;
  for (size_t t = 0; t < steps; t += kStepGroup, shifts += groupBytes) {
    ASHLAR_VECTOR_LOOP
    for (size_t i = 0; i < count * kStepGroup; ++i)
      largest = greatest(largest, shifts[i]);
  }
  return largest;
}

/// Pairs of rows of 16-bit values (GemmPack.h) from `steps` steps of an operand
/// in blocks, in scratch: for products with a set that is not.
struct WidenedSteps {
  const uint32_t *values;
  size_t stepStride;
};
static inline WidenedSteps widenSteps(const PackedMoving &moving, size_t first,
                                      size_t steps) {
  const MovingBlocks from(moving);
  const size_t stride = from.blocks * kBlockRows / 2 * kStepGroup;
  auto *out = reinterpret_cast<int16_t *>(
      gemmScratch((steps + kStepGroup - 1) / kStepGroup * stride * 4));
  int16_t *to = out;
  for (size_t t = 0; t < steps; t += kStepGroup)
    for (size_t block = 0; block < from.blocks; ++block) {
      const uint8_t *shifts = from.shifts(first + t, block);
      const uint8_t *rows = from.rows(first + t, block);
      for (size_t quad = 0; quad < kQuads; ++quad)
        for (size_t half = 0; half < 2; ++half, to += 2 * kStepGroup)
          for (size_t i = 0; i < 2 * kStepGroup; ++i) {
            const int value =
                rows[quad * 4 * kStepGroup + i / 2 * 4 + 2 * half + i % 2] -
                128;
            to[i] = static_cast<int16_t>(value * (1 << shifts[i / 2]));
          }
    }
  return {reinterpret_cast<const uint32_t *>(out), stride};
}

/// packStationary of what a set in blocks stands for.
template <size_t Columns>
static void widenSet(const PackedStationary &blocks, PackedStationary &out) {
  const BlockLayout layout(blocks, Columns);
  PackedBuffer &buffer = widenedValues();
  buffer.reserve(layout.blocks * kBlockRows * blocks.cols * sizeof(int16_t));
  auto *values = reinterpret_cast<int16_t *>(buffer.bytes);
  for (size_t block = 0; block < layout.blocks; ++block)
    for (size_t c = 0; c < blocks.cols; ++c) {
      const size_t inSegment = block % kSegmentBlocks, g = c / Columns;
      const int32_t *line = layout.group(block - inSegment, g) +
                            inSegment * layout.blockLanes() + c % Columns;
      const auto shift = static_cast<uint32_t>(line[Columns]) +
                         layout.bounds(block - inSegment)[g].shift;
      for (size_t i = 0; i < kBlockRows; ++i) {
        const auto quad = static_cast<uint32_t>(line[(2 + i / 4) * Columns]);
        const auto value = static_cast<int8_t>(quad >> (8 * (i % 4)));
        values[(block * kBlockRows + i) * blocks.cols + c] =
            static_cast<int16_t>(value * (1 << shift));
      }
    }
  packPairs<Columns>({OperandWidth::Int16, values, blocks.cols}, blocks.rows,
                     blocks.cols, out);
}

/// KernelTable::leaveBlocks.
template <size_t Columns>
static void leaveBlocks(PackedStationary &set) {
  if (!set.inBlocks)
    return;
  PackedStationary pairs;
  widenSet<Columns>(set, pairs);
  set = std::move(pairs);
}

} // namespace ashlar::numerics

#endif // ASHLAR_LIB_NUMERICS_BLOCKS_LAYOUT_H
