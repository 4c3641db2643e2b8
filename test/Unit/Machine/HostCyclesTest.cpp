// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The formulas of the host: the examples of docs/Machine.md 10, and what always
// holds.

#include "ashlar/Machine/Host.h"
#include "gtest/gtest.h"
#include <random>

using namespace ashlar::machine;

namespace {

Description named(const char *name) {
  return llvm::cantFail(ashlar::machine::load(name));
}

TEST(Host, ExamplesOfTheManual) {
  const Description a1 = named("a1");
  EXPECT_EQ(sortSteps(1), 1u);
  EXPECT_EQ(sortSteps(8), 24u);
  EXPECT_EQ(sortSteps(9), 36u);
  EXPECT_EQ(nonzeroSteps(1000, 2), 3000u);
  EXPECT_EQ(hostCall(a1, {.steps = 3000}).issue, 17000u);
  EXPECT_EQ(hostCall(a1, {.steps = 3000}).complete, 17200u);
  EXPECT_EQ(hostSortSteps(1, 8400, 100), 17500u);
  EXPECT_EQ(hostCall(a1, {.steps = 17500}).issue, 89500u);
  EXPECT_EQ(uniqueSteps(6, 2), 6 * 3 * 2 + 18u);
  EXPECT_EQ(nmsSteps(2, 8, 3), 2 * (8 + 24 + 24u));
}

TEST(Host, BytesAndDramGoBesideTheSteps) {
  const Description a1 = named("a1");
  // 8 bytes a cycle of the core, 57.6 of DRAM.
  EXPECT_EQ(hostCall(a1, {.bytes = 8000, .burstBytes = 8000}).issue, 3000u);
  Description fast = a1;
  fast.host.bytesPerCycle = 1 << 20;
  const Timing timing = hostCall(fast, {.bytes = 57600, .burstBytes = 57600});
  EXPECT_EQ(timing.issue, 3000u);
  EXPECT_EQ(timing.dram, 1000u);
  EXPECT_EQ(timing.setup, 2000u);
}

TEST(Host, BetterMachinesAreNeverSlowerAndNothingWraps) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 2000; ++i) {
    Description m = named("a1");
    m.host.callCycles = random() % 5000 + 1;
    m.host.stepCycles = random() % 50 + 2;
    m.host.bytesPerCycle = random() % 50 + 1;
    const HostWork work{random() >> (random() % 64),
                        random() >> (random() % 64),
                        random() >> (random() % 64), 0};
    Description better = m;
    --better.host.callCycles;
    --better.host.stepCycles;
    ++better.host.bytesPerCycle;
    const Timing slow = hostCall(m, work), quick = hostCall(better, work);
    EXPECT_LE(quick.issue, slow.issue);
    EXPECT_LE(quick.complete, slow.complete);
    EXPECT_LE(slow.complete, maxCycles);
  }
  EXPECT_EQ(nmsSteps(~0ull, ~0ull, ~0ull), maxCycles);
  EXPECT_EQ(uniqueSteps(~0ull, ~0ull), maxCycles);
}

} // namespace
