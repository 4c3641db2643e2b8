// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sizes of compressed planes without the planes: the largest, and what to
// expect of values that are other than zero with a known probability.

#include "Positions.h"
#include "ashlar/Partition/Compress.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace ashlar::partition {

int64_t PlaneHeader::leaf() const {
  return llvm::divideCeil(std::max(rows, cols), int64_t(1) << levels);
}

/// Positions in whole bytes, values and indices of a plane with `nonZeros`.
static uint64_t cooBytes(int64_t rows, int64_t cols, uint64_t nonZeros,
                         unsigned elementBytes) {
  return llvm::divideCeil(
      nonZeros * (indexBits(rows) + indexBits(cols) + 8 * elementBytes), 8);
}

uint64_t largestBytes(Format format, unsigned levels, int64_t rows,
                      int64_t cols, unsigned elementBytes) {
  const uint64_t elements = uint64_t(rows) * uint64_t(cols);
  if (format == Format::Dense)
    return kHeaderBytes + elements * elementBytes;
  if (format == Format::Coo)
    return kHeaderBytes + cooBytes(rows, cols, elements, elementBytes);
  uint64_t bits = elements;
  if (format == Format::Spt1 && levels > 0) {
    const PlaneHeader head{format, elementBytes, levels, rows, cols};
    bits += 4;
    for (unsigned level = 1; level < levels; ++level) {
      const auto side = static_cast<uint64_t>(head.leaf()) << (levels - level);
      bits += 4 * llvm::divideCeil(uint64_t(rows), side) *
              llvm::divideCeil(uint64_t(cols), side);
    }
  }
  return kHeaderBytes + llvm::divideCeil(bits, 8) + elements * elementBytes;
}

/// Bits of the tree and of the bitmaps of its leaves.
static double treeBits(const PlaneHeader &head,
                       llvm::ArrayRef<double> density) {
  // Logarithms of the probability that a row's value is zero, summed up.
  std::vector<double> zero(density.size() + 1, 0);
  for (size_t y = 0; y < density.size(); ++y)
    zero[y + 1] = zero[y] + std::log1p(-std::min(density[y], 1 - 1e-15));
  double bits = head.levels ? 4 : 0;
  for (unsigned level = 0; level <= head.levels; ++level) {
    // A set cell takes four bits, a set leaf one for each of its positions.
    const bool leaves = level == head.levels;
    const int64_t side = head.leaf() << (head.levels - level);
    if (level == 0 && !leaves)
      continue;
    for (int64_t y = 0; y < head.rows; y += side)
      for (int64_t x = 0; x < head.cols; x += side) {
        const int64_t rows = std::min(side, head.rows - y);
        const int64_t cols = std::min(side, head.cols - x);
        const double set =
            head.levels == 0
                ? 1
                : -std::expm1((zero[y + rows] - zero[y]) * double(cols));
        bits += set * (leaves ? double(rows * cols) : 4.0);
      }
  }
  return bits;
}

uint64_t expectedBytes(Format format, unsigned levels,
                       llvm::ArrayRef<double> density, int64_t cols,
                       unsigned elementBytes) {
  const auto rows = static_cast<int64_t>(density.size());
  const double nonZeros =
      std::accumulate(density.begin(), density.end(), 0.0) * double(cols);
  const auto values = static_cast<uint64_t>(std::ceil(nonZeros));
  if (format == Format::Dense)
    return largestBytes(format, 0, rows, cols, elementBytes);
  if (format == Format::Coo)
    return kHeaderBytes + cooBytes(rows, cols, values, elementBytes);
  const PlaneHeader head{format, elementBytes,
                         format == Format::Spt1 ? levels : 0, rows, cols};
  const double bits = std::ceil(treeBits(head, density) / 8);
  return kHeaderBytes + static_cast<uint64_t>(bits) + values * elementBytes;
}

} // namespace ashlar::partition
