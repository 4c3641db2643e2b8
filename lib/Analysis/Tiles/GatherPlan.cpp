// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whether a gather at run-time indices reads SB or DRAM.

#include "ashlar/Analysis/Tiles/TilingModel.h"

#include "dialects/NPU/NPUDialect.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace ashlar::analysis {

/// What dma.gather fetches for all indices, in bytes of whole bursts.
static uint64_t gatheredBytes(npu::VecGatherOp op,
                              const machine::Description &machine) {
  auto shape = shapeOf(op.getX()), indices = shapeOf(op.getIndices());
  uint64_t count = 1, row = storageOf(op.getX()).bytes();
  // The row: axes inside the gathered one that share their index.
  int64_t axis = static_cast<int64_t>(shape.size()) - 1;
  for (; axis > static_cast<int64_t>(op.getAxis()) && indices[axis] == 1;
       --axis)
    row *= shape[axis];
  for (; axis >= 0; --axis)
    count *= shapeOf(op.getY())[axis];
  const uint64_t burst = machine.dram.burstBytes;
  return count * llvm::alignTo(row, burst);
}

bool gathersFromDram(npu::VecGatherOp op, const machine::Description &machine) {
  const int64_t extent = shapeOf(op.getX())[op.getAxis()];
  const int64_t bytes = storageOf(op.getX()).bytes();
  // Half of a partition leaves room for result, indices and weights; the field
  // of vec.gather that names the extent has 20 bits.
  if (extent >= int64_t(1) << 20 ||
      extent * bytes > static_cast<int64_t>(machine.sb.bytesPerPartition) / 2)
    return true;
  Operation *producer = op.getX().getDefiningOp();
  const bool inDram =
      !producer || !isa_and_nonnull<npu::NPUDialect>(producer->getDialect());
  return inDram && gatheredBytes(op, machine) <
                       static_cast<uint64_t>(
                           dramBytes(storageOf(op.getX()), shapeOf(op.getX())));
}

} // namespace ashlar::analysis
