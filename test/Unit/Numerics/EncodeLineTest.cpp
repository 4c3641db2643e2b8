// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Blocks that lie one after another: every kernel set against encodeBlock().

#include "ashlar/Numerics/Kernels.h"
#include "gtest/gtest.h"
#include <algorithm>
#include <bit>
#include <limits>
#include <random>
#include <vector>

using namespace ashlar::numerics;

namespace {

/// What a line became.
struct Line {
  explicit Line(size_t n, size_t block)
      : mantissas(n), cells((n + block - 1) / block) {}
  std::vector<int16_t> mantissas;
  std::vector<int8_t> cells;
  EncodeStats stats;
};

Line reference(const std::vector<float> &values, size_t block, int mantissa) {
  Line line(values.size(), block);
  for (size_t b = 0; b < line.cells.size(); ++b) {
    const size_t first = b * block;
    const size_t count = std::min(block, values.size() - first);
    line.cells[b] =
        encodeBlock(llvm::ArrayRef(values).slice(first, count), mantissa,
                    llvm::MutableArrayRef(line.mantissas).slice(first, count),
                    line.stats.counters);
    if (line.cells[b] != kZeroBlock)
      line.stats.maxExponent = mergeScale(
          line.stats.maxExponent,
          static_cast<int16_t>(stepExponent(line.cells[b], mantissa)));
  }
  return line;
}

void compare(const KernelTable &kernels, const std::vector<float> &values,
             size_t block, int mantissa) {
  const Line expected = reference(values, block, mantissa);
  Line line(values.size(), block);
  kernels.encodeLine(values.data(), values.size(), block, mantissa,
                     line.mantissas.data(), line.cells.data(), &line.stats);
  const auto where = kernels.name.str() + ": n " +
                     std::to_string(values.size()) + ", block " +
                     std::to_string(block) + ", W " + std::to_string(mantissa);
  ASSERT_EQ(line.mantissas, expected.mantissas) << where;
  ASSERT_EQ(line.cells, expected.cells) << where;
  const EncodeCounters &a = line.stats.counters, &b = expected.stats.counters;
  ASSERT_EQ(line.stats.maxExponent, expected.stats.maxExponent) << where;
  ASSERT_EQ(a.saturated, b.saturated) << where;
  ASSERT_EQ(a.underflow, b.underflow) << where;
  ASSERT_EQ(a.nan, b.nan) << where;
  ASSERT_EQ(a.infinite, b.infinite) << where;
}

/// Any bits, or values of a few octaves; whole blocks of zeros among them.
std::vector<float> someValues(std::mt19937 &random, size_t n, unsigned kind) {
  std::vector<float> values(n);
  for (size_t i = 0; i < n; ++i) {
    const auto bits = static_cast<uint32_t>(random());
    const bool zero = kind == 1 && i / 16 % 2;
    values[i] = zero ? -0.0f
                : kind == 0
                    ? std::bit_cast<float>(bits)
                    : std::bit_cast<float>((bits & 0x83ffffffu) | 0x3c000000u);
    if (kind == 2) // Near the least cell, denormals included.
      values[i] *= 0x1p-126f;
    if (kind == 3 && random() % 64 == 0)
      values[i] = std::numeric_limits<float>::infinity();
  }
  return values;
}

TEST(EncodeLine, everyKernelSet) {
  std::mt19937 random(7);
  for (const KernelTable *kernels : availableKernels())
    for (size_t n : {0, 1, 15, 16, 17, 64, 100, 257, 600})
      for (size_t block : {1, 3, 8, 16, 32, 100, 1000})
        for (int mantissa = 3; mantissa <= 16; ++mantissa)
          for (unsigned kind = 0; kind < 5; ++kind)
            compare(*kernels, someValues(random, n, kind), block, mantissa);
}

} // namespace
