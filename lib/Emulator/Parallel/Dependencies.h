// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What an instruction has to wait for: every earlier one that reads or writes
// what it writes, or writes what it reads, in the memories that all threads
// share; or in those of the sparse cluster, of which each thread has its own.
// Semaphores order more than that, because a queue is in order.

#ifndef ASHLAR_LIB_EMULATOR_PARALLEL_DEPENDENCIES_H
#define ASHLAR_LIB_EMULATOR_PARALLEL_DEPENDENCIES_H

#include "ashlar/Isa/Footprint.h"
#include "ashlar/Machine/Description.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include <array>
#include <cstdint>
#include <vector>

namespace ashlar::emulator {

/// Walks over a program in order.
class Dependencies {
public:
  /// An earlier instruction, how many units of what it wrote are read, and how
  /// many that it read or wrote are written.
  struct Edge {
    uint32_t earlier;
    uint32_t read, written;
  };

  /// In what all threads share.
  Dependencies(const machine::Description &machine, uint64_t dramBytes,
               size_t numInstructions);
  /// In what each thread has for itself of the sparse cluster: feature-map
  /// units, accumulators and tile tables.
  Dependencies(const machine::Description &machine, size_t numInstructions);

  /// The next instruction. \p order names a list in which it comes after every
  /// earlier instruction with the same or a smaller set of threads: a set of
  /// threads that execute it in program order, 0 if it may move. False if
  /// there are more conflicts than the loader has time for.
  bool step(uint32_t index, uint32_t order,
            llvm::ArrayRef<isa::Access> accesses);

  /// Of instruction \p index, ascending; without what is before it in the one
  /// list that both are in.
  llvm::ArrayRef<Edge> of(uint32_t index) const {
    return llvm::ArrayRef(edges).slice(first[index],
                                       first[index + 1] - first[index]);
  }

  /// Units that an instruction reads and writes in all memories.
  struct Units {
    uint64_t read = 0, written = 0;
  };
  const Units &unitsOf(uint32_t index) const { return units[index]; }

private:
  /// An access that no later one stands for. Small, because most of them are
  /// looked at and found to lie elsewhere.
  struct Entry {
    int64_t begin, end;
    uint32_t partBegin, partEnd;
    uint32_t index, order;
    uint32_t seen = ~uint32_t(0); ///< The last instruction that met it.
    uint32_t pattern = noPattern; ///< Of an access with gaps.
    uint32_t units = 0;           ///< That it touches.
    bool write = false, merge = false, dead = false;

    bool meets(const isa::Access &access) const {
      return begin < access.end && access.begin < end &&
             partBegin < access.partEnd && access.partBegin < partEnd &&
             (write || merge || access.write || access.merge) &&
             !(merge && access.merge);
    }
    /// Leaves out what lies inside \p access, a write without gaps that comes
    /// after it: what meets this one there has to come after the write. True
    /// if something was left out at an end.
    bool hide(const isa::Access &access);
  };
  static constexpr uint32_t noPattern = ~uint32_t(0);
  /// The entries of a space by ranges of its units. One in several ranges is
  /// in each of them.
  struct Map {
    unsigned shift = 0;
    std::vector<llvm::SmallVector<uint32_t, 4>> buckets;
    std::vector<Entry> entries;
    std::vector<isa::Access> patterns;

    size_t bucketOf(int64_t unit) const;
  };

  void addMap(isa::Space space, uint64_t units);
  Map *mapOf(isa::Space space) {
    Map &map = maps[static_cast<unsigned>(space)];
    return map.buckets.empty() ? nullptr : &map;
  }
  void meet(Map &map, uint32_t index, uint32_t order,
            const isa::Access &access);
  static bool isSame(const Map &map, const Entry &entry,
                     const isa::Access &access);
  void insert(Map &map, uint32_t index, uint32_t order,
              const isa::Access &access);
  void addEdge(const Edge &edge);

  static constexpr unsigned numSpaces =
      static_cast<unsigned>(isa::Space::Active) + 1;
  std::array<Map, numSpaces> maps;
  std::vector<Edge> edges;
  std::vector<Units> units;      ///< By instruction.
  std::vector<uint32_t> first;   ///< Of each instruction, and the end.
  std::vector<uint32_t> placeOf; ///< In `edges`, of the current instruction's.
  size_t begin = 0;              ///< Of the current instruction's edges.
  uint64_t steps = 0;
};

/// Units that an access touches.
uint64_t countUnits(const isa::Access &access);
/// Whether an access touches every unit of its box.
bool fillsBox(const isa::Access &access);

} // namespace ashlar::emulator

#endif // ASHLAR_LIB_EMULATOR_PARALLEL_DEPENDENCIES_H
