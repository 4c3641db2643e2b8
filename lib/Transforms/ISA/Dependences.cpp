// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One pass in program order over the accesses that later instructions may
// conflict with, memory by memory, in buckets of addresses.

#include "Dependences.h"

#include "AccessRecords.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <array>
#include <numeric>

namespace ashlar::isadialect {
namespace {

/// Records kept per bucket; the oldest half is then replaced by what follows
/// all of them.
constexpr size_t kMostRecords = 2000;
/// Dependences of an instruction on average, beyond which there is no schedule.
constexpr size_t kMostDependences = 200;
/// The lane of all that belongs to queues without an order; the others are
/// numbers of queues.
constexpr size_t kFreeLane = AccessRecords::kLanes - 1;
static_assert(kFreeLane >= emulator::numQueues && kFreeLane <= 16);

class Finder {
public:
  Finder(llvm::ArrayRef<isa::Instruction> instructions,
         const machine::Description &machine)
      : instructions(instructions), accessFinder(machine), records(machine) {
    result.steps = static_cast<uint32_t>(instructions.size());
  }

  std::optional<emulator::Dependences> run();

private:
  void visit(uint32_t index);
  void collect(const isa::Access &access, uint32_t index, size_t lane);
  void collectOrdered(const AccessRecords::Query &query,
                      AccessRecords::Bucket &bucket);
  /// `units` goes on over the buckets of the access.
  void remember(const isa::Access &access, uint32_t index, size_t lane,
                const uint64_t *&units);
  void forgetHeld(const isa::Access &access, uint32_t index, size_t lane,
                  AccessRecords::Bucket &bucket);
  void joinOldest(AccessRecords::Bucket &bucket);
  void depend(uint32_t later, uint32_t earlier, bool result);

