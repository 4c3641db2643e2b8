// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Movement inside one memory: where a result that is written tile by tile may
// lie over the operand that it is made of, and exchanges of square blocks.

#ifndef ASHLAR_ANALYSIS_INPLACE_H
#define ASHLAR_ANALYSIS_INPLACE_H

#include "ashlar/Analysis/TilingModel.h"
#include "ashlar/Analysis/View.h"
#include "dialects/NPU/AccessPattern.h"
#include "dialects/NPU/NPUDialect.h"
#include <optional>

namespace ashlar::analysis {

/// The most bytes of a partition by which the result of `op` may begin after
/// the memory of its operand, so that no tile of `extents` is written over
/// bytes that a later one reads; negative: it has to begin so many in front.
/// `source` is the operand at its offset from the begin of that memory. A tile
/// is read whole before it is written, so that a single one may lie anywhere:
/// the operand's last byte is then the limit.
int64_t inPlaceLead(npu::DmaMoveOp op, const TilingModel &model,
                    const View &source, llvm::ArrayRef<int64_t> extents,
                    const machine::Description &machine);

/// A transpose of square planes inside one memory. A block lies between two
/// channel tiles; that of rows I and columns J goes where the one of rows J and
/// columns I was.
struct BlockSwap {
  npu::AccessPattern pattern;
  int64_t rowAxis = 0;    ///< of the result: the operand's partition axis
  int64_t columnAxis = 0; ///< of the operand: the result's partition axis
  int64_t extent = 0;     ///< of both
  int64_t block = 0;      ///< indices of one block: the partitions
};

/// The exchange that does `op` in the memory of `source`, which is dense, with
/// a dense result across `resultAxis`; nothing if a plane is not a square or
/// does not stay in its place, or the data movement converts or leaves elements
/// out.
std::optional<BlockSwap> blockSwap(npu::DmaMoveOp op, const View &source,
                                   int64_t resultAxis,
                                   const machine::Description &machine);

/// Part of the operand (of `shape`) in block (I, J) of its rows and columns,
/// and where it lies in the result (of `shape`).
Region blockOfOperand(const BlockSwap &swap, llvm::ArrayRef<int64_t> shape,
                      int64_t sourceAxis, int64_t i, int64_t j);
Region blockOfResult(const BlockSwap &swap, llvm::ArrayRef<int64_t> shape,
                     int64_t resultAxis, int64_t i, int64_t j);

} // namespace ashlar::analysis

#endif // ASHLAR_ANALYSIS_INPLACE_H
