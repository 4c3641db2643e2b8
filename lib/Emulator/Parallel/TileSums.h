// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the results of a drain of the sparse cluster come from: runs, initial
// sums, loads and tile tables. As with the array, a thread that executes a
// drain executes these itself, in feature-map units, accumulators and tables of
// its own: a program only sees what its drains write.

#ifndef ASHLAR_LIB_EMULATOR_PARALLEL_TILESUMS_H
#define ASHLAR_LIB_EMULATOR_PARALLEL_TILESUMS_H

#include "Dependencies.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>
#include <vector>

namespace ashlar::emulator {

/// Threads by bits.
using ThreadSet = uint32_t;

/// Walks over a program in order.
class TileSums {
public:
  /// Whether threads may have clusters of their own. Tables that the data of a
  /// run cuts, tiles that drains fill, counters and times of scattering are
  /// kept for the whole program by one engine.
  static bool areFollowed(llvm::ArrayRef<isa::Instruction> code);
  /// Whether an instruction goes wherever drains of the cluster need it.
  static bool isPart(const isa::Instruction &inst);

  /// An instruction that reads accumulators.
  struct Drain {
    uint32_t index;
    /// Runs and initial sums, loads of tiles; ascending.
    llvm::SmallVector<uint32_t, 8> sums, loads;
  };

  TileSums(const machine::Description &machine,
           llvm::ArrayRef<isa::Instruction> code);

  /// The next instruction, with what TilePlaces leaves of its footprints.
  /// False if there is more to follow than the loader has time for.
  bool step(uint32_t index, llvm::ArrayRef<isa::Access> accesses);

  llvm::ArrayRef<Drain> drains() const { return found; }
  /// Adds to the threads of every instruction of the cluster those that need
  /// it; what none needs belongs to the first.
  void spread(std::vector<ThreadSet> &sets) const;

private:
  void follow(Drain &drain);

  llvm::ArrayRef<isa::Instruction> code;
  Dependencies dependencies;
  std::vector<Drain> found;
  std::vector<uint32_t> seen; ///< The last drain that an instruction is for.
  uint64_t steps = 0;
};

} // namespace ashlar::emulator

#endif // ASHLAR_LIB_EMULATOR_PARALLEL_TILESUMS_H
