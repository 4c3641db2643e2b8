// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Scratch memory of a product that shares its function with the vector unit:
// binary32 values between a drain and what finishes them.

#include "TilingModels.h"

#include "ashlar/Analysis/Array/StationaryPlan.h"
#include "ashlar/Analysis/Tiles/SharedScratch.h"
#include "ashlar/Partition/SharedDrain.h"

using namespace mlir;

namespace ashlar::analysis {

int64_t sharedCapacity(Operation *op, const machine::Description &machine) {
  // Columns of one channel tile are finished together, when the last of them
  // is drained.
  return planStationary(productShape(op), machine).size() == 1
             ? static_cast<int64_t>(machine.psum.entriesPerBank)
             : 0;
}

void addSharedScratch(TilingModel &model, Operation *op,
                      const machine::Description &machine) {
  const int64_t share = npu::vectorShareOf(op);
  if (share == 0)
    return;
  const auto rank = static_cast<int64_t>(model.resultShape.size());
  const bool isMap = llvm::isa<npu::PeConvOp>(op);
  const int64_t outputs = isMap ? 1 : rank - 1,
                width = isMap ? rank - 1 : rank - 2;
  const int64_t capacity = sharedCapacity(op, machine);
  const int64_t lanes =
      std::max(model.lanes.count, model.operands.back().lanes.count);
  const int64_t partitions = machine.sb.partitions;
  const auto entries = static_cast<int64_t>(machine.psum.entriesPerBank);
  // No tile needs more than a larger one: the slots of all are of one size.
  model.scratch = [=](const Region &out) {
    const int64_t columns = width < 0 ? 1 : out.size[width];
    const int64_t rows =
        out.elements() / std::max<int64_t>(out.size[outputs] * columns, 1);
    int64_t positions = partition::mostSharedPositions(
        rows, columns, lanes, entries, share, capacity);
    if (capacity == 0)
      positions = withSecondSet(positions, entries);
    return llvm::SmallVector<ScratchBuffer, 4>{
        {f32Storage(), {partitions, positions}, 0}};
  };
}

} // namespace ashlar::analysis
