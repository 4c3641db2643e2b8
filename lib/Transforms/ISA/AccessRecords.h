// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The accesses of a program so far that later instructions may conflict with.
// Private to the passes of `isa`.

#ifndef ASHLAR_LIB_TRANSFORMS_ISA_ACCESSRECORDS_H
#define ASHLAR_LIB_TRANSFORMS_ISA_ACCESSRECORDS_H

#include "Accesses.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

namespace ashlar::isadialect {

/// Accesses memory by memory, in buckets of addresses, and within a bucket in
/// lanes: one for each engine whose accesses follow one another. Who looks for
/// the latest conflict of an engine goes through its lane from the end and
/// stops at the first one. Records are small; the patterns are looked at only
/// where boxes meet.
class AccessRecords {
public:
  static constexpr unsigned kLanes = 11;

  struct Record {
    int64_t begin, end; ///< The bounding box, as in isa::Access.
    uint64_t units;     ///< Of its bucket, as unitsOf() says.
    uint32_t partBegin, partEnd;
    uint32_t index; ///< Of the instruction, or what the user of this gives it.
    uint32_t pattern; ///< The whole access.
    bool write, merge;
    bool flat;   ///< The box is all of it.
    bool joined; ///< Stands for several: older than all others of its bucket.
  };

  /// What the records of a chunk have in common, so that a search of a long
  /// lane leaves most of them out together.
  struct Summary {
    int64_t begin, end;
    uint64_t units;
    uint32_t partBegin, partEnd;
    bool write;
  };

  /// Records in order, and summaries of the first ones, chunk by chunk.
  struct Lane : std::vector<Record> {
    std::vector<Summary> summaries;
  };

  struct Bucket {
    std::array<Lane, kLanes> lanes;
    int64_t begin, end; ///< Boxes that join records never leave these units.
    int64_t first = 0;  ///< The unit of bit 0 in masks of units.
    int64_t unitsPerBit = 0; ///< 0: masks tell nothing.
    size_t records = 0;      ///< Of all lanes.
    /// By lane: no index is larger.
    std::array<int64_t, kLanes> newest;
  };

  explicit AccessRecords(const machine::Description &machine);

  /// The buckets that an access reaches.
  llvm::MutableArrayRef<Bucket> bucketsOf(const isa::Access &access);

  /// An access as a bucket sees it.
  struct Query {
    const isa::Access &access;
    uint64_t units;
  };

  static Query queryOf(const isa::Access &access, const Bucket &bucket) {
    return {access, unitsOf(access, bucket)};
  }

  /// False only if the two never touch one unit, as far as boxes and masks
  /// tell. Most records of a bucket are left out here, without a look at their
  /// patterns.
  template <typename RecordOrSummary>
  static bool mayMeet(const Query &query, const RecordOrSummary &record) {
    const isa::Access &access = query.access;
    return (query.units & record.units) != 0 && access.begin < record.end &&
           record.begin < access.end && access.partBegin < record.partEnd &&
           record.partBegin < access.partEnd;
  }

  /// False only if the two never touch one unit that one of them changes.
  bool mayConflict(const Query &query, const Record &record) const {
    const isa::Access &access = query.access;
    return (access.write || record.write) && !(access.merge && record.merge) &&
           mayMeet(query, record) &&
           ((record.flat && access.numDims == 0) ||
            isa::mayConflict(access, patterns[record.pattern].access));
  }

  /// The index of the latest conflict of a lane, if it is larger than
  /// \p settled.
  std::optional<int64_t> latestConflict(const Query &query, Lane &lane,
                                        int64_t settled) const;

  /// Calls fn(record) for each record of a lane that may meet a query, in
  /// order.
  template <typename Fn>
  static void forMeeting(const Query &query, Lane &lane, Fn fn) {
    summarise(lane);
    const llvm::ArrayRef<Record> records(lane);
    for (size_t chunk = 0; chunk * kChunk < records.size(); ++chunk) {
      if (chunk < lane.summaries.size() &&
          !mayMeet(query, lane.summaries[chunk]))
        continue;
      for (const Record &record :
           records.drop_front(chunk * kChunk).take_front(kChunk))
        if (mayMeet(query, record))
          fn(record);
    }
  }

  /// A bit for each of 64 equal parts of a bucket, set for those that an access
  /// touches and perhaps for others.
  static uint64_t unitsOf(const isa::Access &access, const Bucket &bucket);

  /// Keeps an access for add(), with one use that release() ends.
  uint32_t keep(const isa::Access &access);
  void release(uint32_t pattern);

  /// Appends the access \p pattern, which touches \p units of the bucket, to a
  /// lane, whose indices ascend.
  void add(Bucket &bucket, size_t lane, uint32_t pattern, uint64_t units,
           uint32_t index);
  /// A record of its own at the beginning of a lane.
  void addJoined(Bucket &bucket, size_t lane, const isa::Access &access,
                 uint32_t index);

  /// Removes the records of a lane for which \p pred holds.
  template <typename Pred>
  void removeIf(Bucket &bucket, size_t number, Pred pred) {
    Lane &lane = bucket.lanes[number];
    auto kept = llvm::find_if(lane, pred);
    if (kept == lane.end())
      return;
    keepSummaries(lane, static_cast<size_t>(kept - lane.begin()));
    for (auto at = kept; at != lane.end(); ++at)
      if (pred(*at))
        release(at->pattern);
      else
        *kept++ = *at;
    bucket.records -= static_cast<size_t>(lane.end() - kept);
    lane.erase(kept, lane.end());
  }
  void removeFirst(Bucket &bucket, size_t number, size_t count);

  /// How many records of each lane are among the \p count oldest of a bucket.
  static std::array<size_t, kLanes> oldest(const Bucket &bucket, size_t count);

  const isa::Access &accessOf(const Record &record) const {
    return patterns[record.pattern].access;
  }

private:
  struct Pattern {
    isa::Access access;
    uint32_t uses;
  };
  Record recordOf(uint32_t pattern, uint64_t units, uint32_t index);

  /// Records that a summary stands for, and how long a lane with summaries is:
  /// shorter ones are searched sooner than summarised.
  static constexpr size_t kChunk = 32, kSummarised = 4 * kChunk;
  /// Makes the summaries that are missing.
  static void summarise(Lane &lane);
  /// Of the first \p records of a lane.
  static void keepSummaries(Lane &lane, size_t records) {
    if (lane.summaries.size() > records / kChunk)
      lane.summaries.resize(records / kChunk);
  }

  struct Memory {
    std::vector<Bucket> buckets;
    int64_t bucketUnits = 1; ///< Of each; the first and the last have no end.
  };
  std::array<Memory, 13> memories; ///< By space.
  std::vector<Pattern> patterns;
  std::vector<uint32_t> unused;
};

/// True if the box of \p outer holds that of \p inner, an access to the same
/// memory.
inline bool boxHolds(const isa::Access &outer,
                     const AccessRecords::Record &inner) {
  return outer.begin <= inner.begin && outer.end >= inner.end &&
         outer.partBegin <= inner.partBegin && outer.partEnd >= inner.partEnd;
}

/// Widens the box of an access until it holds a record.
void include(isa::Access &box, const AccessRecords::Record &record);

/// Makes an access touch all of its box, cut to the units of a bucket.
void fill(isa::Access &box, const AccessRecords::Bucket &bucket);

} // namespace ashlar::isadialect

#endif // ASHLAR_LIB_TRANSFORMS_ISA_ACCESSRECORDS_H
