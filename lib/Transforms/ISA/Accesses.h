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

  /// Appends the accesses of the next instruction.
  void next(const isa::Instruction &instruction,
            llvm::SmallVectorImpl<isa::Access> &accesses);

private:
  const machine::Description &machine;
  /// The results of all tiles of a table; nothing if only a run will tell.
  std::array<std::optional<isa::MapBox>, 16> tables;
};

/// True if an access touches every unit of its bounding box.
bool fillsBox(const isa::Access &access);

/// True if the bounding box of `outer` holds that of `inner`, an access to the
/// same memory.
inline bool boxHolds(const isa::Access &outer, const isa::Access &inner) {
  return outer.partBegin <= inner.partBegin && outer.partEnd >= inner.partEnd &&
         outer.begin <= inner.begin && outer.end >= inner.end;
}

/// True if the bounding boxes of two accesses to one memory meet.
inline bool boxesMeet(const isa::Access &a, const isa::Access &b) {
  return a.partBegin < b.partEnd && b.partBegin < a.partEnd &&
         a.begin < b.end && b.begin < a.end;
}

} // namespace ashlar::isadialect

#endif // ASHLAR_LIB_TRANSFORMS_ISA_ACCESSES_H
