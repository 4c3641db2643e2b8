// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random machines, contents and copies.

#include "Programs.h"
#include <algorithm>
#include <cmath>
#include <cstring>

using namespace ashlar;
using namespace ashlar::rtl;

int64_t Dice::between(int64_t low, int64_t high) {
  // Not std::uniform_int_distribution, whose numbers differ by library.
  const auto span = static_cast<uint64_t>(high - low) + 1;
  return low + static_cast<int64_t>(state() % span);
}

static uint64_t drawn(Dice &dice, std::initializer_list<int> values) {
  return static_cast<uint64_t>(dice.of(values));
}

/// Some arrays take N:M weights.
static void drawMultiplexers(Dice &dice, const Sizes &sizes,
                             machine::PeArray &pe) {
  if (sizes.multiplex < 2 || !dice.chance(40))
    return;
  pe.patternGroup = 2;
  while (2 * pe.patternGroup <= sizes.multiplex && dice.chance(50))
    pe.patternGroup *= 2;
  pe.patternKept = pe.patternGroup / 2;
  while (pe.patternKept > 1 && dice.chance(40))
    pe.patternKept /= 2;
  pe.patternRowsPerCycle =
      static_cast<uint64_t>(dice.between(1, sizes.rows + 1));
}

machine::Description rtl::drawMachine(Dice &dice, const Sizes &sizes,
                                      const Prices &prices) {
  machine::Description d;
  d.name = "witness";
  d.sb.partitions = sizes.partitions;
  d.sb.bytesPerPartition = sizes.bytes;
  d.xmGroup = sizes.group;
  d.pe.rows = sizes.rows;
  d.pe.columns = sizes.columns;
  d.pe.rowGroupGranularity = sizes.granularity;
  d.psum.banks = 2;
  d.psum.entriesPerBank = sizes.entries / 2;
  d.xr.registers = sizes.scales;
  d.dram.bytesPerCycle = drawn(dice, {8, 16, 20, 64});
  d.dram.latency = static_cast<uint64_t>(dice.between(0, 60));
  d.dram.burstBytes = drawn(dice, {1, 4, 16, 64});
  d.dma.onchipBytesPerCycle = drawn(dice, {5, 8, 32, 128});
  d.pe.cellDigitBits = drawn(dice, {2, 3, 4, 8, 8, 8, 16});
  d.pe.loadRowsPerCycle =
      static_cast<uint64_t>(dice.between(1, sizes.rows + 1));
  d.pe.shadowSet = dice.chance(80);
  d.act.lanes = static_cast<uint64_t>(dice.between(1, sizes.columns + 2));
  d.act.latency = static_cast<uint64_t>(dice.between(0, 40));
  drawMultiplexers(dice, sizes, d.pe);
  // Some cells multiply two narrow operands.
  if (d.pe.cellDigitBits >= 4 && dice.chance(50))
    d.pe.narrowBits = static_cast<uint64_t>(
        dice.between(3, static_cast<int64_t>(d.pe.cellDigitBits / 2 + 1)));
  if (prices.copies) {
    d.dma.setupCycles = drawn(dice, {0, 1, 8, 30});
    d.dma.onchipLatency = drawn(dice, {0, 3, 32});
    d.dma.runsPerCycle = drawn(dice, {0, 1, 4});
  }
  if (prices.ports) {
    d.sb.banks = drawn(dice, {1, 2, 3, 4, 8, 16});
    d.sb.ports = drawn(dice, {1, 1, 2, 3});
    d.sb.portBytes = drawn(dice, {1, 2, 4, 16, 32});
  }
  if (prices.engines) {
    d.pe.groupsWait = dice.chance(50);
    d.psum.writePorts = drawn(dice, {0, 1, 2, 3, 4});
    d.psum.readBytesPerCycle = drawn(dice, {0, 8, 24, 64});
    d.act.costCheap = drawn(dice, {1, 1, 2});
    d.act.costMedium = d.act.costCheap;
    d.act.costExpensive = d.act.costMedium * drawn(dice, {1, 4});
    d.act.costVeryExpensive = d.act.costExpensive * 2;
  }
  return d;
}

/// A parameter record that no compiler writes: sums that are far beyond every
/// encoding, or far below.
static void drawHostileRecord(Dice &dice, uint8_t *at) {
  for (int i = 0; i < 16; ++i)
    at[i] = static_cast<uint8_t>(dice.between(0, 255));
  // Biases around the least cell, the greatest cell, and the one that a sum of
  // 61 bits reaches; EW around its limits.
  const auto unit = static_cast<int16_t>(dice.of({-150, 120, 190, 190}) +
                                         dice.between(-12, 12));
  const int32_t exponent =
      static_cast<int32_t>(dice.of({0, 100, -100, 1 << 20, -(1 << 20)})) +
      static_cast<int32_t>(dice.between(-60, 60));
  if (dice.chance(80))
    std::memcpy(at + 6, &unit, 2);
  if (dice.chance(80))
    std::memcpy(at + 8, &exponent, 4);
}

