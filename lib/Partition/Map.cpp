// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Counting, prefix sums, halo arithmetic and time folding. Callers pass sizes
// that a machine description bounds; products of two of them fit 64 bits.

#include "ashlar/Partition/Map.h"

#include <algorithm>
#include <cassert>
#include <fmt/format.h>

namespace ashlar::partition {

std::string toText(llvm::ArrayRef<Box> boxes) {
  std::string text;
  for (const Box &box : boxes)
    if (!box.empty())
      text += fmt::format("{}{},{},{},{}", text.empty() ? "" : " ", box.y0,
                          box.x0, box.rows, box.cols);
  return text;
}

CountMap CountMap::zeros(int64_t rows, int64_t cols, uint64_t capacity) {
  CountMap map{rows, cols, capacity, {}};
  map.counts.assign(rows * cols, 0);
  return map;
}

CountMap CountMap::ofValues(llvm::ArrayRef<int16_t> values, int64_t channels,
                            int64_t rows, int64_t cols) {
  assert(values.size() == size_t(channels * rows * cols));
  CountMap map = zeros(rows, cols, channels);
  for (size_t i = 0, area = rows * cols; i < values.size(); ++i)
    map.counts[i % area] += values[i] != 0;
  return map;
}

PrefixSums::PrefixSums(const CountMap &map) : pitch(map.cols + 1) {
  sums.assign((map.rows + 1) * pitch, 0);
  for (int64_t y = 0; y < map.rows; ++y) {
    uint64_t row = 0;
    for (int64_t x = 0; x < map.cols; ++x) {
      row += map.at(y, x);
      sums[(y + 1) * pitch + x + 1] = sums[y * pitch + x + 1] + row;
    }
  }
}

uint64_t PrefixSums::sum(const Box &box) const {
  if (box.empty())
    return 0;
  auto at = [&](int64_t y, int64_t x) { return sums[y * pitch + x]; };
  int64_t y1 = box.y0 + box.rows, x1 = box.x0 + box.cols;
  return at(y1, x1) - at(box.y0, x1) - at(y1, box.x0) + at(box.y0, box.x0);
}

Range Axis::inputOf(Range result) const {
  if (result.size() == 0)
    return {};
  int64_t first = result.begin * stride - padBefore;
  int64_t last =
      (result.end - 1) * stride - padBefore + (kernel - 1) * dilation;
  Range range{std::clamp<int64_t>(first, 0, in),
              std::clamp<int64_t>(last + 1, 0, in)};
  return range.size() ? range : Range{};
}

Range Axis::outputOf(Range operand) const {
  if (operand.size() == 0)
    return {};
  // Smallest o whose last tap reaches the first position; largest o whose
  // first tap does not pass the last one. Numerators may be negative.
  int64_t low = operand.begin + padBefore - (kernel - 1) * dilation;
  int64_t first = low <= 0 ? 0 : (low + stride - 1) / stride;
  int64_t high = operand.end - 1 + padBefore;
  int64_t last = high < 0 ? -1 : high / stride;
  Range range{std::min(first, out), std::min(last + 1, out)};
  return range.size() ? range : Range{};
}

Geometry Geometry::identity(int64_t rows, int64_t cols) {
  Geometry geometry;
  geometry.y.in = geometry.y.out = rows;
  geometry.x.in = geometry.x.out = cols;
  return geometry;
}

Geometry Geometry::narrowedTo(const Box &results) const {
  Geometry part = *this;
  auto narrow = [](Axis &axis, Range own) {
    axis.padBefore -= own.begin * axis.stride;
    axis.out = own.size();
  };
  narrow(part.y, results.y());
  narrow(part.x, results.x());
  return part;
}

std::vector<Box> timeFolds(int64_t rows, int64_t cols, int64_t maxRows,
                           int64_t maxCols) {
  assert(maxRows > 0 && maxCols > 0);
  int64_t down = (rows + maxRows - 1) / maxRows;
  int64_t across = (cols + maxCols - 1) / maxCols;
  std::vector<Box> folds;
  for (int64_t i = 0; i < down; ++i)
    for (int64_t j = 0; j < across; ++j)
      folds.push_back(Box::of({rows * i / down, rows * (i + 1) / down},
                              {cols * j / across, cols * (j + 1) / across}));
  return folds;
}

} // namespace ashlar::partition
