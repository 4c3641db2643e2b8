// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Banks of DRAM: the worked example of docs/Machine.md, and that runs in one
// row together take what they take one by one. dram_banks.py checks whole
// programs against a model that knows bursts only.

#include "lib/Emulator/Time/DramBanks.h"

#include "gtest/gtest.h"
#include <random>

using namespace ashlar;
using namespace ashlar::emulator;

namespace {

machine::Description banked() {
  machine::Description m;
  m.dram.model = static_cast<uint64_t>(machine::DramModel::Banked);
  return m;
}

DramBanks::Served serve(DramBanks &banks, uint64_t granted,
                        const DramLine &line) {
  banks.begin(granted);
  banks.serve(line);
  return banks.end();
}

} // namespace

/// The example of docs/Machine.md.
TEST(DramBanks, WorkedExample) {
  const machine::Description m = banked();
  DramBanks banks(m);
  // Rows 0 of banks 0 and 1.
  DramBanks::Served s = serve(banks, 0, {0, 1, 0, 4096, false});
  EXPECT_EQ(s.cycles, 64u);
  EXPECT_EQ(s.activations, 2u);
  EXPECT_EQ(s.hits, 62u);
  // Row 1 of bank 0, whose last data passed in cycle 31: open at 32 + 56.
  s = serve(banks, 64, {32768, 1, 0, 64, false});
  EXPECT_EQ(s.cycles, 24u + 1);
  EXPECT_EQ(s.activations, 1u);
  // Refresh in the cycles 3620 to 3899 closes all rows; 38 cycles open one.
  s = serve(banks, 3610, {32768, 1, 0, 20 * 64, true});
  EXPECT_EQ(s.cycles, 10u + 280 + 38 + 10);
  EXPECT_EQ(s.refresh, 280u);
  EXPECT_EQ(s.activations, 1u);
  EXPECT_EQ(s.hits, 19u);
}

TEST(DramBanks, StridedRunsWaitForTheirBank) {
  machine::Description m = banked();
  m.dram.refreshInterval = 0;
  DramBanks spread(m), same(m);
  // Of 32 rows in 16 banks each bank prepares its second while the others
  // transfer; 16 of one bank wait for each other.
  EXPECT_EQ(serve(spread, 0, {0, 32, 2048, 64, false}).cycles,
            16u + (1 + 56 - 16) + 16);
  EXPECT_EQ(serve(same, 0, {0, 16, 32768, 64, false}).cycles, 1u + 15 * 57);
}

TEST(DramBanks, RunsTogetherAreRunsOneByOne) {
  std::mt19937 random(11);
  for (int i = 0; i < 3000; ++i) {
    machine::Description m = banked();
    m.dram.countsMisaligned = random() % 2;
    m.dram.burstBytes = uint64_t(1) << random() % 8;
    m.dram.rowBytes = m.dram.burstBytes << random() % 7;
    m.dram.banks = 1 + random() % 5;
    m.dram.bytesPerCycle = 1 + random() % 100;
    if (random() % 2)
      m.dram.refreshInterval = 500 + random() % 400;
    DramBanks together(m), single(m);
    uint64_t at = 0;
    for (int transfer = 0; transfer < 4; ++transfer) {
      DramLine line{100000 + random() % 10000, 1 + random() % 60,
                    static_cast<int64_t>(random() % 400) - 100,
                    1 + random() % 300, false};
      if (random() % 4 == 0)
        line.stride *= 64;
      const uint64_t granted = at + random() % 50;
      const DramBanks::Served found = serve(together, granted, line);
      single.begin(granted);
      for (uint64_t run = 0; run < line.runs; ++run)
        single.serve({line.address + run * static_cast<uint64_t>(line.stride),
                      1, 0, line.bytes, false});
      const DramBanks::Served expected = single.end();
      ASSERT_EQ(found.cycles, expected.cycles) << i;
      ASSERT_EQ(found.activations, expected.activations) << i;
      ASSERT_EQ(found.hits, expected.hits) << i;
      ASSERT_EQ(found.refresh, expected.refresh) << i;
      at = granted + found.cycles;
    }
  }
}
