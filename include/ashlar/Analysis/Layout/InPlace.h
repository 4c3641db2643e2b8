// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// In-place data movement: how far a result that is written tile by tile may
// overlap its operand, and transposes that swap square blocks.

#ifndef ASHLAR_ANALYSIS_LAYOUT_INPLACE_H
#define ASHLAR_ANALYSIS_LAYOUT_INPLACE_H

#include "ashlar/Analysis/Layout/View.h"
#include "ashlar/Analysis/Tiles/TilingModel.h"
#include "dialects/NPU/AccessPattern.h"
#include "dialects/NPU/NPUDialect.h"
#include <optional>

namespace ashlar::analysis {

/// The largest offset, in bytes of a partition, from the start of the operand's
/// memory at which the result of `op` may start, such that no tile of `extents`
/// overwrites bytes that a later tile reads. A negative offset means that the
/// result has to start before the operand. `source` is the operand at its
/// offset in that memory. A tile is read completely before it is written, so a
/// single tile may lie anywhere up to the operand's last byte.
int64_t inPlaceLead(npu::DmaMoveOp op, const TilingModel &model,
                    const View &source, llvm::ArrayRef<int64_t> extents,
                    const machine::Description &machine);

/// An in-place transpose of square planes, block by block: the block of rows I
/// and columns J goes where the block of rows J and columns I was. A block has
/// as many rows and columns as there are partitions.
struct BlockSwap {
  npu::AccessPattern pattern;
  int64_t rowAxis = 0;    ///< of the result: the operand's partition axis
  int64_t columnAxis = 0; ///< of the operand: the result's partition axis
  int64_t extent = 0;     ///< of both
  int64_t block = 0;      ///< indices of one block: the partitions
};

/// The block swap that performs `op` in the memory of `source`. Both `source`
/// and the result are dense; the result is partitioned along `resultAxis`.
/// Nothing if the planes are not square or move to other places, or if the data
/// movement converts or omits elements.
std::optional<BlockSwap> blockSwap(npu::DmaMoveOp op, const View &source,
                                   int64_t resultAxis,
                                   const machine::Description &machine);

/// The region of the operand, of shape `shape`, that block (i, j) covers, and
/// the region of the result, of shape `shape`, that it becomes.
Region blockOfOperand(const BlockSwap &swap, llvm::ArrayRef<int64_t> shape,
                      int64_t sourceAxis, int64_t i, int64_t j);
Region blockOfResult(const BlockSwap &swap, llvm::ArrayRef<int64_t> shape,
                     int64_t resultAxis, int64_t i, int64_t j);

} // namespace ashlar::analysis

#endif // ASHLAR_ANALYSIS_LAYOUT_INPLACE_H
