// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How programs share the DMA queues: the first one streams weights, the others
// alternate with all others.

#ifndef ASHLAR_ANALYSIS_MOVEMENTQUEUES_H
#define ASHLAR_ANALYSIS_MOVEMENTQUEUES_H

#include "ashlar/Machine/Description.h"

#include <algorithm>
#include <cstdint>

namespace ashlar::analysis {

/// Queues of other transfers than those of weights; a machine's only queue
/// serves both.
inline int64_t movementQueues(const machine::Description &machine) {
  return std::max<int64_t>(static_cast<int64_t>(machine.dma.queues) - 1, 1);
}

/// Bytes of a copy inside the chip that take about as long as handing a part
/// of it to another queue.
inline constexpr int64_t kSpreadBytes = 4096;

/// True if a copy inside the chip of \p bytes bytes in \p runs runs is long
/// enough to be shared by the queues.
inline bool mayShareQueues(const machine::Description &machine, int64_t bytes,
                           int64_t runs) {
  const auto rate = static_cast<int64_t>(machine.dma.onchipBytesPerCycle);
  const auto formed = static_cast<int64_t>(machine.dma.runsPerCycle);
  return bytes >= kSpreadBytes ||
         (formed > 0 && runs / formed >= kSpreadBytes / rate);
}

} // namespace ashlar::analysis

#endif // ASHLAR_ANALYSIS_MOVEMENTQUEUES_H
