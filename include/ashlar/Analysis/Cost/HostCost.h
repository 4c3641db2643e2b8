// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Predicted cost of operations on the host.

#ifndef ASHLAR_ANALYSIS_COST_HOSTCOST_H
#define ASHLAR_ANALYSIS_COST_HOSTCOST_H

#include "ashlar/Machine/Description.h"
#include "mlir/IR/Operation.h"

namespace ashlar::analysis {

/// Steps of the host function that `op` calls, at most machine::mostHostSteps;
/// the maximum if they depend on data. `op` has the trait npu::HostEngine.
uint64_t hostSteps(mlir::Operation *op);

/// Cycles from the start of the host function that `op` calls until its result
/// can be read; the maximum if they depend on data. `op` has the trait
/// npu::HostEngine.
int64_t hostCycles(mlir::Operation *op, const machine::Description &machine);

} // namespace ashlar::analysis

#endif // ASHLAR_ANALYSIS_COST_HOSTCOST_H
