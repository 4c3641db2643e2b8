// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Prices of the sparse cluster (docs/Machine.md 7), by hand: banks of the
// accumulators, latency of sums, finding of non-zeros, ports and links, units
// of different width, machines without a cluster.

#include "ashlar/Machine/Cycles.h"
#include "ashlar/Machine/ScatterCycles.h"
#include "ashlar/Support/Error.h"
#include "gtest/gtest.h"

#include <algorithm>
#include <numeric>
#include <random>

using namespace ashlar::machine;

namespace {

/// 128 multipliers, 64 banks.
Description banked(uint64_t banks = 64) {
  Description m;
  m.sparse.accumulatorBanks = banks;
  return m;
}

std::string refusal(const Description &m) {
  return llvm::toString(m.validate());
}

} // namespace

TEST(ClusterPrices, WindowsThatShareBanksTakeTurns) {
  const Description m = banked();
  // Entries 0..48 and 49..97: banks 0..48, and 49..63 with 0..33.
  EXPECT_EQ(bankSums(m, {0}, 49), 1u);
  EXPECT_EQ(bankSums(m, {0, 49}, 49), 2u);
  // 30 entries each: banks 0..29 and 30..59.
  EXPECT_EQ(bankSums(m, {0, 30}, 30), 1u);
  EXPECT_EQ(bankSums(m, {0, 30, 60}, 30), 2u);
  // 128 entries in 64 banks.
  EXPECT_EQ(bankSums(m, {0}, 128), 2u);
  EXPECT_EQ(bankSums(m, {5, 7}, 129), 5u);
  EXPECT_EQ(bankSums(Description(), {0, 0, 0}, 500), 1u);
}

TEST(ClusterPrices, BanksEqualACountEntryByEntry) {
  std::mt19937 random(1);
  for (int i = 0; i < 300; ++i) {
    const Description m = banked(uint64_t(1) << (random() % 8));
    const uint64_t banks = m.sparse.accumulatorBanks;
    const uint64_t width = 1 + random() % 300;
    std::vector<uint64_t> windows(1 + random() % 4), sums(banks);
    for (uint64_t &first : windows) {
      first = random() % 5000;
      for (uint64_t k = 0; k < width; ++k)
        ++sums[(first + k) % banks];
    }
    EXPECT_EQ(bankSums(m, windows, width),
              *std::max_element(sums.begin(), sums.end()));
  }
}

TEST(ClusterPrices, TileModeWithBanks) {
  const Description m = banked();
  // 7 x 7 results, two coefficients side by side.
  const TileStep step = tileStep(m, 128, 7, 7, 7);
  EXPECT_EQ(step, (TileStep{1, 2, 49}));
  TileIssue unit(m, step, 1, 4, 49);
  unit.issue(0);
  unit.issue(0); // the same sums: added before the accumulator
  EXPECT_EQ(unit.cycles(), 1u);
  unit.issue(1);
  unit.issue(2); // 49..97 and 98..146: banks 49..63, 0..33 and 34..63, 0..18
  EXPECT_EQ(unit.cycles(), 3u);
  // 147..195: banks 19..63 and 0..3 meet both before it.
  unit.issue(3);
  EXPECT_EQ(unit.cycles(), 4u);
  unit.endChannel();
  unit.issue(0);
  EXPECT_EQ(unit.cycles(), 5u);
  // 14 x 14: windows of 126 entries are two rounds of 64 banks.
  EXPECT_EQ(tilePeriod(m, tileStep(m, 128, 14, 14, 14), 1), 4u);
  EXPECT_EQ(tilePeriod(Description(), tileStep(m, 128, 14, 14, 14), 2), 4u);
}

