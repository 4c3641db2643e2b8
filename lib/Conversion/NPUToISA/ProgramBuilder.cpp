// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// DRAM allocation and DMA queue choice.

#include "ProgramBuilder.h"

#include "llvm/Support/MathExtras.h"

namespace ashlar::codegen {

int64_t ProgramBuilder::allocateDram(int64_t bytes) {
  int64_t address = dramNext;
  dramNext = llvm::alignTo(dramNext + bytes, 64);
  return address;
}

int64_t ProgramBuilder::addConstant(std::vector<uint8_t> bytes) {
  int64_t address = allocateDram(bytes.size());
  constants.push_back({address, std::move(bytes)});
  return address;
}

isa::Queue ProgramBuilder::nextMovementQueue() {
  unsigned queues = machine.dma.queues;
  if (queues == 1)
    return isa::Queue::Dma0;
  rotation = rotation % (queues - 1) + 1;
  return static_cast<isa::Queue>(rotation);
}

} // namespace ashlar::codegen
