// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Happens-before over the queues. Program order is a legal execution, so for
// every pair only "the earlier one before the later one" can hold; a pair is
// ordered if the later instruction's clock knows that the earlier one is
// complete. Only the entries of a queue's history that are newer than what the
// clock knows are looked at, newest chunk first, through hulls.

#include "Races.h"

using namespace ashlar;
using namespace ashlar::emulator;
using isa::Access;
using isa::Space;

void RaceChecker::History::append(const Access &access, uint32_t position,
                                  uint32_t index) {
  const bool changes = access.write || access.merge;
  Box box{access.begin,   access.end, access.partBegin,
          access.partEnd, position,   changes};
  if (boxes.size() % chunkSize == 0) {
    hulls.push_back(box);
  } else {
    Box &hull = hulls.back();
    hull.begin = std::min(hull.begin, box.begin);
    hull.end = std::max(hull.end, box.end);
    hull.partBegin = std::min(hull.partBegin, box.partBegin);
    hull.partEnd = std::max(hull.partEnd, box.partEnd);
    hull.position = position;
    hull.write |= box.write;
  }
  boxes.push_back(box);
  accesses.push_back(access);
  instructions.push_back(index);
}

std::optional<size_t> RaceChecker::History::findAfter(uint32_t known,
                                                      const Access &access,
                                                      size_t limit) const {
  const bool changes = access.write || access.merge;
  size_t least = boxes.size() > limit ? boxes.size() - limit : 0;
  for (size_t chunk = hulls.size(); chunk-- > 0;) {
    const Box &hull = hulls[chunk];
    if (hull.position <= known || (chunk + 1) * chunkSize <= least)
      return std::nullopt;
    if (!hull.overlaps(access) || !(hull.write || changes))
      continue;
    size_t end = std::min(boxes.size(), (chunk + 1) * size_t(chunkSize));
    for (size_t i = end; i-- > std::max(least, chunk * size_t(chunkSize));) {
      const Box &box = boxes[i];
      if (box.position <= known)
        return std::nullopt;
      if (box.overlaps(access) && (box.write || changes) &&
          isa::conflict(accesses[i], access))
        return i;
    }
  }
  return std::nullopt;
}

std::optional<RaceChecker::Finding>
RaceChecker::checkAgainst(unsigned queue, const Access &access) const {
  const auto space = static_cast<unsigned>(access.space);
  for (unsigned other = 0; other < numQueues; ++other) {
    if (other == queue)
      continue;
    const History &history = histories[space][other];
    if (history.boxes.empty())
      continue;
    // The stationary sets change hands when the PE queue reaches the swap.
    bool sets = access.space == Space::Shadow || access.space == Space::Active;
    uint32_t known = clocks[queue][other == pe && sets ? issueOfPe : other];
    if (std::optional<size_t> found =
            history.findAfter(known, access, history.boxes.size()))
      return Finding{history.instructions[*found], access,
                     history.accesses[*found]};
  }
  return std::nullopt;
}

void RaceChecker::findHazard(unsigned queue, const Access &access) {
  // The array forwards its own accumulators and sets.
  if (access.write || access.merge || access.space == Space::Psum ||
      access.space == Space::Shadow || access.space == Space::Active)
    return;
  // Further back than this nothing is in flight in practice; the bound keeps
  // the pass linear.
  constexpr size_t window = 256;
  const History &history =
      histories[static_cast<unsigned>(access.space)][queue];
  if (std::optional<size_t> found =
          history.findAfter(clocks[queue][queue], access, window)) {
    uint32_t index = history.instructions[*found];
    lastHazard =
        lastHazard == ~uint32_t(0) ? index : std::max(lastHazard, index);
  }
}

std::optional<RaceChecker::Finding>
RaceChecker::operation(uint32_t index, unsigned queue, bool swap,
                       llvm::ArrayRef<Access> accesses) {
  lastHazard = ~uint32_t(0);
  const uint32_t position = ++positions[queue];
  for (const Access &access : accesses) {
    if (checkRaces)
      if (std::optional<Finding> finding = checkAgainst(queue, access))
        return finding;
    findHazard(queue, access);
  }
  for (const Access &access : accesses)
    histories[static_cast<unsigned>(access.space)][queue].append(
        access, position, index);
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
