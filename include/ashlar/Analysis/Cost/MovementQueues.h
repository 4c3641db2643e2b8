// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How programs use the DMA queues: the first one streams weights, all other
// transfers alternate between the remaining ones.

#ifndef ASHLAR_ANALYSIS_COST_MOVEMENTQUEUES_H
#define ASHLAR_ANALYSIS_COST_MOVEMENTQUEUES_H

#include "ashlar/Machine/Description.h"

#include <algorithm>
#include <cstdint>

namespace ashlar::analysis {

/// Number of queues for transfers other than weights; a single queue serves
/// both.
inline int64_t movementQueues(const machine::Description &machine) {
  return std::max<int64_t>(static_cast<int64_t>(machine.dma.queues) - 1, 1);
}

/// True if a copy inside the chip of \p bytes bytes in \p runs runs is long
/// enough to be shared by the queues: with q queues, (1 - 1/q) of its cycles
/// are saved, and q - 1 more descriptors are fetched and set up.
bool mayShareQueues(const machine::Description &machine, int64_t bytes,
                    int64_t runs);

} // namespace ashlar::analysis

#endif // ASHLAR_ANALYSIS_COST_MOVEMENTQUEUES_H
