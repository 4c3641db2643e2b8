// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Results of `main` that replace arguments for the next run.

#ifndef ASHLAR_ANALYSIS_LAYOUT_KEPTRESULTS_H
#define ASHLAR_ANALYSIS_LAYOUT_KEPTRESULTS_H

#include "dialects/NN/NNKept.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseSet.h"

namespace ashlar::analysis {

/// The kept tensor that result number `result` updates for the next run, if
/// any.
std::optional<nn::Kept> keptOf(mlir::func::FuncOp main, unsigned result);

/// The arguments that results update for the next run.
llvm::DenseSet<unsigned> keptArguments(mlir::func::FuncOp main);

} // namespace ashlar::analysis

#endif // ASHLAR_ANALYSIS_LAYOUT_KEPTRESULTS_H
