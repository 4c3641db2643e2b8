// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The data structures of the static pass against literal ones, and their work
// on programs that are made to be slow.

#include "ashlar/Container/Assembly.h"
#include "ashlar/Emulator/Emulator.h"
#include "ashlar/Support/Error.h"
#include "lib/Emulator/Cost/StreamWalk.h"
#include "lib/Emulator/Prove/AccessHistory.h"
#include "lib/Emulator/Prove/WrittenBits.h"
#include "gtest/gtest.h"
#include <chrono>
#include <random>

using namespace ashlar;
using namespace ashlar::emulator;
using isa::Access;

namespace {

Access draw(std::mt19937 &random, bool pattern) {
  auto below = [&](uint32_t limit) { return random() % limit; };
  Access access;
  access.write = below(2);
  access.merge = access.write && below(4) == 0;
  access.partBegin = below(13);
  access.partEnd = access.partBegin + 1 + below(16 - access.partBegin);
  access.base = access.begin = below(200);
  access.runLength = 1 + below(8);
  int64_t reach = static_cast<int64_t>(access.runLength);
  if (pattern && below(2)) {
    access.numDims = 1;
    access.dims[0] = {2 + below(5), static_cast<int64_t>(10 + below(9))};
    reach +=
        static_cast<int64_t>(access.dims[0].count - 1) * access.dims[0].stride;
  }
  access.end = access.begin + reach;
  return access;
}

/// The latest conflicting entry, one by one.
std::optional<size_t> findLiterally(llvm::ArrayRef<Access> entries,
                                    uint32_t known, const Access &access) {
  for (size_t i = entries.size(); i > known; --i)
    if (isa::conflict(entries[i - 1], access))
      return i - 1;
  return std::nullopt;
}

container::Program programOf(const std::string &text) {
  return llvm::cantFail(container::assemble(text, "text"));
}

} // namespace

TEST(LatestAccess, FindsTheLargestNumberOfABox) {
  std::mt19937 random(1);
  for (uint64_t partitions : {1, 16}) {
    LatestAccess index(partitions);
    std::vector<Access> entries;
    for (uint32_t number = 1; number < 1500; ++number) {
      Access access = draw(random, false);
      if (partitions == 1)
        access.partBegin = 0, access.partEnd = 1;
      uint32_t expected = 0;
      for (size_t i = 0; i < entries.size(); ++i)
        if (entries[i].begin < access.end && access.begin < entries[i].end &&
            entries[i].partBegin < access.partEnd &&
            access.partBegin < entries[i].partEnd)
          expected = static_cast<uint32_t>(i) + 1;
      ASSERT_EQ(index.latest(access), expected) << number;
      index.assign(access, number);
      entries.push_back(access);
    }
  }
}

TEST(AccessHistory, FindsWhatALiteralSearchFinds) {
  std::mt19937 random(2);
  AccessHistory history(16);
  ProofWork work(1 << 20);
  std::vector<Access> entries;
  unsigned found = 0;
  for (uint32_t i = 0; i < 6000; ++i) {
    Access access = draw(random, true);
    // Far apart mostly, so that searches go back to the index.
    if (random() % 64)
      access.base += 1000 * int64_t(random() % 3000);
    access.end += access.base - access.begin;
    access.begin = access.base;
    const uint32_t known = random() % 2 ? 0 : random() % (i + 1);
    const auto expected = findLiterally(entries, known, access);
    ASSERT_EQ(history.findAfter(known, access, work), expected) << i;
    found += expected.has_value();
    entries.push_back(access);
    history.append(access, i + 1, i);
  }
  EXPECT_GT(found, 100u);
  EXPECT_FALSE(work.exhausted());
}

TEST(WrittenBits, LineKeepsWhatWasWritten) {
  std::mt19937 random(3);
  constexpr uint64_t units = 300000;
  BitLine line;
  ASSERT_TRUE(line.allocate(units));
  std::vector<bool> literal(units);
  uint64_t steps = 0;
  for (unsigned i = 0; i < 400; ++i) {
    const uint64_t most = i % 3 ? 300 : 50000;
    const uint64_t begin = random() % units;
    const uint64_t end = std::min<uint64_t>(units, begin + random() % most);
    std::optional<uint64_t> expected;
    for (uint64_t u = begin; u < end && !expected; ++u)
      if (!literal[u])
        expected = u;
    ASSERT_EQ(line.firstUnset(begin, end, steps), expected) << i;
    if (i % 2)
      continue;
    line.set(begin, end, steps);
    std::fill(literal.begin() + begin, literal.begin() + end, true);
  }
}

