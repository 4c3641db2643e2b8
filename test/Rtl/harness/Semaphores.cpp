// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Semaphores for a sequence of operations: a wait wherever an operation touches
// what an operation of another queue has touched before it, and nothing else.

#include "Programs.h"
#include "ashlar/Isa/Footprint.h"
#include <array>
#include <map>

using namespace ashlar;
using namespace ashlar::rtl;
using isa::Access;
using isa::Space;

namespace {

constexpr unsigned numQueues = 8;
constexpr unsigned pe = static_cast<unsigned>(isa::Queue::Pe);
constexpr unsigned act = static_cast<unsigned>(isa::Queue::Act);

/// A signal of one operation that another queue takes. Signals after pe.swap
/// say less than others and have semaphores of their own.
unsigned semaphoreOf(unsigned from, unsigned to, bool swap) {
  return (swap ? 64 : 0) + from * numQueues + to;
}

class Placer {
public:
  explicit Placer(const Draft &draft) : draft(draft) {}
  std::vector<isa::Instruction> run();

private:
  bool isSwap(size_t i) const {
    return std::holds_alternative<isa::PeSwap>(draft.operations[i]);
  }
  bool isStream(size_t i) const {
    return std::holds_alternative<isa::PeMatmul>(draft.operations[i]);
  }
  unsigned queueOf(size_t i) const {
    return static_cast<unsigned>(isa::queueOf(draft.operations[i]));
  }
  void findWaits(size_t index);
  /// Where the signals of an operation stand: after it or, if that may be
  /// late, after the waits of the next one of its queue.
  size_t placeOfSignals(size_t index) const;

  const Draft &draft;
  std::vector<llvm::SmallVector<Access, 8>> accesses;
  /// What each queue knows to be complete of each other one, as index + 1;
  /// swaps apart.
  std::array<std::array<size_t, numQueues>, numQueues> known = {};
  std::array<size_t, numQueues> knownSwap = {};
  std::vector<std::vector<unsigned>> waits, signals;
  std::vector<size_t> firstUser; ///< Of the signals of each operation.
};

} // namespace

static bool touch(llvm::ArrayRef<Access> a, llvm::ArrayRef<Access> b) {
  for (const Access &x : a)
    for (const Access &y : b)
      if (isa::conflict(x, y))
        return true;
  return false;
}

void Placer::findWaits(size_t index) {
  const unsigned queue = queueOf(index);
  for (unsigned other = 0; other < numQueues; ++other) {
    if (other == queue)
      continue;
    // The latest conflict of each kind: all before it are complete with it.
    bool swapFound = false;
    for (size_t i = index; i-- > 0;) {
      if (queueOf(i) != other)
        continue;
      const bool swap = isSwap(i);
      const size_t past = swap ? knownSwap[queue] : known[queue][other];
      if (i < past) {
        if (swap)
          swapFound = true;
        else
          break;
      }
      if ((swap && swapFound) || !touch(accesses[index], accesses[i]))
        continue;
      const unsigned semaphore = semaphoreOf(other, queue, swap);
      waits[index].push_back(semaphore);
      signals[i].push_back(semaphore);
      firstUser[i] = std::min(firstUser[i], index);
      (swap ? knownSwap[queue] : known[queue][other]) = i + 1;
      if (!swap)
        break;
      swapFound = true;
    }
  }
  // The stream that a drain follows is the last that it waits for.
  std::partition(waits[index].begin(), waits[index].end(),
                 [&](unsigned semaphore) {
                   return semaphore != semaphoreOf(pe, act, false);
                 });
}

size_t Placer::placeOfSignals(size_t index) const {
  if (!draft.lateSignals || !isStream(index))
    return index;
  size_t next = index + 1;
  while (next < draft.operations.size() && queueOf(next) != pe)
    ++next;
  return next < std::min(firstUser[index], draft.operations.size()) ? next
                                                                    : index;
}

std::vector<isa::Instruction> Placer::run() {
  const size_t count = draft.operations.size();
  waits.resize(count);
  signals.resize(count);
  firstUser.resize(count, count);
  for (size_t i = 0; i < count; ++i) {
    accesses.emplace_back();
    isa::footprints(draft.operations[i], draft.machine, accesses.back());
    findWaits(i);
  }
  std::vector<isa::Instruction> code;
  std::vector<unsigned> late; // of the array, not yet placed
  auto signal = [&](isa::Queue queue, std::vector<unsigned> &semaphores) {
    for (unsigned semaphore : std::exchange(semaphores, {})) {
      isa::SemSignal signal;
      signal.queue = queue;
      signal.sem = semaphore;
      code.push_back(signal);
    }
  };
  for (size_t i = 0; i < count; ++i) {
    const isa::Queue queue = isa::queueOf(draft.operations[i]);
    for (unsigned semaphore : waits[i]) {
      isa::SemWait wait;
      wait.queue = queue;
      wait.sem = semaphore;
      code.push_back(wait);
    }
    if (queue == isa::Queue::Pe)
      signal(queue, late);
    code.push_back(draft.operations[i]);
    if (placeOfSignals(i) == i)
      signal(queue, signals[i]);
    else
      late = signals[i];
  }
  return code;
}

std::vector<isa::Instruction> rtl::withSemaphores(const Draft &draft) {
  return Placer(draft).run();
}
