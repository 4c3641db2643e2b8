// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whole random programs.

#include "Compare.h"
#include "Programs.h"

using namespace ashlar;
using namespace ashlar::rtl;

using Operations = std::vector<isa::Instruction>;

/// An identity of bytes for the array, and the streams over it: a transpose of
/// words of any type.
static Operations drawTranspose(Dice &dice, const Draft &draft) {
  const machine::Description &machine = draft.machine;
  isa::PeLoad load;
  do
    load = drawLoad(dice, machine);
  while (load.mode != isa::OperandMode::Select);
  // The window stands where the last bytes of the image were copied over.
  const auto rows = static_cast<uint32_t>(machine.pe.rows);
  load.rows = rows;
  load.part = 0;
  const auto at =
      static_cast<uint32_t>(machine.sb.bytesPerPartition - 128 - rows);
  isa::DmaFill clear, ones;
  clear.queue = ones.queue = isa::Queue::Dma2;
  clear.dstMem = ones.dstMem = isa::Memory::Sb;
  clear.dstBase = ones.dstBase = at;
  clear.n3 = clear.n4 = ones.n4 = rows;
  clear.dstStride3 = static_cast<int64_t>(machine.sb.bytesPerPartition);
  clear.dstStride4 = 1;
  ones.dstStride4 = static_cast<int64_t>(machine.sb.bytesPerPartition) + 1;
  ones.value = 1;
  isa::PeMatmul stream;
  stream.mode = isa::OperandMode::Select;
  stream.type = isa::ElemType::U8;
  stream.window = isa::Window::Identity;
  stream.rows = stream.n2 = rows;
  stream.cols = load.cols;
  stream.offset = static_cast<int32_t>(at);
  stream.stride2 = stream.psumStride2 = 1;
  stream.hi0 = stream.hi1 = 1;
  stream.hi2 = static_cast<int32_t>(rows);
  stream.psum = static_cast<uint32_t>(
      dice.between(0, static_cast<int64_t>(machine.psum.entries()) - rows));
  return {clear,         ones,   load,
          isa::PeSwap{}, stream, drawDrain(dice, machine, load, stream)};
}

/// A stationary operand, streams over it and, maybe, their drains.
static Operations drawProducts(Dice &dice, const Draft &draft, bool drains) {
  if (drains && dice.chance(25))
    return drawTranspose(dice, draft);
  isa::PeLoad load = drawLoad(dice, draft.machine);
  Operations group;
  if (const auto weights = drawPruned(dice, draft, load))
    group.push_back(*weights);
  group.push_back(load);
  group.push_back(isa::PeSwap{});
  Operations after; // drains after the next stream
  for (int64_t n = dice.between(1, drains ? 2 : 4); n > 0; --n) {
    const isa::PeMatmul matmul = drawMatmul(dice, draft.machine, load);
    group.push_back(matmul);
    if (!drains)
      continue;
    after.push_back(drawDrain(dice, draft.machine, load, matmul));
    if (n > 1 && draft.lateSignals)
      continue;
    group.insert(group.end(), after.begin(), after.end());
    after.clear();
  }
  return group;
}

static Operations drawGroup(Dice &dice, const Draft &draft,
                            llvm::StringRef block) {
  // Ports are for those who meet at a bank.
  if (block == "dma" || dice.chance(draft.machine.sb.banks > 0 ? 45 : 15))
    return {drawCopy(dice, draft)};
  if (dice.chance(8)) {
    isa::XrMerge merge;
    merge.dst = static_cast<uint32_t>(dice.between(8, 15));
    merge.src = static_cast<uint32_t>(dice.between(0, 7));
    merge.clear = dice.chance(50);
    isa::XrPick pick;
    pick.dst = static_cast<uint32_t>(dice.between(0, 7));
    pick.preferred = static_cast<uint32_t>(dice.between(8, 15));
    pick.fallback = static_cast<uint32_t>(dice.between(0, 7));
    return {merge, pick};
  }
  return drawProducts(dice, draft, block == "drain");
}

Draft rtl::drawProgram(uint64_t seed, llvm::StringRef block, const Sizes &sizes,
                       const Prices &prices) {
  for (uint64_t attempt = 0;; ++attempt) {
    Dice dice(seed * 1000 + attempt);
    Draft draft;
    draft.machine = drawMachine(dice, sizes, prices);
    draft.image = drawImage(dice, draft.machine, sizes.dram);
    drawWeights(dice, draft);
    fillMemories(dice, draft);
    draft.lateSignals = dice.chance(30);
    const int64_t length = dice.between(6, block == "dma"               ? 30
                                           : draft.machine.sb.banks > 0 ? 16
                                                                        : 10);
    int refused = 0;
    for (int64_t n = 0; n < length && refused < 200;) {
      Draft longer = draft;
      bool waits = false;
      for (isa::Instruction &inst : drawGroup(dice, draft, block)) {
        waits |= waitsForNothing(longer, inst);
        longer.operations.push_back(std::move(inst));
      }
      if (waits || !isLegal(longer)) {
        ++refused;
        continue;
      }
      draft = std::move(longer);
      ++n;
    }
    if (refused < 200)
      return draft;
  }
}
