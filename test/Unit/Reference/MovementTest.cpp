// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Index maps against values written by hand.

#include "ashlar/Reference/Movement.h"
#include "gtest/gtest.h"

using namespace ashlar::reference;

namespace {

using Indices = std::vector<int64_t>;

TEST(ReferenceMovement, Transpose) {
  EXPECT_EQ(transposeMap({2, 3}, {1, 0}).flatten(),
            (Indices{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(transposeMap({2, 1, 3}, {2, 0, 1}).flatten(),
            (Indices{0, 3, 1, 4, 2, 5}));
}

TEST(ReferenceMovement, ScalarAndEmpty) {
  EXPECT_EQ(broadcastMap({}, {}).flatten(), (Indices{0}));
  EXPECT_EQ(broadcastMap({}, {2}).flatten(), (Indices{0, 0}));
  EXPECT_EQ(transposeMap({0, 3}, {1, 0}).size(), 0);
}

TEST(ReferenceMovement, Broadcast) {
  EXPECT_EQ(broadcastMap({2, 1}, {2, 2, 2}).flatten(),
            (Indices{0, 0, 1, 1, 0, 0, 1, 1}));
}

TEST(ReferenceMovement, SliceBackwards) {
  EXPECT_EQ(sliceMap({2, 4}, {2, 2}, {1, 3}, {-1, -2}).flatten(),
            (Indices{7, 5, 3, 1}));
}

TEST(ReferenceMovement, Gather) {
  EXPECT_EQ(gatherMap({2, 3}, 1, {2, 2}).flatten(), (Indices{2, 2, 5, 5}));
}

TEST(ReferenceMovement, PadModes) {
  EXPECT_EQ(padMap({3}, PadMode::Constant, {1}, {2}, {1}).flatten(),
            (Indices{fill, 0, fill, 1, fill, 2, fill, fill}));
  EXPECT_EQ(padMap({3}, PadMode::Reflect, {2}, {2}, {0}).flatten(),
            (Indices{2, 1, 0, 1, 2, 1, 0}));
  EXPECT_EQ(padMap({3}, PadMode::Edge, {2}, {1}, {0}).flatten(),
            (Indices{0, 0, 0, 1, 2, 2}));
  EXPECT_EQ(padMap({3}, PadMode::Wrap, {2}, {1}, {0}).flatten(),
            (Indices{1, 2, 0, 1, 2, 0}));
}

TEST(ReferenceMovement, PadCutsBeforeItMirrors) {
  // [0 1 2 3] without its first element, then mirrored at the end.
  EXPECT_EQ(padMap({4}, PadMode::Reflect, {-1}, {2}, {0}).flatten(),
            (Indices{1, 2, 3, 2, 1}));
  EXPECT_EQ(padMap({4}, PadMode::Edge, {2}, {-2}, {0}).flatten(),
            (Indices{0, 0, 0, 1}));
  EXPECT_EQ(padMap({4}, PadMode::Constant, {-1}, {-1}, {0}).flatten(),
            (Indices{1, 2}));
}

TEST(ReferenceMovement, FillValue) {
  const int source[] = {7, 8};
  int result[4];
  padMap({2}, PadMode::Constant, {1}, {1}, {0}).apply(source, result, -5);
  EXPECT_EQ(std::vector<int>(result, result + 4),
            (std::vector<int>{-5, 7, 8, -5}));
}

} // namespace
