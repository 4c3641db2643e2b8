// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sums that kernels keep in 32 bits, at the bounds of what is exact, against
// the scalar table.

#include "ashlar/Numerics/Kernels.h"
#include "gtest/gtest.h"

#include <algorithm>
#include <random>
#include <vector>

using namespace ashlar::numerics;

namespace {

struct ExactSums : testing::TestWithParam<const KernelTable *> {
  const KernelTable &tested() const { return *GetParam(); }
  const KernelTable &reference = *kernelsByName("scalar");
  std::mt19937_64 random{4321};

  int between(int low, int high) {
    return low + static_cast<int>(random() % (high - low + 1));
  }
  template <typename T>
  std::vector<T> integers(size_t n) {
    std::vector<T> out(n);
    for (T &v : out)
      v = static_cast<T>(random());
    return out;
  }
};

} // namespace

/// Magnitudes that add up to the most that one chunk of taps may have.
TEST_P(ExactSums, sweepTile) {
  for (bool extreme : {false, true})
    for (size_t cols : {1, 7, 14, 16, 17, 31, 32, 33, 56})
      for (size_t rows : {1, 3, 4, 9})
        for (size_t pairs : {0, 1, 5}) {
          const size_t line = cols + 2, image = line * (rows + 2);
          const TileShape shape = {
              2, rows, cols, image, line, rows * cols + rows + 3, cols + 1};
          auto slots = integers<int16_t>(2 * image + kTileSlack);
          std::vector<uint32_t> elements(2 * pairs), values(pairs);
          for (uint32_t &e : elements)
            e = static_cast<uint32_t>(between(0, 2) * line + between(0, 2));
          const int limit =
              pairs == 0 ? 0 : static_cast<int>(65535 / (2 * pairs));
          for (uint32_t &v : values) {
            const int most = std::min(limit, 32767);
            const int a = extreme ? -most : between(-most, most);
            const int b = extreme ? -most : between(-most, most);
            v = (static_cast<uint32_t>(b) << 16) |
                (static_cast<uint32_t>(a) & 0xffff);
          }
          if (extreme)
            std::fill(slots.begin(), slots.end(), int16_t(-32768));
          const TileTaps taps = {elements.data(), values.data(), pairs,
                                 between(0, 9)};
          auto a = integers<int64_t>(2 * shape.sumImage);
          auto b = a;
          tested().sweepTile(slots.data(), taps, shape, a.data());
          reference.sweepTile(slots.data(), taps, shape, b.data());
          ASSERT_EQ(a, b) << rows << "x" << cols << ", pairs " << pairs;
        }
}

/// Just below and just above what whole values may sum in 32 bits, and columns
/// whose values lack bits below.
TEST_P(ExactSums, gemmAtTheBoundOfExactSums) {
  for (size_t rows : {2, 128, 129, 300})
    for (int zeros : {0, 3, 9})
      for (int64_t total : {(int64_t(1) << 31) - 1, int64_t(1) << 31,
                            (int64_t(1) << 31) + (1 << 23)}) {
        const size_t cols = 9, steps = 35, block = std::min<size_t>(rows, 128);
        const auto weight = static_cast<int16_t>(std::min<int64_t>(
            total / 32767 / static_cast<int64_t>(block), 32767 >> zeros));
        std::vector<int16_t> s(rows * cols), m(rows * steps);
        for (size_t i = 0; i < s.size(); ++i)
          s[i] = static_cast<int16_t>((i % cols == 3 ? -weight : weight) *
                                      (1 << zeros));
        for (size_t i = 0; i < m.size(); ++i)
          m[i] = i % 3 == 0 && i % steps > 20 ? -32767 : 32767;
        PackedStationary a, b;
        const IntegerMatrix left = {OperandWidth::Int16, s.data(), cols},
                            right = {OperandWidth::Int16, m.data(), steps};
        tested().packStationary(left, rows, cols, a);
        reference.packStationary(left, rows, cols, b);
        std::vector<int64_t> x(cols * steps), y(cols * steps);
        tested().gemm(a, right, steps, x.data(), steps, false);
        reference.gemm(b, right, steps, y.data(), steps, false);
        ASSERT_EQ(x, y) << rows << " rows, " << zeros << " zeros";
      }
}

INSTANTIATE_TEST_SUITE_P(Tables, ExactSums,
                         testing::ValuesIn(availableKernels().begin(),
                                           availableKernels().end()),
                         [](const auto &info) {
                           return info.param->name.str();
                         });
