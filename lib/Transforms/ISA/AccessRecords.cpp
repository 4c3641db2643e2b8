// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "AccessRecords.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <limits>
#include <optional>

namespace ashlar::isadialect {

/// A memory of maps is cut into so many buckets of equal size, the registers of
/// scale exponents into as many as there are, and boxes that join records never
/// leave their bucket: thousands of prefetched weights in one place must not
/// blur what the drains of a layer write in another, and neither must the
/// drains that merge into one register.
static constexpr int64_t kBuckets = 64, kRegisterBuckets = 1024;
/// Bits of a mask of units.
static constexpr int64_t kBits = 64;

namespace {
/// How a memory is cut.
struct Cut {
  int64_t buckets = 1;
  int64_t units = 0; ///< Of a bucket; 0: of a memory that is not cut.
};
} // namespace

static Cut cutOf(isa::Space space, const machine::Description &machine) {
  auto inEqualParts = [](uint64_t units, int64_t most) {
    const int64_t each =
        std::max<int64_t>(llvm::divideCeil(int64_t(units), most), 1);
    return Cut{most, each};
  };
  switch (space) {
  case isa::Space::Sb:
  case isa::Space::Xm:
    return inEqualParts(machine.sb.bytesPerPartition, kBuckets);
  case isa::Space::Xr:
    return inEqualParts(machine.xr.registers, kRegisterBuckets);
  default:
    return {};
  }
}

AccessRecords::AccessRecords(const machine::Description &machine) {
  for (size_t space = 0; space < memories.size(); ++space) {
    const Cut cut = cutOf(static_cast<isa::Space>(space), machine);
    Memory &memory = memories[space];
    memory.bucketUnits = std::max<int64_t>(cut.units, 1);
    std::vector<Bucket> &buckets = memory.buckets;
    buckets.resize(static_cast<size_t>(cut.buckets));
    for (auto [number, bucket] : llvm::enumerate(buckets)) {
      bucket.begin = static_cast<int64_t>(number) * memory.bucketUnits;
      bucket.end = bucket.begin + memory.bucketUnits;
      bucket.first = bucket.begin;
      bucket.newest.fill(-1);
      bucket.unitsPerBit = llvm::divideCeil(cut.units, kBits);
    }
    buckets.front().begin = std::numeric_limits<int64_t>::min();
    buckets.back().end = std::numeric_limits<int64_t>::max();
  }
}

llvm::MutableArrayRef<AccessRecords::Bucket>
AccessRecords::bucketsOf(const isa::Access &access) {
  Memory &memory = memories[static_cast<size_t>(access.space)];
  llvm::MutableArrayRef<Bucket> buckets(memory.buckets);
  if (buckets.size() == 1)
    return buckets;
  auto bucketOf = [&](int64_t unit) {
    return static_cast<size_t>(
        std::clamp<int64_t>(unit / memory.bucketUnits, 0,
                            static_cast<int64_t>(buckets.size()) - 1));
  };
  const size_t first = bucketOf(access.begin), last = bucketOf(access.end - 1);
  return buckets.slice(first, last >= first ? last - first + 1 : 0);
}

namespace {

/// Sets the bits of what a pattern touches of a bucket.
class Marker {
public:
  Marker(const isa::Access &access, const AccessRecords::Bucket &bucket)
      : access(access), bucket(bucket) {}

  uint64_t run() {
    mark(access.numDims, access.base);
    return units;
  }

private:
  void mark(unsigned dims, int64_t base);
  void set(int64_t begin, int64_t end);

