// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Exponents of the weights of a chunk: their DRAM form and how they get to XM.

#ifndef ASHLAR_LIB_CONVERSION_NPUTOISA_CELLPACKER_H
#define ASHLAR_LIB_CONVERSION_NPUTOISA_CELLPACKER_H

#include "ChunkPacker.h"
#include "TileReader.h"

namespace ashlar::codegen {

/// Where the tiles of a run go: bytes between tiles, rows and elements.
struct Pitches {
  int64_t tile, row, element;
};

/// Those of the chunk of a column tile.
Pitches pitchesOf(const ProgramBuilder &builder, const StreamedProduct &product,
                  const analysis::ColumnTile &column);

/// A copy of weights or their exponents from DRAM to \p target.
isa::DmaCopy weightCopy(const ProgramBuilder &builder, isa::Memory target);

/// Writes the exponents of a run to the DRAM image, and says in its `cells` how
/// they lie there. `cells` are those of whole rows before.
void packCells(ProgramBuilder &builder, const StreamedProduct &product,
               const analysis::ColumnTile &column, const TileReader &reader,
               TileRun &run);

/// Loads exponents of a run to byte \p target of XM. `once`: only the first row
/// of each block is written.
void emitCells(ProgramBuilder &builder, const TileRun &run,
               const CellRun &cells, int64_t target, const Pitches &pitches,
               bool once);

} // namespace ashlar::codegen

#endif // ASHLAR_LIB_CONVERSION_NPUTOISA_CELLPACKER_H
