// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which memory has been written, walked in program order: reads of undefined
// memory, accumulators replaced before they were drained, and the bound of
// every accumulator. Accesses are data independent, so all of it is static.
//
// SB and XM keep one bit per byte, the bits of all partitions of one offset
// side by side: instructions touch the same offsets of many partitions.

#ifndef ASHLAR_LIB_EMULATOR_DEFINED_H
#define ASHLAR_LIB_EMULATOR_DEFINED_H

#include "Memory.h"
#include "ashlar/Isa/Footprint.h"
#include "ashlar/Machine/Description.h"
#include "llvm/ADT/ArrayRef.h"
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace ashlar::emulator {

/// One bit per (unit, lane), lanes of a unit in whole words.
class BitPlane {
public:
  /// False if the host refuses the memory.
  bool allocate(uint64_t units, uint64_t lanes);
  void set(uint64_t begin, uint64_t end, uint32_t laneBegin, uint32_t laneEnd);
  void clear(uint64_t begin, uint64_t end, uint32_t laneBegin,
             uint32_t laneEnd);
  /// The first unit of [begin, end) with a lane that is not set.
  std::optional<uint64_t> firstUnset(uint64_t begin, uint64_t end,
                                     uint32_t laneBegin,
                                     uint32_t laneEnd) const;
  /// The first unit of [begin, end) with a lane that is set.
  std::optional<uint64_t> firstSet(uint64_t begin, uint64_t end,
                                   uint32_t laneBegin, uint32_t laneEnd) const;

private:
  uint64_t *row(uint64_t unit) const {
    return reinterpret_cast<uint64_t *>(bits.data()) + unit * words;
  }
  HostBlock bits;
  uint64_t words = 1;
};

/// One bit per byte of a flat memory.
class BitLine {
public:
  bool allocate(uint64_t units);
  void set(uint64_t begin, uint64_t end);
  std::optional<uint64_t> firstUnset(uint64_t begin, uint64_t end) const;

private:
  HostBlock bits;
};

/// Definedness of every memory.
class DefinedState {
public:
  /// Capacity error text is up to the caller: false if the host refuses.
  bool allocate(const machine::Description &machine, uint64_t dramBytes);

  void defineDram(uint64_t begin, uint64_t end) { dram.set(begin, end); }
  std::optional<uint64_t> undefinedDram(uint64_t begin, uint64_t end) const {
    return dram.firstUnset(begin, end);
  }

  /// The unit of the first undefined element that \p access reads.
  std::optional<uint64_t> undefined(const isa::Access &access) const;
  void define(const isa::Access &access);

  /// Starts new sums in the entries of a PSUM write, in all columns: the old
  /// ones become undefined. Gives an entry whose sums nobody has drained.
  std::optional<uint64_t> restart(const isa::Access &access);
  void markAccumulated(const isa::Access &access);
  void markDrained(const isa::Access &access);
  /// Adds \p bound to (or replaces by it) the magnitude bound of the entries;
  /// gives an entry whose bound is beyond \p limit.
  std::optional<uint64_t> addBound(const isa::Access &access, double bound,
                                   bool replace, double limit);

private:
  BitPlane sb, xm, psum, dirty;
  BitLine dram;
  std::vector<uint8_t> xr, sr;
  std::vector<double> bounds; ///< Per PSUM entry, over all columns.
  uint32_t columns = 1;
};

} // namespace ashlar::emulator

#endif // ASHLAR_LIB_EMULATOR_DEFINED_H
