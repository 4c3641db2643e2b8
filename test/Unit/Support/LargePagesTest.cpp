// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ashlar/Support/LargePages.h"
#include "gtest/gtest.h"
#include <algorithm>

using namespace ashlar::support;

TEST(LargePages, MapsAlignedZeros) {
  for (uint64_t bytes :
       {uint64_t(1), largePageBytes - 1, largePageBytes, largePageBytes + 1}) {
    uint8_t *block = mapZeros(bytes);
    if (!block)
      GTEST_SKIP() << "no mappings on this system";
    EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % largePageBytes, 0u);
    block[bytes - 1] = 7;
    populate(block, bytes);
    EXPECT_EQ(block[bytes - 1], 7);
    EXPECT_TRUE(std::all_of(block, block + bytes - 1,
                            [](uint8_t byte) { return byte == 0; }));
    unmapZeros(block, bytes);
  }
}

TEST(LargePages, RefusesMoreThanThereIs) {
  EXPECT_EQ(mapZeros(~uint64_t(0)), nullptr);
  EXPECT_EQ(mapZeros(~uint64_t(0) - 2 * largePageBytes), nullptr);
}