TEST(ClusterPrices, ExpectedChannelsOfTileMode) {
  Description m;
  const TileStep whole = tileStep(m, 128, 14, 14, 14); // two steps
  const TileStep small = tileStep(m, 128, 7, 7, 7);    // two coefficients
  // 12 coefficients of 8 kernels, two of them with 3.
  const ChannelCrowd crowd{12, 8, 3, 2};
  EXPECT_EQ(tileChannel(m, whole, 1, crowd), 24u);
  EXPECT_EQ(tileChannel(m, small, 1, crowd), 6u);
  EXPECT_EQ(tileChannel(m, small, 1, {}), 0u);
  m.sparse.accumulateLatency = 8;
  // Two of a kernel are 8 cycles apart: 2 * 8, then both last ones together.
  EXPECT_EQ(tileChannel(m, small, 1, crowd), 17u);
  EXPECT_EQ(tileChannel(m, whole, 1, crowd), 24u);
  EXPECT_EQ(tileChannel(m, whole, 1, {9, 1, 9, 1}), 66u);
  // Latency does not keep other kernels from going side by side.
  m.sparse.accumulateLatency = 2;
  EXPECT_EQ(tileChannel(m, small, 1, {8, 8, 1, 8}), 4u);
  m.sparse.accumulateLatency = 8;
  EXPECT_TRUE(kernelsAlternate(m, whole, 1));
  EXPECT_FALSE(kernelsAlternate(m, whole, 4));
  EXPECT_FALSE(kernelsAlternate(m, tileStep(m, 128, 0, 0, 7), 1)); // no tile
  // 7 of 11 neighbours differ, 97 / 128 of these meet: 1.52 go in a step.
  EXPECT_EQ(tileChannel(banked(128), small, 1, crowd), 8u);
}

TEST(ClusterPrices, KernelsOverBlocks) {
  const Description m = banked();
  EXPECT_EQ(scatterSlice(m, ScatterVariant::A, 18, 99, 196), 18u + 2 * 4);
  EXPECT_EQ(scatterSlice(m, ScatterVariant::B, 18, 99, 196), 99u);
  EXPECT_EQ(scatterSlice(m, ScatterVariant::D, 18, 9, 196), 18u);
  EXPECT_EQ(scatterSlice(m, ScatterVariant::A, 0, 0, 196), 0u);
  EXPECT_EQ(scatterSlice(Description(), ScatterVariant::A, 18, 99, 196), 18u);
}

TEST(ClusterPrices, BankCountsFollowAddresses) {
  std::mt19937 random(2);
  for (int i = 0; i < 100; ++i) {
    const Description m = banked(uint64_t(1) << (random() % 7));
    const uint64_t banks = m.sparse.accumulatorBanks;
    BankCounts data(m), all(m);
    std::vector<uint64_t> entries(random() % 60), sums(banks);
    for (uint64_t &entry : entries)
      data.add(entry = random() % 1000);
    for (uint64_t n = 1 + random() % 9; n > 0; --n) {
      const uint64_t offset = random() % 500;
      all.add(data, offset);
      for (uint64_t entry : entries)
        ++sums[(entry + offset) % banks];
    }
    EXPECT_EQ(all.fullest(), *std::max_element(sums.begin(), sums.end()));
  }
}

/// The estimate lies within a fifth of the mean of random maps.
TEST(ClusterPrices, ExpectedBankSumsOfRandomMaps) {
  std::mt19937 random(3);
  for (uint64_t banks : {64u, 128u, 256u})
    for (uint64_t positions : {49u, 196u, 400u})
      for (uint64_t share : {2u, 5u, 10u})
        for (uint64_t weights : {1u, 3u, 9u}) {
          const Description m = banked(banks);
          double mean = 0;
          uint64_t q = positions * share / 10;
          for (int i = 0; i < 50; ++i) {
            BankCounts data(m), all(m);
            std::vector<uint64_t> places(positions);
            std::iota(places.begin(), places.end(), 0);
            std::shuffle(places.begin(), places.end(), random);
            for (uint64_t k = 0; k < q; ++k)
              data.add(places[k]);
            for (uint64_t w = 0; w < weights; ++w)
              all.add(data, w / 3 * 14 + w % 3);
            mean += static_cast<double>(all.fullest()) / 50;
          }
          const auto expected =
              static_cast<double>(expectedBankSums(m, q, positions, weights));
          EXPECT_NEAR(expected, mean, 1.2 + mean / 5)
              << banks << " banks, " << q << " of " << positions << " under "
              << weights;
        }
  // Data everywhere: as many in every bank.
  EXPECT_EQ(expectedBankSums(banked(), 128, 128, 9), 18u);
  EXPECT_EQ(expectedBankSums(Description(), 128, 128, 9), 0u);
  // Kernels 128 entries apart meet in the same banks.
  EXPECT_EQ(expectedPointSums(banked(), 64, 64, 10, 128), 10u);
  EXPECT_EQ(expectedPointSums(banked(), 64, 64, 10, 1), 10u);
}

