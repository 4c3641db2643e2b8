// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Modules between two phases as files: what --compile-to writes and
// --compile-from reads.

#ifndef ASHLAR_LIB_PIPELINES_PHASEFILE_H
#define ASHLAR_LIB_PIPELINES_PHASEFILE_H

#include "ashlar/Pipelines/Compile.h"

namespace ashlar::pipelines {

/// What a module cannot say itself; attributes of a file carry it.
struct PhaseState {
  std::string numericPlan; ///< From quantise on.
  std::string decisions;   ///< After emit.
};

/// The module of a phase for readers: large constants elided, no locations.
std::string phaseText(mlir::ModuleOp module);

/// The same for --compile-from: everything that later phases read.
std::string completePhaseText(const CompileResult &result, Phase phase);

/// Moves the attributes of a file off `module`.
PhaseState takePhaseState(mlir::ModuleOp module);

/// Reads a module that completePhaseText() wrote after `phase`, as text or as
/// MLIR bytecode. Errors: Malformed for what is not a module or fails its
/// verifiers, Usage for a module of another phase.
llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>>
readPhaseFile(llvm::StringRef path, Phase phase, mlir::MLIRContext &context);

} // namespace ashlar::pipelines

#endif // ASHLAR_LIB_PIPELINES_PHASEFILE_H
