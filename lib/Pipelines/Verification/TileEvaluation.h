// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Modules of the tile phase in binary64, as their sequences make them: every
// tile is computed from the parts of the operands that it has loaded and from
// nothing else. A tile that reads more than it has, or is made in the wrong
// place, gives another value.

#ifndef ASHLAR_LIB_PIPELINES_TILEEVALUATION_H
#define ASHLAR_LIB_PIPELINES_TILEEVALUATION_H

#include "PlanEvaluation.h"
#include "dialects/Tile/TileDialect.h"

namespace ashlar::pipelines {

/// The result of the node of `sequence`. Elements that no tile writes are NaN,
/// or 0 in integers.
llvm::Expected<Tensor>
evaluateSequence(tile::SequenceOp sequence,
                 llvm::ArrayRef<const Tensor *> operands);

/// All values of `main` of a module of the tile phase; `inputs` are in argument
/// order and fit. Operations of more than `mostTiles` tiles are evaluated
/// whole: each tile takes the time of the whole operation.
llvm::Expected<ValueMap>
evaluateTiles(mlir::ModuleOp module, llvm::ArrayRef<support::HostTensor> inputs,
              int64_t mostTiles);

} // namespace ashlar::pipelines

#endif // ASHLAR_LIB_PIPELINES_TILEEVALUATION_H