  llvm::ArrayRef<isa::Instruction> instructions;
  AccessFinder accessFinder;
  AccessRecords records;
  /// What the accesses of the instruction touch of each of their buckets.
  llvm::SmallVector<uint64_t, 64> masks;
  /// Per queue that keeps its order, the latest one that the current
  /// instruction follows.
  struct Latest {
    int64_t any = -1, result = -1;
  };
  std::array<Latest, emulator::numQueues> latest;
  std::vector<uint32_t> seen; ///< Per instruction, who depended on it last.
  /// Per step, by bit, the queues that keep their order and follow it already:
  /// so does whatever comes later in such a queue.
  std::vector<uint16_t> followers;
  emulator::Dependences result;
};

void Finder::depend(uint32_t later, uint32_t earlier, bool isResult) {
  result.pairs.push_back({earlier, later, isResult});
}

/// The latest conflict with each queue that keeps its order. Who reads
/// conflicts with writes alone, so that all that it follows are results.
void Finder::collectOrdered(const AccessRecords::Query &query,
                            AccessRecords::Bucket &bucket) {
  const isa::Access &access = query.access;
  for (size_t lane = 0; lane < kFreeLane; ++lane) {
    Latest &own = latest[lane];
    const int64_t settled = access.write ? own.any : own.result;
    if (bucket.newest[lane] <= settled)
      continue;
    const auto conflict =
        records.latestConflict(query, bucket.lanes[lane], settled);
    if (!conflict)
      continue;
    own.any = std::max(own.any, *conflict);
    if (!access.write)
      own.result = *conflict;
  }
}

/// Conflicts with what queues without an order do. Records of that lane are
/// never in the queue of an instruction that keeps its order, which therefore
/// waits for their completion, whoever reads what.
void Finder::collect(const isa::Access &access, uint32_t index, size_t lane) {
  const uint16_t own = lane == kFreeLane ? 0 : 1u << lane;
  for (AccessRecords::Bucket &bucket : records.bucketsOf(access)) {
    const AccessRecords::Query query = records.queryOf(access, bucket);
    masks.push_back(query.units);
    collectOrdered(query, bucket);
    // Most records lie elsewhere; who follows them is looked up for others.
    AccessRecords::forMeeting(
        query, bucket.lanes[kFreeLane],
        [&](const AccessRecords::Record &record) {
          const bool isResult = record.write && !access.write;
          const bool isStep = record.index >= seen.size();
          if ((followers[record.index] & own) ||
              (!isResult && !isStep && seen[record.index] == index) ||
              !records.mayConflict(query, record))
            return;
          if (!isStep)
            seen[record.index] = index;
          followers[record.index] |= own;
          depend(index, record.index, isResult);
        });
  }
}

/// The oldest half becomes boxes, one for reads and one for writes, of a step
/// that follows all of them.
void Finder::joinOldest(AccessRecords::Bucket &bucket) {
  const auto counts = AccessRecords::oldest(bucket, bucket.records / 2);
  const uint32_t join = result.steps++;
  followers.push_back(0);
  std::optional<isa::Access> boxes[2];
  for (auto [number, count] : llvm::enumerate(counts)) {
    for (const AccessRecords::Record &old :
         llvm::ArrayRef<AccessRecords::Record>(bucket.lanes[number])
             .take_front(count)) {
      depend(join, old.index, true);
      std::optional<isa::Access> &box = boxes[old.write];
      if (!box) {
        box = records.accessOf(old);
        box->merge = false;
      }
      include(*box, old);
    }
    records.removeFirst(bucket, number, count);
  }
  for (std::optional<isa::Access> &box : boxes)
    if (box) {
      fill(*box, bucket);
      records.addJoined(bucket, kFreeLane, *box, join);
    }
}

/// Who conflicts with an access that a later write covers conflicts with that
/// write, which follows it.
void Finder::forgetHeld(const isa::Access &access, uint32_t index, size_t lane,
                        AccessRecords::Bucket &bucket) {
  auto isHeld = [&](const AccessRecords::Record &old) {
    return old.index != index && boxHolds(access, old) &&
           (access.write || !old.write);
  };
  if (!access.write) {
    if (lane != kFreeLane)
      records.removeIf(bucket, lane, isHeld);
    return;
  }
  for (size_t other = 0; other < AccessRecords::kLanes; ++other)
    records.removeIf(bucket, other, isHeld);
}

void Finder::remember(const isa::Access &access, uint32_t index, size_t lane,
                      const uint64_t *&units) {
  const bool covers = !access.merge && fillsBox(access);
  const uint32_t pattern = records.keep(access);
  for (AccessRecords::Bucket &bucket : records.bucketsOf(access)) {
    if (covers)
      forgetHeld(access, index, lane, bucket);
    records.add(bucket, lane, pattern, *units++, index);
    if (bucket.records > kMostRecords)
      joinOldest(bucket);
  }
  records.release(pattern);
}

void Finder::visit(uint32_t index) {
  const isa::Instruction &instruction = instructions[index];
  const isa::Queue queue = isa::queueOf(instruction);
  llvm::SmallVector<isa::Access, 8> accesses;
  accessFinder.next(instruction, accesses);
  const size_t lane =
      emulator::keepsOrder(queue) ? static_cast<size_t>(queue) : kFreeLane;
  latest.fill({});
  masks.clear();
  for (const isa::Access &access : accesses)
    collect(access, index, lane);
  for (const Latest &own : latest) {
    if (own.any >= 0)
      depend(index, static_cast<uint32_t>(own.any), own.any == own.result);
    if (own.result >= 0 && own.result != own.any)
      depend(index, static_cast<uint32_t>(own.result), true);
  }
  const uint64_t *units = masks.begin();
  for (const isa::Access &access : accesses)
    remember(access, index, lane, units);
}

std::optional<emulator::Dependences> Finder::run() {
  const size_t most = kMostDependences * instructions.size();
  seen.assign(instructions.size(), ~uint32_t(0));
  followers.assign(instructions.size(), 0);
  for (uint32_t i = 0; i < instructions.size(); ++i) {
    visit(i);
    if (result.pairs.size() > most)
      return std::nullopt;
  }
  return std::move(result);
}

} // namespace

std::optional<emulator::Dependences>
findDependences(llvm::ArrayRef<isa::Instruction> instructions,
                const machine::Description &machine) {
  return Finder(instructions, machine).run();
}

std::optional<Predecessors>
Predecessors::of(const emulator::Dependences &dependences,
                 size_t instructions) {
  if (dependences.steps != instructions)
    return std::nullopt;
  Predecessors result;
  result.first.assign(instructions + 1, 0);
  for (const emulator::Dependences::Pair &pair : dependences.pairs)
    ++result.first[pair.later + 1];
  std::partial_sum(result.first.begin(), result.first.end(),
                   result.first.begin());
  std::vector<uint32_t> next(result.first.begin(), result.first.end() - 1);
  result.earlier.resize(dependences.pairs.size());
  for (const emulator::Dependences::Pair &pair : dependences.pairs)
    result.earlier[next[pair.later]++] = pair.earlier;
  return result;
}

} // namespace ashlar::isadialect
