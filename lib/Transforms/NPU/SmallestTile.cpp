// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The least that an operation needs of the state buffer.

#include "SmallestTile.h"

#include "ashlar/Analysis/Array/StationaryPlan.h"
#include "ashlar/Analysis/Tiles/TileBuffers.h"
#include "dialects/NPU/NPUDialect.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

namespace ashlar::npu {

using namespace mlir;

analysis::Shape smallestTile(const analysis::TilingModel &model) {
  analysis::Shape smallest = model.resultShape;
  auto cut = [&](int64_t axis) {
    smallest[axis] = std::min(smallest[axis], model.granularity[axis]);
  };
  llvm::for_each(model.tileAxes, cut);
  if (model.outputAxis >= 0)
    cut(model.outputAxis);
  return smallest;
}

int64_t smallestTileBytes(Operation *op, const machine::Description &machine) {
  const analysis::TilingModel model = analysis::buildTilingModel(op, machine);
  analysis::Staging staging;
  for (const analysis::OperandModel &operand : model.operands)
    staging.operands.push_back(!operand.streamed && !operand.direct);
  staging.result = !model.directResult;
  return analysis::slotBytes(op, model, staging, smallestTile(model), machine);
}

int64_t leastScratch(ModuleOp module, const machine::Description &machine) {
  int64_t chunk = 0;
  module.walk([&](Operation *op) {
    if (isa_and_nonnull<NPUDialect>(op->getDialect()))
      chunk = std::max(chunk,
                       analysis::weightNeeds(op, machine, kLeastChunk).chunk);
  });
  const auto capacity = static_cast<int64_t>(machine.sb.bytesPerPartition);
  const auto identity =
      static_cast<int64_t>(llvm::alignTo(machine.sb.partitions, 64));
  return capacity - identity - chunk - capacity / kRecordPart;
}

} // namespace ashlar::npu
