// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where instructions of the sparse cluster read and write. Their fields name
// whole feature maps and sets; what the tile tables hold tells one tile's rows
// from another's, so that threads wait for those alone.

#ifndef ASHLAR_LIB_EMULATOR_PARALLEL_TILEPLACES_H
#define ASHLAR_LIB_EMULATOR_PARALLEL_TILEPLACES_H

#include "../State/Tiles.h"
#include "ashlar/Isa/Footprint.h"
#include "ashlar/Isa/Instruction.h"
#include "llvm/ADT/SmallVector.h"
#include <vector>

namespace ashlar::emulator {

/// Walks in order over a program whose tables tcc.tile alone writes.
class TilePlaces {
public:
  explicit TilePlaces(const machine::Description &machine);

  /// The next instruction; \p accesses are its footprints, of which only what
  /// its tiles reach is left.
  void step(const isa::Instruction &inst,
            llvm::SmallVectorImpl<isa::Access> &accesses);

private:
  void narrow(const isa::TccRun &op,
              llvm::SmallVectorImpl<isa::Access> &accesses) const;
  void narrow(const isa::DmaTile &op,
              llvm::SmallVectorImpl<isa::Access> &accesses) const;
  void narrow(const isa::ActDrain &op,
              llvm::SmallVectorImpl<isa::Access> &accesses) const;

  const machine::Description &machine;
  std::vector<TileTable> tables;
};

} // namespace ashlar::emulator

#endif // ASHLAR_LIB_EMULATOR_PARALLEL_TILEPLACES_H
