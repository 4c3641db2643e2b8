// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The memories of the machine as arrays of the host.
//
// Rows of SB, XM and PSUM are laid out with a pitch that is a little larger
// than the machine's row: the machine's rows are powers of two, and walking
// down a column of them would hit one cache set of the host only. Linear
// addresses of the machine therefore go through address conversion.

#ifndef ASHLAR_LIB_EMULATOR_STATE_MEMORY_H
#define ASHLAR_LIB_EMULATOR_STATE_MEMORY_H

#include "ashlar/Machine/Description.h"
#include "llvm/Support/Error.h"
#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace ashlar::emulator {

/// XR content that means "cleared: no block has been merged yet".
inline constexpr int16_t clearedScale = -32768;

/// A zero-filled block of host memory that is only touched when used and starts
/// at a cache line of the host.
class HostBlock {
public:
  HostBlock() = default;
  HostBlock(HostBlock &&other) noexcept;
  HostBlock &operator=(HostBlock &&other) noexcept;
  ~HostBlock();

  /// Replaces the block; false if the host refuses.
  bool allocate(uint64_t bytes);
  /// Replaces the block by the bytes of another one, which has to outlive it.
  void share(const HostBlock &other);
  uint8_t *data() const { return pointer; }
  uint64_t size() const { return length; }

private:
  void release();

  uint8_t *storage = nullptr; ///< What the block was allocated as.
  uint64_t mapped = 0;        ///< Bytes of a mapping; 0: from the heap.
  uint8_t *pointer = nullptr;
  uint64_t length = 0;
};

/// SB, XM, PSUM, XR, DRAM, and the memories of the sparse cluster.
class Memory {
public:
  /// Allocates DRAM alone, before the code says what else a program needs;
  /// false if \p maxMemory (0: no limit) or the host does not suffice.
  bool allocateDram(uint64_t bytes, uint64_t maxMemory);
  /// Says what a program needs, before take(). Capacity error if \p maxMemory
  /// (0: no limit) does not suffice. The sparse cluster's memories only if
  /// \p cluster; `staged` bytes after every partition hold results on their way
  /// to them.
  llvm::Error plan(const machine::Description &description, uint64_t dramBytes,
                   uint64_t maxMemory, bool cluster, uint64_t staged = 0);
  /// Allocates what is planned and not there yet. Capacity error if the host
  /// does not suffice.
  llvm::Error take();

  /// Makes these the memories of \p owner, which has to outlive them and must
  /// not allocate again, but with a PSUM, feature-map units and accumulators of
  /// their own; false if the host refuses those. Threads that use both have to
  /// be in order wherever instructions conflict; merges into a register need
  /// none (mergeScale()).
  bool share(Memory &owner);
  /// Bytes of what share() leaves to each.
  uint64_t ownBytes() const {
    return psumBlock.size() + fmuBlock.size() + accBlock.size();
  }
  void clearOwn();

  uint8_t *sb(uint64_t partition, int64_t offset) const {
    return sbBlock.data() + static_cast<int64_t>(partition * sbPitch) + offset;
  }
  /// Exponent cell of SB byte (partition, offset).
  int8_t *cell(uint64_t partition, int64_t offset) const {
    return xmRow(groupShift ? partition >> *groupShift : partition / group,
                 offset);
  }
  int8_t *xmRow(uint64_t row, int64_t offset) const {
    return reinterpret_cast<int8_t *>(xmBlock.data()) +
           static_cast<int64_t>(row * sbPitch) + offset;
  }
  int64_t *psum(uint64_t column, uint64_t entry) const {
    return reinterpret_cast<int64_t *>(psumBlock.data()) + column * psumPitch +
           entry;
  }
  uint8_t *dram(uint64_t address) const { return dramBlock.data() + address; }

  uint8_t *wm(uint64_t address) const { return wmBlock.data() + address; }
  /// Byte of a buffer set of a unit's feature-map memory.
  uint8_t *fmu(uint64_t unit, uint64_t set, uint64_t byte) const {
    return fmuBlock.data() + (unit * fmuSets + set) * fmuBytes + byte;
  }
  /// Accumulator of a unit of the sparse cluster.
  int64_t *acc(uint64_t unit, uint64_t entry) const {
    return reinterpret_cast<int64_t *>(accBlock.data()) + unit * accEntries +
           entry;
  }

  /// Bytes of all memories that are planned.
  uint64_t size() const { return totalBytes; }

  /// Takes the pages of SB, XM, PSUM and the sparse cluster's memories from the
  /// system before a run touches them, unless they are very large.
  void populateOnChip();
  /// Zeroes SB, XM and PSUM, and the sparse cluster's memories.
  void clearOnChip();
  /// Puts every scale register into the cleared state.
  void clearScales() { std::fill_n(scales, scaleCount, clearedScale); }

  int16_t &xr(uint64_t index) { return scales[index]; }
  /// Merges an exponent into a register. Other threads may do so at the same
  /// time: maxima do not depend on the order.
  void mergeScale(uint64_t index, int16_t exponent);
  /// The registers as DMA addresses them: two bytes each, in order.
  uint8_t *scaleBytes(uint64_t address) {
    return reinterpret_cast<uint8_t *>(scales) + address;
  }

  /// Where results begin in a partition that never get to SB.
  uint64_t stage() const { return rowBytes; }
  /// Bytes between neighbouring partitions (SB) or rows of cells (XM).
  uint64_t pitch() const { return sbPitch; }
  /// Entries between neighbouring PSUM columns.
  uint64_t columnPitch() const { return psumPitch; }
  uint64_t bytesPerPartition() const { return rowBytes; }
  uint64_t partitionsPerCell() const { return group; }

private:
  std::array<HostBlock *, 6> onChip() {
    return {&sbBlock, &xmBlock, &psumBlock, &wmBlock, &fmuBlock, &accBlock};
  }

  HostBlock sbBlock, xmBlock, psumBlock, dramBlock;
  HostBlock wmBlock, fmuBlock, accBlock;
  std::vector<int16_t> ownScales;
  int16_t *scales = nullptr; ///< `ownScales`, or those of another one.
  uint64_t scaleCount = 0;
  uint64_t sbPitch = 0, psumPitch = 0, rowBytes = 1, group = 1;
  std::optional<unsigned> groupShift; ///< Of a group that is a power of two.
  /// SB, XM, PSUM, DRAM, weight memory, feature-map memories, accumulators.
  std::array<uint64_t, 7> sizes = {};
  uint64_t totalBytes = 0;
  uint64_t fmuSets = 1, fmuBytes = 0, accEntries = 0;
};

} // namespace ashlar::emulator

#endif // ASHLAR_LIB_EMULATOR_STATE_MEMORY_H
