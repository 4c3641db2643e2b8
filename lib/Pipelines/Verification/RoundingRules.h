// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the binary32 arithmetic of operations that are no block products can
// change, given their operands (docs/Numerics.md 8 to 10 and 13).

#ifndef ASHLAR_LIB_PIPELINES_ROUNDINGRULES_H
#define ASHLAR_LIB_PIPELINES_ROUNDINGRULES_H

#include "PlanEvaluation.h"

namespace ashlar::pipelines {

/// Bound per element of `exact`, the result of `op` in binary64, before it is
/// stored in a narrower type than binary32. Infinite where no rule is known;
/// 0 for data movement, selections and integers.
llvm::Expected<std::vector<double>>
roundingOf(mlir::Operation *op, llvm::ArrayRef<const Tensor *> operands,
           const Tensor &exact);

} // namespace ashlar::pipelines

#endif // ASHLAR_LIB_PIPELINES_ROUNDINGRULES_H
