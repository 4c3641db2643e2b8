// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compressed cells of the naive machine, bit by bit, from docs/SparseTiles.md 4
// alone.

#include "NaiveMachine.h"
#include <algorithm>

using namespace ashlar;
using namespace ashlar::test;

namespace {

using Bits = std::vector<bool>;

void append(Bits &bits, uint64_t value, unsigned count) {
  for (unsigned i = 0; i < count; ++i)
    bits.push_back(value >> i & 1);
}

unsigned widthOf(uint64_t size) {
  unsigned width = 0;
  while (uint64_t(1) << width < size)
    ++width;
  return width;
}

/// A plane of raw elements.
struct Grid {
  uint64_t rows, cols;
  std::vector<uint64_t> values;
  uint64_t at(uint64_t y, uint64_t x) const { return values[y * cols + x]; }
  bool any(uint64_t y0, uint64_t x0, uint64_t side) const {
    for (uint64_t y = y0; y < std::min(y0 + side, rows); ++y)
      for (uint64_t x = x0; x < std::min(x0 + side, cols); ++x)
        if (at(y, x))
          return true;
    return false;
  }
};

/// Bits of a tree of `levels` levels, then the values of its leaves.
void tree(const Grid &grid, unsigned levels, unsigned width, Bits &bits,
          Bits &values) {
  const uint64_t longer = std::max(grid.rows, grid.cols);
  const uint64_t leaf = (longer + (uint64_t(1) << levels) - 1) >> levels;
  std::vector<std::pair<uint64_t, uint64_t>> cells{{0, 0}};
  for (unsigned level = levels; level-- > 0;) {
    const uint64_t side = leaf << level;
    std::vector<std::pair<uint64_t, uint64_t>> next;
    for (auto [y, x] : cells)
      for (uint64_t child = 0; child < 4; ++child) {
        const uint64_t top = y + child / 2 * side, left = x + child % 2 * side;
        const bool set = grid.any(top, left, side);
        bits.push_back(set);
        if (set)
          next.emplace_back(top, left);
      }
    cells = next;
  }
  for (auto [y0, x0] : cells)
    for (uint64_t y = y0; y < std::min(y0 + leaf, grid.rows); ++y)
      for (uint64_t x = x0; x < std::min(x0 + leaf, grid.cols); ++x) {
        bits.push_back(grid.at(y, x));
        if (grid.at(y, x))
          append(values, grid.at(y, x), width);
      }
}

std::vector<uint8_t> compressed(const Grid &grid, unsigned form,
                                unsigned levels, unsigned bytes) {
  Bits bits, values;
  uint64_t nonZeros = 0;
  for (uint64_t i = 0; i < grid.values.size(); ++i) {
    const uint64_t value = grid.values[i];
    nonZeros += value != 0;
    if (form == 0)
      append(bits, value, 8 * bytes);
    if (form == 2 && value) {
      append(bits, i / grid.cols, widthOf(grid.rows));
      append(bits, i % grid.cols, widthOf(grid.cols));
      append(bits, value, 8 * bytes);
    }
  }
  if (form == 1 || form == 3)
    tree(grid, form == 3 ? levels : 0, 8 * bytes, bits, values);
  bits.resize((bits.size() + 7) / 8 * 8);
  bits.insert(bits.end(), values.begin(), values.end());
  bits.resize((bits.size() + 7) / 8 * 8);
  Bits all;
  append(all, form | bytes << 8 | levels << 16, 32);
  append(all, grid.rows, 32);
  append(all, grid.cols, 32);
  append(all, 0, 32);
  append(all, nonZeros, 32);
  append(all, 24 + bits.size() / 8, 32);
  all.insert(all.end(), bits.begin(), bits.end());
  std::vector<uint8_t> result(all.size() / 8);
  for (size_t i = 0; i < all.size(); ++i)
    result[i / 8] |= uint8_t(all[i] << i % 8);
  return result;
}

/// Bits of memory, one after the other.
struct Reader {
  const uint8_t *from;
  uint64_t bit = 0;
  uint64_t take(unsigned count) {
    uint64_t value = 0;
    for (unsigned i = 0; i < count; ++i, ++bit)
      value |= uint64_t(from[bit / 8] >> bit % 8 & 1) << i;
    return value;
  }
};

/// The plane of a cell that is what it should be.
Grid expanded(const uint8_t *cell) {
  Reader head{cell};
  const uint64_t form = head.take(8), width = 8 * head.take(8);
  const uint64_t levels = head.take(16);
  Grid grid{head.take(32), head.take(32), {}};
  head.take(32);
  const uint64_t nonZeros = head.take(32), bytes = head.take(32);
  grid.values.resize(grid.rows * grid.cols);
  Reader bits{cell + 24};
  if (form == 0)
    for (uint64_t &value : grid.values)
      value = bits.take(unsigned(width));
  if (form == 2)
    for (uint64_t i = 0; i < nonZeros; ++i) {
      const uint64_t y = bits.take(widthOf(grid.rows));
      const uint64_t x = bits.take(widthOf(grid.cols));
      grid.values[y * grid.cols + x] = bits.take(unsigned(width));
    }
  if (form == 0 || form == 2)
    return grid;
  // Values are what is left at the end.
  Reader values{cell + bytes - nonZeros * width / 8};
  const uint64_t longer = std::max(grid.rows, grid.cols);
  uint64_t side = (longer + (uint64_t(1) << levels) - 1) >> levels;
  std::vector<std::pair<uint64_t, uint64_t>> cells{{0, 0}};
  for (uint64_t level = levels; level-- > 0;) {
    std::vector<std::pair<uint64_t, uint64_t>> next;
    for (auto [y, x] : cells)
      for (uint64_t child = 0; child < 4; ++child)
        if (bits.take(1))
          next.emplace_back(y + child / 2 * (side << level),
                            x + child % 2 * (side << level));
    cells = next;
  }
  for (auto [y0, x0] : cells)
    for (uint64_t y = y0; y < std::min(y0 + side, grid.rows); ++y)
      for (uint64_t x = x0; x < std::min(x0 + side, grid.cols); ++x)
        if (bits.take(1))
          grid.values[y * grid.cols + x] = values.take(unsigned(width));
  return grid;
}

} // namespace

