// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the drains of a product may be asked for: rows side by side, and
// functions that the vector unit applies.

#include "dialects/NPU/NPUVerify.h"

#include "ashlar/Partition/SharedDrain.h"
#include "dialects/BFP/BFPTypes.h"

using namespace mlir;

namespace ashlar::npu {

LogicalResult checkPackedRows(PeConvOp op) {
  const auto rows = static_cast<int64_t>(op.getPackedRows());
  ArrayRef<int64_t> x = shapeOf(op.getX()), result = shapeOf(op.getY());
  if (op.getRowsApart() &&
      (rows < 2 || x.size() < 4 || x[x.size() - 2] % rows != 0))
    return op.emitOpError() << "has " << rows
                            << " packed rows apart, expected 2 or more that "
                               "divide the rows of the operand";
  if (rows == 1)
    return success();
  const int64_t height = result.size() > 3 ? result[result.size() - 2] : 1;
  if (rows >= 2 && rows <= height && op.getGroup() == 1 &&
      !hasStationaryActivations(op) && !patternOf(op))
    return success();
  return op.emitOpError() << "packs " << rows << " of " << height
                          << " rows, expected 1, or at most all rows of a "
                             "convolution of one group with stationary weights "
                             "and no N:M pattern";
}

/// What `op` has that shares of its drains exclude; empty if nothing.
template <typename Op>
static std::string excludesShare(Op op) {
  if (!bfp::isEncoded(op.getX().getType()) ||
      !bfp::isEncoded(op.getW().getType()))
    return "factors that are integers";
  if (hasStationaryActivations(op))
    return "stationary activations";
  if (op.getFunction() == "copy")
    return "no function";
  if (op.getSlope())
    return "slopes of its channels";
  if (op.getIntegerEpilogue())
    return "an integer epilogue";
  if (poolingOf(op))
    return "a pool in its drain";
  return "";
}

LogicalResult checkVectorShare(Operation *op) {
  const int64_t share = vectorShareOf(op);
  if (share == 0)
    return success();
  if (share < 0 || share >= partition::kDrainShares)
    return op->emitOpError()
           << "has a vector share of " << share << ", expected 0 to "
           << partition::kDrainShares - 1;
  auto conv = dyn_cast<PeConvOp>(op);
  std::string found =
      conv ? excludesShare(conv) : excludesShare(cast<PeMatmulOp>(op));
  if (found.empty() && conv && conv.getPackedRows() != 1)
    found = "packed rows";
  if (found.empty())
    return success();
  return op->emitOpError() << "leaves functions to the vector unit and has "
                           << found;
}

} // namespace ashlar::npu
