// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Routes, assignment by distance, redirection, classification.

#include "Results.h"

#include "ashlar/Partition/Binding.h"
#include "ashlar/Partition/Classify.h"
#include "gtest/gtest.h"

#include <algorithm>
#include <numeric>
#include <random>

using namespace ashlar::partition;

namespace {
constexpr Binding kAll[] = {Binding::Static, Binding::Switch, Binding::Mesh,
                            Binding::Benes};

uint64_t cost(Binding binding, uint64_t units, llvm::ArrayRef<Waiting> tiles,
              llvm::ArrayRef<uint64_t> owner) {
  uint64_t sum = 0;
  for (size_t i = 0; i < tiles.size(); ++i)
    sum += tiles[i].bytes * *hops(binding, units, tiles[i].unit, owner[i]);
  return sum;
}
} // namespace

TEST(Binding, Routes) {
  EXPECT_EQ(hops(Binding::Static, 4, 2, 2), 0u);
  EXPECT_EQ(hops(Binding::Static, 4, 2, 3), std::nullopt);
  EXPECT_EQ(hops(Binding::Switch, 4, 2, 3), 1u);
  EXPECT_EQ(hops(Binding::Switch, 4, 3, 0), std::nullopt);
  EXPECT_EQ(hops(Binding::Switch, 4, 2, 1), std::nullopt);
  EXPECT_EQ(hops(Binding::Mesh, 16, 0, 15), 6u);
  EXPECT_EQ(hops(Binding::Mesh, 5, 0, 4), 2u);
  EXPECT_EQ(hops(Binding::Benes, 16, 0, 15), 7u);
  EXPECT_EQ(hops(Binding::Benes, 16, 0, 16), std::nullopt);
}

TEST(Binding, BenesSizesOfTheSpec) {
  struct {
    uint64_t k, ports, network, stages, switches;
  } table[] = {{2, 9, 16, 7, 56},
               {3, 25, 32, 9, 144},
               {5, 81, 128, 13, 832},
               {7, 169, 256, 15, 1920}};
  for (auto &row : table) {
    EXPECT_EQ((2 * row.k - 1) * (2 * row.k - 1), row.ports);
    BenesSize size = benesSize(row.ports);
    EXPECT_EQ(size.ports, row.network);
    EXPECT_EQ(size.stages, row.stages);
    EXPECT_EQ(size.switches, row.switches);
  }
}

TEST(Binding, AssignmentIsTheCheapestOfAllPermutations) {
  std::mt19937 random(4);
  for (Binding binding : kAll)
    for (int trial = 0; trial < 30; ++trial) {
      uint64_t units = 2 + random() % 4;
      std::vector<Waiting> tiles(units);
      std::vector<uint64_t> home(units);
      std::iota(home.begin(), home.end(), uint64_t(0));
      if (binding == Binding::Mesh || binding == Binding::Benes)
        for (uint64_t &unit : home)
          unit = random() % units;
      for (size_t i = 0; i < units; ++i)
        tiles[i] = {home[i], random() % 100, 1};
      std::vector<uint64_t> owner =
          llvm::cantFail(assign(binding, units, tiles));
      std::vector<uint64_t> order(units);
      std::iota(order.begin(), order.end(), uint64_t(0));
      uint64_t best = UINT64_MAX;
      do {
        if (llvm::Error error = checkRoutes(binding, units, tiles, order)) {
          llvm::consumeError(std::move(error));
          continue;
        }
        best = std::min(best, cost(binding, units, tiles, order));
      } while (std::next_permutation(order.begin(), order.end()));
      EXPECT_EQ(cost(binding, units, tiles, owner), best);
      std::sort(owner.begin(), owner.end());
      EXPECT_TRUE(std::adjacent_find(owner.begin(), owner.end()) ==
                  owner.end());
    }
}

TEST(Binding, StaticIsTheIdentityAndIllegalRoutesAreRejected) {
  std::vector<Waiting> tiles{{2, 8, 1}, {0, 8, 1}};
  EXPECT_EQ(llvm::cantFail(assign(Binding::Static, 3, tiles)),
            (std::vector<uint64_t>{2, 0}));
  tiles[1].unit = 2;
  EXPECT_TRUE(fails(assign(Binding::Static, 3, tiles)));
  EXPECT_TRUE(fails(checkRoutes(Binding::Switch, 3, tiles, {2, 0})));
  tiles[1].unit = 7;
  EXPECT_TRUE(fails(assign(Binding::Mesh, 3, tiles)));
}

