// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The rules of an element-wise function of quantised tensors, which `bfp` and
// `npu` share.

#ifndef ASHLAR_DIALECTS_BFP_REQUANTISE_H
#define ASHLAR_DIALECTS_BFP_REQUANTISE_H

#include "mlir/IR/Operation.h"

namespace ashlar::bfp {

/// Scale and zero point of an operand, or step and zero point of a result.
struct QuantSteps {
  float scale = 1;
  int64_t zero = 0;
};

/// The attributes of `bfp.requantise` that its rules are about.
struct RequantiseRules {
  llvm::StringRef function;
  bool limited = false;
  QuantSteps a, b, result;
};

/// Emits an error on `op`, whose operands and only result are those of the
/// function, unless requantise_c1 to requantise_c5 hold.
mlir::LogicalResult verifyRequantise(mlir::Operation *op,
                                     const RequantiseRules &rules);

} // namespace ashlar::bfp

#endif // ASHLAR_DIALECTS_BFP_REQUANTISE_H
