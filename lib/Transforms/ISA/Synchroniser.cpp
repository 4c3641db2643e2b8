// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Vector clocks over queues. The PE queue has two components: a swap only says
// that it was issued, a matmul that it has completed (docs/Machine.md, PE
// array); everything else completes in queue order.

#include "Synchroniser.h"

#include "AccessRecords.h"
#include "Dependences.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <array>

namespace ashlar::isadialect {
namespace {

constexpr int queueCount = 10;
/// Clock component of swaps; the others are queue numbers.
constexpr int swapClock = queueCount;
constexpr int clockCount = queueCount + 1;

/// Records kept per bucket; beyond that the oldest half is merged into
/// bounding boxes. Their instructions have mostly been waited for already, so
/// a box costs few waits, and the work per instruction stays bounded.
constexpr size_t maxRecords = 1500;

using Clock = std::array<int64_t, clockCount>;

struct Edge {
  int clock; ///< component of the producer
  int64_t producer;
};

int queueNumber(const isa::Instruction &instruction) {
  return static_cast<int>(isa::queueOf(instruction));
}

/// The component of the clocks that an instruction advances.
int clockOf(const isa::Instruction &instruction) {
  return std::holds_alternative<isa::PeSwap>(instruction)
             ? swapClock
             : queueNumber(instruction);
}

/// What each queue knows of the others, and the semaphores by which it learns
/// that. Instructions are numbered as they come.
class QueueClocks {
public:
  explicit QueueClocks(size_t count) : clocks(count) {
    plan.waits.resize(count);
    plan.signals.resize(count);
    for (Clock &clock : known)
      clock.fill(-1);
  }

  const Clock &of(int queue) const { return known[queue]; }

  /// The instruction \p index of \p queue follows \p latest of each component,
  /// -1: nothing.
  void issue(int queue, int64_t index, const Clock &latest);

  SemaphorePlan take() {
    plan.semaphores = semaphores.size();
    return std::move(plan);
  }

private:
  std::array<Clock, queueCount> known;
  std::vector<Clock> clocks; ///< knowledge of the queue when it was issued
  llvm::DenseMap<std::pair<int, int>, uint32_t> semaphores;
  SemaphorePlan plan;
};

class Synchroniser {
public:
  Synchroniser(size_t count, const machine::Description &machine)
      : accessFinder(machine), records(machine), clocks(count) {}

  void visit(const isa::Instruction &instruction);
  SemaphorePlan take() { return clocks.take(); }

private:
  void collect(const isa::Access &access, int queue, int clock, Clock &latest);
  void remember(int clock, int64_t index, llvm::ArrayRef<isa::Access> accesses);
  void forgetHeld(const isa::Access &access, int clock,
                  AccessRecords::Bucket &bucket);
  void mergeOldest(AccessRecords::Bucket &bucket);

