// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Cuts that a program chooses as it runs (docs/SparseTiles.md 1.3): what
// tcc.part asks of the partition algorithms, the tables they give, tiles of the
// operand, and the counters of non-zeros.

#ifndef ASHLAR_LIB_EMULATOR_STATE_RUNTIMECUTS_H
#define ASHLAR_LIB_EMULATOR_STATE_RUNTIMECUTS_H

#include "Tiles.h"
#include "ashlar/Partition/Partition.h"
#include "llvm/ADT/ArrayRef.h"
#include <string>

namespace ashlar::emulator {

/// Both axes of the layer that an instruction cuts.
partition::Geometry cutGeometry(const isa::TccPart &op);
partition::Geometry cutGeometry(const isa::TccOperand &op);

/// The cut of a feature map with non-zeros \p counts, inH x inW, row-major.
/// Whether there is one depends on the fields alone, never on the counts: a
/// Capacity error says that no cut keeps to tileH x tileW.
llvm::Expected<partition::Partition> cutMap(const machine::Description &machine,
                                            const isa::TccPart &op,
                                            std::vector<uint32_t> counts);

/// What the loader has taken for granted of any cut and this one breaks: tiles
/// within tileH x tileW results that cover the region, or the operand, exactly
/// once. Empty if nothing.
std::string checkCut(const isa::TccPart &op, const partition::Partition &cut);

/// The table of a cut; all units that it does not name are idle.
void writeTiles(const isa::TccPart &op, const partition::Partition &cut,
                TileTable &table);

/// Executes tcc.operand on a table that has all the units it names.
void writeTiles(const isa::TccOperand &op, TileTable &table);

/// The largest tile of any cut in every unit that may get one. Its place is
/// not known; y only tells different tiles apart.
void writeLargestTiles(const isa::TccPart &op, TileTable &table);

/// The tiles of each group and chunk of images together: the whole region.
TileTable wholeRegions(const isa::TccPart &op);

/// More boxes than any cut looks up.
uint64_t probeBound(const isa::TccPart &op);

/// Adds one to a counter for each element of \p count along three dimensions
/// that is not zero.
struct Count {
  uint64_t count[3] = {1, 1, 1};
  int64_t source[3] = {};   ///< Byte strides.
  uint64_t counter[3] = {}; ///< Counter strides.
  unsigned bytes = 1;       ///< Of an element.
  uint32_t mask = 0xff;     ///< Bits that make it a number.

  void add(const uint8_t *elements, uint32_t *counters) const;
  /// Sets the counters to zero.
  void clear(uint32_t *counters) const;
};

/// The bits of a stored element that say whether it is zero.
uint32_t valueBits(isa::ElemType type, unsigned mantissa);

} // namespace ashlar::emulator

#endif // ASHLAR_LIB_EMULATOR_STATE_RUNTIMECUTS_H
