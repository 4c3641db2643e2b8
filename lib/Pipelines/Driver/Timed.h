// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a compiled program costs, without inputs: the emulator's clock over the
// program, as a page, a table, and in the nodes of the model.

#ifndef ASHLAR_LIB_PIPELINES_TIMED_H
#define ASHLAR_LIB_PIPELINES_TIMED_H

#include "Arguments.h"
#include "Build.h"

namespace ashlar::pipelines {

/// Writes what --html, --layers, --annotate and --model-explorer ask for.
/// Nothing is executed: where cycles depend on data, they are those of data
/// without zeros. \p build has a program.
llvm::Error writeTimed(const CompilerArguments &arguments, const Build &build,
                       mlir::MLIRContext &context);

} // namespace ashlar::pipelines

#endif // ASHLAR_LIB_PIPELINES_TIMED_H