TEST(ClusterPrices, FindingLoadingRouting) {
  Description m;
  EXPECT_EQ(scanCycles(m, 1000), 0u);
  EXPECT_EQ(scatterLatency(m, ScatterVariant::B, 9), 0u);
  EXPECT_EQ(routedRun(m, 100, 3, 9999), 103u);
  m.sparse.scanPositions = 128;
  m.sparse.accumulateLatency = 3;
  m.sparse.fmuWriteBytes = 64;
  m.sparse.routeBytes = 32;
  EXPECT_EQ(scanCycles(m, 256), 2u);
  EXPECT_EQ(scanCycles(m, 257), 3u);
  EXPECT_EQ(scatterLatency(m, ScatterVariant::A, 9), 0u);
  EXPECT_EQ(scatterLatency(m, ScatterVariant::B, 9), 27u);
  EXPECT_EQ(scatterLatency(m, ScatterVariant::D, 9), 15u);
  // All of it to one unit, or a 16th to each.
  EXPECT_EQ(tileLoad(m, 4096, 1, 4096).issue, 64u);
  EXPECT_EQ(tileLoad(m, 4096, 1, 256).issue, 32u);
  EXPECT_EQ(routedRun(m, 100, 3, 6400), 203u);
  EXPECT_EQ(routedRun(m, 100, 3, 640), 103u);
}

/// Twice the banks, more positions, bytes or links, or a shorter latency never
/// cost a cycle. More multipliers or coefficients per step can: wider windows
/// meet in more banks.
TEST(ClusterPrices, BetterClustersAreNeverSlower) {
  std::mt19937 random(4);
  for (int i = 0; i < 2000; ++i) {
    Description m = banked(uint64_t(1) << (random() % 9));
    m.sparse.accumulateLatency = 1 + random() % 6;
    m.sparse.scanPositions = 1 + random() % 99;
    m.sparse.fmuWriteBytes = 1 + random() % 99;
    m.sparse.routeBytes = 1 + random() % 99;
    m.sparse.windowShift = 1 + random() % 3;
    const uint32_t seed = random();
    auto cycles = [&](const Description &own) {
      std::mt19937 draw(seed);
      const uint64_t cols = 1 + draw() % 40, lines = 1 + draw() % 12;
      TileIssue unit(own, tileStep(own, 128, lines, cols, cols), 1 + draw() % 2,
                     6, lines * cols);
      for (int n = 0; n < 40; ++n) {
        unit.issue(draw() % 6);
        if (draw() % 8 == 0)
          unit.endChannel();
      }
      BankCounts data(own), all(own);
      for (int n = 0; n < 50; ++n)
        data.add(draw() % 400);
      for (int n = 0; n < 5; ++n)
        all.add(data, draw() % 256);
      const uint64_t sums = all.fullest();
      return unit.cycles() + scatterSlice(own, ScatterVariant::A, 9, sums, 90) +
             scatterSlice(own, ScatterVariant::B, 9, sums, 90) +
             scatterLatency(own, ScatterVariant::D, 9) + scanCycles(own, 500) +
             windowMove(own, ScatterVariant::A, draw() % 9) +
             tileLoad(own, 5000, 1, draw() % 5000).issue +
             routedRun(own, 50, 2, draw() % 5000);
    };
    auto better = [&](auto change) {
      Description fast = m;
      change(fast.sparse);
      ASSERT_LE(cycles(fast), cycles(m)) << i;
    };
    better([](Sparse &s) { s.accumulatorBanks *= 2; });
    better([](Sparse &s) { s.accumulateLatency = 1; });
    better([](Sparse &s) { s.scanPositions += 7; });
    better([](Sparse &s) { s.fmuWriteBytes += 7; });
    better([](Sparse &s) { s.routeBytes += 7; });
    better([](Sparse &s) { ++s.windowShift; });
  }
}

//===- Descriptions -------------------------------------------------------===//

