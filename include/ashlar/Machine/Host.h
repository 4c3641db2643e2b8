// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How long the functions of the host take (docs/Machine.md 10). A step is what
// an algorithm does once for an element or a pair: a comparison, a test, a copy
// of one word with its bookkeeping.

#ifndef ASHLAR_MACHINE_HOST_H
#define ASHLAR_MACHINE_HOST_H

#include "ashlar/Machine/Cycles.h"

namespace ashlar::machine {

/// What a call moves and does.
struct HostWork {
  uint64_t steps = 0;
  uint64_t bytes = 0;      ///< Read and written by the core.
  uint64_t burstBytes = 0; ///< Of DRAM, in whole bursts.
  uint64_t rows = 0;       ///< Rows of DRAM visited.
};

/// Steps of one call at most. No network asks for more, and it keeps the run
/// time of hostile programs in proportion to their size.
inline constexpr uint64_t mostHostSteps = uint64_t(1) << 33;

/// A call of a function: `callCycles`, then steps and bytes side by side. The
/// result is in DRAM, where others may read it, a latency later.
Timing hostCall(const Description &machine, const HostWork &work);

/// Comparisons to sort \p count elements: count * ceil(log2(count)).
uint64_t sortSteps(uint64_t count);
/// host.nonzero of \p elements elements of \p rank indices each.
uint64_t nonzeroSteps(uint64_t elements, uint64_t rank);
/// host.sort of \p lists lists of \p extent elements, \p keep of each kept.
uint64_t hostSortSteps(uint64_t lists, uint64_t extent, uint64_t keep);
/// host.unique of \p rows rows of \p length elements.
uint64_t uniqueSteps(uint64_t rows, uint64_t length);
/// host.nms of \p lists pairs of a batch and a class with \p boxes boxes, all
/// of them candidates and \p keep kept: each box meets each kept one.
uint64_t nmsSteps(uint64_t lists, uint64_t boxes, uint64_t keep);

} // namespace ashlar::machine

#endif // ASHLAR_MACHINE_HOST_H