void NaiveMachine::run(const isa::DmaCompress &op) {
  for (uint64_t a = 0; a < op.n0; ++a)
    for (uint64_t b = 0; b < op.n1; ++b) {
      Grid grid{uint64_t(op.n2) * op.n3, op.n4, {}};
      for (uint64_t c = 0; c < op.n2; ++c)
        for (uint64_t d = 0; d < op.n3; ++d)
          for (uint64_t e = 0; e < op.n4; ++e) {
            uint64_t value = 0;
            for (uint64_t i = 0; i < op.elemBytes; ++i)
              value |= uint64_t(sb[op.srcBase + a * op.srcStride0 +
                                   b * op.srcStride1 + c * op.srcStride2 +
                                   d * op.srcStride3 + e * op.srcStride4 + i])
                       << 8 * i;
            grid.values.push_back(value);
          }
      std::vector<uint8_t> cell = compressed(
          grid, static_cast<unsigned>(op.form), op.levels, op.elemBytes);
      cell.resize(op.cellBytes);
      const uint64_t to = op.dstBase + a * op.dstStride0 + b * op.dstStride1;
      std::copy(cell.begin(), cell.end(), dram.begin() + int64_t(to));
    }
}

void NaiveMachine::run(const isa::DmaExpand &op) {
  for (uint64_t a = 0; a < op.n0; ++a)
    for (uint64_t b = 0; b < op.n1; ++b) {
      const uint8_t *cell =
          &dram[op.srcBase + a * op.srcStride0 + b * op.srcStride1];
      const Grid grid = expanded(cell);
      uint64_t index = 0;
      for (uint64_t c = 0; c < op.n2; ++c)
        for (uint64_t d = 0; d < op.n3; ++d)
          for (uint64_t e = 0; e < op.n4; ++e, ++index)
            for (uint64_t i = 0; i < op.elemBytes; ++i)
              sb[op.dstBase + a * op.dstStride0 + b * op.dstStride1 +
                 c * op.dstStride2 + d * op.dstStride3 + e * op.dstStride4 +
                 i] = static_cast<uint8_t>(grid.values[index] >> 8 * i);
    }
}
