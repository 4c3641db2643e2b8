// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The areas of a partition that are in use while planning walks over the
// operations in order. There are never more of them than fit a partition, so
// that a query costs the same however many operations a network has.

#ifndef ASHLAR_LIB_TRANSFORMS_NPU_MEMORY_LIVEMEMORY_H
#define ASHLAR_LIB_TRANSFORMS_NPU_MEMORY_LIVEMEMORY_H

#include "llvm/ADT/STLExtras.h"
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

namespace ashlar::npu {

/// One area: bytes [begin, end), owned by operation `owner` and last read by
/// operation `lastUse`.
struct LiveArea {
  int64_t begin = 0, end = 0;
  int64_t owner = 0, lastUse = 0;
};

class LiveMemory {
public:
  void clear() { areas.clear(); }

  void add(const LiveArea &area) {
    auto at = llvm::lower_bound(areas, area,
                                [](const LiveArea &a, const LiveArea &b) {
                                  return std::tie(a.begin, a.end, a.owner) <
                                         std::tie(b.begin, b.end, b.owner);
                                });
    areas.insert(at, area);
  }

  /// Forgets what nothing reads from operation `first` on.
  void retire(int64_t first) {
    llvm::erase_if(areas,
                   [&](const LiveArea &area) { return area.lastUse < first; });
  }

  /// The first `bytes` from `offset` on that are free of all that is read at
  /// operation `since` or later, the area of operation `ignored` omitted.
  int64_t firstFit(int64_t offset, int64_t bytes, int64_t since,
                   int64_t ignored) const {
    for (const LiveArea &area : areas) {
      if (area.lastUse < since || area.owner == ignored)
        continue;
      if (area.begin - offset >= bytes)
        break;
      offset = std::max(offset, area.end);
    }
    return offset;
  }

  /// End of what is read at operation `now` or later, at least `end`.
  int64_t endAt(int64_t now, int64_t end) const {
    for (const LiveArea &area : areas)
      if (area.lastUse >= now)
        end = std::max(end, area.end);
    return end;
  }

  /// The largest range from `begin` on, as its first byte and its end, that is
  /// free of `own` and of what is read at operation `now` or later, and has
  /// some of it after it.
  std::pair<int64_t, int64_t> largestGap(int64_t begin, const LiveArea &own,
                                         int64_t now) const {
    std::pair<int64_t, int64_t> gap{begin, begin};
    auto pass = [&](const LiveArea &area) {
      if (area.begin - begin > gap.second - gap.first)
        gap = {begin, area.begin};
      begin = std::max(begin, area.end);
    };
    bool passed = own.begin == own.end;
    for (const LiveArea &area : areas) {
      if (!passed && own.begin < area.begin) {
        pass(own);
        passed = true;
      }
      if (area.lastUse >= now)
        pass(area);
    }
    if (!passed)
      pass(own);
    return gap;
  }

  /// Owners of what is read at operation `now` or later.
  std::vector<int64_t> ownersAt(int64_t now) const {
    std::vector<int64_t> owners;
    for (const LiveArea &area : areas)
      if (area.lastUse >= now)
        owners.push_back(area.owner);
    return owners;
  }

private:
  std::vector<LiveArea> areas; ///< sorted by `begin`
};

} // namespace ashlar::npu

#endif // ASHLAR_LIB_TRANSFORMS_NPU_MEMORY_LIVEMEMORY_H
