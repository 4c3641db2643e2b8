// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random N:M weights. Few random bytes have the pattern, so an operand that has
// it lies in DRAM, and loads of N:M weights follow a copy of a part of it.

#include "Programs.h"
#include <algorithm>
#include <vector>

using namespace ashlar;
using namespace ashlar::rtl;

/// Of an element of the operand in DRAM.
static constexpr uint64_t wordBytes = 2;

uint64_t rtl::patternBytes(const machine::Description &machine) {
  return machine.pe.hasPattern()
             ? machine.pe.rows * machine.pe.columns * wordBytes
             : 0;
}

void rtl::drawWeights(Dice &dice, Draft &draft) {
  const machine::PeArray &pe = draft.machine.pe;
  if (!pe.hasPattern())
    return;
  draft.pruned =
      dice.chance(75) ? 0 : static_cast<int32_t>(dice.between(1, 127));
  uint8_t *const words =
      draft.image.data() + draft.image.size() - patternBytes(draft.machine);
  std::vector<uint64_t> places(pe.patternGroup);
  for (uint64_t first = 0; first < pe.rows; first += pe.patternGroup)
    for (uint64_t c = 0; c < pe.columns; ++c) {
      for (uint64_t i = 0; i < places.size(); ++i)
        places[i] = i;
      // The first M - N places of a random order are pruned.
      for (uint64_t i = 0; i < pe.patternGroup - pe.patternKept; ++i) {
        std::swap(places[i], places[static_cast<uint64_t>(dice.between(
                                 static_cast<int64_t>(i),
                                 static_cast<int64_t>(places.size()) - 1))]);
        uint8_t *word =
            words + ((first + places[i]) * pe.columns + c) * wordBytes;
        word[0] = static_cast<uint8_t>(draft.pruned);
        word[1] = 0;
      }
    }
}

/// Bytes of an element; none of types that loads of N:M weights do not take.
static uint32_t elementBytes(const isa::PeLoad &load) {
  if (load.type == isa::ElemType::Bfp)
    return load.mantissa <= 8 ? 1 : 2;
  return load.type == isa::ElemType::I16 || load.type == isa::ElemType::U16 ? 2
                                                                            : 1;
}

std::optional<isa::DmaCopy> rtl::drawPruned(Dice &dice, const Draft &draft,
                                            isa::PeLoad &load) {
  const machine::Description &machine = draft.machine;
  if (!machine.pe.hasPattern() || load.mode == isa::OperandMode::Select ||
      !dice.chance(60))
    return std::nullopt;
  if (draft.pruned != 0) {
    load.mode = isa::OperandMode::Int;
    load.type = dice.of({isa::ElemType::I8, isa::ElemType::U8});
    load.mantissa = load.range = load.xr = 0;
    load.orientation = isa::Orientation::P;
  }
  load.zero = draft.pruned;
  const uint32_t bytes = elementBytes(load);
  const Loops loops = {
      {1, 1, load.cols},
      {0, 0, static_cast<int32_t>(bytes) * dice.of({1, 1, 1, 2, -1})}};
  int64_t offset = 0;
  if (!place(dice, loops, bytes,
             static_cast<int64_t>(machine.sb.bytesPerPartition), offset))
    return std::nullopt;
  load.offset = static_cast<uint32_t>(offset);
  load.colStride = loops.stride[2];
  load.pattern = true;
  isa::DmaCopy copy;
  copy.queue = static_cast<isa::Queue>(dice.between(0, 3));
  copy.elemBytes = bytes;
  copy.dstMem = isa::Memory::Sb;
  copy.n3 = load.rows;
  copy.n4 = load.cols;
  copy.srcBase = draft.image.size() - patternBytes(machine);
  copy.srcStride3 = static_cast<int64_t>(machine.pe.columns * wordBytes);
  copy.srcStride4 = wordBytes;
  copy.dstBase = load.part * machine.sb.bytesPerPartition + load.offset;
  copy.dstStride3 = static_cast<int64_t>(machine.sb.bytesPerPartition);
  copy.dstStride4 = load.colStride;
  return copy;
}