  int64_t index = 0; ///< Of the next instruction.
  AccessFinder accessFinder;
  AccessRecords records; ///< A lane for each component of the clocks.
  /// What the accesses of the instruction touch of each of their buckets.
  llvm::SmallVector<uint64_t, 64> masks;
  QueueClocks clocks;
};

void Synchroniser::visit(const isa::Instruction &instruction) {
  const int queue = queueNumber(instruction), clock = clockOf(instruction);
  llvm::SmallVector<isa::Access, 8> accesses;
  accessFinder.next(instruction, accesses);
  Clock latest;
  latest.fill(-1);
  masks.clear();
  for (const isa::Access &access : accesses)
    collect(access, queue, clock, latest);
  clocks.issue(queue, index, latest);
  remember(clock, index, accesses);
  ++index;
}

/// Raises `latest` to the last conflicting access of every clock component that
/// `queue` does not know of.
void Synchroniser::collect(const isa::Access &access, int queue, int clock,
                           Clock &latest) {
  const int pe = static_cast<int>(isa::Queue::Pe);
  for (AccessRecords::Bucket &bucket : records.bucketsOf(access)) {
    const AccessRecords::Query query = records.queryOf(access, bucket);
    masks.push_back(query.units);
    for (int c = 0; c < clockCount; ++c) {
      const int64_t settled = std::max(latest[c], clocks.of(queue)[c]);
      if (bucket.newest[c] <= settled)
        continue;
      if (c == clock || (clock == swapClock && c == pe) ||
          (c == swapClock && queue == pe))
        continue;
      if (auto conflict =
              records.latestConflict(query, bucket.lanes[c], settled))
        latest[c] = *conflict;
    }
  }
}

/// Waits for the latest producer first: what it knew need not be waited for
/// again.
void QueueClocks::issue(int queue, int64_t index, const Clock &latest) {
  llvm::SmallVector<Edge, 8> edges;
  for (int c = 0; c < clockCount; ++c)
    if (latest[c] >= 0)
      edges.push_back({c, latest[c]});
  llvm::sort(edges, [](const Edge &a, const Edge &b) {
    return a.producer > b.producer;
  });
  Clock &own = known[queue];
  for (const Edge &edge : edges) {
    if (own[edge.clock] >= edge.producer)
      continue;
    auto [entry, inserted] = semaphores.insert(
        {{edge.clock, queue}, static_cast<uint32_t>(semaphores.size())});
    plan.signals[edge.producer].push_back(entry->second);
    plan.waits[index].push_back(entry->second);
    const Clock &producer = clocks[edge.producer];
    for (int c = 0; c < clockCount; ++c)
      own[c] = std::max(own[c], producer[c]);
    own[edge.clock] = edge.producer;
    // A completed matmul implies that earlier swaps were issued.
    if (edge.clock == static_cast<int>(isa::Queue::Pe))
      own[swapClock] = std::max(own[swapClock], edge.producer);
  }
  clocks[index] = own;
}

/// Later accesses stand for earlier ones that they cover: a write is ordered
/// after everything it covers, and a read after reads of its queue.
void Synchroniser::forgetHeld(const isa::Access &access, int clock,
                              AccessRecords::Bucket &bucket) {
  for (int c = 0; c < clockCount; ++c)
    if (c == clock || (access.write && !access.merge))
      records.removeIf(bucket, c, [&](const AccessRecords::Record &old) {
        return boxHolds(access, old) &&
               (access.merge ? old.merge : access.write || !old.write);
      });
}

/// Replaces the oldest half of the records by one box per kind of access and
/// clock component.
void Synchroniser::mergeOldest(AccessRecords::Bucket &bucket) {
  const auto counts = AccessRecords::oldest(bucket, bucket.records / 2);
  for (auto [number, count] : llvm::enumerate(counts)) {
    const AccessRecords::Lane &lane = bucket.lanes[number];
    llvm::SmallVector<std::pair<uint32_t, isa::Access>, 4> merged;
    for (const AccessRecords::Record &old :
         llvm::ArrayRef<AccessRecords::Record>(lane).take_front(count)) {
      auto *same = llvm::find_if(merged, [&](const auto &box) {
        return box.second.write == old.write && box.second.merge == old.merge;
      });
      if (same == merged.end()) {
        merged.push_back({old.index, records.accessOf(old)});
        continue;
      }
      include(same->second, old);
      same->first = std::max(same->first, old.index);
    }
    records.removeFirst(bucket, number, count);
    // Each goes before the others: the latest first.
    llvm::sort(merged,
               [](const auto &a, const auto &b) { return a.first > b.first; });
    for (auto &[index, box] : merged) {
      fill(box, bucket);
      records.addJoined(bucket, number, box, index);
    }
  }
}

void Synchroniser::remember(int clock, int64_t index,
                            llvm::ArrayRef<isa::Access> accesses) {
  const uint64_t *units = masks.begin();
  for (const isa::Access &access : accesses) {
    const bool covers = fillsBox(access);
    const uint32_t pattern = records.keep(access);
    for (AccessRecords::Bucket &bucket : records.bucketsOf(access)) {
      if (covers)
        forgetHeld(access, clock, bucket);
      records.add(bucket, clock, pattern, *units++,
                  static_cast<uint32_t>(index));
      if (bucket.records > maxRecords)
        mergeOldest(bucket);
    }
    records.release(pattern);
  }
}

} // namespace

SemaphorePlan planSemaphores(llvm::ArrayRef<isa::Instruction> instructions,
                             const machine::Description &machine) {
  Synchroniser synchroniser(instructions.size(), machine);
  for (const isa::Instruction &instruction : instructions)
    synchroniser.visit(instruction);
  return synchroniser.take();
}

SemaphorePlan planSemaphores(llvm::ArrayRef<isa::Instruction> instructions,
                             llvm::ArrayRef<uint32_t> order,
                             const machine::Description &machine) {
  Synchroniser synchroniser(order.size(), machine);
  for (uint32_t index : order)
    synchroniser.visit(instructions[index]);
  return synchroniser.take();
}

SemaphorePlan planSemaphores(llvm::ArrayRef<isa::Instruction> instructions,
                             llvm::ArrayRef<uint32_t> order,
                             const Predecessors &predecessors) {
  QueueClocks clocks(order.size());
  std::vector<int64_t> places(order.size()); ///< By instruction.
  for (auto [place, index] : llvm::enumerate(order)) {
    const int queue = queueNumber(instructions[index]);
    Clock latest;
    latest.fill(-1);
    for (uint32_t earlier : predecessors.of(index)) {
      // A queue does one thing after the other.
      if (queueNumber(instructions[earlier]) == queue)
        continue;
      int64_t &own = latest[clockOf(instructions[earlier])];
      own = std::max(own, places[earlier]);
    }
    places[index] = static_cast<int64_t>(place);
    clocks.issue(queue, places[index], latest);
  }
  return clocks.take();
}

} // namespace ashlar::isadialect
