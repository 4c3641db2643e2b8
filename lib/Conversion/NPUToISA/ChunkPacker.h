// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The DRAM form of a weight chunk and the copies that bring it into SB.

#ifndef ASHLAR_LIB_CONVERSION_NPUTOISA_CHUNKPACKER_H
#define ASHLAR_LIB_CONVERSION_NPUTOISA_CHUNKPACKER_H

#include "ProgramBuilder.h"
#include "WeightStream.h"
#include "ashlar/Analysis/Array/EncodedWeights.h"
#include "ashlar/Numerics/SparseCodes.h"

namespace ashlar::codegen {

using analysis::EncodedWeights;

/// Exponents of a tile whose blocks cover equally many rows of XM: one byte is
/// stored for each block of a column, or of neighbouring columns that share it,
/// and repeated on load.
struct CellRun {
  int64_t firstRow = 0; ///< of XM, counted from the tile's first
  int64_t blocks = 0;   ///< stored cells per column
  int64_t repeat = 1;   ///< rows of XM that each stored cell fills
  int64_t firstCol = 0; ///< column of the first cell
  int64_t stored = 0;   ///< stored cells per row
  int64_t share = 1;    ///< columns that each stored cell fills
  int64_t bytes = 1;    ///< stored per cell: 1, or as many as an element has
  int64_t address = 0;  ///< in DRAM
  /// How they are stored there, if not as bytes: loads write whole elements.
  std::optional<numerics::CodeStream> codes{};

  bool sameRows(const CellRun &other) const {
    return firstRow == other.firstRow && blocks == other.blocks &&
           repeat == other.repeat;
  }
};

/// Consecutive stationary tiles with equal rows in equal partitions: loaded by
/// one instruction for the mantissas and one for each run of exponent cells.
struct TileRun {
  size_t firstTile = 0;
  int64_t count = 0;
  int64_t rows = 0;
  int64_t part = 0;
  int64_t mantissas = 0;               ///< DRAM address
  numerics::CodeStream codes;          ///< how they are stored there
  llvm::SmallVector<CellRun, 3> cells; ///< none for integers
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

/// Copies the stationary tiles of a chunk to byte `offset` of every partition.
/// Of a product that waits for DRAM, only the first row of XM of each block is
/// loaded: emitRepeatedCells() follows.
void emitChunkLoad(ProgramBuilder &builder, const StreamedProduct &product,
                   size_t column, const PackedChunk &chunk, int64_t offset);

/// Copies the exponents of a loaded chunk to the rows of XM that its blocks
/// cover after their first. In the program right before the chunk is used: a
/// queue executes in order, and would hold up all later copies until the chunk
/// has arrived.
void emitRepeatedCells(ProgramBuilder &builder, const StreamedProduct &product,
                       size_t column, const PackedChunk &chunk, int64_t offset);

/// Copies its ACT records: one per lane, after the tiles of a chunk at byte
/// `offset`, or all to byte `offset` of one partition if `part` is not
/// negative.
void emitRecordLoad(ProgramBuilder &builder, const StreamedProduct &product,
                    size_t column, const PackedChunk &chunk, int64_t offset,
                    int64_t part);

} // namespace ashlar::codegen

#endif // ASHLAR_LIB_CONVERSION_NPUTOISA_CHUNKPACKER_H
