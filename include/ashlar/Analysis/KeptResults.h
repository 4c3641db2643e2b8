// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Results of `main` that replace arguments for the next run.

#ifndef ASHLAR_ANALYSIS_KEPTRESULTS_H
#define ASHLAR_ANALYSIS_KEPTRESULTS_H

#include "dialects/NN/NNKept.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace ashlar::analysis {

/// What result number `result` replaces for the next run, if anything.
std::optional<nn::Kept> keptOf(mlir::func::FuncOp main, unsigned result);

/// True for an argument that a result replaces for the next run.
bool isKept(mlir::func::FuncOp main, unsigned argument);

} // namespace ashlar::analysis

#endif // ASHLAR_ANALYSIS_KEPTRESULTS_H
