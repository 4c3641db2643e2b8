// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "AccessRecords.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <limits>
#include <optional>

namespace ashlar::isadialect {

/// The units of a memory of maps are cut into so many buckets of equal size,
/// and boxes that join records never leave their bucket: thousands of
/// prefetched weights in one place must not blur what the drains of a layer
/// write in another.
static constexpr int64_t kBuckets = 64;

static bool isCut(size_t space) {
  return space == static_cast<size_t>(isa::Space::Sb) ||
         space == static_cast<size_t>(isa::Space::Xm);
}

size_t AccessRecords::Bucket::size() const {
  size_t records = 0;
  for (const Lane &lane : lanes)
    records += lane.size();
  return records;
}

AccessRecords::AccessRecords(const machine::Description &machine) {
  const auto bytes = static_cast<int64_t>(machine.sb.bytesPerPartition);
  bucketUnits = std::max<int64_t>(llvm::divideCeil(bytes, kBuckets), 1);
  for (size_t space = 0; space < memories.size(); ++space) {
    std::vector<Bucket> &buckets = memories[space];
    buckets.resize(isCut(space) ? kBuckets : 1);
    for (auto [number, bucket] : llvm::enumerate(buckets)) {
      bucket.begin = static_cast<int64_t>(number) * bucketUnits;
      bucket.end = bucket.begin + bucketUnits;
    }
    buckets.front().begin = std::numeric_limits<int64_t>::min();
    buckets.back().end = std::numeric_limits<int64_t>::max();
  }
}

llvm::MutableArrayRef<AccessRecords::Bucket>
AccessRecords::bucketsOf(const isa::Access &access) {
  const auto space = static_cast<size_t>(access.space);
  llvm::MutableArrayRef<Bucket> buckets(memories[space]);
  if (!isCut(space))
    return buckets;
  auto bucketOf = [&](int64_t unit) {
    return static_cast<size_t>(
        std::clamp<int64_t>(unit / bucketUnits, 0, kBuckets - 1));
  };
  const size_t first = bucketOf(access.begin), last = bucketOf(access.end - 1);
  return buckets.slice(first, last >= first ? last - first + 1 : 0);
}

uint32_t AccessRecords::keep(const isa::Access &access) {
  if (unused.empty()) {
    patterns.push_back({access, 1});
    return static_cast<uint32_t>(patterns.size() - 1);
  }
  const uint32_t pattern = unused.back();
  unused.pop_back();
  patterns[pattern] = {access, 1};
  return pattern;
}

void AccessRecords::release(uint32_t pattern) {
  if (--patterns[pattern].uses == 0)
    unused.push_back(pattern);
}

AccessRecords::Record AccessRecords::recordOf(uint32_t pattern,
                                              uint32_t index) {
  Pattern &own = patterns[pattern];
  ++own.uses;
  const isa::Access &access = own.access;
  return {
      access.begin, access.end,   access.partBegin, access.partEnd,      index,
      pattern,      access.write, access.merge,     access.numDims == 0, false};
}

void AccessRecords::add(Lane &lane, uint32_t pattern, uint32_t index) {
  lane.push_back(recordOf(pattern, index));
}

void AccessRecords::addJoined(Lane &lane, const isa::Access &access,
                              uint32_t index) {
  const uint32_t pattern = keep(access);
  Record record = recordOf(pattern, index);
  record.joined = true;
  lane.insert(lane.begin(), record);
  release(pattern);
}

void AccessRecords::removeFirst(Lane &lane, size_t count) {
  for (const Record &record : llvm::ArrayRef(lane).take_front(count))
    release(record.pattern);
  lane.erase(lane.begin(), lane.begin() + static_cast<std::ptrdiff_t>(count));
}

std::array<size_t, AccessRecords::kLanes>
AccessRecords::oldest(const Bucket &bucket, size_t count) {
  std::array<size_t, kLanes> taken = {};
  for (; count > 0; --count) {
    std::optional<size_t> first;
    uint64_t least = 0;
    for (size_t lane = 0; lane < kLanes; ++lane) {
      if (taken[lane] == bucket.lanes[lane].size())
        continue;
      const Record &next = bucket.lanes[lane][taken[lane]];
      const uint64_t age = next.joined ? 0 : uint64_t(next.index) + 1;
      if (!first || age < least)
        first = lane, least = age;
    }
    if (!first)
      break;
    ++taken[*first];
  }
  return taken;
}

void include(isa::Access &box, const AccessRecords::Record &record) {
  box.partBegin = std::min(box.partBegin, record.partBegin);
  box.partEnd = std::max(box.partEnd, record.partEnd);
  box.begin = std::min(box.begin, record.begin);
  box.end = std::max(box.end, record.end);
}

void fill(isa::Access &box, const AccessRecords::Bucket &bucket) {
  box.begin = std::max(box.begin, bucket.begin);
  box.end = std::min(box.end, bucket.end);
  box.base = box.begin;
  box.runLength = static_cast<uint64_t>(box.end - box.begin);
  box.numDims = 0;
}

} // namespace ashlar::isadialect
