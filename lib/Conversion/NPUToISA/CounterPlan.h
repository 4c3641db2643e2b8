// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Drains that count non-zeros for the cuts to come (docs/SparseTiles.md 1.3).

#ifndef ASHLAR_LIB_CONVERSION_NPUTOISA_COUNTERPLAN_H
#define ASHLAR_LIB_CONVERSION_NPUTOISA_COUNTERPLAN_H

#include "ashlar/Analysis/Sparse/CounterAllocation.h"
#include "ashlar/Isa/Instruction.h"

namespace ashlar::codegen {

struct TileContext;

/// Positions of a drain's steps in the tile of its operation.
struct CountedSteps {
  int64_t row = 0, col = 0; ///< of the first step
  int64_t colStep = 1;
};

/// Lets a drain of `tile` count where that is planned. Its steps are images,
/// rows and columns. `first`: no other drain has counted these positions.
void countDrained(const analysis::CounterAllocation &rooms,
                  const TileContext &tile, const CountedSteps &steps,
                  bool first, isa::ActDrain &drain);

} // namespace ashlar::codegen

#endif // ASHLAR_LIB_CONVERSION_NPUTOISA_COUNTERPLAN_H
