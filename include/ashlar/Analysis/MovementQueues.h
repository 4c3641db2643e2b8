// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How programs share the DMA queues: the first one streams weights, the others
// take turns with all else.

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

} // namespace ashlar::analysis

#endif // ASHLAR_ANALYSIS_MOVEMENTQUEUES_H
