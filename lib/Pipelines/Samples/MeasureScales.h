// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Scale exponents from samples, for the policies whose exponent is a constant
// (docs/Numerics.md 5).

#ifndef ASHLAR_LIB_PIPELINES_MEASURESCALES_H
#define ASHLAR_LIB_PIPELINES_MEASURESCALES_H

#include "SampleArchive.h"
#include "ashlar/Pipelines/Compile.h"

namespace ashlar::pipelines {

/// True if a policy of \p formats takes a constant that it does not name.
bool needsScales(const numerics::FormatTable &formats);

/// Compiles the model of \p options with all scales at the running maximum,
/// runs it on the samples of \p archive, and gives the largest
/// exponent of every encoded tensor as JSON, {"TENSOR": E}. Tensors that are
/// zero in all samples are omitted.
llvm::Expected<std::string> measureScales(const CompileOptions &options,
                                          const SampleArchive &archive,
                                          mlir::MLIRContext &context);

} // namespace ashlar::pipelines

#endif // ASHLAR_LIB_PIPELINES_MEASURESCALES_H
