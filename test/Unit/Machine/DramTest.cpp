// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bursts of runs against counting them one by one, and the time of DRAM under
// each model, with the examples of docs/Machine.md.

#include "ashlar/Machine/Dram.h"
#include "ashlar/Machine/Cycles.h"

#include "gtest/gtest.h"
#include <functional>
#include <random>

using namespace ashlar::machine;

namespace {

Description withModel(DramModel model) {
  Description m;
  m.dram.model = static_cast<uint64_t>(model);
  return m;
}

DmaSide inDram(llvm::ArrayRef<uint64_t> counts, llvm::ArrayRef<int64_t> strides,
               uint64_t address) {
  DmaSide side;
  side.inDram = true;
  side.counts = counts;
  side.strides = strides;
  side.address = address;
  return side;
}

/// A random pattern of up to 4 loops.
struct Pattern {
  std::vector<uint64_t> counts;
  std::vector<int64_t> strides;
  uint64_t address, bytes;

  explicit Pattern(std::mt19937 &random) {
    const size_t rank = random() % 5;
    for (size_t i = 0; i < rank; ++i) {
      counts.push_back(1 + random() % 9);
      const auto distance = static_cast<int64_t>(random() % 3000);
      strides.push_back(random() % 4 ? distance : -distance);
      if (random() % 4 == 0)
        strides.back() *= 64;
    }
    address = 100000000 + random() % 5000;
    bytes = 1 + random() % 500;
  }

  template <typename Fn>
  void forStarts(Fn fn) const {
    uint64_t total = 1;
    for (uint64_t count : counts)
      total *= count;
    for (uint64_t k = 0; k < total; ++k) {
      uint64_t rest = k, start = address;
      for (size_t i = counts.size(); i-- > 0;) {
        start += rest % counts[i] * static_cast<uint64_t>(strides[i]);
        rest /= counts[i];
      }
      fn(start);
    }
  }
};

} // namespace

TEST(Dram, EfficiencyIsAnExactShareOfTheRate) {
  Description m = withModel(DramModel::Efficiency);
  m.dram.efficiency = 90;
  // 4096 bytes at 57.6 bytes per cycle.
  EXPECT_EQ(dramStreamCycles(m, 4096), 72u);
  EXPECT_EQ(dramStreamCycles(m, 576), 10u);
  EXPECT_EQ(dramStreamCycles(m, 577), 11u);
  EXPECT_EQ(dmaContiguous(m, 4096), (Timing{72, 272, 72}));
  EXPECT_EQ(dramPercent(m), 90u);
  m.dram.efficiency = 100;
  for (uint64_t bytes = 0; bytes < 1000; ++bytes)
    EXPECT_EQ(dramStreamCycles(m, bytes),
              dramStreamCycles(Description(), bytes));
  m.dram.efficiency = 1;
  EXPECT_EQ(dramCycles(m, maxCycles, 0), maxCycles);
}

TEST(Dram, MisalignedRunsTakeTheBurstsTheyTouch) {
  Description m;
  EXPECT_EQ(runBursts(m, 60, 8), 1u);
  m.dram.countsMisaligned = true;
  EXPECT_EQ(runBursts(m, 60, 4), 1u);
  EXPECT_EQ(runBursts(m, 60, 8), 2u);
  EXPECT_EQ(runBursts(m, 60, 69), 3u);
  EXPECT_EQ(runBursts(m, 60, 0), 0u);
  // Runs of 56 bytes, 57 apart, start at byte 0, 57, 50, ... of a burst: all
  // but the first reach into the next.
  const uint64_t counts[] = {8, 56};
  const int64_t strides[] = {57, 1};
  EXPECT_EQ(dramTraffic(m, inDram(counts, strides, 0)).burstBytes,
            (1 + 7 * 2) * 64u);
  m.dram.countsMisaligned = false;
  EXPECT_EQ(dramTraffic(m, inDram(counts, strides, 0)).burstBytes, 8 * 64u);
}

TEST(Dram, BurstsOfRunsAreThoseOfEachRun) {
  std::mt19937 random(7);
  for (int i = 0; i < 3000; ++i) {
    Description m;
    m.dram.countsMisaligned = random() % 4 != 0;
    m.dram.burstBytes = uint64_t(1) << random() % 10;
    const Pattern p(random);
    uint64_t expected = 0;
    p.forStarts([&](uint64_t start) {
      const uint64_t burst = m.dram.burstBytes;
      expected += m.dram.countsMisaligned
                      ? (start + p.bytes - 1) / burst - start / burst + 1
                      : (p.bytes + burst - 1) / burst;
    });
    ASSERT_EQ(runsBursts(m, p.address, p.counts, p.strides, p.bytes), expected)
        << "pattern " << i;
  }
}

