// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tiles that drains fill: what a dma.tile with `drained` has opened in a buffer
// set, and what act.drain with `kept` writes there.

#ifndef ASHLAR_LIB_EMULATOR_STATE_KEPTTILES_H
#define ASHLAR_LIB_EMULATOR_STATE_KEPTTILES_H

#include "Tiles.h"
#include "ashlar/Machine/TileGeometry.h"
#include "llvm/ADT/ArrayRef.h"

namespace ashlar::emulator {

/// What a dma.tile with `drained` said, with the tiles that its table had.
struct KeptTiles {
  isa::DmaTile op{};
  TileTable tiles;

  /// Channels of the operand that all groups hold together.
  uint64_t channels() const {
    return op.channels + uint64_t(op.groups - 1) * op.groupStep;
  }
  /// Channels [first, first + count) of the slots of an entry that channels
  /// [\p first, \p first + \p count) of the operand are.
  struct Slots {
    uint64_t first = 0, count = 0;
  };
  Slots slotsOf(const TileEntry &entry, uint64_t first, uint64_t count) const;
};

/// Elements of a slot of \p entry that hold pixels of \p box of the operand.
uint64_t keptElements(const isa::DmaTile &op,
                      const machine::TileGeometry &geometry,
                      const TileEntry &entry, const isa::MapBox &box);

/// The operand of a load as a box.
inline isa::MapBox operandBox(const isa::DmaTile &op) {
  return {0, 0, 0, op.inN, op.inH, op.inW};
}

/// The results that a drain of the sparse cluster reads, one box for each tile.
llvm::SmallVector<isa::MapBox, 16> drainedBoxes(const isa::ActDrain &op,
                                                const TileTable &table);

/// What goes through the ports of the memory units.
struct KeptTraffic {
  uint64_t written = 0; ///< Bytes to all units together.
  uint64_t most = 0;    ///< To one unit.
};

/// Zeros that opening tiles writes: padding, and what smaller tiles leave free.
KeptTraffic openedTraffic(const KeptTiles &kept);
/// What a drain of \p boxes writes to tiles that were opened.
KeptTraffic keptTraffic(const KeptTiles &kept, const isa::ActDrain &op,
                        llvm::ArrayRef<isa::MapBox> boxes);

} // namespace ashlar::emulator

#endif // ASHLAR_LIB_EMULATOR_STATE_KEPTTILES_H