  const isa::Access &access;
  const AccessRecords::Bucket &bucket;
  uint64_t units = 0;
  /// Steps left; a pattern of more counts as all of its box.
  unsigned budget = 2 * kBits;
};

void Marker::set(int64_t begin, int64_t end) {
  auto bitOf = [&](int64_t unit) {
    return std::clamp<int64_t>((unit - bucket.first) / bucket.unitsPerBit, 0,
                               kBits - 1);
  };
  const int64_t low = bitOf(begin), high = bitOf(end - 1);
  units |= (~uint64_t(0) >> (kBits - 1 - (high - low))) << low;
}

/// Dimensions from the largest stride down, as in isa::mayConflict.
void Marker::mark(unsigned dims, int64_t base) {
  auto reach = static_cast<int64_t>(access.runLength);
  for (unsigned d = 0; d < dims; ++d)
    reach +=
        static_cast<int64_t>(access.dims[d].count - 1) * access.dims[d].stride;
  if (base >= bucket.end || base + reach <= bucket.begin)
    return;
  const int64_t stride = dims > 0 ? access.dims[dims - 1].stride : 0;
  const int64_t last =
      dims > 0 ? static_cast<int64_t>(access.dims[dims - 1].count) - 1 : 0;
  const int64_t inner = reach - last * stride;
  if (stride <= inner || reach <= bucket.unitsPerBit || budget == 0)
    return set(base, base + reach);
  // Index i covers [base + i * stride, + inner). The outer buckets have no end.
  const int64_t before = std::max(bucket.begin, access.begin) - base - inner;
  const int64_t from = before < 0 ? 0 : before / stride + 1;
  const int64_t after = std::min(bucket.end, access.end) - base - 1;
  const int64_t to = std::min(last, after / stride);
  for (int64_t i = from; i <= to; ++i) {
    if (budget == 0)
      return set(base + i * stride, base + to * stride + inner);
    --budget;
    mark(dims - 1, base + i * stride);
  }
}

} // namespace

uint64_t AccessRecords::unitsOf(const isa::Access &access,
                                const Bucket &bucket) {
  return bucket.unitsPerBit == 0 ? ~uint64_t(0) : Marker(access, bucket).run();
}

void AccessRecords::summarise(Lane &lane) {
  if (lane.size() < kSummarised)
    return;
  const llvm::ArrayRef<Record> records(lane);
  const size_t chunks = records.size() / kChunk;
  for (size_t chunk = lane.summaries.size(); chunk < chunks; ++chunk) {
    const Record &first = records[chunk * kChunk];
    Summary all{first.begin,     first.end,     first.units,
                first.partBegin, first.partEnd, first.write};
    for (const Record &record : records.slice(chunk * kChunk, kChunk)) {
      all.begin = std::min(all.begin, record.begin);
      all.end = std::max(all.end, record.end);
      all.units |= record.units;
      all.partBegin = std::min(all.partBegin, record.partBegin);
      all.partEnd = std::max(all.partEnd, record.partEnd);
      all.write |= record.write;
    }
    lane.summaries.push_back(all);
  }
}

std::optional<int64_t> AccessRecords::latestConflict(const Query &query,
                                                     Lane &lane,
                                                     int64_t settled) const {
  summarise(lane);
  size_t end = lane.size();
  while (end > 0 && lane[end - 1].index > settled) {
    const size_t chunk = (end - 1) / kChunk, begin = chunk * kChunk;
    if (chunk < lane.summaries.size()) {
      const Summary &all = lane.summaries[chunk];
      if (!(query.access.write || all.write) || !mayMeet(query, all)) {
        end = begin;
        continue;
      }
    }
    for (; end > begin; --end) {
      const Record &record = lane[end - 1];
      if (record.index <= settled)
        return std::nullopt;
      if (mayConflict(query, record))
        return record.index;
    }
  }
  return std::nullopt;
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

AccessRecords::Record AccessRecords::recordOf(uint32_t pattern, uint64_t units,
                                              uint32_t index) {
  Pattern &own = patterns[pattern];
  ++own.uses;
  const isa::Access &access = own.access;
  return {access.begin,   access.end,
          units,          access.partBegin,
          access.partEnd, index,
          pattern,        access.write,
          access.merge,   access.numDims == 0,
          false};
}

void AccessRecords::add(Bucket &bucket, size_t lane, uint32_t pattern,
                        uint64_t units, uint32_t index) {
  bucket.lanes[lane].push_back(recordOf(pattern, units, index));
  bucket.newest[lane] = index;
  ++bucket.records;
}

void AccessRecords::addJoined(Bucket &bucket, size_t number,
                              const isa::Access &access, uint32_t index) {
  const uint32_t pattern = keep(access);
  Record record = recordOf(pattern, unitsOf(access, bucket), index);
  record.joined = true;
  Lane &lane = bucket.lanes[number];
  keepSummaries(lane, 0);
  lane.insert(lane.begin(), record);
  bucket.newest[number] = std::max<int64_t>(bucket.newest[number], index);
  ++bucket.records;
  release(pattern);
}

void AccessRecords::removeFirst(Bucket &bucket, size_t number, size_t count) {
  Lane &lane = bucket.lanes[number];
  for (const Record &record : llvm::ArrayRef<Record>(lane).take_front(count))
    release(record.pattern);
  keepSummaries(lane, 0);
  lane.erase(lane.begin(), lane.begin() + static_cast<std::ptrdiff_t>(count));
  bucket.records -= count;
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
