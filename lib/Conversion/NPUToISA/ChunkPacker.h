// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The DRAM form of a weight chunk and the copies that bring it into SB.

#ifndef ASHLAR_LIB_CONVERSION_NPUTOISA_CHUNKPACKER_H
#define ASHLAR_LIB_CONVERSION_NPUTOISA_CHUNKPACKER_H

#include "ProgramBuilder.h"
#include "WeightStream.h"
#include "ashlar/Analysis/EncodedWeights.h"

namespace ashlar::codegen {

using analysis::EncodedWeights;

/// Consecutive stationary tiles with equal rows in equal partitions: loaded by
/// one copy for the mantissas and one for the exponent cells.
struct TileRun {
  size_t firstTile = 0;
  int64_t count = 0;
  int64_t rows = 0;
  int64_t part = 0;
  int64_t cellRows = 0;  ///< rows of exponent cells stored per tile
  int64_t repeat = 1;    ///< cells of XM that each stored cell fills
  int64_t mantissas = 0; ///< DRAM address
  int64_t cells = 0;     ///< DRAM address
};

/// A chunk in DRAM.
struct PackedChunk {
  std::vector<TileRun> runs;
  int64_t parameters = 0; ///< DRAM address of the ACT records
};

/// Writes the chunk of one column tile to the DRAM image. `weights` is null
/// for products that only stream parameter records.
PackedChunk packChunk(ProgramBuilder &builder, const StreamedProduct &product,
                      size_t column, const EncodedWeights *weights);

/// Copies a chunk to byte `offset` of every partition.
void emitChunkLoad(ProgramBuilder &builder, const StreamedProduct &product,
                   size_t column, const PackedChunk &chunk, int64_t offset);

} // namespace ashlar::codegen

#endif // ASHLAR_LIB_CONVERSION_NPUTOISA_CHUNKPACKER_H
