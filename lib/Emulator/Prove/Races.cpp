// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Happens-before over the queues. Program order is a legal execution, so for
// every pair only "the earlier one before the later one" can hold; a pair is
// ordered if the later instruction's clock knows that the earlier one is
// complete. Only the entries of a queue's history that are newer than what the
// clock knows are looked at.

#include "Races.h"
#include <algorithm>

using namespace ashlar;
using namespace ashlar::emulator;
using isa::Access;
using isa::Space;

std::optional<RaceChecker::Finding>
RaceChecker::checkAgainst(unsigned queue, const Access &access) {
  const auto space = static_cast<unsigned>(access.space);
  for (unsigned other = 0; other < numQueues; ++other) {
    if (other == queue || !histories[space][other])
      continue;
    AccessHistory &history = *histories[space][other];
    // The stationary sets change hands when the PE queue reaches the swap.
    bool sets = access.space == Space::Shadow || access.space == Space::Active;
    uint32_t known = clocks[queue][other == pe && sets ? issueOfPe : other];
    if (std::optional<size_t> found = history.findAfter(known, access, work))
      return Finding{history.instruction(*found), access,
                     history.access(*found)};
  }
  return std::nullopt;
}

void RaceChecker::findHazard(unsigned queue, const Access &access) {
  // The array forwards its own accumulators and sets.
  if (access.write || access.merge || access.space == Space::Psum ||
      access.space == Space::Shadow || access.space == Space::Active)
    return;
  const auto &history = histories[static_cast<unsigned>(access.space)][queue];
  if (!history)
    return;
  // Further back than this nothing is in flight in practice; the bound keeps
  // the pass linear.
  constexpr size_t window = 256;
  if (std::optional<size_t> found =
          history->findNear(clocks[queue][queue], access, window, work)) {
    uint32_t index = history->instruction(*found);
    lastHazard =
        lastHazard == ~uint32_t(0) ? index : std::max(lastHazard, index);
  }
}

void RaceChecker::append(unsigned queue, const Access &access, uint32_t index) {
  auto &history = histories[static_cast<unsigned>(access.space)][queue];
  if (!history) {
    const uint64_t partitions =
        access.space == Space::Psum  ? machine.pe.columns
        : access.space == Space::Fmu ? machine.sparse.fmuSets
        : access.space == Space::Sb || access.space == Space::Xm
            ? machine.sb.partitions
            : 1;
    history = std::make_unique<AccessHistory>(partitions);
  }
  history->append(access, positions[queue], index);
}

std::optional<RaceChecker::Finding>
RaceChecker::operation(uint32_t index, unsigned queue, bool swap,
                       llvm::ArrayRef<Access> accesses) {
  lastHazard = ~uint32_t(0);
  ++positions[queue];
  for (const Access &access : accesses) {
    if (checkRaces)
      if (std::optional<Finding> finding = checkAgainst(queue, access))
        return finding;
    findHazard(queue, access);
  }
  for (const Access &access : accesses)
    append(queue, access, index);
  afterSwap[queue] = swap;
  return std::nullopt;
}

void RaceChecker::signal(unsigned queue, unsigned semaphore) {
  Clock clock = clocks[queue];
  if (queue == pe)
    clock[issueOfPe] = positions[pe];
  if (!afterSwap[queue])
    clock[queue] = positions[queue];
  semaphores[semaphore].push_back(clock);
}

void RaceChecker::wait(unsigned queue, unsigned semaphore) {
  const Clock &clock = semaphores[semaphore].front();
  for (unsigned i = 0; i < clock.size(); ++i)
    clocks[queue][i] = std::max(clocks[queue][i], clock[i]);
  semaphores[semaphore].pop_front();
}
