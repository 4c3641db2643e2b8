// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Race freedom by happens-before. Every queue is in order; semaphores order
// queues. Vector clocks count completed operations per queue; the PE queue has
// a second component for issued ones, because a signal behind pe.swap says that
// the swap has happened but not that earlier results have arrived.

#ifndef ASHLAR_LIB_EMULATOR_RACES_H
#define ASHLAR_LIB_EMULATOR_RACES_H

#include "ashlar/Emulator/Result.h"
#include "ashlar/Isa/Footprint.h"
#include "llvm/ADT/ArrayRef.h"
#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

namespace ashlar::emulator {

/// Walks a program in order; every call belongs to the next instruction.
class RaceChecker {
public:
  explicit RaceChecker(bool checkRaces) : checkRaces(checkRaces) {}

  /// A conflicting pair that nothing orders.
  struct Finding {
    uint32_t earlier;      ///< Instruction index.
    isa::Access access;    ///< Of the later instruction.
    isa::Access conflicts; ///< Of the earlier one.
  };

  /// `swap` marks pe.swap.
  std::optional<Finding> operation(uint32_t index, unsigned queue, bool swap,
                                   llvm::ArrayRef<isa::Access> accesses);
  void signal(unsigned queue, unsigned semaphore);
  /// The semaphore must hold a signal.
  void wait(unsigned queue, unsigned semaphore);

  /// Latest instruction of the same queue whose results the last operation
  /// reads and that it does not know to be complete; noInstruction if none.
  uint32_t hazard() const { return lastHazard; }

private:
  static constexpr unsigned issueOfPe = numQueues;
  static constexpr unsigned pe = 5;
  using Clock = std::array<uint32_t, numQueues + 1>;

  /// What is compared first; the exact pattern only if this overlaps.
  struct Box {
    int64_t begin, end;
    uint32_t partBegin, partEnd;
    uint32_t position;
    bool write;
    bool overlaps(const isa::Access &access) const {
      return begin < access.end && access.begin < end &&
             partBegin < access.partEnd && access.partBegin < partEnd;
    }
  };
  /// Hull of `chunkSize` consecutive boxes.
  static constexpr uint32_t chunkSize = 32;

  /// All accesses of one queue to one space, in queue order.
  struct History {
    std::vector<Box> boxes;
    std::vector<Box> hulls;
    std::vector<isa::Access> accesses;
    std::vector<uint32_t> instructions;
    void append(const isa::Access &access, uint32_t position, uint32_t index);
    /// The latest entry after `known` that conflicts, looking at no more than
    /// `limit` entries.
    std::optional<size_t> findAfter(uint32_t known, const isa::Access &access,
                                    size_t limit) const;
  };
  static constexpr unsigned numSpaces =
      static_cast<unsigned>(isa::Space::Active) + 1;

  std::optional<Finding> checkAgainst(unsigned queue,
                                      const isa::Access &access) const;
  void findHazard(unsigned queue, const isa::Access &access);

  bool checkRaces;
  std::array<std::array<History, numQueues>, numSpaces> histories;
  std::array<Clock, numQueues> clocks = {};
  std::array<uint32_t, numQueues> positions = {};
  std::array<bool, numQueues> afterSwap = {};
  std::array<std::deque<Clock>, 256> semaphores;
  uint32_t lastHazard = ~uint32_t(0);
};

} // namespace ashlar::emulator

#endif // ASHLAR_LIB_EMULATOR_RACES_H