/// A parameter record: scale, bias, EW and alpha of moderate size.
static void drawRecord(Dice &dice, uint8_t *at) {
  const float scale = std::ldexp(static_cast<float>(dice.between(-99, 99)),
                                 static_cast<int>(dice.between(-10, 3)));
  const float bias = std::ldexp(static_cast<float>(dice.between(-999, 999)),
                                static_cast<int>(dice.between(-8, 8)));
  const float alpha = static_cast<float>(dice.between(-30, 30)) / 8;
  const auto exponent = static_cast<int32_t>(dice.between(-6, 6));
  std::memcpy(at, &scale, 4);
  std::memcpy(at + 4, &bias, 4);
  if (dice.chance(30)) { // A mantissa and its exponent.
    const auto mantissa = static_cast<int16_t>(dice.between(-400, 400));
    const auto unit = static_cast<int16_t>(dice.between(-30, 10));
    std::memcpy(at + 4, &mantissa, 2);
    std::memcpy(at + 6, &unit, 2);
  }
  std::memcpy(at + 8, &exponent, 4);
  std::memcpy(at + 12, &alpha, 4);
}

std::vector<uint8_t>
rtl::drawImage(Dice &dice, const machine::Description &machine, size_t bytes) {
  std::vector<uint8_t> image(bytes);
  for (uint8_t &byte : image)
    byte = static_cast<uint8_t>(dice.between(0, 255));
  const uint64_t row = machine.sb.bytesPerPartition, sb = machine.sb.bytes();
  const int hostile = dice.chance(30) ? 50 : 0; // percent of the records
  for (uint64_t p = 0; p < machine.sb.partitions; ++p)
    for (uint64_t k = 0; k < 8; ++k)
      if (uint8_t *at = &image[(p + 1) * row - 128 + 16 * k];
          dice.chance(hostile))
        drawHostileRecord(dice, at);
      else
        drawRecord(dice, at);
  for (uint64_t i = 0; i < machine.xmBytes(); ++i)
    image[sb + i] =
        static_cast<uint8_t>(dice.chance(3) ? -128 : dice.between(-12, 12));
  return image;
}

static isa::DmaCopy wholeCopy(isa::Memory to, uint64_t from, uint64_t bytes) {
  isa::DmaCopy op;
  op.dstMem = to;
  op.srcBase = from;
  op.elemBytes = 8;
  op.n4 = static_cast<uint32_t>(bytes / 8);
  op.srcStride4 = op.dstStride4 = 8;
  return op;
}