TEST(Dram, BurstsOfHugePatternsAreFastAndSaturate) {
  Description m;
  m.dram.countsMisaligned = true;
  m.dram.burstBytes = 65536;
  const uint64_t counts[] = {65535, 65535, 65535, 3};
  const int64_t strides[] = {1, 77, -12345, 3};
  // 2^49.6 runs of 2 bytes: one in 65536 begins at the last byte of a burst.
  const uint64_t bursts = runsBursts(m, 5, counts, strides, 2);
  const uint64_t runs = uint64_t(65535) * 65535 * 65535 * 3;
  EXPECT_GT(bursts, runs + runs / 65537);
  EXPECT_LT(bursts, runs + runs / 65534);
  const uint64_t more[] = {~uint64_t(0), ~uint64_t(0)};
  const int64_t steps[] = {1, 1};
  EXPECT_EQ(runsBursts(m, 5, more, steps, 2), maxCycles);
}

TEST(Dram, RowsThatRunsVisit) {
  const Description m = withModel(DramModel::Banked);
  EXPECT_EQ(rowVisits(m, {}, {}, 1), 1u);
  EXPECT_EQ(rowVisits(m, {}, {}, 2049), 2u);
  // 16 runs in two rows, 16 runs two rows apart, 4 times the same row.
  EXPECT_EQ(rowVisits(m, {16}, {256}, 64), 2u);
  EXPECT_EQ(rowVisits(m, {16}, {4096}, 64), 16u);
  EXPECT_EQ(rowVisits(m, {4, 16}, {0, 64}, 64), 1u);
}

TEST(Dram, EstimateOfBanks) {
  Description m = withModel(DramModel::Banked);
  m.dram.refreshInterval = 0;
  // One megabyte: 16,384 cycles of data, rows are prepared meanwhile.
  EXPECT_EQ(dramStreamCycles(m, 1 << 20), 16384u);
  // 64 bursts in rows of their own: of 16 banks each prepares four.
  EXPECT_EQ(dramCycles(m, 64 * 64, 64), (64u * 56 + 64) / 16);
  m.dram.banks = 1;
  EXPECT_EQ(dramCycles(m, 64 * 64, 64), 64u * 56 + 64);
  m.dram.refreshInterval = 3900;
  EXPECT_EQ(dramCycles(m, 64 * 64, 64), (3648u * 3900 + 3619) / 3620);
  EXPECT_EQ(dramPercent(m), 92u);
}

/// Better in one parameter is never slower, for any bytes and rows.
TEST(Dram, EveryModelIsMonotone) {
  const std::function<void(Dram &)> better[] = {
      [](Dram &d) { d.bytesPerCycle += 7; },
      [](Dram &d) { d.efficiency += 1; },
      [](Dram &d) { d.banks += 1; },
      [](Dram &d) { d.activateCycles -= 1; },
      [](Dram &d) { d.prechargeCycles -= 1; },
      [](Dram &d) { d.columnCycles -= 1; },
      [](Dram &d) { d.refreshCycles -= 1; },
      [](Dram &d) { d.refreshInterval += 100; },
      [](Dram &d) { d.rowBytes *= 2; },
      [](Dram &d) { d.countsMisaligned = false; },
  };
  std::mt19937 random(3);
  for (int i = 0; i < 300; ++i) {
    Description slow = withModel(static_cast<DramModel>(random() % 3));
    slow.dram.efficiency = 1 + random() % 99;
    slow.dram.bytesPerCycle = 1 + random() % 100;
    slow.dram.countsMisaligned = true;
    const Pattern p(random);
    for (const auto &change : better) {
      Description fast = slow;
      change(fast.dram);
      auto cycles = [&](const Description &m) {
        return dmaFill(m, inDram(p.counts, p.strides, p.address)).dram;
      };
      ASSERT_LE(cycles(fast), cycles(slow)) << i;
    }
  }
}

TEST(Dram, LatencyIncludesTheRow) {
  Description m = withModel(DramModel::Banked);
  m.dram.latency = 56;
  EXPECT_EQ(llvm::toString(m.validate()), "");
  m.dram.latency = 55;
  EXPECT_EQ(
      llvm::toString(m.validate()),
      "machine 'a1-ideal': dram.latency is 55, expected at least the 56 "
      "of precharge_cycles, activate_cycles and column_cycles, which pass "
      "before a first byte");
}

TEST(Dram, RefreshLeavesTimeForABurst) {
  Description m = withModel(DramModel::Banked);
  auto text = [&] { return llvm::toString(m.validate()); };
  m.dram.refreshInterval = 280 + 18 + 20 + 1;
  EXPECT_EQ(text(), "");
  m.dram.refreshInterval -= 1;
  EXPECT_EQ(text(),
            "machine 'a1-ideal': dram.refresh_interval is 318, expected 0 or "
            "at least 319: refresh_cycles, activate_cycles, column_cycles and "
            "a burst");
  m.dram.model = 0;
  EXPECT_EQ(text(), "");
}
