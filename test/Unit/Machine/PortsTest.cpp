// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Accesses to the banks of SB: worked cases, random patterns against a count
// byte by byte, and the promise that better ports never take longer.

#include "ashlar/Machine/Ports.h"
#include "gtest/gtest.h"
#include <random>

using namespace ashlar::machine;

namespace {

/// Eight banks of 8,192 bytes with two ports of 16 bytes.
Description banked() {
  Description m;
  m.sb.banks = 8;
  m.sb.ports = 2;
  m.sb.portBytes = 16;
  return m;
}

PortPattern pattern(int64_t base, uint64_t bytes,
                    std::vector<std::pair<uint64_t, int64_t>> loops) {
  PortPattern result;
  result.base = base;
  result.elementBytes = bytes;
  for (auto [count, stride] : loops)
    result.add(count, stride);
  return result;
}

BankAccesses accesses(const Description &m, const PortPattern &p) {
  BankAccesses banks(m.sb.banks, 0);
  addAccesses(m, p, banks);
  return banks;
}

BankAccesses linear(const Description &m, const PortPattern &p,
                    SlowPatterns *known = nullptr) {
  BankAccesses banks(m.sb.banks, 0);
  addLinearAccesses(m, p, banks, known);
  return banks;
}

BankAccesses list(std::initializer_list<uint64_t> values) {
  BankAccesses banks(values);
  banks.resize(8, 0);
  return banks;
}

} // namespace

TEST(Ports, ContiguousBytesShareAnAccess) {
  const Description m = banked();
  EXPECT_EQ(accesses(m, pattern(0, 1, {{100, 1}})), list({7}));
  EXPECT_EQ(accesses(m, pattern(0, 4, {{100, 4}})), list({25}));
  EXPECT_EQ(accesses(m, pattern(8192, 1, {{10, 14}, {14, 1}})), list({0, 9}));
  // Rows with a gap, elements with a gap, backwards.
  EXPECT_EQ(accesses(m, pattern(0, 1, {{10, 20}, {14, 1}})), list({10}));
  EXPECT_EQ(accesses(m, pattern(0, 1, {{10, 40}, {14, 2}})), list({140}));
  EXPECT_EQ(accesses(m, pattern(200, 1, {{100, -1}})), list({100}));
}

TEST(Ports, RepetitionsCountUnlessTheyAreInnermost) {
  const Description m = banked();
  EXPECT_EQ(accesses(m, pattern(0, 1, {{5, 0}, {16, 1}})), list({5}));
  EXPECT_EQ(accesses(m, pattern(0, 1, {{16, 1}, {5, 0}})), list({1}));
  // Three taps over a row of 16: each streams what it needs.
  EXPECT_EQ(accesses(m, pattern(0, 1, {{3, 1}, {16, 1}})), list({3}));
}

TEST(Ports, RunsAreCutWhereBanksEnd) {
  const Description m = banked();
  EXPECT_EQ(accesses(m, pattern(8190, 1, {{100, 1}})), list({1, 7}));
  EXPECT_EQ(accesses(m, pattern(8188, 1, {{3, 0}, {8, 1}})), list({3, 3}));
  EXPECT_EQ(accesses(m, pattern(0, 1, {{65536, 1}})),
            BankAccesses(8, 8192 / 16));
  EXPECT_EQ(accesses(m, pattern(8000, 1, {{300, 2}})), list({96, 204}));
}

TEST(Ports, DataMayChooseAnyBankThatIsInReach) {
  const Description m = banked();
  PortPattern p = pattern(8000, 4, {{50, 0}, {10, 8}});
  p.reach = 20000;
  EXPECT_EQ(accesses(m, p), list({500, 500, 500, 500}));
}

