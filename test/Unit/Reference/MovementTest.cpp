// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Index maps against values written by hand.

#include "ashlar/Reference/Movement.h"
#include "llvm/ADT/STLExtras.h"
#include "gtest/gtest.h"

#include <algorithm>
#include <numeric>

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

/// What is copied in squares is what the indices say.
TEST(ReferenceMovement, ApplyFollowsTheIndices) {
  std::vector<int> source(7 * 40 * 3 * 35);
  std::iota(source.begin(), source.end(), 1);
  llvm::SmallVector<int64_t> perm = {0, 1, 2, 3};
  std::vector<IndexMap> maps;
  do
    maps.push_back(transposeMap({7, 40, 3, 35}, perm));
  while (std::next_permutation(perm.begin(), perm.end()));
  maps.push_back(transposeMap({280, 105}, {1, 0}));
  maps.push_back(broadcastMap({280, 105, 1}, {280, 105, 2}));
  maps.push_back(sliceMap({280, 105}, {33, 100}, {3, 102}, {8, -1}));
  maps.push_back(gatherMap({7, 40, 105}, 2, {4, 4, 90, 0}));
  maps.push_back(
      padMap({7, 40, 105}, PadMode::Constant, {1, 0, 2}, {0, 3, 0}, {0, 0, 1}));
  for (const auto &[number, map] : llvm::enumerate(maps)) {
    std::vector<int> expected, result(map.size());
    for (int64_t index : map.flatten())
      expected.push_back(index == fill ? -5 : source[index]);
    map.apply(source.data(), result.data(), -5);
    EXPECT_EQ(result, expected) << number;
  }
}

} // namespace
