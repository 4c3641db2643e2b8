// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A compilation for Model Explorer: graphs of three stages, and numbers to
// colour them with.

#ifndef ASHLAR_LIB_PIPELINES_EXPLORER_MODELEXPLORER_H
#define ASHLAR_LIB_PIPELINES_EXPLORER_MODELEXPLORER_H

#include "../Driver/Build.h"
#include "ashlar/Report/Statistics.h"

namespace ashlar::pipelines {

/// Writes into the folder of --model-explorer: graph.json with the graphs of
/// `nn`, `npu` and of the instructions of each layer, and node data, one file
/// for each number: cycles.json, dram_bytes.json and, of a verified
/// compilation, snr.json. \p statistics has a time line. The phases up to plan
/// run once more.
llvm::Error writeModelExplorer(const CompilerArguments &arguments,
                               const Build &build,
                               const report::RunStatistics &statistics,
                               mlir::MLIRContext &context);

} // namespace ashlar::pipelines

#endif // ASHLAR_LIB_PIPELINES_EXPLORER_MODELEXPLORER_H
