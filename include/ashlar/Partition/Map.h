// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Maps of non-zero counts, boxes on them and the geometry that ties the boxes
// of a convolution's result to boxes of its operand (docs/SparseTiles.md).

#ifndef ASHLAR_PARTITION_MAP_H
#define ASHLAR_PARTITION_MAP_H

#include "llvm/ADT/ArrayRef.h"

#include <cstdint>
#include <string>
#include <vector>

namespace ashlar::partition {

/// Positions [begin, end) of one axis.
struct Range {
  int64_t begin = 0;
  int64_t end = 0;

  int64_t size() const { return end > begin ? end - begin : 0; }
  bool operator==(const Range &) const = default;
};

/// A rectangle of positions; empty if it has no rows or no columns.
struct Box {
  int64_t y0 = 0;
  int64_t x0 = 0;
  int64_t rows = 0;
  int64_t cols = 0;

  static Box of(Range y, Range x) {
    return {y.begin, x.begin, y.size(), x.size()};
  }
  Range y() const { return {y0, y0 + rows}; }
  Range x() const { return {x0, x0 + cols}; }
  int64_t area() const { return rows * cols; }
  bool empty() const { return rows <= 0 || cols <= 0; }
  bool operator==(const Box &) const = default;
};

/// Boxes that are not empty as "y,x,rows,columns y,x,rows,columns ...", as
/// reports have them.
std::string toText(llvm::ArrayRef<Box> boxes);

/// Non-zero values per position. Channels that are summed inside one unit
/// share their cuts, so a position counts the non-zeros of all of them.
struct CountMap {
  int64_t rows = 0;
  int64_t cols = 0;
  uint64_t capacity = 1; ///< Values per position: the number of channels.
  std::vector<uint32_t> counts; ///< Row-major, rows * cols.

  uint32_t &at(int64_t y, int64_t x) { return counts[y * cols + x]; }
  uint32_t at(int64_t y, int64_t x) const { return counts[y * cols + x]; }

  /// An all-zero map.
  static CountMap zeros(int64_t rows, int64_t cols, uint64_t capacity = 1);
  /// Counts mantissas that are not zero; `values` holds `channels` planes of
  /// rows * cols one after the other.
  static CountMap ofValues(llvm::ArrayRef<int16_t> values, int64_t channels,
                           int64_t rows, int64_t cols);
};

/// Two-dimensional prefix sums: the count of any box in four look-ups.
class PrefixSums {
public:
  explicit PrefixSums(const CountMap &map);

  /// Non-zeros inside `box`, which must lie within the feature map.
  uint64_t sum(const Box &box) const;
  uint64_t total() const { return sums.back(); }

private:
  int64_t pitch;
  std::vector<uint64_t> sums;
};

/// One axis of a convolution: result position o reads operand positions
/// o * stride - padBefore + k * dilation for k in [0, kernel).
struct Axis {
  int64_t in = 1;
  int64_t out = 1;
  int64_t kernel = 1;
  int64_t stride = 1;
  int64_t dilation = 1;
  int64_t padBefore = 0;

  /// Operand positions that `result` reads, from first to last, clipped to
  /// the feature map: the tile with its halo (spec of overlapped tiles, K-1
  /// each way).
  Range inputOf(Range result) const;
  /// Result positions that `operand` contributes to.
  Range outputOf(Range operand) const;
};

/// Both axes; the default is the identity on a feature map of one position.
struct Geometry {
  Axis y;
  Axis x;

  /// Result and operand of the same size, kernel 1.
  static Geometry identity(int64_t rows, int64_t cols);
  Box inputOf(const Box &result) const {
    return Box::of(y.inputOf(result.y()), x.inputOf(result.x()));
  }
  Box outputOf(const Box &operand) const {
    return Box::of(y.outputOf(operand.y()), x.outputOf(operand.x()));
  }
  /// The same operand and a box of its results, counted from the first of them.
  Geometry narrowedTo(const Box &results) const;
};

/// Time folding: cuts a feature map that exceeds a unit's memory into pieces of
/// at most maxRows x maxCols, near-equal, row-major, by size and not by
/// sparsity. Each piece is then partitioned on its own.
std::vector<Box> timeFolds(int64_t rows, int64_t cols, int64_t maxRows,
                           int64_t maxCols);

} // namespace ashlar::partition

#endif // ASHLAR_PARTITION_MAP_H
