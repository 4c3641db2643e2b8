// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The instructions of an element-wise operation whose scale or bias varies
// within partitions. The cycle predictor and code generation share this list.

#ifndef ASHLAR_ANALYSIS_TILES_MAPSTEPS_H
#define ASHLAR_ANALYSIS_TILES_MAPSTEPS_H

#include "dialects/NPU/NPUDialect.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>

namespace ashlar::analysis {

/// One instruction: a function of the previous step's result.
struct MapStep {
  llvm::StringRef function; ///< As in docs/Numerics.md.
  /// Operand of the operation that is the second operand of the function.
  std::optional<unsigned> second;
};

/// The steps of \p map: scale, bias, function. The first one reads operand 0,
/// the others read scratch memory, and the last one writes the result. A copy
/// is no step of its own: the step before it stores the result.
llvm::SmallVector<MapStep, 3> mapSteps(npu::MapInterface map);

} // namespace ashlar::analysis

#endif // ASHLAR_ANALYSIS_TILES_MAPSTEPS_H
