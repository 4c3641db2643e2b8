// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The layout of compressed feature maps in DRAM: cells, each with one row of a
// group of channels, written by dma.compress and read by dma.expand
// (docs/SparseTiles.md 4).

#ifndef ASHLAR_ANALYSIS_LAYOUT_MAPFORM_H
#define ASHLAR_ANALYSIS_LAYOUT_MAPFORM_H

#include "ashlar/Analysis/Layout/View.h"
#include "ashlar/Machine/Cycles.h"
#include "dialects/NPU/NPUDialect.h"
#include "mlir/IR/Operation.h"

namespace ashlar::analysis {

/// The compressed form of a feature map of rank 3 (batch, channel, column) or 4
/// (batch, channel, row, column). Cell (n, g, h) contains row h of channels
/// [g * cellChannels, (g + 1) * cellChannels) of image n, clipped to the
/// channels that exist. It is `((n * groups + g) * rows + h) * pitch` bytes
/// after the first cell.
struct MapForm {
  int64_t form = 0; ///< isa::MapForm
  int64_t levels = 0;
  int64_t cellChannels = 0;
  int64_t cellBytes = 0; ///< Capacity, which the loader proves sufficient.
  int64_t pitch = 0;     ///< Bytes from one cell to the next.
  int64_t typical = 0;   ///< Expected bytes of a cell.

  int64_t groups(llvm::ArrayRef<int64_t> shape) const;
  /// Bytes that a feature map of `shape` takes in DRAM.
  int64_t bytes(llvm::ArrayRef<int64_t> shape) const;

  npu::MapFormAttr toAttr(mlir::MLIRContext *context) const;
  /// The form of an operation's result, if it has one.
  static std::optional<MapForm> of(mlir::Operation *op);
};

/// Rows of a feature map; 1 for rank 3.
int64_t rowsOf(llvm::ArrayRef<int64_t> shape);

/// The cost of transferring `region` compressed, in either direction: the
/// number of queues that share its rows, and the cycles with cells of typical
/// size.
struct CompressedTransfer {
  int64_t parts = 1;
  uint64_t dram = 0;  ///< cycles of DRAM
  uint64_t total = 0; ///< cycles until the transfer is complete
};
CompressedTransfer compressedTransfer(const MapForm &form, const Region &region,
                                      int64_t elementBytes, bool store,
                                      const machine::Description &machine);

} // namespace ashlar::analysis

#endif // ASHLAR_ANALYSIS_LAYOUT_MAPFORM_H
