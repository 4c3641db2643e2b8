// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a transpose costs: on the array by an identity multiply, and by DMA.
// The terms are those of docs/Machine.md 4 and 8; all functions are pure.

#ifndef ASHLAR_MACHINE_TRANSPOSES_H
#define ASHLAR_MACHINE_TRANSPOSES_H

#include "ashlar/Machine/Cycles.h"

namespace ashlar::machine {

/// Rows of the largest tile: those of the array, as far as a bank of PSUM holds
/// an entry for each.
uint64_t transposeRows(const Description &machine);

/// How long before the end of a stream of \p steps its first row is complete.
uint64_t rowLead(uint64_t steps);
/// The same of the first of \p columns columns.
uint64_t columnLead(uint64_t columns);

/// act.drain of order partition: lane c starts c cycles after lane 0, and an
/// entry takes the cycles of the function's class.
Timing actDrainColumns(const Description &machine, uint64_t columns,
                       uint64_t entries, VecCost cost = VecCost::Cheap);

/// How the array takes the elements of a transpose; as they are, words pass.
struct TransposeMode {
  bool byPlanes = false; ///< Every byte is an integer of its own.
  /// Bits of the significands that are multiplied as floating-point numbers by
  /// an identity of bf16; 0: nothing is.
  uint64_t significand = 0;
};

/// The terms of one tile on the array, nothing overlapped.
struct TransposeTerms {
  uint64_t planes = 1; ///< Passes of load, stream and drain over the tile.
  uint64_t load = 0;   ///< Stationary load of one plane.
  uint64_t stream = 0; ///< Issue of the identity's rows for one plane.
  uint64_t cells = 0; ///< From the first step to the last entry, of all passes.
  uint64_t drain = 0; ///< Issue of the drain of one plane.
  uint64_t latency = 0; ///< Of ACT, once.
  /// planes * (load + cells + drain) + latency.
  uint64_t total() const;
};

/// Select mode moves words of \p elementBytes in one plane; byte planes
/// take one plane for each byte, with the passes of an integer product of
/// bytes, and floats the passes of their significands.
TransposeTerms transposeTile(const Description &machine, uint64_t rows,
                             uint64_t cols, uint64_t elementBytes,
                             TransposeMode mode = {});

/// A matrix in tiles of \p rows by \p cols, one row of tiles after the other,
/// for each of \p planes planes, from the first load to the last element in SB:
/// a tile is loaded next to the stream of the one before and drained in
/// parallel with that of the next, in the banks of PSUM alternately. For equal
/// tiles that is the slowest of load, stream and drain for each, and once the
/// other terms of a tile. Byte planes of a tile follow each other.
uint64_t transposeTiles(const Description &machine,
                        llvm::ArrayRef<uint64_t> rows,
                        llvm::ArrayRef<uint64_t> cols, uint64_t elementBytes,
                        uint64_t planes = 1, TransposeMode mode = {});

/// The same matrix through DRAM: written row after row, read back in the same
/// order to its new partitions. Bytes are whole bursts.
uint64_t transposeRoundTrip(const Description &machine, uint64_t m, uint64_t n,
                            uint64_t elementBytes);
/// Only the read of the round trip, for a matrix that is in DRAM anyway.
uint64_t transposeOnLoad(const Description &machine, uint64_t m, uint64_t n,
                         uint64_t elementBytes);

} // namespace ashlar::machine

#endif // ASHLAR_MACHINE_TRANSPOSES_H
