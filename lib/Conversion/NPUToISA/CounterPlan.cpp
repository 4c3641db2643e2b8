// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Counter fields of drains.

#include "CounterPlan.h"

#include "Generator.h"
#include "ashlar/Analysis/Layout/StorageType.h"

using namespace mlir;

namespace ashlar::codegen {

void countDrained(const analysis::CounterAllocation &rooms,
                  const TileContext &tile, const CountedSteps &steps,
                  bool first, isa::ActDrain &drain) {
  Value result = tile.op->getResult(0);
  auto target = rooms.targetOf(result);
  if (!target)
    return;
  llvm::ArrayRef<int64_t> start = tile.out.start;
  size_t rank = start.size();
  int64_t width = analysis::shapeOf(result).back();
  int64_t row = steps.row + (rank > 3 ? start[rank - 2] : 0);
  drain.counted = true;
  // Images and channels of one position add up.
  drain.countClear = target->clears && first && start[0] == 0 && start[1] == 0;
  drain.counts = target->first + row * width + steps.col + start[rank - 1];
  drain.countStride1 = width;
  drain.countStride2 = steps.colStep;
}

} // namespace ashlar::codegen
