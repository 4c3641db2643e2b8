// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// dma.put: a copy whose destination a number in DRAM moves.

#include "../Cost/Costs.h"
#include "Indices.h"

using namespace ashlar;
using namespace ashlar::emulator;

/// The same transfer with a known destination.
static isa::DmaCopy copyTo(const isa::DmaPut &op, uint64_t destination) {
  isa::DmaCopy copy;
  copy.queue = op.queue;
  copy.elemBytes = op.elemBytes;
  copy.srcMem = op.srcMem;
  copy.dstMem = isa::Memory::Dram;
  copy.srcBase = op.srcBase;
  copy.dstBase = destination;
  copy.n0 = op.n0, copy.n1 = op.n1, copy.n2 = op.n2, copy.n3 = op.n3;
  copy.n4 = op.n4;
  copy.srcStride0 = op.srcStride0, copy.srcStride1 = op.srcStride1;
  copy.srcStride2 = op.srcStride2, copy.srcStride3 = op.srcStride3;
  copy.srcStride4 = op.srcStride4;
  copy.dstStride0 = op.dstStride0, copy.dstStride1 = op.dstStride1;
  copy.dstStride2 = op.dstStride2, copy.dstStride3 = op.dstStride3;
  copy.dstStride4 = op.dstStride4;
  return copy;
}

void Engine::execute(const isa::DmaPut &op) {
  const int64_t place = readIndex(op.indexType, memory.dram(op.indexBase));
  if (place < 0 || place >= static_cast<int64_t>(op.size)) {
    finding = RunFinding{FaultKind::OutOfRange,
                         fmt::format("place {} of the rows that are kept for "
                                     "the next run, expected 0 to {}",
                                     place, op.size - 1),
                         std::nullopt};
    return;
  }
  const auto shift = static_cast<uint64_t>(place * op.axisStride);
  if (machine->dram.countsMisaligned) {
    isa::DmaPut there = op;
    there.dstBase += shift;
    measured[current] = CostModel(*costMachine)(there);
  }
  if (keepChosen)
    chosen[current] = {shift};
  execute(copyTo(op, op.dstBase + shift));
}
