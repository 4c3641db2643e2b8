// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Cuts along partition axes.

#include "TileCuts.h"

#include "llvm/ADT/STLExtras.h"

#include <numeric>

namespace ashlar::analysis {

/// What extents of tiles along an axis across partitions are multiples of, so
/// that every tile begins in partition 0 and with a block; 0: no such cut.
static int64_t partitionCut(const StorageType &type,
                            const machine::Description &machine) {
  const auto partitions = static_cast<int64_t>(machine.sb.partitions);
  if (!type.encoded)
    return partitions;
  const auto block = int64_t(type.format.block);
  return block > 0 ? std::lcm(partitions, block) : 0;
}

void addChannelCut(TilingModel &model, const machine::Description &machine) {
  const int64_t axis = model.resultAxis;
  const int64_t unit = partitionCut(model.resultType, machine);
  if (axis < 0 || model.workAxis != axis || unit == 0)
    return;
  model.tileAxes.push_back(axis);
  model.granularity[axis] = unit;
}

void addOutputCut(TilingModel &model, const machine::Description &machine) {
  const int64_t axis = model.resultAxis;
  const int64_t unit = partitionCut(model.resultType, machine);
  if (axis < 0 || model.workAxis != axis || unit == 0 || model.lanes.folded() ||
      model.resultShape[axis] <= unit)
    return;
  model.outputAxis = axis;
  model.granularity[axis] = unit;
}

void keepBlocksWhole(TilingModel &model, const machine::Description &machine) {
  const int64_t axis = model.resultAxis;
  if (!model.resultType.encoded || axis < 0)
    return;
  const int64_t unit = partitionCut(model.resultType, machine);
  if (unit == 0)
    llvm::erase(model.tileAxes, axis);
  else
    model.granularity[axis] = std::lcm(model.granularity[axis], unit);
}

} // namespace ashlar::analysis
