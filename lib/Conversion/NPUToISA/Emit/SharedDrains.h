// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Drains that leave the function of a product to the vector unit
// (`vector_share`).

#ifndef ASHLAR_LIB_CONVERSION_NPUTOISA_EMIT_SHAREDDRAINS_H
#define ASHLAR_LIB_CONVERSION_NPUTOISA_EMIT_SHAREDDRAINS_H

#include "../Generator.h"
#include "ashlar/Partition/SharedDrain.h"

namespace ashlar::codegen {

/// Deals the pieces of one tile of a product, and emits what the vector unit
/// has to do for them. Pieces that lie at one place of neighbouring partitions
/// are one instruction: those of several columns of the array, and lanes of a
/// fold.
class SharedDrains {
public:
  /// \p lanes positions of a row lie at one place of different partitions.
  SharedDrains(Generator &generator, const TileContext &tile, int64_t lanes);

  /// False if ACT finishes everything.
  bool active() const { return share > 0; }
  /// The pieces of the next column follow.
  void beginColumn() { dealt.restart(); }
  /// The drains that follow are those of \p piece.
  void beginPiece(const partition::Window &piece);
  /// True if the vector unit finishes the piece.
  bool leaves() const { return slot.has_value(); }
  /// Makes \p drain, whose target is in the result, of type \p type, write
  /// binary32 before the function to scratch memory.
  void leave(isa::ActDrain &drain, const analysis::StorageType &type);
  /// All drains of the piece, or of the columns of a channel tile, have been
  /// emitted.
  void endPiece() {
    if (ring)
      finish();
  }
  llvm::Error endChannelTile();

private:
  void finish();

  Generator &generator;
  const TileContext &tile;
  int64_t lanes, share;
  bool ring; ///< pieces take scratch memory in turn, and wait for nothing else
  partition::SharedDrain dealt;
  std::optional<int64_t> slot; ///< of the piece, in positions
  int64_t rowPositions = 0;    ///< of the slot
  int64_t first = 0;           ///< position of the channel tile's slots
  std::vector<isa::VecMap> maps;
};

} // namespace ashlar::codegen

#endif // ASHLAR_LIB_CONVERSION_NPUTOISA_EMIT_SHAREDDRAINS_H
