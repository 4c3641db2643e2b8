// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The sequence of one planned operation.

#ifndef ASHLAR_LIB_TRANSFORMS_TILE_SEQUENCEBUILDER_H
#define ASHLAR_LIB_TRANSFORMS_TILE_SEQUENCEBUILDER_H

#include "ashlar/Analysis/Tiles/TileBuffers.h"
#include "dialects/Tile/TileDialect.h"
#include "mlir/IR/Builders.h"

namespace ashlar::tile {

/// Tiles of an operation, and operations that say so.
struct SequenceSize {
  int64_t tiles = 0, operations = 0;
};

/// Builds the sequence of `op` at the insertion point of `builder`. Assumption:
/// the plan has been verified.
SequenceSize buildSequence(mlir::OpBuilder &builder, mlir::Operation *op,
                           const analysis::Residents &residents,
                           const machine::Description &machine);

} // namespace ashlar::tile

#endif // ASHLAR_LIB_TRANSFORMS_TILE_SEQUENCEBUILDER_H
