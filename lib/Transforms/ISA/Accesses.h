// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What each instruction of a program touches, as the compiler sees it: the
// footprints, made smaller where the tiles of the sparse cluster are known.
// Private to the passes of `isa`.

#ifndef ASHLAR_LIB_TRANSFORMS_ISA_ACCESSES_H
#define ASHLAR_LIB_TRANSFORMS_ISA_ACCESSES_H

#include "ashlar/Isa/Footprint.h"
#include "ashlar/Isa/Tiles.h"
#include "llvm/ADT/SmallVector.h"

#include <array>
#include <optional>

namespace ashlar::isadialect {

/// Follows a program instruction by instruction. Loads and drains of the sparse
/// cluster touch what their tiles need alone: loads of one round go while the
/// producer still makes the rows of the next, and readers follow the drains.
class AccessFinder {
public:
  explicit AccessFinder(const machine::Description &machine)
      : machine(machine) {}

  /// The accesses of the next instruction.
  void next(const isa::Instruction &instruction,
            llvm::SmallVectorImpl<isa::Access> &accesses);

private:
  const machine::Description &machine;
  /// The results of all tiles of a table; nothing if only a run will tell.
  std::array<std::optional<isa::MapBox>, 16> tables;
};

/// True if an access touches every unit of its bounding box.
bool fillsBox(const isa::Access &access);

} // namespace ashlar::isadialect

#endif // ASHLAR_LIB_TRANSFORMS_ISA_ACCESSES_H
