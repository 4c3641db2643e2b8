// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Base class of the passes within the `nn` dialect.

#ifndef ASHLAR_TRANSFORMS_NN_PASSBASE_TD
#define ASHLAR_TRANSFORMS_NN_PASSBASE_TD

include "mlir/Pass/PassBase.td"

class NNPass<string flag> : Pass<flag, "::mlir::func::FuncOp"> {
  let dependentDialects = ["::ashlar::nn::NNDialect"];
}

#endif // ASHLAR_TRANSFORMS_NN_PASSBASE_TD
