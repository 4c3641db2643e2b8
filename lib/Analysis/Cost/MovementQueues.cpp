// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// When copies inside the chip are shared by the queues.

#include "ashlar/Analysis/Cost/MovementQueues.h"

#include "ashlar/Isa/Instruction.h"
#include "llvm/Support/MathExtras.h"

namespace ashlar::analysis {

/// Cycles of a queue that takes one more part of a copy: the descriptor is
/// fetched and set up, which is one cycle at least.
static int64_t partOverhead(const machine::Description &machine) {
  uint64_t cycles = machine.dma.setupCycles;
  if (machine.fetch.bytesPerCycle > 0)
    cycles += llvm::divideCeil(isa::encodedBytes(isa::DmaCopy{}),
                               machine.fetch.bytesPerCycle);
  return std::max<int64_t>(static_cast<int64_t>(cycles), 1);
}

bool mayShareQueues(const machine::Description &machine, int64_t bytes,
                    int64_t runs) {
  const auto rate = static_cast<int64_t>(machine.dma.onchipBytesPerCycle);
  const auto formed = static_cast<int64_t>(machine.dma.runsPerCycle);
  const int64_t least = movementQueues(machine) * partOverhead(machine);
  return bytes / rate >= least || (formed > 0 && runs / formed >= least);
}

} // namespace ashlar::analysis
