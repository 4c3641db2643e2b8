// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How large the program of a model may become. The planner refuses by it what
// code generation would refuse after it has made all tiles.

#ifndef ASHLAR_ANALYSIS_COST_PROGRAMSIZE_H
#define ASHLAR_ANALYSIS_COST_PROGRAMSIZE_H

#include "mlir/IR/BuiltinOps.h"

#include <cstdint>

namespace ashlar::analysis {

/// Instructions of a program at most: what keeps the compiler's memory and time
/// bounded. mobilenet_v2 on a1-tiny, which cuts all into tiles, has two thirds.
inline constexpr uint64_t kMostInstructions = uint64_t(1) << 22;

/// Instructions that the program of a planned \p module may have: a number that
/// grows with its operations and with the weights that products read
/// (support::Budget).
uint64_t mostInstructions(mlir::ModuleOp module);

} // namespace ashlar::analysis

#endif // ASHLAR_ANALYSIS_COST_PROGRAMSIZE_H