TEST(WrittenBits, PlaneKeepsWhatWasWritten) {
  std::mt19937 random(4);
  constexpr uint64_t units = 20000, lanes = 70;
  BitPlane plane;
  ASSERT_TRUE(plane.allocate(units, lanes));
  std::vector<std::vector<bool>> literal(units, std::vector<bool>(lanes));
  uint64_t steps = 0;
  for (unsigned i = 0; i < 400; ++i) {
    const uint64_t begin = random() % units;
    const uint64_t end =
        std::min<uint64_t>(units, begin + random() % (i % 3 ? 200 : 12000));
    const uint32_t first = random() % lanes;
    const uint32_t last = first + 1 + random() % (lanes - first);
    auto find = [&](bool value) -> std::optional<uint64_t> {
      std::optional<uint64_t> least;
      // Words of lanes are looked at one after the other.
      for (uint32_t word = 0; word < 2 && !least; ++word)
        for (uint64_t u = begin; u < end && !least; ++u)
          for (uint32_t lane = std::max(first, word * 64);
               lane < std::min(last, word * 64 + 64); ++lane)
            if (literal[u][lane] == value && !least)
              least = u;
      return least;
    };
    ASSERT_EQ(plane.firstUnset(begin, end, first, last, steps), find(false));
    ASSERT_EQ(plane.firstSet(begin, end, first, last, steps), find(true));
    const bool value = i % 5 != 0;
    value ? plane.set(begin, end, first, last, steps)
          : plane.clear(begin, end, first, last, steps);
    for (uint64_t u = begin; u < end; ++u)
      std::fill(literal[u].begin() + first, literal[u].begin() + last, value);
  }
}

TEST(FollowedStreams, KnowsOnlyEqualBytesInEqualForm) {
  FollowedStreams followed;
  StreamWalk::Form form;
  form.shapes = {{4, 1, 1}};
  form.regions = 2;
  const std::vector<uint8_t> bytes = {1, 2, 3}, others = {1, 2, 4};
  EXPECT_EQ(followed.find(form, bytes), nullptr);
  followed.keep(form, bytes, {7, 8, 3, {1.0, 2.0}});
  ASSERT_NE(followed.find(form, bytes), nullptr);
  EXPECT_EQ(followed.find(form, bytes)->cycles, 7u);
  EXPECT_EQ(followed.find(form, others), nullptr);
  StreamWalk::Form wider = form;
  wider.shapes.push_back({8, 1, 1});
  EXPECT_EQ(followed.find(wider, bytes), nullptr);
  StreamWalk::Form whole = form;
  whole.issueZeros = true;
  EXPECT_EQ(followed.find(whole, bytes), nullptr);
  // The oldest one makes place.
  for (uint8_t i = 0; i < 255; ++i)
    followed.keep(form, std::vector<uint8_t>{9, i}, {i, 0, 2, {}});
  EXPECT_EQ(followed.find(form, bytes), nullptr);
  ASSERT_NE(followed.find(form, std::vector<uint8_t>{9, 254}), nullptr);
  EXPECT_EQ(followed.find(form, std::vector<uint8_t>{9, 254})->cycles, 254u);
}

TEST(Proof, InterleavedPatternsAreToldApartOnce) {
  std::string text = ".machine name=a1-tiny\n.memory dram=65536\n";
  for (unsigned i = 0; i < 2000; ++i)
    text += i % 2 ? "dma.fill queue=dma1 dstMem=dram n4=4096 dstStride4=10 "
                    "dstBase=1\n"
                  : "dma.fill queue=dma0 dstMem=dram n4=4096 dstStride4=6\n";
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_FALSE(prove(programOf(text)));
  const std::chrono::duration<double> seconds =
      std::chrono::steady_clock::now() - begin;
  EXPECT_LT(seconds.count(), 10) << "more than linear: minutes";
}

TEST(Proof, WorkIsLimited) {
  std::string text = ".machine name=a1-tiny\n.memory dram=16777216\n";
  for (unsigned i = 0; i < 70; ++i)
    text += "dma.fill queue=dma0 dstMem=dram n3=10 n4=100000 "
            "dstStride3=1000000 dstStride4=9\n";
  Fault fault;
  llvm::Error error = prove(programOf(text), &fault);
  ASSERT_TRUE(static_cast<bool>(error));
  EXPECT_EQ(support::classify(error), ErrorClass::Capacity);
  EXPECT_NE(llvm::toString(std::move(error))
                .find("the proof of this program needs more than"),
            std::string::npos);
}

TEST(Proof, LongRunsCostTheirEnds) {
  std::string text = ".machine name=a1-tiny\n.memory dram=1073741824\n";
  for (unsigned i = 0; i < 2000; ++i)
    text += "dma.fill queue=dma0 dstMem=dram n3=1000 n4=1000000 "
            "dstStride3=1000000 dstStride4=1\n";
  EXPECT_FALSE(prove(programOf(text)));
}

TEST(Proof, InputsOverwriteNoConstants) {
  Fault fault;
  EXPECT_FALSE(prove(programOf(".machine name=a1-tiny\n.memory dram=256\n"
                               ".input name=x type=u8 shape=[8] at=120\n"
                               ".data at=128 hex=\"0102\"\n"),
                     &fault));
  llvm::Error error =
      prove(programOf(".machine name=a1-tiny\n.memory dram=256\n"
                      ".input name=x type=u8 shape=[9] at=120\n"
                      ".data at=128 hex=\"0102\"\n"),
            &fault);
  ASSERT_TRUE(static_cast<bool>(error));
  EXPECT_EQ(fault.kind, FaultKind::BadPlacement);
  EXPECT_NE(
      llvm::toString(std::move(error))
          .find("input 'x' of 9 bytes at 120 overwrites constants at 128"),
      std::string::npos);
}
