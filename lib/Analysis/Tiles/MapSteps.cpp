// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Scale, bias and function of an element-wise operation as separate
// instructions.

#include "ashlar/Analysis/Tiles/MapSteps.h"

using namespace mlir;

namespace ashlar::analysis {

llvm::SmallVector<MapStep, 3> mapSteps(npu::MapInterface map) {
  llvm::SmallVector<MapStep, 3> steps;
  const auto inputs = static_cast<unsigned>(map.getInputs().size());
  unsigned next = inputs;
  if (map.getScale())
    steps.push_back({"mul", next++});
  if (map.getBias())
    steps.push_back({"add", next++});
  if (map.getOp() != "copy" || steps.empty())
    steps.push_back(
        {map.getOp(), inputs > 1 ? std::optional(1U) : std::nullopt});
  return steps;
}

} // namespace ashlar::analysis
