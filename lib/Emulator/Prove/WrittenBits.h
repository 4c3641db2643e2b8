// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sets of the units of a memory that have been written, one bit each. Levels
// above the bits say of whole groups that all of them are in the set: a run is
// as cheap to add or to look up as its ends, however long it is, and memory of
// the host is touched where runs end. Groups that a look-up finds full are
// noted, so that no program pays for the same bits again and again.

#ifndef ASHLAR_LIB_EMULATOR_PROVE_WRITTENBITS_H
#define ASHLAR_LIB_EMULATOR_PROVE_WRITTENBITS_H

#include "../State/Memory.h"
#include <array>
#include <cstdint>
#include <optional>

namespace ashlar::emulator {

/// Bits of (unit, lane): SB, XM and PSUM, whose instructions touch the same
/// units of many partitions. Lanes of a unit are whole words.
class BitPlane {
public:
  /// False if the host refuses the memory.
  bool allocate(uint64_t units, uint64_t lanes);
  /// The functions add what they looked at to \p steps.
  void set(uint64_t begin, uint64_t end, uint32_t laneBegin, uint32_t laneEnd,
           uint64_t &steps);
  void clear(uint64_t begin, uint64_t end, uint32_t laneBegin, uint32_t laneEnd,
             uint64_t &steps);
  /// The first unit of [begin, end) with a lane that is not set.
  std::optional<uint64_t> firstUnset(uint64_t begin, uint64_t end,
                                     uint32_t laneBegin, uint32_t laneEnd,
                                     uint64_t &steps);
  /// The first unit of [begin, end) with a lane that is set.
  std::optional<uint64_t> firstSet(uint64_t begin, uint64_t end,
                                   uint32_t laneBegin, uint32_t laneEnd,
                                   uint64_t &steps);

private:
  static constexpr unsigned numLevels = 3, groupBits = 6;
  uint64_t &at(unsigned level, uint64_t group, uint64_t word) {
    return reinterpret_cast<uint64_t *>(
        levels[level].data())[group * words + word];
  }
  /// Writes what upper levels say of [begin, end) into the bits.
  void pushDown(uint64_t begin, uint64_t end, uint64_t word, uint64_t mask,
                uint64_t &steps);
  std::optional<uint64_t> firstUnset(unsigned level, uint64_t begin,
                                     uint64_t end, uint64_t word, uint64_t mask,
                                     uint64_t &steps);

  std::array<HostBlock, numLevels> levels;
  uint64_t words = 1;
  bool grouped = false; ///< An upper level says something.
};

/// Bits of the bytes of a flat memory. Nothing is ever taken out.
class BitLine {
public:
  bool allocate(uint64_t units);
  void set(uint64_t begin, uint64_t end, uint64_t &steps);
  /// The first unit of [begin, end) that is not set.
  std::optional<uint64_t> firstUnset(uint64_t begin, uint64_t end,
                                     uint64_t &steps);

private:
  static constexpr unsigned numLevels = 6, groupBits = 6;
  uint64_t *level(unsigned k) const {
    return reinterpret_cast<uint64_t *>(levels[k].data());
  }
  bool holds(unsigned k, uint64_t group) const {
    return level(k)[group / 64] >> (group % 64) & 1;
  }
  std::array<HostBlock, numLevels> levels;
};

} // namespace ashlar::emulator

#endif // ASHLAR_LIB_EMULATOR_PROVE_WRITTENBITS_H
