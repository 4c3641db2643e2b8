// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Instructions as transfers of lib/Machine.

#include "LoopOrder.h"

#include "ashlar/Analysis/Cost/CopyNest.h"
#include "ashlar/Isa/Operands.h"

namespace ashlar::codegen {

static machine::Transfer transferOf(const machine::Description &machine,
                                    const isa::DmaCopy &copy) {
  const machine::TransferLoop all[] = {
      {copy.n0, {copy.srcStride0, copy.dstStride0}, 0},
      {copy.n1, {copy.srcStride1, copy.dstStride1}, 1},
      {copy.n2, {copy.srcStride2, copy.dstStride2}, 2},
      {copy.n3, {copy.srcStride3, copy.dstStride3}, 3},
      {copy.n4, {copy.srcStride4, copy.dstStride4}, 4}};
  machine::Transfer transfer;
  transfer.sides[0] = analysis::transferSide(
      copy.srcMem, static_cast<int64_t>(copy.srcBase), machine);
  transfer.sides[1] = analysis::transferSide(
      copy.dstMem, static_cast<int64_t>(copy.dstBase), machine);
  transfer.elementBytes = copy.elemBytes;
  // Loops of one step go outermost; innermost they would end a run.
  for (const machine::TransferLoop &loop : all)
    if (loop.extent > 1)
      transfer.loops.push_back(loop);
  return transfer;
}

uint64_t copyCycles(const machine::Description &machine,
                    const isa::DmaCopy &copy) {
  return machine::TransferCosts(machine)
      .of(transferOf(machine, copy))
      .cycles(1);
}

uint64_t copiedBytes(const machine::Description &machine,
                     const isa::DmaCopy &copy) {
  const isa::LinearOperand from = operandSrc(copy);
  const llvm::SmallVector<uint64_t, 5> counts = from.counts();
  const llvm::SmallVector<int64_t, 5> strides = from.strides();
  return machine::dramTraffic(machine,
                              {copy.srcMem == isa::Memory::Dram, counts,
                               strides, copy.elemBytes, 0, copy.srcBase})
      .burstBytes;
}

void orderForRuns(const machine::Description &machine, isa::DmaCopy &copy) {
  if (!machine::ordersMatter(machine))
    return;
  machine::Transfer transfer = transferOf(machine, copy);
  machine::TransferCosts(machine).orderLoops(transfer, /*parts=*/1,
                                             /*queues=*/1);
  machine::TransferLoops loops(machine::transferDims - transfer.loops.size());
  loops.append(transfer.loops);
  auto set = [&](size_t i, auto &count, auto &from, auto &to) {
    count = static_cast<uint32_t>(loops[i].extent);
    from = loops[i].stride[0];
    to = loops[i].stride[1];
  };
  set(0, copy.n0, copy.srcStride0, copy.dstStride0);
  set(1, copy.n1, copy.srcStride1, copy.dstStride1);
  set(2, copy.n2, copy.srcStride2, copy.dstStride2);
  set(3, copy.n3, copy.srcStride3, copy.dstStride3);
  set(4, copy.n4, copy.srcStride4, copy.dstStride4);
}

} // namespace ashlar::codegen
