// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tiles of a convolution's operand that the drains of the one before fill.

#ifndef ASHLAR_LIB_CONVERSION_NPUTOISA_EMIT_KEPTTILES_H
#define ASHLAR_LIB_CONVERSION_NPUTOISA_EMIT_KEPTTILES_H

#include "../Generator.h"

namespace ashlar::codegen {

/// Opens the tiles of the convolution that finds the result of `op` in buffer
/// set `set`, for the drains of `op`.
llvm::Error openKeptTiles(Generator &generator, mlir::Operation *op,
                          unsigned set);

/// Makes a drain of the results from `firstOutput` on fill these tiles.
void keepDrained(mlir::Operation *op, unsigned set, int64_t firstOutput,
                 isa::ActDrain &drain);

} // namespace ashlar::codegen

#endif // ASHLAR_LIB_CONVERSION_NPUTOISA_EMIT_KEPTTILES_H
