// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calibration: what the tensors of a model are on a user's samples.

#ifndef ASHLAR_LIB_PIPELINES_RUNSAMPLES_H
#define ASHLAR_LIB_PIPELINES_RUNSAMPLES_H

#include "Evaluate.h"

#include "ashlar/Emulator/Emulator.h"

namespace ashlar::pipelines {

/// Compiles the module \p folded (after phase Fold) to a binary under
/// \p options with `runmax` for all scales and without other outputs (a plan,
/// an earlier phase), executes it on every sample without timing and shows \p
/// visit each result with the values of all planned tensors. Errors are those
/// of compilation and execution.
llvm::Error runSamples(mlir::ModuleOp folded, CompileOptions options,
                       llvm::ArrayRef<Sample> samples,
                       mlir::MLIRContext &context,
                       llvm::function_ref<void(const container::Program &,
                                               const emulator::RunResult &)>
                           visit);

} // namespace ashlar::pipelines

#endif // ASHLAR_LIB_PIPELINES_RUNSAMPLES_H
