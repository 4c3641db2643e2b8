// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One pass in program order over the accesses that later instructions may
// conflict with, memory by memory, in buckets of addresses.

#include "Dependences.h"

#include "Accesses.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <array>
#include <limits>

namespace ashlar::isadialect {
namespace {

/// Records kept per bucket; the oldest half is then replaced by what follows
/// all of them.
constexpr size_t kMostRecords = 2000;
/// Dependences of an instruction on average, beyond which there is no schedule.
constexpr size_t kMostDependences = 200;
constexpr int64_t kBuckets = 64;

/// An access that later instructions may conflict with.
struct Record {
  isa::Access access;
  uint32_t index; ///< Of an instruction or a join.
  bool ordered;   ///< Of a queue that keeps its order.
};

class Finder {
public:
  Finder(llvm::ArrayRef<isa::Instruction> instructions,
         const machine::Description &machine)
      : instructions(instructions), accessFinder(machine) {
    const auto bytes = static_cast<int64_t>(machine.sb.bytesPerPartition);
    bandUnits = std::max<int64_t>(llvm::divideCeil(bytes, kBuckets), 1);
    result.steps = static_cast<uint32_t>(instructions.size());
  }

  std::optional<emulator::Dependences> run();

private:
  using Buckets = std::array<std::vector<Record>, kBuckets>;
  static size_t space(isa::Space which) { return static_cast<size_t>(which); }

  /// Whether the memory of an access is cut into buckets.
  static bool isBanded(const isa::Access &access) {
    return access.space == isa::Space::Sb || access.space == isa::Space::Xm;
  }
  std::pair<int64_t, int64_t> range(const isa::Access &access) const {
    if (!isBanded(access))
      return {0, 0};
    auto bucketOf = [&](int64_t unit) {
      return std::clamp<int64_t>(unit / bandUnits, 0, kBuckets - 1);
    };
    return {bucketOf(access.begin), bucketOf(access.end - 1)};
  }
  void visit(uint32_t index);
  void collect(const isa::Access &access, uint32_t index);
  void remember(const isa::Access &access, uint32_t index, bool ordered);
  void joinOldest(std::vector<Record> &records, int64_t begin, int64_t end);
  void depend(uint32_t later, uint32_t earlier, bool result);

  llvm::ArrayRef<isa::Instruction> instructions;
  AccessFinder accessFinder;
  int64_t bandUnits = 1;
  std::array<Buckets, 16> memories;
  /// Per queue that keeps its order, the latest one that the current
  /// instruction follows.
  struct Latest {
    int64_t any = -1, result = -1;
  };
  std::array<Latest, emulator::numQueues> latest;
  std::vector<uint32_t> seen; ///< Per instruction, who depended on it last.
  emulator::Dependences result;
};

void Finder::depend(uint32_t later, uint32_t earlier, bool isResult) {
  result.pairs.push_back({earlier, later, isResult});
}

void Finder::collect(const isa::Access &access, uint32_t index) {
  auto [first, last] = range(access);
  Buckets &buckets = memories[space(access.space)];
  for (int64_t bucket = first; bucket <= last; ++bucket)
    for (const Record &record : buckets[bucket]) {
      const bool isResult = record.access.write && !access.write;
      if (record.index == index || !boxesMeet(access, record.access) ||
          (!isResult && record.index < seen.size() &&
           seen[record.index] == index) ||
          !isa::mayConflict(access, record.access))
        continue;
      if (record.ordered) {
        Latest &own = latest[static_cast<size_t>(
            isa::queueOf(instructions[record.index]))];
        own.any = std::max<int64_t>(own.any, record.index);
        if (isResult)
          own.result = std::max<int64_t>(own.result, record.index);
        continue;
      }
      if (record.index < seen.size())
        seen[record.index] = index;
      depend(index, record.index, isResult);
    }
}

/// The oldest half becomes boxes, one for reads and one for writes, of a step
/// that follows all of them, cut to the units [begin, end) of the bucket.
void Finder::joinOldest(std::vector<Record> &records, int64_t begin,
                        int64_t end) {
  const size_t half = records.size() / 2;
  const uint32_t join = result.steps++;
  std::optional<Record> boxes[2];
  for (size_t i = 0; i < half; ++i) {
    const Record &old = records[i];
    depend(join, old.index, true);
    std::optional<Record> &box = boxes[old.access.write];
    if (!box) {
      box = Record{old.access, join, false};
      box->access.merge = false;
      continue;
    }
    isa::Access &all = box->access;
    all.partBegin = std::min(all.partBegin, old.access.partBegin);
    all.partEnd = std::max(all.partEnd, old.access.partEnd);
    all.begin = std::min(all.begin, old.access.begin);
    all.end = std::max(all.end, old.access.end);
  }
  records.erase(records.begin(), records.begin() + half);
  for (std::optional<Record> &box : boxes)
    if (box) {
      isa::Access &all = box->access;
      all.begin = std::max(all.begin, begin);
      all.end = std::min(all.end, end);
      all.base = all.begin;
      all.runLength = static_cast<uint64_t>(all.end - all.begin);
      all.numDims = 0;
      records.insert(records.begin(), *box);
    }
}

void Finder::remember(const isa::Access &access, uint32_t index, bool ordered) {
  auto [first, last] = range(access);
  const bool covers = !access.merge && fillsBox(access);
  for (int64_t bucket = first; bucket <= last; ++bucket) {
    std::vector<Record> &records = memories[space(access.space)][bucket];
    // Who conflicts with an access that a later write covers conflicts with
    // that write, which follows it.
    if (covers)
      llvm::erase_if(records, [&](const Record &old) {
        if (old.index == index || !boxHolds(access, old.access))
          return false;
        return access.write || (!old.access.write && ordered && old.ordered &&
                                isa::queueOf(instructions[old.index]) ==
                                    isa::queueOf(instructions[index]));
      });
    records.push_back({access, index, ordered});
    if (records.size() <= kMostRecords)
      continue;
    const bool whole = first == 0 && last == 0 && !isBanded(access);
    joinOldest(records,
               whole || bucket == 0 ? std::numeric_limits<int64_t>::min()
                                    : bucket * bandUnits,
               whole || bucket == kBuckets - 1
                   ? std::numeric_limits<int64_t>::max()
                   : (bucket + 1) * bandUnits);
  }
}

void Finder::visit(uint32_t index) {
  const isa::Instruction &instruction = instructions[index];
  const bool ordered = emulator::keepsOrder(isa::queueOf(instruction));
  llvm::SmallVector<isa::Access, 8> accesses;
  accessFinder.next(instruction, accesses);
  latest.fill({});
  for (const isa::Access &access : accesses)
    collect(access, index);
  for (const Latest &own : latest) {
    if (own.any >= 0)
      depend(index, static_cast<uint32_t>(own.any), own.any == own.result);
    if (own.result >= 0 && own.result != own.any)
      depend(index, static_cast<uint32_t>(own.result), true);
  }
  for (const isa::Access &access : accesses)
    remember(access, index, ordered);
}

std::optional<emulator::Dependences> Finder::run() {
  const size_t most = kMostDependences * instructions.size();
  seen.assign(instructions.size(), ~uint32_t(0));
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

} // namespace ashlar::isadialect
