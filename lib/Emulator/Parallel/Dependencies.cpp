// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Conflicts by footprints.

#include "Dependencies.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>

using namespace ashlar;
using namespace ashlar::emulator;
using isa::Access;
using isa::Space;

uint64_t emulator::countUnits(const Access &access) {
  uint64_t units = access.runLength * (access.partEnd - access.partBegin);
  for (unsigned d = 0; d < access.numDims; ++d)
    units *= access.dims[d].count;
  return units;
}

bool emulator::fillsBox(const Access &access) {
  if (!access.exact)
    return false;
  auto length = static_cast<int64_t>(access.runLength);
  llvm::SmallVector<isa::AccessDim, Access::maxDims> dims;
  for (unsigned d = 0; d < access.numDims; ++d)
    if (access.dims[d].count > 1)
      dims.push_back(access.dims[d]);
  llvm::sort(dims, [](const isa::AccessDim &a, const isa::AccessDim &b) {
    return std::abs(a.stride) < std::abs(b.stride);
  });
  for (const isa::AccessDim &dim : dims) {
    const int64_t stride = std::abs(dim.stride);
    if (stride > length)
      return false;
    length += stride * static_cast<int64_t>(dim.count - 1);
  }
  return length == access.end - access.begin;
}

void Dependencies::addMap(Space space, uint64_t units) {
  constexpr uint64_t mostBuckets = 256;
  Map &to = maps[static_cast<unsigned>(space)];
  units = std::max<uint64_t>(units, 1);
  to.shift = units <= mostBuckets
                 ? 0
                 : llvm::Log2_64_Ceil(units) - llvm::Log2_64(mostBuckets);
  to.buckets.resize((units >> to.shift) + 1);
}

Dependencies::Dependencies(const machine::Description &machine,
                           uint64_t dramBytes, size_t numInstructions)
    : units(numInstructions), placeOf(numInstructions) {
  first.reserve(numInstructions + 1);
  first.push_back(0);
  // Others have no map: every engine has its own PSUM, sets and units, and the
  // rest belongs to one list.
  addMap(Space::Dram, dramBytes);
  addMap(Space::Sb, machine.sb.bytesPerPartition);
  addMap(Space::Xm, machine.sb.bytesPerPartition);
  addMap(Space::Xr, machine.xr.registers);
  addMap(Space::Wm, machine.sparse.wmBytes);
}

Dependencies::Dependencies(const machine::Description &machine,
                           size_t numInstructions)
    : units(numInstructions), placeOf(numInstructions) {
  first.reserve(numInstructions + 1);
  first.push_back(0);
  addMap(Space::Fmu, machine.sparse.fmuBytes);
  addMap(Space::Acc, machine.sparse.accumulatorEntries);
  addMap(Space::Tiles, machine.sparse.tileTables);
}

size_t Dependencies::Map::bucketOf(int64_t unit) const {
  return std::min<uint64_t>(static_cast<uint64_t>(std::max<int64_t>(unit, 0)) >>
                                shift,
                            buckets.size() - 1);
}

static bool isEmpty(const Access &access) {
  return access.begin >= access.end || access.partBegin >= access.partEnd;
}

static uint32_t limited(uint64_t units) {
  return static_cast<uint32_t>(std::min<uint64_t>(units, ~uint32_t(0) >> 1));
}

bool Dependencies::isSame(const Map &map, const Entry &entry,
                          const Access &access) {
  if (entry.write != access.write || entry.merge != access.merge ||
      entry.begin != access.begin || entry.end != access.end ||
      entry.partBegin != access.partBegin || entry.partEnd != access.partEnd ||
      (entry.pattern == noPattern) != (access.numDims == 0))
    return false;
  if (entry.pattern == noPattern)
    return true;
  const Access &pattern = map.patterns[entry.pattern];
  return pattern.base == access.base && pattern.runLength == access.runLength &&
         pattern.numDims == access.numDims &&
         std::equal(pattern.dims.begin(),
                    pattern.dims.begin() + pattern.numDims,
                    access.dims.begin());
}

void Dependencies::addEdge(const Edge &edge) {
  uint32_t &place = placeOf[edge.earlier];
  if (place < begin || place >= edges.size() ||
      edges[place].earlier != edge.earlier) {
    place = static_cast<uint32_t>(edges.size());
    edges.push_back(edge);
    return;
  }
  edges[place].read = std::max(edges[place].read, edge.read);
  edges[place].written = std::max(edges[place].written, edge.written);
}

