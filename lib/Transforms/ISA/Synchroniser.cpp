// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Vector clocks over queues. The PE queue has two components: a swap only says
// that it was issued, a matmul that it has completed (docs/Machine.md, PE
// array); everything else completes in queue order.

#include "Synchroniser.h"

#include "Accesses.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <array>
#include <limits>

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

/// The units of a memory are cut into so many buckets of equal size, and boxes
/// never leave their bucket: thousands of prefetched weights in one place must
/// not blur what the drains of a layer write in another.
constexpr int64_t bucketCount = 64;

using Clock = std::array<int64_t, clockCount>;

struct Edge {
  int clock; ///< component of the producer
  int64_t producer;
};

/// An access that later instructions may conflict with.
struct Record {
  isa::Access access;
  int64_t index;
  int clock;
};

/// Replaces the oldest half of `records` by one box per kind of access and
/// clock component, cut to the units [begin, end) of the bucket.
void mergeOldest(std::vector<Record> &records, int64_t begin, int64_t end) {
  size_t half = records.size() / 2;
  std::vector<Record> merged;
  for (size_t i = 0; i < half; ++i) {
    const Record &old = records[i];
    auto same = llvm::find_if(merged, [&](const Record &box) {
      return box.clock == old.clock && box.access.write == old.access.write &&
             box.access.merge == old.access.merge;
    });
    if (same == merged.end()) {
      merged.push_back(old);
      same = merged.end() - 1;
    }
    isa::Access &box = same->access;
    box.partBegin = std::min(box.partBegin, old.access.partBegin);
    box.partEnd = std::max(box.partEnd, old.access.partEnd);
    box.begin = std::min(box.begin, old.access.begin);
    box.end = std::max(box.end, old.access.end);
    same->index = std::max(same->index, old.index);
  }
  for (Record &record : merged) {
    isa::Access &box = record.access;
    box.begin = std::max(box.begin, begin);
    box.end = std::min(box.end, end);
    box.base = box.begin;
    box.runLength = box.end - box.begin;
    box.numDims = 0;
  }
  records.erase(records.begin(), records.begin() + half);
  records.insert(records.begin(), merged.begin(), merged.end());
}

class Synchroniser {
public:
  Synchroniser(llvm::ArrayRef<isa::Instruction> instructions,
               const machine::Description &machine)
      : instructions(instructions), accessFinder(machine),
        clocks(instructions.size()) {
    plan.waits.resize(instructions.size());
    plan.signals.resize(instructions.size());
    for (Clock &clock : known)
      clock.fill(-1);
    auto space = [&](isa::Space which) -> Memory & {
      return memories[static_cast<int>(which)];
    };
    int64_t bytes = static_cast<int64_t>(machine.sb.bytesPerPartition);
    space(isa::Space::Sb).bucketUnits = space(isa::Space::Xm).bucketUnits =
        std::max<int64_t>(llvm::divideCeil(bytes, bucketCount), 1);
  }

  SemaphorePlan run();

private:
  /// Accesses to one memory that later instructions may conflict with.
  struct Memory {
    /// Units of a bucket; 0: one bucket holds all.
    int64_t bucketUnits = 0;
    std::array<std::vector<Record>, bucketCount> buckets;

    /// First and last bucket of an access.
    std::pair<int64_t, int64_t> range(const isa::Access &access) const {
      if (bucketUnits == 0)
        return {0, 0};
      auto bucketOf = [&](int64_t unit) {
        return std::clamp<int64_t>(unit / bucketUnits, 0, bucketCount - 1);
      };
      return {bucketOf(access.begin), bucketOf(access.end - 1)};
    }
  };

  void visit(int64_t index);
  void collect(const isa::Access &access, int queue, int clock,
               Clock &latest) const;
  void require(int queue, llvm::SmallVectorImpl<Edge> &edges, int64_t index);
  void remember(int clock, int64_t index, llvm::ArrayRef<isa::Access> accesses);

