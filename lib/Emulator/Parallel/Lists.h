// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A program cut into one list of instructions for each thread. What an
// instruction depends on comes before it in its own list, or in another list
// that it waits for. All lists together have one order in which every
// instruction comes after what it depends on, so that no two of them wait for
// each other.

#ifndef ASHLAR_LIB_EMULATOR_PARALLEL_LISTS_H
#define ASHLAR_LIB_EMULATOR_PARALLEL_LISTS_H

#include "../Execute/OperandReuse.h"
#include "ashlar/Container/Container.h"
#include "ashlar/Isa/Instruction.h"
#include "llvm/ADT/ArrayRef.h"
#include <cstdint>
#include <memory>
#include <vector>

namespace ashlar::emulator {

/// The lists of a program.
struct Lists {
  /// Lists for more threads than this are of no use to the programs that were
  /// seen.
  static constexpr unsigned mostThreads = 16;

  /// The first `position` entries of a list have to be done.
  struct Wait {
    uint32_t thread;
    uint32_t position;
  };
  struct Entry {
    uint32_t instruction;
    uint32_t endOfWaits; ///< In List::waits; they begin at those before.
    /// Of the lists with this instruction it is the first: its counters count.
    bool isFirst;
    bool isAwaited; ///< Some other list waits until this one is done.
  };
  struct List {
    std::vector<Entry> entries;
    std::vector<Wait> waits;
    /// By operand, matmuls of the list that it belongs to.
    std::vector<uint32_t> uses;
  };
  std::vector<List> lists; ///< By thread.
  /// Nanoseconds of one thread, and of all of them, as they were estimated.
  float alone = 0, together = 0;

  /// Whether threads gain enough, by the estimates. Where they are far from
  /// each other all of them work slower, on what the others have written or
  /// read.
  bool areWorthIt(bool near) const {
    constexpr float leastNear = 0.9f, leastFar = 0.65f;
    return together < (near ? leastNear : leastFar) * alone;
  }
};

/// Cuts a program into lists, null if its use of the memories is not followed.
/// Instructions that keep what they find outside of the memories are all in
/// list 0, in program order. \p program has been verified; \p reuse belongs to
/// it.
std::shared_ptr<const Lists> cutIntoLists(const container::Program &program,
                                          llvm::ArrayRef<isa::Instruction> code,
                                          const OperandReuse &reuse,
                                          unsigned threads);

} // namespace ashlar::emulator

#endif // ASHLAR_LIB_EMULATOR_PARALLEL_LISTS_H
