// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How a data movement that exchanges the axis across partitions is cut into
// tiles of the array: rows are indices of the source's partition axis, columns
// those of the result's. Pass, cost and code generation share it.

#ifndef ASHLAR_ANALYSIS_TRANSPOSEPLAN_H
#define ASHLAR_ANALYSIS_TRANSPOSEPLAN_H

#include "ashlar/Machine/Description.h"
#include "dialects/NPU/AccessPattern.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>

namespace ashlar::analysis {

/// Consecutive indices of a partition axis in one array tile. `dims` are the
/// extents of the loops they run through, outermost first: several short
/// patterns share a tile (docs/Machine.md, transposes).
struct Segment {
  int64_t begin = 0;
  int64_t size = 0;
  llvm::SmallVector<int64_t, 3> dims;
  /// Loops of `dims`, as indices into TransposePlan::rows or columns.
  llvm::SmallVector<size_t, 3> loops;
};

/// A data movement as planes: rows x columns for every index of the other
/// loops.
struct TransposePlan {
  llvm::SmallVector<npu::PatternDim, 4> rows;    ///< outermost first
  llvm::SmallVector<npu::PatternDim, 4> columns; ///< outermost first
  llvm::SmallVector<npu::PatternDim, 4> others;
  int64_t together = 1; ///< elements that are neighbours on both sides

  int64_t rowCount() const { return count(rows); }
  int64_t columnCount() const { return count(columns); }
  int64_t planes() const { return count(others); }

  /// Tiles of at most `limit` rows, none across a channel tile of `partitions`
  /// when index 0 lies at `first`. At most three loops each: a drain addresses
  /// no more.
  llvm::SmallVector<Segment> rowSegments(int64_t limit, int64_t partitions,
                                         int64_t first) const;
  /// The same of columns; their source elements have one distance.
  llvm::SmallVector<Segment> columnSegments(int64_t limit, int64_t partitions,
                                            int64_t first) const;

private:
  static int64_t count(llvm::ArrayRef<npu::PatternDim> dims);
};

/// Nothing if the data movement keeps part of the partition axis there, repeats
/// elements, or visits a partition axis with gaps.
std::optional<TransposePlan> planTranspose(const npu::AccessPattern &pattern,
                                           int64_t sourceAxis,
                                           int64_t resultAxis);

/// Where the tensors of a data movement are besides the state buffer.
struct TransposeEnds {
  /// Bytes of a partition that are neighbours in DRAM as well, of a source that
  /// is loaded and of a result that is stored; 0: it is in the state buffer.
  int64_t loaded = 0, stored = 0;
  /// Source and result do not fit the state buffer together; of a load or store
  /// by an operation of its own, the end on the chip next to anything else.
  bool evicted = false;
  /// A copy does without: blocks are swapped (analysis::BlockSwap).
  bool changesPlaces = false;
};

/// Predicted cycles of the ways to do a data movement (docs/Machine.md), loads
/// and stores of its ends included.
struct TransposeCycles {
  int64_t identity = 0; ///< on the array, tiles overlapped
  int64_t planes = 0;   ///< the same, byte plane by byte plane
  int64_t floats = 0;   ///< the same, products of floats; 0: of another type
  int64_t copy = 0;     ///< copied inside the chip, or by a load or store
  int64_t dma = 0;      ///< to DRAM and back
};
/// `significand`: bits of the significands of floating-point elements that the
/// array can multiply; 0 of other types.
TransposeCycles predictTranspose(const TransposePlan &plan,
                                 int64_t elementBytes,
                                 const machine::Description &machine,
                                 const TransposeEnds &ends = {},
                                 uint64_t significand = 0);

} // namespace ashlar::analysis

#endif // ASHLAR_ANALYSIS_TRANSPOSEPLAN_H
