// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Cycles of a compute unit in scatter mode that do not depend on where the
// non-zeros lie (docs/SparseTiles.md 3). The compiler predicts with them, the
// emulator uses them where they are exact.

#ifndef ASHLAR_MACHINE_SCATTERCYCLES_H
#define ASHLAR_MACHINE_SCATTERCYCLES_H

#include "ashlar/Machine/Description.h"

#include <cstdint>

namespace ashlar::machine {

/// What stands between the multipliers and the results of a unit.
enum class ScatterVariant : uint8_t {
  A, ///< one weight per step, a window of accumulators over a register bank
  B, ///< one weight per step, an index per product, result registers
  C, ///< U weights per step, an arbiter with queues for equal indices
  D, ///< U weights per step, products of equal index added to their neighbour
};

/// True if the queues of a unit hold all products that may wait in it. Of
/// products that meet, C sends one on per cycle, and so does D where more than
/// two weights meet; then as many may wait as there are multipliers.
bool queuesHold(const Description &machine, ScatterVariant variant);

/// Cycles of a block of \p data non-zero data under \p weights non-zero
/// weights on \p multipliers multipliers. A, B: weights * ceil(data / P). C, D:
/// the stream of products, P at a time under at most \p weightsPerStep weights
/// per cycle; exact for D with two weights per step, and for C if no two
/// products of a cycle share an index, else a lower bound.
uint64_t scatterCycles(ScatterVariant variant, uint64_t multipliers,
                       uint64_t weightsPerStep, uint64_t data,
                       uint64_t weights);

/// Cycles of a block of \p data non-zero data under the \p weights non-zero
/// coefficients that all kernels of one tap have for its channel: no two
/// products share a result, so every multiplier takes the next product with a
/// weight of its own, ceil(data * weights / P) in all variants.
uint64_t scatterPointCycles(uint64_t multipliers, uint64_t data,
                            uint64_t weights);

} // namespace ashlar::machine

#endif // ASHLAR_MACHINE_SCATTERCYCLES_H
