// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Copies: bytes of each memory, and of the network between them.

#include "Sink.h"

using namespace ashlar;
using namespace ashlar::energy;
using isa::Memory;

namespace {

/// Reading from a memory, or writing to it; DRAM counts whole bursts.
std::optional<Action> accessOf(Memory memory, bool write) {
  switch (memory) {
  case Memory::Dram:
    break;
  case Memory::Sb:
    return write ? Action::SbWrite : Action::SbRead;
  case Memory::Xm:
    return write ? Action::XmWrite : Action::XmRead;
  case Memory::Fmu:
    return write ? Action::FmuWrite : Action::FmuRead;
  case Memory::Wm:
    return write ? Action::WmWrite : Action::WmRead;
  case Memory::Xr:
    return write ? Action::XrWrite : Action::XrRead;
  }
  return std::nullopt;
}

/// Bytes of one side as its loops are walked.
uint64_t streamedBytes(const isa::LinearOperand &side) {
  return times(streamed(side.loops), side.bytes);
}

} // namespace

void ActionCounter::Sink::transfer(const isa::LinearOperand &side) {
  if (std::optional<Action> access = accessOf(side.mem, side.writes()))
    add(*access, streamedBytes(side));
}

void ActionCounter::of(const isa::DmaCopy &op, Sink &sink) {
  sink.add(Action::DmaMove, sink.measured.work);
  sink.transfer(operandSrc(op));
  sink.transfer(operandDst(op));
}

void ActionCounter::of(const isa::DmaFill &op, Sink &sink) {
  sink.add(Action::DmaMove, sink.measured.work);
  sink.transfer(operandDst(op));
}

void ActionCounter::of(const isa::DmaUnpack &op, Sink &sink) {
  sink.add(Action::DmaMove, sink.measured.work);
  sink.transfer(operandDst(op));
}

void ActionCounter::of(const isa::DmaGather &op, Sink &sink) {
  // An index per row; a row is what the dimensions inside the innermost one
  // that indices move cover.
  const isa::LinearOperand index = operandIndex(op);
  sink.add(Action::DmaMove, plus(sink.measured.work, streamedBytes(index)));
  sink.transfer(index);
  sink.transfer(operandDst(op));
}

void ActionCounter::of(const isa::DmaPut &op, Sink &sink) {
  sink.add(Action::DmaMove,
           plus(sink.measured.work, streamedBytes(operandIndex(op))));
  sink.transfer(operandSrc(op));
}

void ActionCounter::of(const isa::DmaCompress &, Sink &sink) {
  // The work counts the feature map once for each pass over it.
  sink.add(Action::DmaMove, sink.measured.work);
  sink.add(Action::SbRead, sink.measured.work);
}

void ActionCounter::of(const isa::DmaExpand &, Sink &sink) {
  sink.add(Action::DmaMove, sink.measured.work);
  sink.add(Action::SbWrite, sink.measured.work);
}