bool Dependencies::Entry::hide(const Access &access) {
  if (access.partBegin > partBegin || partEnd > access.partEnd)
    return false;
  const int64_t oldBegin = begin, oldEnd = end;
  if (access.begin <= begin)
    begin = std::max(begin, access.end);
  else if (end <= access.end)
    end = std::min(end, access.begin);
  dead = begin >= end;
  if (dead)
    begin = oldBegin, end = oldEnd;
  return dead || begin != oldBegin || end != oldEnd;
}

/// An access without gaps.
static Access boxOf(int64_t begin, int64_t end, uint32_t partBegin,
                    uint32_t partEnd, bool write, Space space) {
  Access box;
  box.space = space;
  box.write = write;
  box.partBegin = partBegin;
  box.partEnd = partEnd;
  box.base = box.begin = begin;
  box.end = end;
  box.runLength = static_cast<uint64_t>(end - begin);
  return box;
}

void Dependencies::meet(Map &map, uint32_t index, uint32_t order,
                        const Access &access) {
  const uint32_t units = limited(countUnits(access));
  // Whether nothing can meet an access inside this one without meeting this.
  const bool hides = access.write && !access.merge && fillsBox(access);
  constexpr uint64_t stepsPerPattern = 8;
  const bool inOneList = llvm::has_single_bit(order);
  for (size_t b = map.bucketOf(access.begin); b <= map.bucketOf(access.end - 1);
       ++b) {
    llvm::SmallVector<uint32_t, 4> &bucket = map.buckets[b];
    steps += bucket.size();
    bool anyDead = false;
    for (uint32_t number : bucket) {
      Entry &entry = map.entries[number];
      anyDead |= entry.dead;
      if (!entry.meets(access) || entry.dead || entry.seen == index ||
          entry.index == index)
        continue;
      // Their order in a list that both are in is that of the program.
      if (entry.order != order || !inOneList) {
        const bool maybe = entry.pattern != noPattern || access.numDims != 0;
        steps += maybe ? stepsPerPattern : 0;
        if (maybe && !isa::mayConflict(
                         entry.pattern != noPattern
                             ? map.patterns[entry.pattern]
                             : boxOf(entry.begin, entry.end, entry.partBegin,
                                     entry.partEnd, entry.write, access.space),
                         access))
          continue;
        const uint32_t both = std::min(entry.units, units);
        addEdge(
            {entry.index, access.write ? 0 : both, access.write ? both : 0});
        entry.seen = index;
      }
      anyDead |= hides && entry.hide(access);
    }
    if (anyDead)
      llvm::erase_if(bucket, [&](uint32_t number) {
        const Entry &entry = map.entries[number];
        return entry.dead || map.bucketOf(entry.begin) > b ||
               map.bucketOf(entry.end - 1) < b;
      });
  }
}

void Dependencies::insert(Map &map, uint32_t index, uint32_t order,
                          const Access &access) {
  const size_t from = map.bucketOf(access.begin),
               to = map.bucketOf(access.end - 1);
  // Who waits for this one in its list waits for an earlier one there as well.
  for (uint32_t number : map.buckets[from]) {
    Entry &entry = map.entries[number];
    if (order == 0 || entry.dead || entry.order == 0 ||
        (entry.order & ~order) != 0 || !isSame(map, entry, access))
      continue;
    entry.index = index;
    entry.order = order;
    return;
  }
  Entry entry{access.begin,   access.end, access.partBegin,
              access.partEnd, index,      order};
  entry.units = limited(countUnits(access));
  entry.write = access.write;
  entry.merge = access.merge;
  if (access.numDims != 0) {
    entry.pattern = static_cast<uint32_t>(map.patterns.size());
    map.patterns.push_back(access);
  }
  const auto number = static_cast<uint32_t>(map.entries.size());
  map.entries.push_back(entry);
  for (size_t b = from; b <= to; ++b)
    map.buckets[b].push_back(number);
}

bool Dependencies::step(uint32_t index, uint32_t order,
                        llvm::ArrayRef<Access> accesses) {
  constexpr uint64_t stepsPerInstruction = 1024;
  begin = edges.size();
  for (const Access &access : accesses)
    if (Map *map = mapOf(access.space); map && !isEmpty(access))
      meet(*map, index, order, access);
  for (const Access &access : accesses)
    if (Map *map = mapOf(access.space); map && !isEmpty(access)) {
      insert(*map, index, order, access);
      (access.write ? units[index].written : units[index].read) +=
          countUnits(access);
    }
  std::sort(edges.begin() + static_cast<ptrdiff_t>(begin), edges.end(),
            [](const Edge &a, const Edge &b) { return a.earlier < b.earlier; });
  // The places of earlier instructions are those before the sort, and no
  // longer needed.
  first.push_back(static_cast<uint32_t>(edges.size()));
  return steps <= stepsPerInstruction * placeOf.size();
}
