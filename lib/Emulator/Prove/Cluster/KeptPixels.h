// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which pixels of tiles that were opened for drains have been drained: what the
// loader has to know before a tcc.run may read them.

#ifndef ASHLAR_LIB_EMULATOR_STATE_KEPTPIXELS_H
#define ASHLAR_LIB_EMULATOR_STATE_KEPTPIXELS_H

#include "../../State/KeptTiles.h"
#include "../Checks.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>
#include <vector>

namespace ashlar::emulator {

class KeptPixels {
public:
  KeptPixels(const isa::DmaTile &op, TileTable tiles)
      : opened{op, std::move(tiles)} {}

  const KeptTiles &tiles() const { return opened; }

  /// Adds the results in \p boxes of a drain; a finding if they do not fit the
  /// tiles or were drained before.
  std::optional<Finding> add(const isa::ActDrain &op,
                             llvm::ArrayRef<isa::MapBox> boxes,
                             ProofWork &work);
  /// A finding if a unit lacks a pixel.
  std::optional<Finding> complete(ProofWork &work);

private:
  /// Results of channels [first, end).
  struct Piece {
    uint64_t first = 0, end = 0;
    llvm::SmallVector<isa::MapBox, 4> boxes;
  };
  std::optional<Finding> checkFields(const isa::ActDrain &op) const;
  std::optional<Finding> checkUnit(const TileEntry &entry,
                                   llvm::ArrayRef<uint64_t> cuts,
                                   ProofWork &work) const;

  KeptTiles opened;
  std::vector<Piece> pieces;
  bool isComplete = false;
};

} // namespace ashlar::emulator

#endif // ASHLAR_LIB_EMULATOR_STATE_KEPTPIXELS_H