TEST(Ports, PartitionsAreServedSideBySide) {
  const Description m = banked();
  // 64 partitions take a row of 100 bytes each; turned, 100 partitions 64.
  EXPECT_EQ(linear(m, pattern(0, 1, {{64, 65536}, {100, 1}})), list({7}));
  EXPECT_EQ(linear(m, pattern(0, 1, {{64, 1}, {100, 65536}})), list({64}));
  // One address after the other through the ends of partitions: two pieces.
  EXPECT_EQ(linear(m, pattern(65536 - 32, 1, {{64, 1}})),
            BankAccesses({2, 0, 0, 0, 0, 0, 0, 2}));
  // Steps that change the partition and the place in it.
  EXPECT_EQ(linear(m, pattern(0, 1, {{100, 65537}})), list({1}));
  EXPECT_EQ(linear(m, pattern(0, 1, {{100, 65536 + 8192}})),
            BankAccesses(8, 1));
  // The same partitions again.
  EXPECT_EQ(linear(m, pattern(0, 1, {{3, 65536}, {4, 65536}})), list({3}));
}

TEST(Ports, BanksBoundTheIssue) {
  const Description m = banked();
  EXPECT_EQ(bankCycles(m, 7), 4u);
  EXPECT_EQ(withPorts({100, 132, 0}, 90), (Timing{100, 132, 0}));
  EXPECT_EQ(withPorts({100, 132, 0}, 150), (Timing{150, 182, 0}));
  EXPECT_EQ(portAccesses(m, pattern(8190, 1, {{10, 20}, {17, 1}})), 20u);
}

namespace {

/// A small machine and a pattern inside it.
struct Sample {
  Description m;
  PortPattern p;
};

Sample draw(std::mt19937 &random, bool byAddress) {
  auto pick = [&](uint64_t limit) { return 1 + random() % limit; };
  Sample s;
  s.m.sb.partitions = 8;
  s.m.sb.bytesPerPartition = 64 * pick(8);
  s.m.sb.banks = pick(9);
  s.m.sb.portBytes = uint64_t(1) << random() % 6;
  const auto row = static_cast<int64_t>(s.m.sb.bytesPerPartition);
  const auto room = byAddress ? row * 8 : row;
  for (;;) {
    s.p = PortPattern();
    s.p.elementBytes = uint64_t(1) << random() % 4;
    int64_t low = 0, high = static_cast<int64_t>(s.p.elementBytes);
    for (uint64_t dims = random() % 5; dims > 0; --dims) {
      auto count = static_cast<int64_t>(pick(random() % 3 ? 5 : 20));
      auto stride = static_cast<int64_t>(random() % 40) - 10;
      if (random() % 4 == 0)
        stride = high - low; // follows what is inside
      if (byAddress && random() % 3 == 0)
        stride = row * static_cast<int64_t>(pick(2)) +
                 (random() % 3 ? 0 : static_cast<int64_t>(random() % 9));
      s.p.counts.insert(s.p.counts.begin(), static_cast<uint64_t>(count));
      s.p.strides.insert(s.p.strides.begin(), stride);
      (stride < 0 ? low : high) += (count - 1) * stride;
    }
    if (high - low > room)
      continue;
    s.p.base = static_cast<int64_t>(random() % (room - (high - low) + 1)) - low;
    return s;
  }
}

/// Every run of the pattern, byte by byte.
BankAccesses naive(const Sample &s, bool byAddress) {
  uint64_t run = s.p.elementBytes;
  const uint64_t row = s.m.sb.bytesPerPartition;
  const size_t dims =
      innerRun(s.p.counts, s.p.strides, byAddress ? row : 0, run);
  std::vector<BankAccesses> partitions(byAddress ? 8 : 1,
                                       BankAccesses(s.m.sb.banks, 0));
  std::vector<uint64_t> index(dims, 0);
  for (;;) {
    int64_t base = s.p.base;
    for (size_t d = 0; d < dims; ++d)
      base += static_cast<int64_t>(index[d]) * s.p.strides[d];
    uint64_t inside = 0; // bytes of the run in the present bank
    for (uint64_t i = 0; i < run; ++i) {
      const uint64_t at = static_cast<uint64_t>(base) + i;
      const uint64_t bank = at % row / s.m.sb.bankBytes();
      if (i == 0 || at % row == 0 || at % row % s.m.sb.bankBytes() == 0)
        inside = 0;
      if (inside++ % s.m.sb.portBytes == 0)
        ++partitions[at / row][bank];
    }
    size_t d = dims;
    while (d > 0 && ++index[d - 1] == s.p.counts[d - 1])
      index[--d] = 0;
    if (d == 0)
      break;
  }
  BankAccesses most(s.m.sb.banks, 0);
  for (const BankAccesses &own : partitions)
    for (size_t bank = 0; bank < most.size(); ++bank)
      most[bank] = std::max(most[bank], own[bank]);
  return most;
}

} // namespace

