// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pixels of lanes in turn, against one pixel after the other.

#include "lib/Emulator/Execute/LaneTurns.h"
#include "llvm/ADT/STLExtras.h"
#include "gtest/gtest.h"

#include <numeric>
#include <vector>

using namespace ashlar::emulator;

namespace {

void check(uint64_t count, uint64_t lane, uint64_t n) {
  constexpr int64_t start = 3;
  const auto pitch = static_cast<int64_t>(n + 5);
  std::vector<int64_t> lanes(count);
  for (auto [i, place] : llvm::enumerate(lanes))
    place = static_cast<int64_t>(count - 1 - i) * pitch; // in any order
  std::vector<uint8_t> memory(count * static_cast<uint64_t>(pitch));
  std::iota(memory.begin(), memory.end(), uint8_t(1));
  // What is next to the results stays.
  std::vector<uint8_t> expected(n + 2, 0xee), found = expected;
  for (uint64_t i = 0; i < n; ++i)
    expected[i + 1] =
        memory[static_cast<uint64_t>(lanes[(lane + i) % count] + start +
                                     static_cast<int64_t>((lane + i) / count))];
  takeTurns(memory.data(), lanes, lane, start, n, found.data() + 1);
  ASSERT_EQ(found, expected) << count << " lanes from " << lane << ", " << n;
}

TEST(LaneTurns, everyLengthFromEveryLane) {
  for (uint64_t count : {2, 4, 8, 16}) {
    ASSERT_TRUE(takesTurns(count));
    for (uint64_t lane = 0; lane < count; ++lane)
      for (uint64_t n = 0; n < 150; ++n)
        check(count, lane, n);
  }
}

TEST(LaneTurns, otherNumbersOfLanes) {
  for (uint64_t count : {0, 1, 3, 6, 10})
    EXPECT_FALSE(takesTurns(count));
}

} // namespace
