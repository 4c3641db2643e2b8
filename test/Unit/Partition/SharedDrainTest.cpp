// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ashlar/Partition/SharedDrain.h"

#include "gtest/gtest.h"

#include <vector>

namespace ashlar::partition {
namespace {

/// Positions of scratch memory for the pieces of `extent`, dealt one by one.
int64_t sharedPositions(const Positions4 &extent, int64_t folded, int64_t lanes,
                        int64_t entries, int64_t share, int64_t capacity) {
  SharedDrain drain(share, capacity);
  forEachWindow(extent, folded, entries, [&](const Window &window) {
    forEachPiece(window, folded > 1 || lanes > 1,
                 [&](const Window &piece, int64_t) {
                   drain.next(piece.positions(), slotOf(piece, lanes));
                 });
  });
  return drain.used();
}

using Slots = std::vector<std::optional<int64_t>>;

Slots deal(SharedDrain &drain, const std::vector<int64_t> &pieces) {
  Slots slots;
  for (int64_t positions : pieces)
    slots.push_back(drain.next(positions, positions));
  return slots;
}

TEST(SharedDrainTest, WithoutARingTheVectorUnitBegins) {
  // 11 of 16: the nearest to 68 of 99 positions.
  SharedDrain drain(11, 0);
  EXPECT_EQ(deal(drain, {32, 32, 32, 3}), (Slots{0, std::nullopt, 32, 64}));
  EXPECT_EQ(drain.used(), 67);
  // The next column has the same pieces in the same places.
  drain.restart();
  EXPECT_EQ(deal(drain, {32, 32, 32, 3}), (Slots{0, std::nullopt, 32, 64}));
  EXPECT_EQ(drain.used(), 67);
}

TEST(SharedDrainTest, InARingActBegins) {
  SharedDrain drain(8, 100);
  EXPECT_EQ(deal(drain, {64, 64, 64, 64, 32, 32}),
            (Slots{std::nullopt, 0, std::nullopt, 0, std::nullopt, 64}));
  EXPECT_EQ(drain.used(), 96);
}

TEST(SharedDrainTest, TheShareIsKeptOverManyPieces) {
  for (int64_t capacity : {0, 512})
    for (int64_t share = 1; share < kDrainShares; ++share) {
      SharedDrain drain(share, capacity);
      int64_t moved = 0, dealt = 0;
      for (int64_t i = 0; i < 1000; ++i) {
        const int64_t positions = 1 + i % 7;
        dealt += positions;
        if (drain.next(positions, positions))
          moved += positions;
        EXPECT_NEAR(static_cast<double>(moved),
                    static_cast<double>(dealt * share) / kDrainShares, 7.0);
      }
      EXPECT_EQ(capacity > 0 ? drain.used() <= capacity : drain.used() == moved,
                true);
    }
}

TEST(SharedDrainTest, SlotsOfLanesAreRowsOfPixels) {
  Window piece;
  piece.size = {1, 1, 3, 13};
  EXPECT_EQ(slotOf(piece, 1), 39);
  EXPECT_EQ(slotOf(piece, 4), 12);
}

TEST(SharedDrainTest, ScratchMemoryHoldsWhatWaits) {
  // Two windows of 12 rows and one of 16 rows of 40: pieces of two rows.
  const Positions4 extent{1, 1, 40, 40};
  const int64_t all = sharedPositions(extent, 1, 1, 512, 8, 0);
  EXPECT_NEAR(static_cast<double>(all), 800.0, 80.0);
  EXPECT_LE(sharedPositions(extent, 1, 1, 512, 8, 512), 512);
  // Two positions of a row side by side take half of it.
  EXPECT_EQ(sharedPositions(extent, 2, 2, 512, 8, 0) * 2, all);
}

TEST(SharedDrainTest, PlansHaveRoomForWhatIsDealt) {
  for (int64_t lanes : {1, 2, 3, 8})
    for (int64_t folded : {1, 2, 4})
      for (int64_t entries : {16, 512})
        for (int64_t share = 1; share < kDrainShares; ++share)
          for (int64_t width : {1, 3, 13, 40, 99, 700})
            for (int64_t rows : {1, 2, 5, 13, 40})
              for (int64_t capacity : {int64_t(0), entries})
                EXPECT_LE(sharedPositions({1, 1, rows, width}, folded, lanes,
                                          entries, share, capacity),
                          mostSharedPositions(rows, width, lanes, entries,
                                              share, capacity))
                    << lanes << ' ' << folded << ' ' << entries << ' ' << share
                    << ' ' << width << ' ' << rows << ' ' << capacity;
}

} // namespace
} // namespace ashlar::partition
