// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The vector unit and its registers: operations by class, and what they read
// and write.

#include "Sink.h"
#include "ashlar/Isa/ElementBytes.h"
#include "ashlar/Isa/PooledDrain.h"
#include "ashlar/Machine/PoolVisits.h"

#include <algorithm>

using namespace ashlar;
using namespace ashlar::energy;
using isa::ElemType;
using machine::VecCost;

/// Classes by the value of an enum: looking names up takes longer than counting
/// all of an instruction.
template <typename Enum>
static std::array<VecCost, 256> classTable() {
  std::array<VecCost, 256> table;
  for (unsigned value = 0; value < table.size(); ++value)
    table[value] = machine::vecCostOf(isa::name(static_cast<Enum>(value)))
                       .value_or(VecCost::VeryExpensive);
  return table;
}

VecCost energy::costOf(isa::Function function) {
  static const std::array<VecCost, 256> table = classTable<isa::Function>();
  return table[static_cast<uint8_t>(function)];
}

VecCost energy::costOf(isa::ReduceKind kind) {
  static const std::array<VecCost, 256> table = classTable<isa::ReduceKind>();
  return table[static_cast<uint8_t>(kind)];
}

//===- Registers ----------------------------------------------------------===//

static constexpr uint64_t registerBytes = 2;

void ActionCounter::of(const isa::XrSet &, Sink &sink) {
  sink.add(Action::XrWrite, registerBytes);
}

void ActionCounter::of(const isa::XrMerge &op, Sink &sink) {
  sink.add(Action::XrRead, (op.clear ? 1 : 2) * registerBytes);
  sink.add(Action::XrWrite, registerBytes);
}

void ActionCounter::of(const isa::XrPick &, Sink &sink) {
  sink.add(Action::XrRead, 2 * registerBytes);
  sink.add(Action::XrWrite, registerBytes);
}

void ActionCounter::of(const isa::XrSelect &, Sink &sink) {
  sink.add(Action::SrRead, 1);
  sink.add(Action::XrWrite, registerBytes);
  sink.add(Action::VecVeryExpensive, 1);
}

void ActionCounter::of(const isa::XrPredict &op, Sink &sink) {
  // Fill count, write index and pairs; the exponent in use and its maximum.
  const uint64_t history = 2 + 2 * uint64_t(op.depth);
  sink.add(Action::SrRead, 1);
  sink.add(Action::XrRead, (history + 2) * registerBytes);
  sink.add(Action::XrWrite, (history + 1) * registerBytes);
  sink.add(Action::VecCheap, op.depth);
  sink.add(Action::VecVeryExpensive, 1);
}

//===- Element by element -------------------------------------------------===//

/// Results that convert or encode take one more cheap operation each.
static bool storesAnew(ElemType from, ElemType to) {
  return isa::isBlock(to) || from != to;
}

void ActionCounter::of(const isa::VecMap &op, Sink &sink) {
  visitOperands(op, sink);
  const bool two = op.bMode == isa::BMode::Tensor;
  const uint64_t elements =
      times(times(times(op.n0, op.n1), op.n2), op.channels);
  sink.operations(Action::VecCheap, costOf(op.op), elements);
  if (op.hasScale)
    sink.add(Action::VecMedium, elements);
  if (op.hasBias)
    sink.add(Action::VecCheap, elements);
  // Stages of quantisation: a multiplication each; a limit compares.
  if (op.affine)
    sink.add(Action::VecMedium, times(elements, two ? 2 : 1));
  if (op.rounded)
    sink.add(Action::VecMedium, elements);
  if (op.limited)
    sink.add(Action::VecCheap, elements);
  if (storesAnew(op.aType, op.dstType))
    sink.add(Action::VecCheap, elements);
}

template <typename Op>
static uint64_t scanned(const Op &op) {
  return times(times(times(op.n0, op.n1), op.n2), op.channels);
}

void ActionCounter::of(const isa::VecStat &op, Sink &sink) {
  visitOperands(op, sink);
  sink.add(Action::VecCheap, scanned(op));
  // Sums grow in the unit and join the register once.
  if (!op.clear)
    sink.add(Action::SrRead, 1);
  sink.add(Action::SrWrite, 1);
}

void ActionCounter::of(const isa::VecMeasure &op, Sink &sink) {
  visitOperands(op, sink);
  sink.add(Action::VecCheap, scanned(op));
  if (!op.clear)
    sink.add(Action::XrRead, registerBytes);
  sink.add(Action::XrWrite, registerBytes);
}

void ActionCounter::of(const isa::VecGather &op, Sink &sink) {
  const uint64_t positions = times(times(op.n0, op.n1), op.n2);
  // Every position has an index of its own unless indices stay.
  const isa::TensorOperand source = operandSrc(op), index = operandIndex(op);
  sink.transfer(source,
                streamed(index.loops) > 1 ? positions : streamed(source.loops));
  sink.transfer(index);
  sink.transfer(operandDst(op));
  sink.add(Action::VecMedium, times(positions, op.channels));
}

//===- Reductions ---------------------------------------------------------===//

