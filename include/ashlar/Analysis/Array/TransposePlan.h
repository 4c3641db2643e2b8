// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How a data movement that changes the partition axis is cut into tiles of the
// array: rows are indices along the source's partition axis, columns along the
// result's. The pass, the cost model and code generation share this plan.

#ifndef ASHLAR_ANALYSIS_ARRAY_TRANSPOSEPLAN_H
#define ASHLAR_ANALYSIS_ARRAY_TRANSPOSEPLAN_H

#include "ashlar/Machine/Description.h"
#include "dialects/NPU/AccessPattern.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>

namespace ashlar::analysis {

/// Consecutive indices of a partition axis in one array tile. `dims` are the
/// extents of the loops that they span, outermost first, so that several short
/// loops share a tile (docs/Machine.md, transposes).
struct Segment {
  int64_t begin = 0;
  int64_t size = 0;
  llvm::SmallVector<int64_t, 3> dims;
  /// Loops of `dims`, as indices into TransposePlan::rows or columns.
  llvm::SmallVector<size_t, 3> loops;
};

/// A data movement as a set of planes: rows x columns for every index of the
/// other loops.
struct TransposePlan {
  llvm::SmallVector<npu::PatternDim, 4> rows;    ///< outermost first
  llvm::SmallVector<npu::PatternDim, 4> columns; ///< outermost first
  llvm::SmallVector<npu::PatternDim, 4> others;
  int64_t together = 1; ///< elements that are contiguous on both sides

  int64_t rowCount() const { return count(rows); }
  int64_t columnCount() const { return count(columns); }
  int64_t planes() const { return count(others); }

  /// Tiles of at most `limit` rows that do not cross channel tiles of
  /// `partitions`, where index 0 is in partition `first`. A tile spans at most
  /// three loops, the most that a drain can address.
  llvm::SmallVector<Segment> rowSegments(int64_t limit, int64_t partitions,
                                         int64_t first) const;
  /// The same for columns, whose source elements have a single stride.
  llvm::SmallVector<Segment> columnSegments(int64_t limit, int64_t partitions,
                                            int64_t first) const;

private:
  static int64_t count(llvm::ArrayRef<npu::PatternDim> dims);
};

/// The plan of a data movement; nothing if it keeps a part of the partition
/// axis in place, repeats elements, or visits a partition axis with gaps.
std::optional<TransposePlan> planTranspose(const npu::AccessPattern &pattern,
                                           int64_t sourceAxis,
                                           int64_t resultAxis);

/// Source and result of a data movement, as far as they are in DRAM.
struct TransposeEnds {
  /// For a source that is loaded, and a result that is stored: bytes of a
  /// partition that are contiguous in DRAM; 0: it is in the state buffer.
  int64_t loaded = 0, stored = 0;
  /// Source and result do not fit the state buffer together. For a load or
  /// store that is an operation of its own: its on-chip end does not fit next
  /// to any other tensor.
  bool evicted = false;
  /// A copy does not need both at once: it swaps blocks (analysis::BlockSwap).
  bool changesPlaces = false;
};

/// Predicted cycles of every way to do a data movement (docs/Machine.md),
/// including the loads and stores of its ends.
struct TransposeCycles {
  int64_t identity = 0; ///< on the array, tiles overlapped
  int64_t planes = 0;   ///< on the array, byte plane by byte plane
  int64_t floats = 0;   ///< on the array, as floats; 0: not a float type
  int64_t copy = 0;     ///< copied on chip, or by a load or store
  int64_t dma = 0;      ///< to DRAM and back
};
/// Predicts the cycles of `plan`. `significand` is the number of significand
/// bits of elements that the array can multiply as floats; 0 for other types.
TransposeCycles predictTranspose(const TransposePlan &plan,
                                 int64_t elementBytes,
                                 const machine::Description &machine,
                                 const TransposeEnds &ends = {},
                                 uint64_t significand = 0);

} // namespace ashlar::analysis

#endif // ASHLAR_ANALYSIS_ARRAY_TRANSPOSEPLAN_H
