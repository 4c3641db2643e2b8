// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tile tables and what instructions make of their entries.

#ifndef ASHLAR_LIB_EMULATOR_STATE_TILES_H
#define ASHLAR_LIB_EMULATOR_STATE_TILES_H

#include "ashlar/Isa/Instruction.h"
#include "ashlar/Isa/Tiles.h"
#include "ashlar/Machine/Description.h"
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
  /// The part of the operand that the unit holds, if not all that its results
  /// need: then others have further sums for the same results.
  struct Operand {
    bool partial = false;
    int64_t y = 0, x = 0, rows = 0, cols = 0;
    bool operator==(const Operand &) const = default;
  };
  Operand operand;
  /// The memory unit that holds the tile; `own` is that of the compute unit.
  static constexpr uint32_t own = UINT32_MAX;
  uint32_t memory = own;

  uint64_t memoryOf(uint64_t unit) const {
    return memory == own ? unit : memory;
  }
  /// The unit loads and sums nothing. A part of the operand that reaches no
  /// result still has images: the drain starts all of their results.
  bool idle() const { return results() == 0; }
  uint64_t results() const { return uint64_t(images) * rows * cols; }
  isa::MapBox box() const { return {n, y, x, images, rows, cols}; }
  bool operator==(const TileEntry &) const = default;
};

/// An entry per unit.
using TileTable = std::vector<TileEntry>;

/// Units that a tcc.tile names.
inline uint64_t unitsOf(const isa::TccTile &op) {
  return uint64_t(op.copies) * op.gridN * op.gridH * op.gridW;
}

/// Executes tcc.bind.
void bindTiles(const isa::TccBind &op, TileTable &table);

/// Cycles of a run of \p cycles cycles whose tiles lie where the table says.
uint64_t routedCycles(const machine::Description &machine,
                      const isa::TccRun &op, const TileTable &table,
                      uint64_t cycles);

/// Executes tcc.tile on a table that has all the units it names.
void writeTiles(const isa::TccTile &op, TileTable &table);

/// Whether two units take the same data from a dma.tile.
inline bool sameData(const isa::DmaTile &op, const TileEntry &a,
                     const TileEntry &b) {
  return a.n == b.n && a.y == b.y && a.x == b.x && a.images == b.images &&
         a.rows == b.rows && a.cols == b.cols && a.operand == b.operand &&
         (op.groupStep == 0 || a.group == b.group);
}

/// What a dma.tile moves.
struct TileTraffic {
  uint64_t bytes = 0;   ///< Of the transfer.
  uint64_t runs = 0;    ///< In which they are read.
  uint64_t written = 0; ///< To the memories of all units together.
  uint64_t most = 0;    ///< To the memory of one unit.
};

/// What a dma.tile moves to the units of \p table; data that several units take
/// counts once. Around a part of the operand nothing is written.
TileTraffic loadedTiles(const isa::DmaTile &op, const TileTable &table);

/// Bytes of an element as tcc.run reads it: with its exponent cell.
uint64_t operandBytes(const isa::TccRun &op);

/// The part of a drain of the sparse cluster that belongs to one unit: the
/// steps are the tile's, the places of result and residual those of its first
/// pixel.
isa::ActDrain unitDrain(const isa::ActDrain &op, const TileEntry &entry);

/// Groups whose units a drain of the sparse cluster reads.
inline uint64_t drainedGroups(const isa::ActDrain &op) {
  return op.groupLanes == 0 ? 1 : (op.cols + op.groupLanes - 1) / op.groupLanes;
}

/// Lanes of each group that a drain reads; the last one may have fewer.
inline uint64_t lanesOfGroup(const isa::ActDrain &op) {
  return op.groupLanes == 0 ? op.cols : op.groupLanes;
}

/// The units with a tile, in order, of each group that a drain reads.
std::vector<std::vector<uint64_t>> drainedUnits(const isa::ActDrain &op,
                                                const TileTable &table);

/// The results of a group's units, as often as units have sums for them.
uint64_t drainedResults(const isa::ActDrain &op, const TileTable &table);

/// Those that a drain takes one after the other: of tiles side by side the
/// most.
uint64_t drainedSteps(const machine::Description &machine,
                      const isa::ActDrain &op, const TileTable &table);

/// The first image of a group's tiles; 0 if it has none.
uint32_t firstImage(const isa::ActDrain &op, const TileTable &table);

/// A drain of units that hold parts of the operand: one step for each result
/// of the output's rows and columns and of the images that the group has,
/// whether or not a unit has a sum for it.
isa::ActDrain partialDrain(const isa::ActDrain &op, const TileTable &table);

/// Results of partialDrain() that no unit has a sum for.
uint64_t unreachedResults(const isa::ActDrain &op, const TileTable &table);

/// Planes of exponent cells that a dma.tile loads; 0 if the feature map has
/// none.
uint64_t loadedPlanes(const isa::DmaTile &op);

} // namespace ashlar::emulator

#endif // ASHLAR_LIB_EMULATOR_STATE_TILES_H