  llvm::ArrayRef<isa::Instruction> instructions;
  AccessFinder accessFinder;
  std::array<Clock, queueCount> known;
  std::vector<Clock> clocks; ///< knowledge of the queue when it was issued
  std::array<Memory, 16> memories;
  llvm::DenseMap<std::pair<int, int>, uint32_t> semaphores;
  SemaphorePlan plan;
};

void Synchroniser::visit(int64_t index) {
  const isa::Instruction &instruction = instructions[index];
  int queue = static_cast<int>(isa::queueOf(instruction));
  int clock =
      std::holds_alternative<isa::PeSwap>(instruction) ? swapClock : queue;
  llvm::SmallVector<isa::Access, 8> accesses;
  accessFinder.next(instruction, accesses);
  Clock latest;
  latest.fill(-1);
  for (const isa::Access &access : accesses)
    collect(access, queue, clock, latest);
  llvm::SmallVector<Edge, 8> edges;
  for (int c = 0; c < clockCount; ++c)
    if (latest[c] >= 0)
      edges.push_back({c, latest[c]});
  require(queue, edges, index);
  clocks[index] = known[queue];
  remember(clock, index, accesses);
}

/// Raises `latest` to the last conflicting access of every clock component that
/// `queue` does not know of.
void Synchroniser::collect(const isa::Access &access, int queue, int clock,
                           Clock &latest) const {
  const int pe = static_cast<int>(isa::Queue::Pe);
  const Memory &memory = memories[static_cast<int>(access.space)];
  auto [first, last] = memory.range(access);
  for (int64_t bucket = first; bucket <= last; ++bucket)
    for (const Record &record : memory.buckets[bucket])
      if (record.clock != clock && record.index > latest[record.clock] &&
          record.index > known[queue][record.clock] &&
          !(clock == swapClock && record.clock == pe) &&
          !(record.clock == swapClock && queue == pe) &&
          boxesMeet(access, record.access) &&
          isa::mayConflict(access, record.access))
        latest[record.clock] = record.index;
}

/// Adds waits for `edges`, latest producer first: what it knew need not be
/// waited for again.
void Synchroniser::require(int queue, llvm::SmallVectorImpl<Edge> &edges,
                           int64_t index) {
  llvm::sort(edges, [](const Edge &a, const Edge &b) {
    return a.producer > b.producer;
  });
  for (const Edge &edge : edges) {
    Clock &own = known[queue];
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
}

void Synchroniser::remember(int clock, int64_t index,
                            llvm::ArrayRef<isa::Access> accesses) {
  for (const isa::Access &access : accesses) {
    Memory &memory = memories[static_cast<int>(access.space)];
    auto [first, last] = memory.range(access);
    const bool covers = fillsBox(access);
    for (int64_t bucket = first; bucket <= last; ++bucket) {
      std::vector<Record> &list = memory.buckets[bucket];
      // Later accesses stand for earlier ones that they cover: a write is
      // ordered after everything it covers, and a read after reads of its
      // queue.
      if (covers)
        llvm::erase_if(list, [&](const Record &old) {
          if (!boxHolds(access, old.access))
            return false;
          if (access.merge)
            return old.access.merge && old.clock == clock;
          return access.write || (!old.access.write && old.clock == clock);
        });
      list.push_back({access, index, clock});
      if (list.size() > maxRecords)
        mergeOldest(list,
                    memory.bucketUnits ? bucket * memory.bucketUnits
                                       : std::numeric_limits<int64_t>::min(),
                    memory.bucketUnits ? (bucket + 1) * memory.bucketUnits
                                       : std::numeric_limits<int64_t>::max());
    }
  }
}

SemaphorePlan Synchroniser::run() {
  for (size_t i = 0; i < instructions.size(); ++i)
    visit(i);
  plan.semaphores = semaphores.size();
  return std::move(plan);
}

} // namespace

SemaphorePlan planSemaphores(llvm::ArrayRef<isa::Instruction> instructions,
                             const machine::Description &machine) {
  return Synchroniser(instructions, machine).run();
}

} // namespace ashlar::isadialect