TEST(Binding, RedirectionLowersTheBusiestUnitOfSkewedLoads) {
  // All work waits in the first two of four units.
  std::vector<Waiting> tiles;
  for (uint64_t i = 0; i < 8; ++i)
    tiles.push_back({i / 4, 10, 100 - i});
  std::vector<uint64_t> stay;
  for (const Waiting &tile : tiles)
    stay.push_back(tile.unit);
  uint64_t before = busiest(4, tiles, stay);
  uint64_t last = before;
  for (Binding binding : kAll) {
    std::vector<uint64_t> owner = llvm::cantFail(redirect(binding, 4, tiles));
    EXPECT_FALSE(fails(checkRoutes(binding, 4, tiles, owner)));
    uint64_t now = busiest(4, tiles, owner);
    if (binding == Binding::Static) {
      EXPECT_EQ(now, before);
    } else {
      EXPECT_LT(now, before);
    }
    EXPECT_LE(now, last);
    last = now;
  }
  EXPECT_LE(last, 200u);
}

TEST(Classify, BothRulesAndTheBandBetween) {
  auto route = [](uint64_t zeros, uint64_t nonZeros, Rule rule,
                  uint64_t dense = 0, uint64_t sparse = 0) {
    Evidence evidence;
    evidence.zeros = zeros;
    evidence.nonZeros = nonZeros;
    evidence.denseCycles = dense;
    evidence.sparseCycles = sparse;
    return llvm::cantFail(classify(evidence, rule));
  };
  EXPECT_EQ(route(60, 40, Rule::Majority), Route::Sparse);
  EXPECT_EQ(route(40, 60, Rule::Majority), Route::Dense);
  EXPECT_EQ(route(80, 20, Rule::Threshold), Route::Sparse);
  EXPECT_EQ(route(40, 60, Rule::Threshold), Route::Dense);
  // Ties and the band between half and the threshold: cost, else sparse.
  EXPECT_EQ(route(50, 50, Rule::Majority), Route::Sparse);
  EXPECT_EQ(route(65, 35, Rule::Threshold), Route::Sparse);
  EXPECT_EQ(route(50, 50, Rule::Majority, 10, 20), Route::Dense);
  EXPECT_EQ(route(65, 35, Rule::Threshold, 10, 20), Route::Dense);
  EXPECT_EQ(route(65, 35, Rule::Threshold, 20, 10), Route::Sparse);
  // The default never requests counts.
  EXPECT_EQ(route(99, 1, Rule::Cost, 10, 20), Route::Dense);
  EXPECT_EQ(route(1, 99, Rule::Cost, 20, 10), Route::Sparse);
}

TEST(Classify, UnsupportedOperationsGoToTheVectorUnit) {
  Evidence evidence;
  evidence.denseRuns = evidence.sparseRuns = false;
  EXPECT_EQ(llvm::cantFail(classify(evidence, Rule::Cost)), (Route::Vector));
  evidence.vectorRuns = false;
  EXPECT_TRUE(fails(classify(evidence, Rule::Cost)));
  Evidence noDense;
  noDense.denseRuns = false;
  noDense.nonZeros = 100;
  EXPECT_EQ(llvm::cantFail(classify(noDense, Rule::Majority)), (Route::Sparse));
}

/// Routes of a mesh go along the row, then along the column, and share links.
TEST(Binding, LinksCarryTheBytesOfTheirRoutes) {
  RouteLoad mesh(Binding::Mesh, 9);
  EXPECT_EQ(mesh.busiest(), 0u);
  mesh.add(4, 4, 1000); // its own memory unit
  EXPECT_EQ(mesh.farthest(), 0u);
  mesh.add(0, 8, 100); // 0 1 2 5 8
  EXPECT_EQ(mesh.farthest(), 4u);
  EXPECT_EQ(mesh.busiest(), 100u);
  mesh.add(1, 5, 70); // 1 2 5: both of its links
  EXPECT_EQ(mesh.busiest(), 170u);
  mesh.add(5, 1, 160); // 5 4 1: the other directions
  EXPECT_EQ(mesh.busiest(), 170u);
  RouteLoad benes(Binding::Benes, 8);
  for (uint64_t i = 0; i < 8; ++i)
    benes.add(i, 7 - i, 10 + i);
  EXPECT_EQ(benes.farthest(), 5u);
  EXPECT_EQ(benes.busiest(), 17u);
}
