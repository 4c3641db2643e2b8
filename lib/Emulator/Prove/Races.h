// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Race freedom by happens-before. Every queue is in order; semaphores order
// queues. Vector clocks count completed operations per queue; the PE queue has
// a second component for issued ones, because a signal after pe.swap says that
// the swap has happened but not that earlier results have arrived.

#ifndef ASHLAR_LIB_EMULATOR_PROVE_RACES_H
#define ASHLAR_LIB_EMULATOR_PROVE_RACES_H

#include "AccessHistory.h"
#include "ashlar/Emulator/Result.h"
#include "ashlar/Machine/Description.h"
#include <array>
#include <deque>
#include <memory>

namespace ashlar::emulator {

/// Walks a program in order; every call belongs to the next instruction.
class RaceChecker {
public:
  /// What `work` runs out of is not proven: the caller has to ask it.
  RaceChecker(const machine::Description &machine, bool checkRaces,
              ProofWork &work)
      : machine(machine), checkRaces(checkRaces), work(work) {}

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
  static constexpr unsigned numSpaces =
      static_cast<unsigned>(isa::Space::Active) + 1;

  std::optional<Finding> checkAgainst(unsigned queue,
                                      const isa::Access &access);
  void findHazard(unsigned queue, const isa::Access &access);
  void append(unsigned queue, const isa::Access &access, uint32_t index);

  const machine::Description &machine;
  bool checkRaces;
  ProofWork &work;
  std::array<std::array<std::unique_ptr<AccessHistory>, numQueues>, numSpaces>
      histories;
  std::array<Clock, numQueues> clocks = {};
  std::array<uint32_t, numQueues> positions = {};
  std::array<bool, numQueues> afterSwap = {};
  std::array<std::deque<Clock>, 256> semaphores;
  uint32_t lastHazard = ~uint32_t(0);
};

} // namespace ashlar::emulator

#endif // ASHLAR_LIB_EMULATOR_PROVE_RACES_H
