// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Masks of units against all units that a pattern touches, and searches of long
// lanes against a look at every record.

#include "lib/Transforms/ISA/AccessRecords.h"

#include <gtest/gtest.h>

#include <functional>
#include <random>

using namespace ashlar;
using isadialect::AccessRecords;

namespace {

/// A pattern of nested strides in ascending order, as footprints have them.
isa::Access draw(std::mt19937 &random) {
  auto below = [&](int64_t most) {
    return static_cast<int64_t>(random() % static_cast<uint64_t>(most));
  };
  isa::Access access;
  access.base = access.begin = below(3000);
  access.runLength = static_cast<uint64_t>(1 + below(40));
  access.numDims = static_cast<unsigned>(below(4));
  int64_t reach = static_cast<int64_t>(access.runLength);
  for (unsigned d = 0; d < access.numDims; ++d) {
    isa::AccessDim &dim = access.dims[d];
    dim.stride = 1 + below(2 * reach);
    dim.count = static_cast<decltype(dim.count)>(1 + below(6));
    reach += static_cast<int64_t>(dim.count - 1) * dim.stride;
  }
  access.end = access.begin + reach;
  return access;
}

void forEachUnit(const isa::Access &access,
                 const std::function<void(int64_t)> &visit) {
  std::function<void(unsigned, int64_t)> walk = [&](unsigned dims,
                                                    int64_t base) {
    if (dims == 0) {
      for (uint64_t i = 0; i < access.runLength; ++i)
        visit(base + static_cast<int64_t>(i));
      return;
    }
    const isa::AccessDim &dim = access.dims[dims - 1];
    for (uint64_t i = 0; i < dim.count; ++i)
      walk(dims - 1, base + static_cast<int64_t>(i) * dim.stride);
  };
  walk(access.numDims, access.base);
}

TEST(AccessRecords, MasksHaveEveryUnit) {
  machine::Description machine;
  machine.sb.bytesPerPartition = 4096;
  AccessRecords records(machine);
  std::mt19937 random(7);
  int sparse = 0;
  for (int round = 0; round < 2000; ++round) {
    const isa::Access access = draw(random);
    for (const AccessRecords::Bucket &bucket : records.bucketsOf(access)) {
      uint64_t units = 0;
      forEachUnit(access, [&](int64_t unit) {
        if (unit >= bucket.begin && unit < bucket.end)
          units |= uint64_t(1) << std::clamp<int64_t>(
                       (unit - bucket.first) / bucket.unitsPerBit, 0, 63);
      });
      const uint64_t mask = AccessRecords::unitsOf(access, bucket);
      EXPECT_EQ(units & ~mask, 0u) << "round " << round;
      sparse += mask != ~uint64_t(0);
    }
  }
  // Not by setting all bits.
  EXPECT_GT(sparse, 1000);
}

TEST(AccessRecords, InterleavedRowsDoNotMeet) {
  machine::Description machine;
  machine.sb.bytesPerPartition = 4096;
  AccessRecords records(machine);
  isa::Access even;
  even.numDims = 1;
  even.dims[0] = {8, 8};
  even.runLength = 4;
  even.begin = even.base = 0;
  even.end = 60;
  isa::Access odd = even;
  odd.base += 4, odd.begin += 4, odd.end += 4;
  const AccessRecords::Bucket &bucket = records.bucketsOf(even).front();
  EXPECT_EQ(AccessRecords::unitsOf(even, bucket) &
                AccessRecords::unitsOf(odd, bucket),
            0u);
}

/// An access that begins in the first bucket of the test below, a write or a
/// read.
isa::Access drawInBucket(std::mt19937 &random) {
  isa::Access access = draw(random);
  access.space = isa::Space::Sb;
  access.partBegin = random() % 4;
  access.partEnd = access.partBegin + 1 + random() % 2;
  access.write = random() % 3 == 0;
  access.merge = access.write && random() % 2 == 0;
  return access;
}

/// What latestConflict() and forMeeting() find, record by record.
void expectFound(const AccessRecords &records, AccessRecords::Query query,
                 AccessRecords::Lane &lane, int64_t settled) {
  std::optional<int64_t> latest;
  std::vector<uint32_t> meeting, visited;
  for (const AccessRecords::Record &record : lane) {
    if (record.index > settled && records.mayConflict(query, record))
      latest = record.index;
    if (AccessRecords::mayMeet(query, record))
      meeting.push_back(record.index);
  }
  EXPECT_EQ(records.latestConflict(query, lane, settled), latest);
  AccessRecords::forMeeting(query, lane,
                            [&](const AccessRecords::Record &record) {
                              visited.push_back(record.index);
                            });
  EXPECT_EQ(visited, meeting);
}

TEST(AccessRecords, SearchesOfLongLanesMissNothing) {
  machine::Description machine;
  machine.sb.bytesPerPartition = 64 * 4096; // Buckets of 4,096.
  AccessRecords records(machine);
  std::mt19937 random(11);
  size_t longest = 0;
  for (uint32_t index = 0; index < 4000; ++index) {
    const isa::Access access = drawInBucket(random);
    AccessRecords::Bucket &bucket = records.bucketsOf(access).front();
    AccessRecords::Lane &lane = bucket.lanes[1];
    const AccessRecords::Query query = records.queryOf(access, bucket);
    expectFound(records, query, lane,
                index - static_cast<int64_t>(random() % 1000));
    const uint32_t pattern = records.keep(access);
    records.add(bucket, 1, pattern, query.units, index);
    records.release(pattern);
    longest = std::max(longest, lane.size());
    // Some anywhere, all of a range, the oldest, and those joined to one.
    if (index % 5 == 0)
      records.removeIf(bucket, 1, [&](const AccessRecords::Record &old) {
        return isadialect::boxHolds(access, old);
      });
    if (index % 700 == 699) {
      records.removeFirst(bucket, 1, lane.size() / 2);
      records.addJoined(bucket, 1, access, lane.front().index);
    }
  }
  EXPECT_GT(longest, 300u);
}

} // namespace
