// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Non-zero data of feature maps on samples, for scatter mode of the sparse
// cluster (docs/SparseTiles.md 6).

#ifndef ASHLAR_LIB_PIPELINES_MEASUREDENSITY_H
#define ASHLAR_LIB_PIPELINES_MEASUREDENSITY_H

#include "SampleArchive.h"
#include "ashlar/Pipelines/Compile.h"

namespace ashlar::pipelines {

/// Compiles the model of \p options in the default format for the dense array,
/// runs it on the samples of \p archive, and counts the mantissas that
/// are not zero in every encoded map. Sets `profile` and `sample` of
/// \p options.sparse.
llvm::Error measureDensity(CompileOptions &options,
                           const SampleArchive &archive,
                           mlir::MLIRContext &context);

} // namespace ashlar::pipelines

#endif // ASHLAR_LIB_PIPELINES_MEASUREDENSITY_H
