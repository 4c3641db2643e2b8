// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loop orders by the cycles of lib/Machine.

#include "LoopOrder.h"

#include "llvm/ADT/STLExtras.h"

namespace ashlar::codegen {

machine::DmaSide CopySides::side(int which, llvm::ArrayRef<uint64_t> counts,
                                 llvm::ArrayRef<int64_t> strides,
                                 const machine::Description &machine) const {
  const bool rows =
      memory[which] == isa::Memory::Sb || memory[which] == isa::Memory::Xm;
  return {memory[which] == isa::Memory::Dram, counts, strides, elementBytes,
          rows ? machine.sb.bytesPerPartition : 0};
}

void sortBySide(llvm::MutableArrayRef<ByteLoop> loops, int which) {
  llvm::sort(loops, [which](const ByteLoop &a, const ByteLoop &b) {
    int64_t left = std::abs(a.stride[which]);
    int64_t right = std::abs(b.stride[which]);
    return left != right ? left > right : a.place < b.place;
  });
}

/// Cycles of a copy in this order of its loops.
static uint64_t cyclesOf(const machine::Description &machine,
                         const CopySides &sides,
                         llvm::ArrayRef<ByteLoop> loops) {
  llvm::SmallVector<uint64_t, 8> counts;
  llvm::SmallVector<int64_t, 8> strides[2];
  for (const ByteLoop &loop : loops) {
    counts.push_back(static_cast<uint64_t>(loop.extent));
    for (int s : {0, 1})
      strides[s].push_back(loop.stride[s]);
  }
  return machine::dmaCopy(machine, sides.side(0, counts, strides[0], machine),
                          sides.side(1, counts, strides[1], machine))
      .issue;
}

void orderForRuns(const machine::Description &machine, const CopySides &sides,
                  llvm::SmallVectorImpl<ByteLoop> &loops) {
  if (machine.dma.runsPerCycle == 0)
    return;
  uint64_t best = cyclesOf(machine, sides, loops);
  for (int which : {0, 1}) {
    llvm::SmallVector<ByteLoop, 8> other(loops.begin(), loops.end());
    sortBySide(other, which);
    if (uint64_t cycles = cyclesOf(machine, sides, other); cycles < best) {
      best = cycles;
      loops = std::move(other);
    }
  }
}

void orderForRuns(const machine::Description &machine, isa::DmaCopy &copy) {
  if (machine.dma.runsPerCycle == 0)
    return;
  llvm::SmallVector<ByteLoop, 8> loops = {
      {copy.n0, {copy.srcStride0, copy.dstStride0}, 0},
      {copy.n1, {copy.srcStride1, copy.dstStride1}, 1},
      {copy.n2, {copy.srcStride2, copy.dstStride2}, 2},
      {copy.n3, {copy.srcStride3, copy.dstStride3}, 3},
      {copy.n4, {copy.srcStride4, copy.dstStride4}, 4}};
  // Loops of one step go outermost; innermost they would end a run.
  llvm::SmallVector<ByteLoop, 8> inner;
  for (const ByteLoop &loop : loops)
    if (loop.extent > 1)
      inner.push_back(loop);
  orderForRuns(machine, {{copy.srcMem, copy.dstMem}, copy.elemBytes}, inner);
  loops.assign(loops.size() - inner.size(), ByteLoop{1, {0, 0}, 0});
  llvm::append_range(loops, inner);
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