/// Pairs of result and tap along an axis whose input coordinate exists.
static uint64_t validTaps(int64_t in, int64_t out, int64_t kernel,
                          int64_t stride, int64_t pad, int64_t dilation) {
  uint64_t pairs = 0;
  for (int64_t tap = 0; tap < kernel; ++tap) {
    // 0 <= o * stride + offset < in.
    const int64_t offset = tap * dilation - pad;
    const int64_t first = offset >= 0 ? 0 : (-offset + stride - 1) / stride;
    const int64_t last = in - 1 - offset < 0
                             ? -1
                             : std::min(out - 1, (in - 1 - offset) / stride);
    if (last >= first)
      pairs += static_cast<uint64_t>(last - first + 1);
  }
  return pairs;
}

/// Elements of a channel that a pool reads. Of several passes only the first
/// reads memory; rows between them stay in the lanes.
static uint64_t pooledElements(const isa::VecPool &op, int firstPass) {
  const int64_t in[] = {op.inD, op.inH, op.inW};
  const uint64_t taps[] = {
      validTaps(op.inD, op.outD, op.kD, op.sD, op.pD, op.dD),
      validTaps(op.inH, op.outH, op.kH, op.sH, op.pH, op.dH),
      validTaps(op.inW, op.outW, op.kW, op.sW, op.pW, op.dW)};
  uint64_t elements = 1;
  for (int axis = 0; axis < 3; ++axis)
    elements = times(
        elements, firstPass < 0 || axis >= firstPass
                      ? taps[axis]
                      : static_cast<uint64_t>(std::max<int64_t>(in[axis], 0)));
  return elements;
}

void ActionCounter::of(const isa::VecPool &op, Sink &sink) {
  machine::PoolShape shape;
  const int64_t in[] = {op.inD, op.inH, op.inW};
  const uint64_t out[] = {op.outD, op.outH, op.outW};
  const uint64_t kernel[] = {op.kD, op.kH, op.kW};
  for (unsigned i = 0; i < 3; ++i) {
    shape.in[i] = static_cast<uint64_t>(in[i]);
    shape.out[i] = out[i];
    shape.kernel[i] = kernel[i];
  }
  const machine::PoolVisits visits =
      machine::vecPoolVisits(static_cast<machine::PoolKind>(op.kind), shape);
  visitOperands(op, sink);
  sink.transfer(operandSrc(op), pooledElements(op, visits.firstPass));
  const uint64_t results =
      times(times(times(op.outD, op.outH), op.outW), op.channels);
  sink.add(Action::VecCheap, times(visits.elements, op.channels));
  if (op.kind == isa::PoolKind::Avg)
    sink.add(Action::VecExpensive, results);
  if (storesAnew(op.srcType, op.dstType))
    sink.add(Action::VecCheap, results);
}

void ActionCounter::of(const isa::VecDrain &op, Sink &sink) {
  const machine::PoolShape shape{
      {1, op.inH, op.inW}, {1, op.outH, op.outW}, {1, op.kH, op.kW}};
  const auto kind = static_cast<machine::PoolKind>(op.kind);
  const uint64_t read = times(machine::pooledEntries(kind, shape), op.cols);
  const uint64_t results = times(times(op.outH, op.outW), op.cols);
  sink.add(Action::PsumRead, times(8, read));
  addEpilogue(isa::entriesDrain(op), read, sink.counts);
  if (op.hasScale || op.hasBias || op.hasExp || op.alphaFromParam)
    sink.add(Action::SbRead, times(16, op.cols));
  if (op.mode == isa::DrainMode::F32)
    sink.add(Action::XrRead, 4);
  sink.add(Action::VecCheap,
           times(machine::vecPoolVisits(kind, shape).elements, op.cols));
  if (op.kind == isa::PoolKind::Avg)
    sink.add(Action::VecExpensive, results);
  if (storesAnew(op.srcType, op.dstType))
    sink.add(Action::VecCheap, results);
  sink.transfer(operandDst(op));
  sink.encodeRegister(op.dstType, /*given=*/false);
}

void ActionCounter::of(const isa::VecReduce &op, Sink &sink) {
  visitOperands(op, sink);
  const uint64_t results = times(times(op.o0, op.o1), op.channels);
  sink.operations(Action::VecCheap, costOf(op.kind),
                  times(results, times(op.r0, op.r1)));
  if (op.kind == isa::ReduceKind::Mean)
    sink.add(Action::VecExpensive, results);
  if (storesAnew(op.srcType, op.dstType))
    sink.add(Action::VecCheap, results);
}

void ActionCounter::of(const isa::VecReduceChannels &op, Sink &sink) {
  visitOperands(op, sink);
  const uint64_t results = times(times(op.n0, op.n1), op.n2);
  sink.operations(Action::VecCheap, costOf(op.kind),
                  times(results, op.channels));
  if (op.kind == isa::ReduceKind::Mean)
    sink.add(Action::VecExpensive, results);
  if (storesAnew(op.srcType, op.dstType))
    sink.add(Action::VecCheap, results);
}
