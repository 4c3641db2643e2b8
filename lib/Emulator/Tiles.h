// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tile tables and what instructions make of their entries.

#ifndef ASHLAR_LIB_EMULATOR_TILES_H
#define ASHLAR_LIB_EMULATOR_TILES_H

#include "ashlar/Isa/Instruction.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <algorithm>
#include <cstdint>
#include <vector>

namespace ashlar::emulator {

/// The tile of one unit, in images, rows and columns of an output.
struct TileEntry {
  uint32_t n = 0, y = 0, x = 0;
  uint32_t images = 0, rows = 0, cols = 0;
  uint32_t group = 0;

  bool idle() const { return images == 0; }
  uint64_t results() const { return uint64_t(images) * rows * cols; }
  bool operator==(const TileEntry &) const = default;
};

/// An entry per unit.
using TileTable = std::vector<TileEntry>;

/// Units that a tcc.tile names.
inline uint64_t unitsOf(const isa::TccTile &op) {
  return uint64_t(op.copies) * op.gridN * op.gridH * op.gridW;
}

/// Executes tcc.tile on a table that has all the units it names.
void writeTiles(const isa::TccTile &op, TileTable &table);

/// Whether two units take the same data from a dma.tile.
inline bool sameData(const isa::DmaTile &op, const TileEntry &a,
                     const TileEntry &b) {
  return a.n == b.n && a.y == b.y && a.x == b.x && a.images == b.images &&
         a.rows == b.rows && a.cols == b.cols &&
         (op.groupStep == 0 || a.group == b.group);
}

/// Bytes that a dma.tile moves to the units of \p table; data that several
/// units take counts once.
uint64_t loadedBytes(const isa::DmaTile &op, const TileTable &table);

/// The part of a drain of the sparse cluster that belongs to one unit: the
/// steps are the tile's, the places of result and residual those of its first
/// pixel.
isa::ActDrain unitDrain(const isa::ActDrain &op, const TileEntry &entry);

/// Planes of exponent cells that a dma.tile loads; 0 if the map has none.
uint64_t loadedPlanes(const isa::DmaTile &op);

} // namespace ashlar::emulator

#endif // ASHLAR_LIB_EMULATOR_TILES_H
