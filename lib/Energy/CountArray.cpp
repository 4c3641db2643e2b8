// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The array, its accumulators, and the drain.

#include "Sink.h"
#include "ashlar/Isa/ElementBytes.h"
#include "ashlar/Isa/PooledDrain.h"

#include <algorithm>

using namespace ashlar;
using namespace ashlar::energy;
using isa::ElemType;
using isa::OperandMode;
using machine::VecCost;

/// Cells of \p count consecutive elements of every partition, whose blocks run
/// along the free axis: one for `group` elements side by side.
static uint64_t freeCells(const machine::Description &machine, uint64_t count,
                          bool dense) {
  return dense ? (count + machine.xmGroup - 1) / machine.xmGroup : count;
}

void ActionCounter::of(const isa::PeLoad &op, Sink &sink) {
  shadow = {isa::operandBits(op.mode, op.type, op.mantissa),
            isa::multipliedBits(op.mode, op.type, op.mantissa)};
  const uint64_t bytes = isa::elementBytes(op.type, op.mantissa);
  const uint64_t columns = op.colStride == 0 ? 1 : op.cols;
  sink.add(Action::SbRead, op.rows * columns * bytes);
  const uint64_t words =
      op.pattern ? machine::patternWords(machine, op.rows) : op.rows;
  sink.add(Action::PeLoad, words * op.cols * bytes);
  if (op.pattern)
    sink.add(Action::PatternLoad,
             (words * op.cols * machine.pe.patternPlaceBits() + 7) / 8);
  if (!isa::isBlock(op.type))
    return;
  if (op.orientation == isa::Orientation::P)
    sink.add(Action::XmRead, sink.cellRows(op.part, op.rows) * columns);
  else
    sink.add(Action::XmRead,
             op.rows *
                 freeCells(machine, columns, op.colStride == int64_t(bytes)));
  if (op.mode == OperandMode::Bfp)
    sink.add(Action::XrRead, 2);
}

void ActionCounter::of(const isa::PeSwap &, Sink &) { active = shadow; }

/// Steps of one dimension that read memory.
static uint64_t inside(int64_t low, int64_t high, int64_t count) {
  const int64_t steps = std::min(high, count) - std::max<int64_t>(low, 0);
  return steps > 0 ? static_cast<uint64_t>(steps) : 0;
}

/// Elements of each row that a stream reads; padding reads nothing. With row
/// groups those of all groups together.
static uint64_t streamedElements(const isa::PeMatmul &op) {
  const uint64_t outer = inside(op.lo0, op.hi0, op.n0);
  const uint64_t middle = inside(op.lo1, op.hi1, op.n1);
  if (op.groups <= 1) {
    const uint64_t inner = inside(op.lo2, op.hi2, op.n2);
    if (outer == 0 || middle == 0 || inner == 0)
      return 0;
    return streamed(
        {{outer, op.stride0}, {middle, op.stride1}, {inner, op.stride2}});
  }
  // Result w reads pixel w * advance + shift.
  const int64_t advance = 1 + int64_t(op.skip);
  auto resultFrom = [&](int64_t pixel) {
    const int64_t from = pixel - op.shift;
    return from > 0 ? (from + advance - 1) / advance : 0;
  };
  const uint64_t results =
      inside(resultFrom(op.lo2), resultFrom(op.hi2), op.validW);
  return times(times(outer, middle), results);
}

void ActionCounter::of(const isa::PeMatmul &op, Sink &sink) {
  const uint64_t elements = streamedElements(op);
  const uint64_t bytes = isa::elementBytes(op.type, op.mantissa);
  sink.add(Action::SbRead, times(elements, op.rows * bytes));
  if (isa::isBlock(op.type)) {
    if (op.orientation == isa::Orientation::P || op.groups > 1)
      sink.add(Action::XmRead,
               times(elements, sink.cellRows(op.part, op.rows)));
    else
      sink.add(Action::XmRead,
               times(op.rows, freeCells(machine, elements,
                                        op.stride2 == int64_t(bytes))));
    if (op.mode == OperandMode::Bfp)
      sink.add(Action::XrRead, 2);
  }
  const uint64_t outer = times(op.n0, op.n1);
  const uint64_t results = times(outer, op.groups > 1 ? op.validW : op.n2);
  const uint64_t sums = times(results, op.cols);
  const uint64_t products = times(
      sums, op.pattern ? machine::patternWords(machine, op.rows) : op.rows);
  uint64_t passes = 1; // Through the accumulators.
  if (op.mode == OperandMode::Select) {
    sink.add(Action::PeSelect, products);
  } else {
    const uint64_t digitPasses = machine::pePasses(
        machine, isa::multipliedBits(op.mode, op.type, op.mantissa),
        active.digits);
    const uint64_t digits = times(products, digitPasses);
    sink.add(op.narrow ? Action::NarrowMultiply : Action::PeMultiply, digits);
    if (op.pattern)
      sink.add(Action::PatternPick, digits);
    sink.counts.addWidth(Component::Pe,
                         isa::operandBits(op.mode, op.type, op.mantissa),
                         active.bits, products);
    if (op.mode == OperandMode::Float) {
      sink.add(Action::PeFloatAccumulate, products);
    } else {
      sink.add(Action::PeAccumulate, digits);
      passes = digitPasses;
    }
  }
  const uint64_t added = times(sums, passes - (op.accumulate ? 0 : 1));
  sink.add(Action::PsumWrite, times(8, times(sums, passes)));
  sink.add(Action::PsumRead, times(8, added));
  sink.add(Action::PsumAccumulate, added);
}

