// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where the elements of a tensor, or of a rectangular part of one, lie:
// the addressing rule of docs/Machine.md (memories and layout) as a value type.

#ifndef ASHLAR_ANALYSIS_LAYOUT_VIEW_H
#define ASHLAR_ANALYSIS_LAYOUT_VIEW_H

#include "ashlar/Analysis/Layout/StorageType.h"
#include "ashlar/Machine/Description.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

namespace ashlar::analysis {

using Shape = llvm::SmallVector<int64_t, 6>;

/// A rectangular part of a tensor in index space.
struct Region {
  Shape start;
  Shape size;

  static Region whole(llvm::ArrayRef<int64_t> shape);
  int64_t elements() const;
  bool operator==(const Region &other) const = default;
};

/// The tiles of `extents` of a tensor of `shape`, in the order in which they
/// are made: the last axis fastest.
Region firstTile(llvm::ArrayRef<int64_t> shape,
                 llvm::ArrayRef<int64_t> extents);
/// Advances to the next tile; false after the last one. Axis `slowest`, if
/// there is one, changes after all others.
bool nextTile(Region &tile, llvm::ArrayRef<int64_t> shape,
              llvm::ArrayRef<int64_t> extents, int64_t slowest = -1);

/// Elements of a tensor region in DRAM or in the state buffer (SB).
///
/// In SB the elements of `axis` are mapped to partitions: index i of that axis
/// is in partition (part + i) mod P of channel tile (part + i) div P; tiles are
/// `tileStride` bytes apart and every other axis has a byte stride inside the
/// partition. axis = -1 puts the whole region into partition `part`. Exponent
/// cells of encoded elements lie at the same place in exponent memory.
///
/// A second axis, `outer`, may lie across partitions as well: its indices are
/// `outerStep` partitions apart, like the heads in the features of a
/// projection. Index (i, o) of both is then at part + i + o * outerStep.
///
/// In DRAM all axes are strided; encoded tensors have a second array of
/// exponent cells, whose block axis counts groups of `xmGroup` elements.
struct View {
  enum class Memory { Dram, StateBuffer };

  Memory memory = Memory::Dram;
  StorageType type;
  Shape shape;
  Shape strides;          ///< bytes; unused for `axis` and `outer` in SB
  int64_t base = 0;       ///< DRAM address, or byte offset in the partition
  int64_t axis = -1;      ///< partition axis (SB only)
  int64_t part = 0;       ///< partition of index 0 of `axis` (SB only)
  int64_t outer = -1;     ///< second axis across partitions; -1: none (SB only)
  int64_t outerStep = 0;  ///< partitions between its indices
  int64_t tileStride = 0; ///< bytes (SB only)
  int64_t cellBase = 0;   ///< DRAM address of the exponent cells
  Shape cellStrides;      ///< bytes per step (DRAM, encoded only)

  int64_t rank() const { return static_cast<int64_t>(shape.size()); }
  bool inStateBuffer() const { return memory == Memory::StateBuffer; }
  /// Extent along the partition axis; 1 when there is none.
  int64_t channels() const { return axis < 0 ? 1 : shape[axis]; }
  /// True if `i` is an axis whose indices lie in different partitions.
  bool isAcross(int64_t i) const { return i == axis || i == outer; }
  /// Partitions, counted through channel tiles, from the one of index 0 to
  /// that of `index`.
  int64_t partitionsTo(llvm::ArrayRef<int64_t> index) const {
    return (axis < 0 ? 0 : index[axis]) +
           (outer < 0 ? 0 : index[outer] * outerStep);
  }

  /// The part of this view that `region` names.
  View slice(const Region &region, const machine::Description &machine) const;
};

/// Dense row-major view in DRAM; cells of encoded types follow at `cellBase`.
View denseDramView(const StorageType &type, llvm::ArrayRef<int64_t> shape,
                   int64_t base, int64_t cellBase,
                   const machine::Description &machine);

/// Dense view in SB at byte `offset`, starting in partition 0.
View denseBufferView(const StorageType &type, llvm::ArrayRef<int64_t> shape,
                     int64_t axis, int64_t offset,
                     const machine::Description &machine);

/// Bytes that denseBufferView occupies in each partition.
int64_t bufferBytes(const StorageType &type, llvm::ArrayRef<int64_t> shape,
                    int64_t axis, const machine::Description &machine);

/// Bytes of the elements and of the exponent cells of a dense DRAM tensor.
int64_t dramBytes(const StorageType &type, llvm::ArrayRef<int64_t> shape);
int64_t dramCellBytes(const StorageType &type, llvm::ArrayRef<int64_t> shape,
                      const machine::Description &machine);

} // namespace ashlar::analysis

#endif // ASHLAR_ANALYSIS_LAYOUT_VIEW_H