TEST(Ports, RandomPatternsCountAsByteByByte) {
  std::mt19937 random(7);
  for (int i = 0; i < 20000; ++i) {
    const bool byAddress = i & 1;
    const Sample s = draw(random, byAddress);
    ASSERT_EQ(byAddress ? linear(s.m, s.p) : accesses(s.m, s.p),
              naive(s, byAddress))
        << i;
  }
}

TEST(Ports, BetterPortsNeverTakeLonger) {
  std::mt19937 random(8);
  auto most = [](const Description &m, const PortPattern &p, bool byAddress) {
    uint64_t cycles = 0;
    for (uint64_t bank : byAddress ? linear(m, p) : accesses(m, p))
      cycles = std::max(cycles, bankCycles(m, bank));
    return cycles;
  };
  for (int i = 0; i < 5000; ++i) {
    const bool byAddress = i & 1;
    Sample s = draw(random, byAddress);
    s.m.sb.banks = 1 + random() % 2;
    const uint64_t cycles = most(s.m, s.p, byAddress);
    Description better = s.m;
    better.sb.ports += 1 + random() % 3;
    ASSERT_LE(most(better, s.p, byAddress), cycles) << i;
    better = s.m;
    better.sb.banks *= 2; // halves of banks, where those are whole accesses
    if (s.m.sb.bankBytes() == 2 * better.sb.bankBytes())
      ASSERT_LE(most(better, s.p, byAddress), cycles) << i;
    better = s.m;
    better.sb.portBytes *= 2;
    if (s.m.sb.bankBytes() == better.sb.bankBytes())
      ASSERT_LE(most(better, s.p, byAddress), cycles) << i;
  }
}

/// Patterns that overlap themselves more than any program's are not followed,
/// but never counted less.
TEST(Ports, WildPatternsAreBounded) {
  const Description m = banked();
  const PortPattern wild =
      pattern(0, 1, {{9000, 1}, {9000, 1}, {9000, 1}, {9000, 1}, {9000, 1}});
  const uint64_t all = portAccesses(m, wild);
  EXPECT_EQ(accesses(m, wild), list({all, all, all, all, all, all}));
}

/// What is remembered of slow patterns changes nothing, wherever they begin.
TEST(Ports, SlowPatternsAreRemembered) {
  const Description m = banked();
  const auto row = static_cast<int64_t>(m.sb.bytesPerPartition);
  std::mt19937 random(11);
  auto draw = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  SlowPatterns known;
  for (int i = 0; i < 400; ++i) {
    const int64_t base = draw(0, 3) * 4096;
    PortPattern p =
        pattern(base, 2,
                {{static_cast<uint64_t>(draw(20, 60)), row / 4 * draw(1, 6)},
                 {static_cast<uint64_t>(draw(1, 9)), 6}});
    for (const int64_t partition : {0, 1, 5}) {
      p.base = base + partition * row;
      ASSERT_EQ(linear(m, p, &known), linear(m, p)) << i;
    }
  }
}

TEST(Ports, PatternsBeyondTheBufferAreThoseOfTheirMachine) {
  // Runs over three times the buffer are remembered for each machine.
  SlowPatterns known;
  const Description narrow = banked();
  Description wide = narrow;
  wide.sb.portBytes = 2 * narrow.sb.portBytes;
  const PortPattern far = pattern(0, 32, {{3 * 65536, 128}});
  const PortPattern sparse = pattern(0, 32, {{3 * 32768, 256}});
  const BankAccesses taken = linear(narrow, far, &known);
  EXPECT_EQ(taken, list({128, 128, 128, 128, 128, 128, 128, 128}));
  EXPECT_EQ(linear(wide, far, &known), list({64, 64, 64, 64, 64, 64, 64, 64}));
  EXPECT_EQ(linear(narrow, sparse, &known),
            list({64, 64, 64, 64, 64, 64, 64, 64}));
  EXPECT_EQ(linear(narrow, far, &known), taken);
}
