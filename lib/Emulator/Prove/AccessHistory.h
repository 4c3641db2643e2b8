// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What one queue has done to one memory, in queue order.
//
// Most questions are settled by the newest entries, through hulls of chunks. An
// access that few semaphores order is asked of everything before: then the
// latest entries by box answer in n log n whether boxes meet at all. Boxes
// without gaps that meet do conflict; those of patterns are compared exactly,
// each pattern once however often it occurs, and that work is counted.

#ifndef ASHLAR_LIB_EMULATOR_PROVE_ACCESSHISTORY_H
#define ASHLAR_LIB_EMULATOR_PROVE_ACCESSHISTORY_H

#include "LatestAccess.h"
#include "ProofWork.h"
#include "ashlar/Isa/Footprint.h"
#include <cstdint>
#include <deque>
#include <list>
#include <optional>
#include <unordered_map>
#include <vector>

namespace ashlar::emulator {

/// The accesses of one queue to one memory.
class AccessHistory {
public:
  explicit AccessHistory(uint64_t partitions) : partitions(partitions) {}

  /// \p position in the queue never falls; \p index is the instruction's.
  void append(const isa::Access &access, uint32_t position, uint32_t index);

  /// The latest entry beyond the position `known` that conflicts.
  std::optional<size_t> findAfter(uint32_t known, const isa::Access &access,
                                  ProofWork &work);
  /// The same of the newest `limit` entries alone.
  std::optional<size_t> findNear(uint32_t known, const isa::Access &access,
                                 size_t limit, ProofWork &work) const {
    return scan(known, access, limit, ~uint64_t(0), work).found;
  }

  uint32_t instruction(size_t entry) const { return instructions[entry]; }
  const isa::Access &access(size_t entry) const { return accesses[entry]; }

private:
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
  struct Scan {
    std::optional<size_t> found;
    bool complete; ///< Nothing is left beyond `known`.
  };
  /// Accesses of one kind: reads, writes or merges.
  struct Kind {
    explicit Kind(uint64_t partitions)
        : boxes(partitions), patterns(partitions) {}
    LatestAccess boxes;    ///< Without gaps.
    LatestAccess patterns; ///< With gaps.
  };
  struct Hash {
    const AccessHistory *history;
    size_t operator()(size_t entry) const;
  };
  struct Same {
    const AccessHistory *history;
    bool operator()(size_t a, size_t b) const;
  };

  /// Looks at no more than the newest `limit` entries, and at about `mostBoxes`
  /// boxes and hulls.
  Scan scan(uint32_t known, const isa::Access &access, size_t limit,
            uint64_t mostBoxes, ProofWork &work) const;
  void bringUpToDate(ProofWork &work);
  std::optional<size_t> findPattern(uint32_t known, const isa::Access &access,
                                    ProofWork &work) const;

  /// Hull of `chunkSize` consecutive boxes.
  static constexpr uint32_t chunkSize = 32;
  /// Steps that a change of a tree costs, and a pattern among the latest.
  static constexpr uint64_t stepsPerTree = 400, stepsPerPattern = 200;
  /// Boxes and hulls that are looked at before the index is asked.
  static constexpr uint64_t nearBoxes = 1024;

  uint64_t partitions;
  std::vector<Box> boxes;
  std::vector<Box> hulls;
  std::deque<isa::Access> accesses; ///< Large: never copied to grow.
  std::vector<uint32_t> instructions;

  size_t indexed = 0; ///< Entries that the index has.
  std::vector<Kind> kinds;
  /// The last entry of every pattern, oldest first, and where it is.
  std::list<size_t> latest;
  std::unordered_map<size_t, std::list<size_t>::iterator, Hash, Same> places{
      0, Hash{this}, Same{this}};
};

} // namespace ashlar::emulator

#endif // ASHLAR_LIB_EMULATOR_PROVE_ACCESSHISTORY_H