//===- Drain --------------------------------------------------------------===//

void energy::addEpilogue(const isa::ActDrain &op, uint64_t results,
                         ActionCounts &counts) {
  auto add = [&](VecCost cost) {
    counts.add(static_cast<Action>(static_cast<unsigned>(Action::ActCheap) +
                                   static_cast<unsigned>(cost)),
               results);
  };
  add(costOf(op.function));
  if (op.hasScale)
    add(VecCost::Medium);
  if (op.hasBias || op.biasAligned)
    add(VecCost::Cheap);
  if (op.resMode)
    add(VecCost::Cheap);
  const bool moves = op.mode == isa::DrainMode::Raw64 && !op.typed;
  if (isa::isBlock(op.dstType) && !moves)
    add(VecCost::Cheap);
}

/// Maxima of windows along the row, then with those of the rows before, which
/// wait in the line of the lane: each entry is compared for the windows of its
/// row that it is in, each of their maxima for the windows of rows.
void ActionCounter::of(const isa::ActPool &op, Sink &sink) {
  const isa::ActDrain entries = isa::entriesDrain(op);
  const uint64_t lanes = op.cols;
  const uint64_t read = times(times(op.inH, op.inW), lanes);
  const uint64_t windows = times(times(op.outH, op.outW), lanes);
  const uint64_t inRows = times(times(op.inH, op.outW), lanes);
  sink.add(Action::AccRead, times(8, read));
  addEpilogue(entries, read, sink.counts);
  if (op.hasScale || op.hasBias || op.hasExp || op.alphaFromParam || op.mapped)
    sink.add(Action::SbRead, times(16, lanes));
  if (op.mode == isa::DrainMode::F32)
    sink.add(Action::XrRead, 4);
  sink.add(Action::ActCheap, times(inRows, op.kW - 1));
  sink.add(Action::ActCheap, times(windows, op.kH - 1));
  sink.add(Action::PsumRead, times(4, times(windows, op.kH - 1)));
  sink.add(Action::PsumWrite, times(4, times(windows, op.kH - 1)));
  if (isa::isBlock(op.dstType))
    sink.add(Action::ActCheap, windows);
  sink.transfer(operandDst(op));
  sink.encodeRegister(op.dstType, /*given=*/false);
}

void ActionCounter::of(const isa::ActDrain &op, Sink &sink) {
  const uint64_t steps = times(times(op.n0, op.n1), op.n2);
  uint64_t results = times(steps, op.cols);
  if (op.fromTcu) {
    // Partial sums of several units are added before anything else.
    const uint64_t read = sink.measured.work;
    results = std::min(results, read);
    sink.add(Action::AccRead, times(8, read));
    sink.add(Action::ActCheap, read - results);
  } else {
    sink.add(Action::PsumRead, times(8, results));
  }
  const bool grouped = !op.fromTcu && op.groupLanes > 0;
  const uint64_t lanes = grouped ? op.groupLanes : op.cols;
  if (grouped)
    results = times(times(times(op.n0, op.validN1), op.n2), lanes);
  const uint64_t positions = results / lanes;
  addEpilogue(op, results, sink.counts);
  if (op.hasScale || op.hasBias || op.hasExp || op.alphaFromParam || op.mapped)
    sink.add(Action::SbRead,
             times(16, op.paramAlongSteps ? positions : op.cols));
  const isa::TensorOperand residual = operandRes(op);
  if (op.resMode)
    sink.transfer(residual, op.fromTcu ? positions : streamed(residual.loops));
  if (op.kept)
    sink.add(Action::FmuWrite, sink.measured.fmuBytes);
  if (!op.unstored)
    sink.add(Action::SbWrite,
             times(results, isa::elementBytes(op.dstType, op.dstMantissa)));
  if (isa::isBlock(op.dstType) && !op.unstored)
    sink.add(Action::XmWrite,
             op.dstOrientation == isa::Orientation::F
                 ? times(op.cols, freeCells(machine, positions, true))
                 : times(positions, sink.cellRows(op.dstPart, lanes)));
  if (op.mode == isa::DrainMode::F32 || op.mode == isa::DrainMode::Block)
    sink.add(Action::XrRead, 4);
  if (op.mode != isa::DrainMode::Raw64 || op.typed)
    sink.encodeRegister(op.dstType, op.cellFromXr, op.keepOwn);
  if (op.counted) {
    if (!op.countClear)
      sink.add(Action::CountersRead, times(4, positions));
    sink.add(Action::CountersWrite, times(4, positions));
  }
}
