// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The sparse cluster, and the choice of the instruction.

#include "Sink.h"
#include "ashlar/Isa/ElementBytes.h"
#include "ashlar/Isa/Tiles.h"

using namespace ashlar;
using namespace ashlar::energy;

void ActionCounter::of(const isa::DmaTile &op, Sink &sink) {
  // A load moves whole pixels: the bytes of the channels, and the cells of the
  // planes that these have.
  const uint64_t mantissas =
      uint64_t(op.channels) * isa::elementBytes(op.type, op.mantissa);
  const uint64_t planes =
      isa::isBlock(op.type) && op.block > 0
          ? machine::cellPlanes(op.part % op.block, op.channels, op.block)
          : 0;
  const uint64_t moved = sink.measured.work;
  const uint64_t pixels = moved / (mantissas + planes);
  sink.add(Action::DmaMove, moved);
  sink.add(Action::SbRead, times(pixels, mantissas));
  sink.add(Action::XmRead, times(pixels, planes));
  sink.add(Action::FmuWrite, sink.measured.fmuBytes);
}

void ActionCounter::of(const isa::TccInit &op, Sink &sink) {
  // Zeros clear valid bits.
  if (!op.fromMemory)
    return;
  sink.add(Action::WmRead, 8 * uint64_t(op.regions) * op.groups);
  sink.add(Action::AccWrite,
           times(8 * machine.sparse.tcus, times(op.regions, op.count)));
}

void ActionCounter::of(const isa::TccRun &op, Sink &sink) {
  const Measured &run = sink.measured;
  const uint32_t bits = isa::operandBits(op.mode, op.type, op.mantissa);
  sink.add(Action::FmuRead, run.fmuBytes);
  sink.add(Action::WmRead, run.streamBytes);
  sink.add(Action::TcuMultiply, run.digitProducts);
  sink.add(Action::TcuAccumulate, run.digitProducts);
  sink.counts.addWidth(Component::Tcu, bits,
                       static_cast<uint32_t>(run.weightBits), run.products);
  // Every product is added to its sum.
  sink.add(Action::AccRead, times(8, run.digitProducts));
  sink.add(Action::AccWrite, times(8, run.digitProducts));
  if (isa::isBlock(op.type) && op.mode == isa::OperandMode::Bfp)
    sink.add(Action::XrRead, 2);
}

void ActionCounter::of(const isa::TccNnz &op, Sink &sink) {
  const uint64_t counters = 4 * times(op.inH, op.inW);
  sink.add(Action::SbRead,
           times(times(times(op.inN, op.channels), times(op.inH, op.inW)),
                 isa::elementBytes(op.type, op.mantissa)));
  if (!op.clear)
    sink.add(Action::CountersRead, counters);
  sink.add(Action::CountersWrite, counters);
}

void ActionCounter::of(const isa::TccPart &op, Sink &sink) {
  sink.add(Action::CountersRead, 4 * times(op.inH, op.inW));
}

void ActionCounter::count(const isa::Instruction &inst,
                          const Measured &measured, ActionCounts &counts) {
  Sink sink{machine, measured, counts};
  if (measured.dramRead | measured.dramWrite) {
    counts.add(Action::DramRead, measured.dramRead);
    counts.add(Action::DramWrite, measured.dramWrite);
    counts.add(Action::DramActivate, measured.rowActivations);
  }
  std::visit(
      [&](const auto &op) {
        counts.add(Action::FetchRead, 8 * uint64_t(op.words));
        of(op, sink);
      },
      inst);
}
