// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The latest access that meets a box: assignments of rising numbers to boxes of
// (partition, unit), and the largest number of a box, in n log n of as many
// assignments as there are.
//
// Partitions are cut into aligned ranges of powers of two, as in a segment
// tree; each range that occurs has the units as disjoint intervals, a balanced
// tree with the largest number of every subtree. A new interval replaces what
// it covers, for its number is larger.

#ifndef ASHLAR_LIB_EMULATOR_PROVE_LATESTACCESS_H
#define ASHLAR_LIB_EMULATOR_PROVE_LATESTACCESS_H

#include "ashlar/Isa/Footprint.h"
#include "llvm/ADT/DenseMap.h"
#include <cstdint>
#include <vector>

namespace ashlar::emulator {

/// Disjoint intervals with a number each, in one pool for many trees.
class IntervalPool {
public:
  using Root = uint32_t; ///< 0: no interval.

  IntervalPool();

  /// Gives [begin, end) the number \p value, which no other exceeds.
  void assign(Root &root, int64_t begin, int64_t end, uint32_t value);
  /// The largest number in [begin, end); 0 if there is none.
  uint32_t largest(Root root, int64_t begin, int64_t end) const;

private:
  struct Node {
    int64_t begin = 0, end = 0;
    uint32_t value = 0, most = 0; ///< Own, and of the subtree.
    uint32_t left = 0, right = 0, priority = 0;
  };

  uint32_t make(int64_t begin, int64_t end, uint32_t value);
  void release(Root root);
  void update(uint32_t node);
  /// What lies before `at`, and the rest; an interval around it is cut.
  void split(Root root, int64_t at, Root &before, Root &after);
  Root join(Root before, Root after);

  std::vector<Node> nodes = std::vector<Node>(1);
  std::vector<uint32_t> unused;
  uint32_t random;
};

/// The latest accesses of one kind.
class LatestAccess {
public:
  /// Of a memory of so many partitions.
  explicit LatestAccess(uint64_t partitions);

  /// The bounding box of \p access; \p number is at least 1 and never falls.
  /// Gives the number of trees that were changed.
  uint64_t assign(const isa::Access &access, uint32_t number);
  /// The largest number of an access whose box meets that of \p access, or 0.
  uint32_t latest(const isa::Access &access) const;

private:
  /// A range of partitions: what was assigned to all of it, and what to a part.
  struct Range {
    IntervalPool::Root whole = 0, part = 0;
  };
  unsigned levels; ///< 2^levels partitions are all of them.
  llvm::DenseMap<uint32_t, Range> ranges;
  IntervalPool pool;
};

} // namespace ashlar::emulator

#endif // ASHLAR_LIB_EMULATOR_PROVE_LATESTACCESS_H
