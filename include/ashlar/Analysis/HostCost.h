// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the work of the host takes, as predictors see it.

#ifndef ASHLAR_ANALYSIS_HOSTCOST_H
#define ASHLAR_ANALYSIS_HOSTCOST_H

#include "ashlar/Machine/Description.h"
#include "mlir/IR/Operation.h"

namespace ashlar::analysis {

/// Steps of a call of the host (machine::mostHostSteps at most); `op` has the
/// trait npu::HostEngine. Where data decide, the most.
uint64_t hostSteps(mlir::Operation *op);

/// Cycles of a call of the host, up to the moment at which its result may be
/// read; `op` has the trait npu::HostEngine. Where data decide, the most.
int64_t hostCycles(mlir::Operation *op, const machine::Description &machine);

} // namespace ashlar::analysis

#endif // ASHLAR_ANALYSIS_HOSTCOST_H
