// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Code of the tile operations of one node.

#ifndef ASHLAR_LIB_CONVERSION_NPUTOISA_EMITSEQUENCE_H
#define ASHLAR_LIB_CONVERSION_NPUTOISA_EMITSEQUENCE_H

#include "dialects/Tile/TileDialect.h"
#include "llvm/Support/Error.h"

namespace ashlar::codegen {

class Generator;

/// Emits the steps of a sequence. Assumption: tile::verifySequences() accepts
/// it.
llvm::Error emitSequence(Generator &generator, tile::SequenceOp sequence);

} // namespace ashlar::codegen

#endif // ASHLAR_LIB_CONVERSION_NPUTOISA_EMITSEQUENCE_H
