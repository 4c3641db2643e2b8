// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which drains are the last to read their sums.

#include "lib/Emulator/Prove/LastReads.h"
#include "gtest/gtest.h"

using namespace ashlar;
using namespace ashlar::emulator;

namespace {

constexpr uint64_t entries = 64;

/// Entries [first, first + steps), or every second one of them.
isa::PeMatmul matmul(uint32_t first, uint32_t steps, bool accumulate) {
  isa::PeMatmul op = {};
  op.psum = first;
  op.n0 = op.n1 = 1;
  op.n2 = steps;
  op.psumStride2 = 1;
  op.groups = 1;
  op.accumulate = accumulate;
  return op;
}

isa::ActDrain drain(uint32_t first, uint32_t steps, int32_t stride = 1) {
  isa::ActDrain op = {};
  op.psum = first;
  op.n0 = op.n1 = 1;
  op.n2 = steps;
  op.psumStride2 = stride;
  return op;
}

std::vector<bool> find(const std::vector<isa::Instruction> &code) {
  return lastReads(code, entries);
}

} // namespace

TEST(LastReads, UntilTheEnd) {
  EXPECT_EQ(find({matmul(0, 8, false), drain(0, 8), drain(0, 8)}),
            (std::vector<bool>{false, false, true}));
}

TEST(LastReads, StartedAgain) {
  EXPECT_EQ(find({matmul(0, 8, false), drain(0, 8), matmul(0, 8, false),
                  drain(0, 8)}),
            (std::vector<bool>{false, true, false, true}));
}

TEST(LastReads, AccumulatesOn) {
  EXPECT_EQ(
      find({matmul(0, 8, false), drain(0, 8), matmul(0, 8, true), drain(0, 8)}),
      (std::vector<bool>{false, false, false, true}));
}

TEST(LastReads, ReadsAndStartsInPart) {
  // Entry 7 of the first drain is read again, entry 8 is not.
  EXPECT_EQ(find({matmul(0, 16, false), drain(0, 8), drain(8, 8),
                  matmul(0, 7, false), drain(0, 8)}),
            (std::vector<bool>{false, false, true, false, true}));
}

TEST(LastReads, EverySecondEntry) {
  EXPECT_EQ(find({matmul(0, 16, false), drain(0, 8, 2), drain(1, 8, 2)}),
            (std::vector<bool>{false, true, true}));
  EXPECT_EQ(find({matmul(0, 16, false), drain(0, 8, 2), drain(2, 7, 2)}),
            (std::vector<bool>{false, false, true}));
}

TEST(LastReads, ReadByThePoolOfSums) {
  isa::VecDrain pool = {};
  pool.psum = 4;
  pool.inH = pool.inW = 2;
  pool.psumStride = 2;
  EXPECT_EQ(find({matmul(0, 16, false), drain(0, 8), drain(8, 8), pool}),
            (std::vector<bool>{false, false, true, false}));
}

TEST(LastReads, TheClusterHasSumsOfItsOwn) {
  isa::ActDrain cluster = drain(0, 8);
  cluster.fromTcu = true;
  EXPECT_EQ(find({matmul(0, 8, false), drain(0, 8), cluster}),
            (std::vector<bool>{false, true, false}));
}
