// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How a feature map lies in DRAM compressed: cells of one row of some channels
// each, stored by dma.compress and read by dma.expand (docs/SparseTiles.md 4).

#ifndef ASHLAR_ANALYSIS_MAPFORM_H
#define ASHLAR_ANALYSIS_MAPFORM_H

#include "ashlar/Analysis/View.h"
#include "ashlar/Machine/Cycles.h"
#include "dialects/NPU/NPUDialect.h"
#include "mlir/IR/Operation.h"

namespace ashlar::analysis {

/// Form of a feature map of rank 3 (batch, channel, column) or 4 (row before
/// column). Cell (n, g, h) has the channels from g * cellChannels on of row h
/// of image n, as many as there are up to cellChannels, a channel being a row
/// of the plane. It lies `((n * groups + g) * rows + h) * pitch` bytes after
/// the first.
struct MapForm {
  int64_t form = 0; ///< isa::MapForm
  int64_t levels = 0;
  int64_t cellChannels = 0;
  int64_t cellBytes = 0; ///< Capacity that the loader proves.
  int64_t pitch = 0;     ///< From one cell to the next, bytes.
  int64_t typical = 0;   ///< Bytes to expect of a cell.

  int64_t groups(llvm::ArrayRef<int64_t> shape) const;
  /// Bytes of a feature map of this form in DRAM.
  int64_t bytes(llvm::ArrayRef<int64_t> shape) const;

  npu::MapFormAttr toAttr(mlir::MLIRContext *context) const;
  /// The form of an operation's result, if it has one.
  static std::optional<MapForm> of(mlir::Operation *op);
};

/// Rows of a feature map; 1 of one of rank 3.
int64_t rowsOf(llvm::ArrayRef<int64_t> shape);

/// One compressed transfer of `region`, either way: how many queues share its
/// rows, and the time that it takes with cells of typical size.
struct CompressedTransfer {
  int64_t parts = 1;
  uint64_t dram = 0;  ///< cycles of DRAM
  uint64_t total = 0; ///< until all of it is complete
};
CompressedTransfer compressedTransfer(const MapForm &form, const Region &region,
                                      int64_t elementBytes, bool store,
                                      const machine::Description &machine);

} // namespace ashlar::analysis

#endif // ASHLAR_ANALYSIS_MAPFORM_H
