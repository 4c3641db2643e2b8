// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Passes of the tile phase.

#ifndef ASHLAR_TRANSFORMS_TILE_PASSES_H
#define ASHLAR_TRANSFORMS_TILE_PASSES_H

#include "ashlar/Machine/Description.h"
#include "dialects/Tile/TileDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"

namespace ashlar::tile {

#define GEN_PASS_DECL
#include "ashlar/Transforms/Tile/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "ashlar/Transforms/Tile/Passes.h.inc"

/// What -ashlar-tile-verify checks. Assumption: the plan has been verified.
mlir::LogicalResult verifySequences(mlir::ModuleOp module,
                                    const machine::Description &machine);

/// The tile phase: sequences of tile operations. `checkPlan`: the plan has not
/// been verified before.
void buildTilePipeline(mlir::OpPassManager &manager, bool checkPlan = true);
/// Registers the pipeline as `ashlar-tile`.
void registerTilePipeline();

} // namespace ashlar::tile

#endif // ASHLAR_TRANSFORMS_TILE_PASSES_H
