// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How an npu operation can be tiled: the region of each operand that a region
// of the result needs, the partition axis in which operands are read, and the
// scratch memory of a tile. Memory planning and code generation share this
// model, so that emitted code matches the plan.

#ifndef ASHLAR_ANALYSIS_TILES_TILINGMODEL_H
#define ASHLAR_ANALYSIS_TILES_TILINGMODEL_H

#include "ashlar/Analysis/Layout/Lanes.h"
#include "mlir/IR/Operation.h"
#include <functional>
#include <optional>

namespace ashlar::npu {
class VecGatherOp;
} // namespace ashlar::npu

namespace ashlar::analysis {

/// A scratch buffer of a tile, in addition to staged operands and results.
struct ScratchBuffer {
  StorageType type;
  Shape shape;
  int64_t axis;
};

/// How one operand is read.
struct OperandModel {
  /// A constant that the program streams, or that is part of parameter records;
  /// never staged.
  bool streamed = false;
  /// DMA reads it from any memory; never staged.
  bool direct = false;
  /// Read directly, and only from DRAM; never resident in the state buffer.
  bool fromDram = false;
  /// For each axis of the result: indices of the operand's axis that tiles next
  /// to each other both read where it lies. Empty: they share nothing.
  llvm::SmallVector<int64_t, 6> shared;
  /// The staged region may extend beyond the operand, where it reads zeros.
  bool padded = false;
  /// Partition axis in which it is read; -1: it lies in a single partition.
  int64_t axis = -1;
  /// Lane fold in which it is read. Operands in a fold of W are never staged.
  Lanes lanes;
  /// The region of the operand that a region of the result needs.
  std::function<Region(const Region &)> region;
  /// For each axis of the result: the indices at which clipping of the needed
  /// region at the operand's start ends, and at which clipping at its end
  /// begins. Tiles between two of them need regions of equal size; the largest
  /// region is that of a tile next to one of them.
  llvm::SmallVector<llvm::SmallVector<int64_t, 2>, 6> edges;

  /// True if the operand is read in place from `home`, where its lane fold is
  /// `fold`, rather than from a copy in scratch memory.
  bool readsInPlace(const View &home, const Lanes &fold) const {
    return !streamed && !direct && !padded && home.inStateBuffer() &&
           home.axis == axis && fold == lanes;
  }
};

/// Tiling of one operation.
struct TilingModel {
  Shape resultShape;
  StorageType resultType;
  int64_t resultAxis = -1;
  /// Lane fold in which the operation computes tiles of the result.
  Lanes lanes;
  /// Lane fold of the stored result in SB. If it differs from `lanes`, tiles
  /// are computed in scratch memory and copied into the other fold.
  Lanes homeLanes;
  /// Partition axis in which the operation computes. If it is not resultAxis,
  /// the last two scratch buffers hold the result in either layout.
  int64_t workAxis = -1;
  /// DMA writes the result directly to its place in any memory.
  bool directResult = false;
  /// The result can only be written to DRAM; never resident.
  bool resultInDram = false;
  llvm::SmallVector<OperandModel, 4> operands;
  /// Axes of the result that may be cut, in order of preference.
  llvm::SmallVector<int64_t, 6> tileAxes;
  /// The output axis of a product, if it may be cut into whole column tiles;
  /// -1: it may not. It is the outermost loop over tiles, so that weights are
  /// read once for all tiles along the other axes.
  int64_t outputAxis = -1;
  /// Tile extents are multiples of this (per axis).
  Shape granularity;
  std::function<llvm::SmallVector<ScratchBuffer, 4>(const Region &)> scratch;
};

/// The model of an npu operation on `machine`.
TilingModel buildTilingModel(mlir::Operation *op,
                             const machine::Description &machine);

/// The fold in which an operand of shape `shape` is broadcast to a result of
/// shape `result` that is computed in `lanes`, a spread axis. A single channel
/// of a single index is read by all partitions without a fold. Nothing unless
/// the operand has the channels, with or without the spread axis.
std::optional<Lanes> broadcastLanes(llvm::ArrayRef<int64_t> shape,
                                    llvm::ArrayRef<int64_t> result,
                                    Lanes lanes);

/// True if the drain can encode results of storage type `type` with `channels`
/// channels: blocks must not cross groups of array columns or channel tiles
/// (docs/Machine.md, ACT).
bool drainEncodes(const StorageType &type, int64_t channels,
                  const machine::Description &machine);

/// True if the windows of an activations-stationary product have to be gathered
/// tap by tap, because its operand cannot be read in place.
bool gathersActivations(mlir::Operation *op);

/// True if the rows that run-time indices select are fetched from DRAM one by
/// one (dma.gather): the operand does not fit SB, or it is in DRAM anyway and
/// the selected rows are fewer bytes than the whole operand.
bool gathersFromDram(npu::VecGatherOp op, const machine::Description &machine);

/// The range of inputs along one axis that the windows of a range of outputs
/// read, not clipped to the input.
struct WindowRange {
  int64_t start;
  int64_t size;
};
WindowRange windowInput(int64_t start, int64_t size, int64_t stride,
                        int64_t padBegin, int64_t kernel, int64_t dilation);

} // namespace ashlar::analysis

#endif // ASHLAR_ANALYSIS_TILES_TILINGMODEL_H
