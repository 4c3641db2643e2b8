// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Stored words of the PE array: what modes select and float pass through.

#ifndef ASHLAR_LIB_EMULATOR_STATE_WORDS_H
#define ASHLAR_LIB_EMULATOR_STATE_WORDS_H

#include "Memory.h"
#include "ashlar/Isa/Instruction.h"
#include <cstdint>
#include <string>

namespace ashlar::emulator {

/// Bit of a word where the exponent cell of an encoded element starts.
inline constexpr unsigned cellShift = 16;

/// Whether cells hold words: modes select and float.
inline bool holdsWords(isa::OperandMode mode) {
  return mode == isa::OperandMode::Select || mode == isa::OperandMode::Float;
}

/// The exponent cell of the encoded element of \p bytes bytes at SB byte
/// (partition, offset). Blocks along the free axis: in the tile of g partitions
/// x g elements that it lies in, partition r has the cell of element r.
inline int8_t *cellOf(const Memory &memory, isa::Orientation orientation,
                      unsigned bytes, uint64_t partition, int64_t offset) {
  if (orientation == isa::Orientation::P)
    return memory.cell(partition, offset);
  const auto group = static_cast<int64_t>(memory.partitionsPerCell());
  const int64_t tile = group * bytes;
  return memory.cell(partition,
                     offset / tile * tile +
                         static_cast<int64_t>(partition) % group * bytes);
}

/// Calls \p visit(i, cell) for \p n elements of a partition, `stride` bytes
/// apart from \p offset on.
template <typename Visit>
void forCells(const Memory &memory, isa::Orientation orientation,
              unsigned bytes, uint64_t partition, int64_t offset,
              int64_t stride, uint64_t n, Visit visit) {
  if (orientation == isa::Orientation::P) {
    int8_t *cell = memory.cell(partition, offset);
    for (uint64_t i = 0; i < n; ++i, cell += stride)
      visit(i, *cell);
    return;
  }
  for (uint64_t i = 0; i < n; ++i, offset += stride)
    visit(i, *cellOf(memory, orientation, bytes, partition, offset));
}

/// What is wrong with element (row, step) of a moving operand that should be an
/// identity and has the wrong kind of element there.
std::string notAnIdentity(uint64_t row, uint64_t step, bool expected);

} // namespace ashlar::emulator

#endif // ASHLAR_LIB_EMULATOR_STATE_WORDS_H
