// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Scans of histories, and their index.

#include "AccessHistory.h"
#include "llvm/ADT/Hashing.h"
#include <algorithm>

using namespace ashlar;
using namespace ashlar::emulator;
using isa::Access;

namespace {
/// Numbers of the kinds of accesses.
enum : unsigned { reads, writes, merges, numKinds };

unsigned kindOf(const Access &access) {
  return access.merge ? merges : access.write ? writes : reads;
}

/// Whether accesses of two kinds to the same unit conflict.
bool kindsConflict(unsigned a, unsigned b) {
  return (a != reads || b != reads) && (a != merges || b != merges);
}
} // namespace

size_t AccessHistory::Hash::operator()(size_t entry) const {
  const Access &access = history->accesses[entry];
  llvm::hash_code code =
      llvm::hash_combine(access.base, access.runLength, access.numDims,
                         access.partBegin, access.partEnd, kindOf(access));
  for (unsigned d = 0; d < access.numDims; ++d)
    code =
        llvm::hash_combine(code, access.dims[d].count, access.dims[d].stride);
  return code;
}

bool AccessHistory::Same::operator()(size_t a, size_t b) const {
  const Access &x = history->accesses[a], &y = history->accesses[b];
  return x.base == y.base && x.runLength == y.runLength &&
         x.partBegin == y.partBegin && x.partEnd == y.partEnd &&
         kindOf(x) == kindOf(y) && x.numDims == y.numDims &&
         std::equal(x.dims.begin(), x.dims.begin() + x.numDims, y.dims.begin());
}

void AccessHistory::append(const Access &access, uint32_t position,
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

AccessHistory::Scan AccessHistory::scan(uint32_t known, const Access &access,
                                        size_t limit, uint64_t mostBoxes,
                                        ProofWork &work) const {
  const bool changes = access.write || access.merge;
  const size_t least = boxes.size() > limit ? boxes.size() - limit : 0;
  uint64_t steps = 0, looked = 0;
  Scan result{std::nullopt, true};
  for (size_t chunk = hulls.size(); chunk-- > 0;) {
    const Box &hull = hulls[chunk];
    if (hull.position <= known)
      break;
    if ((chunk + 1) * chunkSize <= least || looked > mostBoxes) {
      result.complete = false;
      break;
    }
    ++looked;
    if (!hull.overlaps(access) || !(hull.write || changes))
      continue;
    const size_t end = std::min(boxes.size(), (chunk + 1) * size_t(chunkSize));
    for (size_t i = end; i-- > std::max(least, chunk * size_t(chunkSize));) {
      const Box &box = boxes[i];
      if (box.position <= known)
        break;
      ++looked;
      if (box.overlaps(access) && (box.write || changes) &&
          isa::conflict(accesses[i], access, steps)) {
        result.found = i;
        break;
      }
    }
    if (result.found)
      break;
  }
  work.spend(looked + steps);
  return result;
}

void AccessHistory::bringUpToDate(ProofWork &work) {
  if (kinds.empty())
    kinds.assign(numKinds, Kind(partitions));
  for (; indexed < accesses.size(); ++indexed) {
    const Access &access = accesses[indexed];
    Kind &kind = kinds[kindOf(access)];
    const uint64_t trees = (access.numDims == 0 ? kind.boxes : kind.patterns)
                               .assign(access, boxes[indexed].position);
    if (!work.spend(trees * stepsPerTree + stepsPerPattern))
      return;
    latest.push_back(indexed);
    auto [place, isNew] = places.try_emplace(indexed, std::prev(latest.end()));
    if (isNew)
      continue;
    // The later of two equal accesses stands for both.
    latest.erase(place->second);
    places.erase(place);
    places.emplace(indexed, std::prev(latest.end()));
  }
}

std::optional<size_t> AccessHistory::findPattern(uint32_t known,
                                                 const Access &access,
                                                 ProofWork &work) const {
  for (auto entry = latest.rbegin(); entry != latest.rend(); ++entry) {
    const Box &box = boxes[*entry];
    if (box.position <= known)
      return std::nullopt;
    uint64_t steps = 4;
    const bool conflicts =
        box.overlaps(access) && isa::conflict(accesses[*entry], access, steps);
    if (conflicts || !work.spend(steps))
      return conflicts ? std::optional<size_t>(*entry) : std::nullopt;
  }
  return std::nullopt;
}

std::optional<size_t> AccessHistory::findAfter(uint32_t known,
                                               const Access &access,
                                               ProofWork &work) {
  Scan near = scan(known, access, boxes.size(), nearBoxes, work);
  if (near.found || near.complete)
    return near.found;
  bringUpToDate(work);
  const unsigned kind = kindOf(access);
  for (unsigned other = 0; other < numKinds; ++other)
    if (kindsConflict(kind, other) &&
        (kinds[other].boxes.latest(access) > known ||
         kinds[other].patterns.latest(access) > known))
      return findPattern(known, access, work);
  return std::nullopt;
}
