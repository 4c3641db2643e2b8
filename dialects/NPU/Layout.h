// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How the elements of a tensor lie in the state buffer (docs/Machine.md,
// memories and layout), as far as an operation that reads or writes them in
// place has to know. Operations say which layouts they accept
// (NPUInterfaces.td); planning moves what is not accepted.

#ifndef ASHLAR_DIALECTS_NPU_LAYOUT_H
#define ASHLAR_DIALECTS_NPU_LAYOUT_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <string>

namespace ashlar::npu {

/// Elements at addresses with one distance, in row-major order of their axes.
struct Run {
  int64_t extent = 1;
  int64_t stride = 0; ///< bytes
  bool operator==(const Run &other) const = default;
};

/// The layout of a tensor, or of a rectangular part of one, in the state
/// buffer. Shape and strides are those of the feature map in memory: a
/// lane-folded feature map is a plain one of more channels and fewer columns.
struct Layout {
  llvm::SmallVector<int64_t, 6> shape;
  llvm::SmallVector<int64_t, 6> strides; ///< bytes; not of `partitionAxis`
  int64_t partitionAxis = -1; ///< -1: one partition holds all elements
  int64_t firstPartition = 0; ///< of index 0 of `partitionAxis`
  int64_t outerAxis = -1;     ///< a second one across partitions; -1: none
  int64_t outerStep = 0;      ///< partitions between its indices
  int64_t partitions = 1;     ///< of the machine: one channel tile
  int64_t blockAxis = -1;     ///< axis of shared exponents; -1: plain elements
  int64_t block = 1; ///< elements that share one; 0 or less: the whole axis
  int64_t lanes = 1; ///< neighbours of a row side by side; 1: no fold
  /// A second axis is mapped to partitions: shape and strides are those of the
  /// map with more channels, on which an operation works that makes its result
  /// in the same way.
  bool spread = false;

  int64_t rank() const { return static_cast<int64_t>(shape.size()); }
  /// All axes whose elements lie within partitions, outermost first.
  llvm::SmallVector<int64_t, 6> freeAxes() const;
  /// The addresses of the elements along free axes, in row-major order of
  /// `axes`, as the fewest nested runs, outermost first. Axes of one element
  /// take no run.
  llvm::SmallVector<Run, 4> runs(llvm::ArrayRef<int64_t> axes) const;
  /// True if the end of a channel tile divides a block: its elements then lie
  /// in two rows of partitions, with an exponent cell in each.
  bool cutsBlocks() const;
  /// True if the elements along the partition axis, for any index of the outer
  /// one, begin a channel tile or lie within one: they are then cut into
  /// channel tiles where those of a map in partition 0 are.
  bool keepsTiles() const;
};

/// What every operation expects of a layout unless it says otherwise: no lane
/// fold, one axis across partitions with index 0 in the first one, and blocks
/// along it. Empty if the layout is like that, else what is not.
std::string refusePlain(const Layout &layout);

} // namespace ashlar::npu

#endif // ASHLAR_DIALECTS_NPU_LAYOUT_H
