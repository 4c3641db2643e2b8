// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel table beside the scalar one, and what both are given.

#ifndef ASHLAR_TEST_UNIT_NUMERICS_KERNELPAIR_H
#define ASHLAR_TEST_UNIT_NUMERICS_KERNELPAIR_H

#include "ashlar/Numerics/Kernels.h"
#include "gtest/gtest.h"

#include <cmath>
#include <random>
#include <string>
#include <vector>

namespace ashlar::numerics {

inline constexpr size_t kLengths[] = {0,  1,  2,  3,  7,   15,  16,
                                      17, 31, 33, 64, 100, 257, 600};

struct KernelPair : testing::TestWithParam<const KernelTable *> {
  const KernelTable &tested() const { return *GetParam(); }
  const KernelTable &reference = *kernelsByName("scalar");
  std::mt19937_64 random{1234};

  int between(int low, int high) {
    return low + static_cast<int>(random() % (high - low + 1));
  }

  /// Mixes all bit patterns, everyday values, and special ones.
  std::vector<float> floats(size_t n, bool special = true) {
    const float edges[] = {0.0f,
                           -0.0f,
                           1,
                           -1,
                           floatFromBits(0x7f800000),
                           floatFromBits(0xff800000),
                           floatFromBits(0x7fc00001),
                           floatFromBits(0xff812345),
                           0x1p-149f,
                           0x1p-126f,
                           0x1.fffffep127f,
                           0x1p23f,
                           -0x1.8p23f,
                           0.5f,
                           -2.5f};
    std::vector<float> out(n);
    for (float &v : out) {
      unsigned kind = random() % (special ? 8 : 4);
      if (kind < 4)
        v = (static_cast<int32_t>(random()) * 0x1p-31f) *
            std::exp2(static_cast<float>(between(-6, 6)));
      else if (kind < 7)
        v = floatFromBits(static_cast<uint32_t>(random()));
      else
        v = edges[random() % std::size(edges)];
    }
    return out;
  }

  template <typename T>
  std::vector<T> integers(size_t n) {
    std::vector<T> out(n);
    for (T &v : out)
      v = static_cast<T>(random());
    return out;
  }

  static void sameStats(const EncodeStats &a, const EncodeStats &b) {
    ASSERT_EQ(a.maxExponent, b.maxExponent);
    ASSERT_EQ(a.counters.saturated, b.counters.saturated);
    ASSERT_EQ(a.counters.underflow, b.counters.underflow);
    ASSERT_EQ(a.counters.nan, b.counters.nan);
    ASSERT_EQ(a.counters.infinite, b.counters.infinite);
  }

  void sameBits(const std::vector<float> &a, const std::vector<float> &b,
                const std::string &what) {
    ASSERT_EQ(a.size(), b.size());
    for (size_t i = 0; i < a.size(); ++i)
      ASSERT_EQ(floatBits(a[i]), floatBits(b[i])) << what << " at " << i;
  }
};

} // namespace ashlar::numerics

#endif // ASHLAR_TEST_UNIT_NUMERICS_KERNELPAIR_H
