// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How an npu operation may be cut into tiles: which part of each operand a
// part of the result needs, across which axis operands must be laid out, and
// what scratch memory a tile takes. Memory planning and code generation both
// ask this one model, so what was planned is what is emitted.

#ifndef ASHLAR_ANALYSIS_TILINGMODEL_H
#define ASHLAR_ANALYSIS_TILINGMODEL_H

#include "ashlar/Analysis/Lanes.h"
#include "mlir/IR/Operation.h"
#include <functional>
#include <optional>

namespace ashlar::npu {
class VecGatherOp;
} // namespace ashlar::npu

namespace ashlar::analysis {

/// Scratch of one tile besides staged operands and the staged result.
struct ScratchBuffer {
  StorageType type;
  Shape shape;
  int64_t axis;
};

/// How one operand is read.
struct OperandModel {
  /// Constants that the program streams or that travel in parameter records
  /// take no part in staging.
  bool streamed = false;
  /// Read by DMA from wherever it lies: no staging.
  bool direct = false;
  /// Read directly, and from DRAM alone: it is never resident.
  bool fromDram = false;
  /// The staged region may reach beyond the operand; outside reads as zero.
  bool padded = false;
  /// Partition axis while it is read; -1: one partition holds all of it.
  int64_t axis = -1;
  /// Lane fold in which it is read. Folds of W are never staged.
  Lanes lanes;
  /// Region that a region of the result needs.
  std::function<Region(const Region &)> region;
  /// By axis of the result: indices from which on the operand ends to be
  /// clipped at its begin, or begins to be clipped at its end. Tiles between
  /// them need regions of one size; the largest is next to one of them.
  llvm::SmallVector<llvm::SmallVector<int64_t, 2>, 6> edges;

  /// True if the operand is read where it lies in `home`, not as a copy in
  /// scratch memory.
  /// `fold` is that of the operand there.
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
  /// Lane fold in which the operation makes tiles of the result.
  Lanes lanes;
  /// Lane fold in which the result lies in SB. Where it is another one, tiles
  /// are made in scratch memory and laid anew.
  Lanes homeLanes;
  /// Axis across partitions while the operation works. If it differs, the last
  /// two scratch buffers take the result across it and across resultAxis.
  int64_t workAxis = -1;
  /// The result is written by DMA straight to wherever it lies.
  bool directResult = false;
  /// What writes the result reaches DRAM alone: it is never resident.
  bool resultInDram = false;
  llvm::SmallVector<OperandModel, 4> operands;
  /// Axes of the result that may be cut, in the order in which to cut them.
  llvm::SmallVector<int64_t, 6> tileAxes;
  /// Axis of the outputs of a product, which may be cut too, into whole column
  /// tiles; -1: not. Tiles along it come one after the other, those of other
  /// axes within them: weights are then read once for all of these.
  int64_t outputAxis = -1;
  /// Tile extents are multiples of this (per axis).
  Shape granularity;
  std::function<llvm::SmallVector<ScratchBuffer, 4>(const Region &)> scratch;
};

/// The model of an npu operation on `machine`.
TilingModel buildTilingModel(mlir::Operation *op,
                             const machine::Description &machine);

/// The fold in which an operand of `shape` goes into a feature map whose result
/// of shape `result` is made in `lanes`, a spread axis: one channel of one
/// index is read by all partitions as it lies. Nothing if channels and spread
/// axis are not both there, nor the channels alone.
std::optional<Lanes> broadcastLanes(llvm::ArrayRef<int64_t> shape,
                                    llvm::ArrayRef<int64_t> result,
                                    Lanes lanes);

/// True if the drain can encode results of this storage and so many channels:
/// whole blocks within one group of array columns and one channel tile
/// (docs/Machine.md, ACT).
bool drainEncodes(const StorageType &type, int64_t channels,
                  const machine::Description &machine);

/// True if the windows of an activations-stationary product have to be gathered
/// tap by tap: its operand is not read as it lies.
bool gathersActivations(mlir::Operation *op);

/// True if the rows that run-time indices choose are fetched from DRAM one by
/// one (dma.gather): the operand is too large to lie in SB, or it is in DRAM
/// anyway and the rows are less to fetch than all of it.
bool gathersFromDram(npu::VecGatherOp op, const machine::Description &machine);

/// Input range [start, start + size) along one axis that window outputs
/// [start, start + size) read, not clipped to the input.
struct WindowRange {
  int64_t start;
  int64_t size;
};
WindowRange windowInput(int64_t start, int64_t size, int64_t stride,
                        int64_t padBegin, int64_t kernel, int64_t dilation);

} // namespace ashlar::analysis

#endif // ASHLAR_ANALYSIS_TILINGMODEL_H
