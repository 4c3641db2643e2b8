// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// DRAM allocation and DMA queue choice.

#include "ProgramBuilder.h"

#include "ashlar/Analysis/Cost/MovementQueues.h"

#include <algorithm>

#include "llvm/Support/MathExtras.h"

namespace ashlar::codegen {

int64_t ProgramBuilder::allocateDram(int64_t bytes) {
  int64_t address = dramNext;
  // Where runs of other bursts cost one more, tensors start at one.
  const uint64_t burst =
      machine.dram.countsMisaligned ? machine.dram.burstBytes : 1;
  dramNext = static_cast<int64_t>(llvm::alignTo(
      static_cast<uint64_t>(dramNext + bytes), std::max<uint64_t>(64, burst)));
  return address;
}

int64_t ProgramBuilder::addConstant(std::vector<uint8_t> bytes,
                                    int64_t NodeStorage::*kind,
                                    uint32_t owner) {
  auto size = static_cast<int64_t>(bytes.size());
  int64_t address = allocateDram(size);
  NodeStorage &account = storage[owner];
  account.*kind += size;
  account.padding += dramNext - address - size;
  constants.push_back({address, std::move(bytes)});
  return address;
}

int64_t ProgramBuilder::movementQueues() const {
  return analysis::movementQueues(machine);
}

isa::Queue ProgramBuilder::nextMovementQueue(uint64_t cycles) {
  if (machine.dma.queues == 1)
    return isa::Queue::Dma0;
  const auto queues = static_cast<unsigned>(movementQueues());
  if (weightsCome || !shareWeightQueue) {
    if (!held)
      rotation = rotation % queues + 1;
    return static_cast<isa::Queue>(rotation);
  }
  given.resize(queues + 1, 0);
  if (!held) {
    // Of equal ones the next.
    const unsigned last = rotation;
    rotation = (last + 1) % (queues + 1);
    for (unsigned i = 2; i <= queues + 1; ++i)
      if (const unsigned queue = (last + i) % (queues + 1);
          given[queue] < given[rotation])
        rotation = queue;
  }
  given[rotation] += cycles;
  return static_cast<isa::Queue>(rotation);
}

ProgramBuilder::OneQueue::OneQueue(ProgramBuilder &builder, bool wanted)
    : builder(builder), before(builder.held) {
  if (!wanted)
    return;
  builder.nextMovementQueue();
  builder.held = true;
}

} // namespace ashlar::codegen
