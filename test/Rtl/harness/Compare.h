// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One program through the emulator and through the hardware model.

#ifndef ASHLAR_TEST_RTL_COMPARE_H
#define ASHLAR_TEST_RTL_COMPARE_H

#include "Programs.h"
#include "llvm/Support/Error.h"

namespace ashlar::rtl {

/// Draft, encoded: what both machines execute.
struct Coded {
  std::vector<isa::Instruction> instructions;
  std::vector<uint64_t> words;
};
Coded encodeDraft(const Draft &draft);

/// Whether the emulator's loader takes the program.
bool isLegal(const Draft &draft);

/// Counters of a campaign.
struct Tally {
  uint64_t programs = 0, instructions = 0, cycles = 0, entries = 0;
  uint64_t bytes = 0;      ///< Of all memories, compared at the end.
  uint64_t collisions = 0; ///< See Record::collisions.
  uint64_t bankWaits = 0;  ///< Cycles of `sb-busy`.
};

/// Differences of the two machines, in words; empty if there is none.
std::vector<std::string> compare(Chip &chip, const Draft &draft, Tally &tally);

/// The draft without the operations that a difference does not need.
Draft shrink(Chip &chip, Draft draft);

/// The text of a draft's program, for messages.
std::string printDraft(const Draft &draft);

} // namespace ashlar::rtl

#endif // ASHLAR_TEST_RTL_COMPARE_H