TEST(ClusterPrices, NarrowUnits) {
  Description m;
  m.sparse.tcus = 8;
  m.sparse.narrowTcus = 3;
  m.sparse.narrowLanes = 32;
  EXPECT_EQ(refusal(m), "");
  EXPECT_EQ(m.sparse.lanesOf(4), 128u);
  EXPECT_EQ(m.sparse.lanesOf(5), 32u);
  EXPECT_EQ(m.sparse.multipliers(), 5u * 128 + 3 * 32);
  auto again = parseYaml(toYaml(m), "again");
  ASSERT_TRUE(!!again);
  EXPECT_TRUE(*again == m);
  // A vector of values is as wide as the narrowest unit.
  EXPECT_EQ(tileInit(m, 16, 196, true).issue, 16u * 7);
  m.sparse.narrowTcus = 9;
  EXPECT_NE(refusal(m).find("sparse.narrow_tcus is 9, expected at most "
                            "sparse.tcus 8"),
            std::string::npos);
  m.sparse.narrowTcus = 3;
  m.sparse.narrowLanes = 129;
  EXPECT_NE(refusal(m).find("sparse.narrow_lanes is 129, expected at most "
                            "sparse.lanes 128"),
            std::string::npos);
  m.sparse.narrowTcus = 0;
  EXPECT_EQ(refusal(m), "");
  m.sparse.accumulatorBanks = 96;
  EXPECT_NE(refusal(m).find("sparse.accumulator_banks is 96, expected 0 or a "
                            "power of two"),
            std::string::npos);
}

TEST(ClusterPrices, MachinesWithoutACluster) {
  Description m;
  m.sparse.tcus = 0;
  EXPECT_EQ(refusal(m), "");
  EXPECT_FALSE(m.sparse.exists());
  EXPECT_EQ(m.sparse.multipliers(), 0u);
  llvm::Error error = requireCluster(m, "--sparse=tile");
  EXPECT_EQ(ashlar::support::classify(error), ashlar::ErrorClass::Usage);
  EXPECT_EQ(
      llvm::toString(std::move(error)),
      "--sparse=tile needs the sparse cluster, but machine 'a1-ideal' has "
      "none (sparse.tcus is 0)");
  m.sparse.tcus = 1;
  EXPECT_FALSE(!!requireCluster(m, "--sparse=tile"));
}

/// What a1-iso takes from the cluster it gives to the array, to the byte.
TEST(ClusterPrices, IsoTradesTheClusterForTheArray) {
  const Description a1 = llvm::cantFail(load("a1"));
  const Description iso = llvm::cantFail(load("a1-iso"));
  EXPECT_EQ(refusal(iso), "");
  EXPECT_FALSE(iso.sparse.exists());
  EXPECT_EQ(iso.pe.rows * iso.pe.columns,
            a1.pe.rows * a1.pe.columns + a1.sparse.multipliers());
  auto bytes = [](const Description &m) {
    const Sparse &s = m.sparse;
    const uint64_t shared = s.exists() ? s.wmBytes + 4 * s.countEntries : 0;
    return m.sb.bytes() + m.xmBytes() + m.pe.columns * m.psum.entries() * 8 +
           s.tcus * (s.fmuBytes * s.fmuSets + 8 * s.accumulatorEntries) +
           shared;
  };
  EXPECT_LE(bytes(iso), bytes(a1));
  // Another 64 bytes in every partition, and their cells, would be too many.
  EXPECT_GT(bytes(iso) + 64 * (iso.sb.partitions + 16), bytes(a1));
}

TEST(ClusterPrices, EdgeIsSmall) {
  const Description edge = llvm::cantFail(load("a1-edge"));
  EXPECT_EQ(refusal(edge), "");
  EXPECT_EQ(edge.pe.rows, 32u);
  EXPECT_EQ(edge.pe.columns, 32u);
  EXPECT_EQ(edge.sb.bytes(), uint64_t(512) << 10);
  EXPECT_EQ(edge.dram.bytesPerCycle, 8u);
  // As many of its multipliers are the cluster's as of a1's.
  EXPECT_EQ(edge.sparse.multipliers() * 4, edge.pe.rows * edge.pe.columns);
}
