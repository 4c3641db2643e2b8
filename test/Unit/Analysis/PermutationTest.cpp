// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Canonical transposes: all 872 permutations of rank 2 to 6 against an index
// oracle, and the counts and examples of the transpose specification 11.5.

#include "ashlar/Analysis/Layout/Permutation.h"

#include "gtest/gtest.h"
#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <vector>

namespace ashlar::analysis {
namespace {

/// The canonical form of one transpose.
CanonicalTranspose canonicalTranspose(llvm::ArrayRef<int64_t> shape,
                                      llvm::ArrayRef<int64_t> perm) {
  ElementOrder order(shape);
  order.transpose(perm);
  return order.canonical();
}

/// Source index of every element of the transposed tensor, row-major.
std::vector<int64_t> oracle(llvm::ArrayRef<int64_t> shape,
                            llvm::ArrayRef<int64_t> perm) {
  std::vector<int64_t> strides(shape.size(), 1), order;
  for (size_t i = shape.size(); i-- > 1;)
    strides[i - 1] = strides[i] * shape[i];
  std::vector<int64_t> index(shape.size(), 0);
  int64_t count = std::accumulate(shape.begin(), shape.end(), int64_t(1),
                                  std::multiplies<>());
  for (int64_t n = 0; n < count; ++n) {
    int64_t from = 0;
    for (size_t i = 0; i < perm.size(); ++i)
      from += index[i] * strides[perm[i]];
    order.push_back(from);
    for (size_t i = perm.size(); i-- > 0;) {
      if (++index[i] < shape[perm[i]])
        break;
      index[i] = 0;
    }
  }
  return order;
}

/// Calls `visit` with every permutation of ranks 2 to 6.
template <typename Fn>
int forAllPermutations(Fn visit) {
  int count = 0;
  for (int64_t rank = 2; rank <= 6; ++rank) {
    Axes perm(rank);
    std::iota(perm.begin(), perm.end(), 0);
    do {
      visit(perm);
      ++count;
    } while (std::next_permutation(perm.begin(), perm.end()));
  }
  return count;
}

TEST(Permutation, T9_All872KeepTheOrderOfElements) {
  std::mt19937 random(1);
  const int64_t extents[] = {1, 1, 2, 3, 4, 5, 7};
  EXPECT_EQ(872, forAllPermutations([&](const Axes &perm) {
              for (int round = 0; round < 3; ++round) {
                Axes shape;
                for (size_t i = 0; i < perm.size(); ++i)
                  shape.push_back(extents[random() % 7]);
                CanonicalTranspose form = canonicalTranspose(shape, perm);
                EXPECT_EQ(oracle(shape, perm), oracle(form.shape, form.perm));
                // Canonical forms are their own canonical form.
                EXPECT_EQ(form, canonicalTranspose(form.shape, form.perm));
              }
            }));
}

TEST(Permutation, T12_All872CancelWithTheirInverse) {
  forAllPermutations([](const Axes &perm) {
    Axes shape{2, 3, 5, 7, 11, 13};
    shape.truncate(perm.size());
    ElementOrder order(shape);
    order.transpose(perm);
    order.transpose(inversePermutation(perm));
    EXPECT_TRUE(order.canonical().isIdentity());
  });
}

TEST(Permutation, CanonicalRanksOfTheSpecification) {
  std::map<size_t, std::map<size_t, int>> ranks;
  std::map<size_t, int> kept;
  forAllPermutations([&](const Axes &perm) {
    Axes shape{2, 3, 5, 7, 11, 13};
    shape.truncate(perm.size());
    CanonicalTranspose form = canonicalTranspose(shape, perm);
    ++ranks[perm.size()][std::max<size_t>(form.perm.size(), 1)];
    kept[perm.size()] += perm.front() == 0;
  });
  EXPECT_EQ((std::map<size_t, int>{{1, 1}, {2, 3}, {3, 9}, {4, 11}}), ranks[4]);
  EXPECT_EQ((std::map<size_t, int>{{1, 1}, {2, 4}, {3, 18}, {4, 44}, {5, 53}}),
            ranks[5]);
  EXPECT_EQ((std::map<size_t, int>{
                {1, 1}, {2, 5}, {3, 30}, {4, 110}, {5, 265}, {6, 309}}),
            ranks[6]);
  EXPECT_EQ((std::map<size_t, int>{{2, 1}, {3, 2}, {4, 6}, {5, 24}, {6, 120}}),
            kept);
}

TEST(Permutation, ExamplesOfTheSpecification) {
  using Form = CanonicalTranspose;
  EXPECT_EQ((Form{{2, 3, 20}, {0, 2, 1}}),
            canonicalTranspose({2, 3, 4, 5}, {0, 2, 3, 1}));
  EXPECT_EQ((Form{{2, 12, 5}, {0, 2, 1}}),
            canonicalTranspose({2, 3, 4, 5}, {0, 3, 1, 2}));
  EXPECT_EQ((Form{{3, 20}, {1, 0}}),
            canonicalTranspose({1, 3, 4, 5}, {0, 2, 3, 1}));
  EXPECT_EQ((Form{{6, 20}, {1, 0}}),
            canonicalTranspose({2, 3, 4, 5}, {2, 3, 0, 1}));
  EXPECT_TRUE(canonicalTranspose({2, 3, 4, 1}, {0, 3, 1, 2}).isIdentity());
  EXPECT_EQ((Form{{2, 3, 20}, {1, 0, 2}}),
            canonicalTranspose({2, 3, 4, 5}, {1, 0, 2, 3}));
}

TEST(Permutation, ReshapesRegroupDigits) {
  // Depth to space of blocks of 2: [1, 12, 3, 3] to [1, 3, 6, 6].
  ElementOrder order({1, 12, 3, 3});
  ASSERT_TRUE(order.reshape({1, 2, 2, 3, 3, 3}));
  order.transpose({0, 3, 4, 1, 5, 2});
  ASSERT_TRUE(order.reshape({1, 3, 6, 6}));
  EXPECT_EQ((CanonicalTranspose{{2, 2, 9, 3}, {2, 0, 3, 1}}),
            order.canonical());
  // Space to depth after it gives the source again.
  ASSERT_TRUE(order.reshape({1, 3, 3, 2, 3, 2}));
  order.transpose({0, 3, 5, 1, 2, 4});
  ASSERT_TRUE(order.reshape({1, 12, 3, 3}));
  EXPECT_TRUE(order.canonical().isIdentity());
}

TEST(Permutation, ReshapeThatCutsADigitFails) {
  ElementOrder order({2, 3});
  order.transpose({1, 0});
  EXPECT_FALSE(order.reshape({2, 3}));
  EXPECT_TRUE(order.reshape({6}));
}

TEST(Permutation, ChannelShuffleIsAlongOneAxis) {
  ElementOrder order({1, 6, 5, 5});
  ASSERT_TRUE(order.reshape({1, 2, 3, 5, 5}));
  order.transpose({0, 2, 1, 3, 4});
  EXPECT_EQ((Axes{0, 3, 1, 4, 2, 5}), order.alongAxis({1, 6, 5, 5}, 1));
  EXPECT_EQ(std::nullopt, order.alongAxis({1, 6, 5, 5}, 2));
  EXPECT_EQ(std::nullopt, order.alongAxis({1, 5, 6, 5}, 1));
  // A transpose of two axes is along none.
  ElementOrder moved({1, 6, 6});
  moved.transpose({0, 2, 1});
  EXPECT_EQ(std::nullopt, moved.alongAxis({1, 6, 6}, 1));
}

} // namespace
} // namespace ashlar::analysis