void rtl::fillMemories(Dice &dice, Draft &draft) {
  const uint64_t sb = draft.machine.sb.bytes();
  draft.operations.push_back(wholeCopy(isa::Memory::Sb, 0, sb));
  isa::DmaCopy cells = wholeCopy(isa::Memory::Xm, sb, draft.machine.xmBytes());
  cells.queue = isa::Queue::Dma1;
  draft.operations.push_back(cells);
  for (uint32_t i = 0; i < 8; ++i) {
    isa::XrSet set;
    set.xr = i;
    set.value = static_cast<int32_t>(dice.between(-12, 6));
    draft.operations.push_back(set);
  }
  draft.fixed = draft.operations.size();
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

namespace {
/// Strides of five loops, and where they end.
struct Pattern {
  int64_t stride[5];
  int64_t low = 0, high = 0;
};
} // namespace

/// Strides in a random order of the loops, so that elements stay apart; now and
/// then with gaps, backwards, or (of sources) repeated.
static Pattern drawPattern(Dice &dice, const uint32_t n[5], int64_t bytes,
                           bool source) {
  Pattern pattern;
  int order[5] = {4, 3, 2, 1, 0};
  if (dice.chance(40))
    for (int i = 4; i > 0; --i)
      std::swap(order[i], order[dice.between(0, i)]);
  int64_t span = bytes;
  for (int d : order) {
    int64_t stride = span + (dice.chance(20) ? bytes * dice.between(1, 3) : 0);
    span = stride * n[d];
    if (source && dice.chance(10))
      stride = 0;
    if (dice.chance(8))
      stride = -stride;
    pattern.stride[d] = stride;
    const int64_t reach = stride * (n[d] - 1);
    (reach < 0 ? pattern.low : pattern.high) += reach;
  }
  pattern.high += bytes;
  return pattern;
}

/// Bytes of a memory that random copies may use.
static int64_t roomOf(const Draft &draft, isa::Memory memory) {
  switch (memory) {
  case isa::Memory::Sb:
    return static_cast<int64_t>(draft.machine.sb.bytes());
  case isa::Memory::Xm:
    return static_cast<int64_t>(draft.machine.xmBytes());
  case isa::Memory::Xr:
    return static_cast<int64_t>(2 * draft.machine.xr.registers);
  default:
    return static_cast<int64_t>(draft.image.size() -
                                patternBytes(draft.machine));
  }
}

static bool locate(Dice &dice, const Pattern &pattern, int64_t room,
                   int64_t unit, uint64_t &base) {
  if (pattern.high - pattern.low > room)
    return false;
  int64_t at = dice.between(-pattern.low, room - pattern.high);
  at -= at % unit;
  if (at < -pattern.low)
    at += unit;
  base = static_cast<uint64_t>(at);
  return at + pattern.high <= room;
}

static isa::Memory drawMemory(Dice &dice) {
  return dice.of({isa::Memory::Dram, isa::Memory::Dram, isa::Memory::Sb,
                  isa::Memory::Sb, isa::Memory::Sb, isa::Memory::Xm,
                  isa::Memory::Xr});
}

template <typename Op>
static void setCounts(Op &op, const uint32_t n[5]) {
  op.n0 = n[0], op.n1 = n[1], op.n2 = n[2], op.n3 = n[3], op.n4 = n[4];
}
template <typename Op>
static void setDestination(Op &op, const Pattern &p) {
  op.dstStride0 = p.stride[0], op.dstStride1 = p.stride[1];
  op.dstStride2 = p.stride[2], op.dstStride3 = p.stride[3];
  op.dstStride4 = p.stride[4];
}

static isa::Queue drawQueue(Dice &dice) {
  return static_cast<isa::Queue>(dice.between(0, 3));
}

isa::Instruction rtl::drawCopy(Dice &dice, const Draft &draft) {
  for (;;) {
    uint32_t n[5];
    uint64_t elements = 1;
    for (uint32_t &count : n) {
      count = static_cast<uint32_t>(dice.chance(40) ? 1 : dice.between(1, 9));
      elements *= count;
    }
    if (elements > 1500)
      continue;
    const isa::Memory from = drawMemory(dice), to = drawMemory(dice);
    const bool fill = dice.chance(20), unpack = !fill && dice.chance(10);
    const bool registers =
        to == isa::Memory::Xr || (!fill && !unpack && from == isa::Memory::Xr);
    const auto bytes =
        static_cast<uint32_t>(registers ? 2
                              : unpack  ? dice.of({1, 2})
                                        : dice.of({1, 1, 2, 4, 8}));
    const int64_t unit = registers ? 2 : 1;
    const Pattern destination = drawPattern(dice, n, bytes, false);
    const Pattern source = drawPattern(dice, n, bytes, true);
    uint64_t base = 0, origin = 0;
    if (unpack) {
      isa::DmaUnpack op;
      op.queue = drawQueue(dice);
      op.elemBytes = bytes;
      op.mantissa = static_cast<uint32_t>(dice.between(3, 8 * bytes));
      op.srcBase = static_cast<uint64_t>(dice.between(0, 2000));
      if (!locate(dice, destination, roomOf(draft, isa::Memory::Sb), 1, base))
        continue;
      op.dstBase = base;
      setCounts(op, n);
      setDestination(op, destination);
      return op;
    }
    if (!locate(dice, destination, roomOf(draft, to), unit, base))
      continue;
    if (fill) {
      isa::DmaFill op;
      op.queue = drawQueue(dice);
      op.elemBytes = bytes;
      op.dstMem = to;
      op.dstBase = base;
      op.value = static_cast<uint64_t>(dice.between(0, INT64_MAX - 1));
      setCounts(op, n);
      setDestination(op, destination);
      return op;
    }
    if (!locate(dice, source, roomOf(draft, from), unit, origin))
      continue;
    isa::DmaCopy op;
    op.queue = drawQueue(dice);
    op.elemBytes = bytes;
    op.srcMem = from;
    op.dstMem = to;
    op.srcBase = origin;
    op.dstBase = base;
    setCounts(op, n);
    setDestination(op, destination);
    op.srcStride0 = source.stride[0], op.srcStride1 = source.stride[1];
    op.srcStride2 = source.stride[2], op.srcStride3 = source.stride[3];
    op.srcStride4 = source.stride[4];
    return op;
  }
}
