// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Copies: bytes of each memory, and of the network between them.

#include "Sink.h"

using namespace ashlar;
using namespace ashlar::energy;
using isa::Memory;

namespace {

template <typename Op>
std::array<Step, 5> sourceSteps(const Op &op) {
  return {{{op.n0, op.srcStride0},
           {op.n1, op.srcStride1},
           {op.n2, op.srcStride2},
           {op.n3, op.srcStride3},
           {op.n4, op.srcStride4}}};
}

template <typename Op>
std::array<Step, 5> resultSteps(const Op &op) {
  return {{{op.n0, op.dstStride0},
           {op.n1, op.dstStride1},
           {op.n2, op.dstStride2},
           {op.n3, op.dstStride3},
           {op.n4, op.dstStride4}}};
}

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

} // namespace

void ActionCounter::of(const isa::DmaCopy &op, Sink &sink) {
  sink.add(Action::DmaMove, sink.measured.work);
  if (std::optional<Action> read = accessOf(op.srcMem, false))
    sink.add(*read, times(streamed(sourceSteps(op)), op.elemBytes));
  if (std::optional<Action> write = accessOf(op.dstMem, true))
    sink.add(*write, times(streamed(resultSteps(op)), op.elemBytes));
}

void ActionCounter::of(const isa::DmaFill &op, Sink &sink) {
  sink.add(Action::DmaMove, sink.measured.work);
  if (std::optional<Action> write = accessOf(op.dstMem, true))
    sink.add(*write, times(streamed(resultSteps(op)), op.elemBytes));
}

void ActionCounter::of(const isa::DmaUnpack &op, Sink &sink) {
  sink.add(Action::DmaMove, sink.measured.work);
  sink.add(Action::SbWrite, times(streamed(resultSteps(op)), op.elemBytes));
}

void ActionCounter::of(const isa::DmaGather &op, Sink &sink) {
  // An index per row; a row is what the dimensions inside the innermost one
  // that indices move cover.
  const std::array<Step, 5> indices = {{{op.n0, op.indexStride0},
                                        {op.n1, op.indexStride1},
                                        {op.n2, op.indexStride2},
                                        {op.n3, op.indexStride3},
                                        {op.n4, op.indexStride4}}};
  const uint64_t bytes =
      times(streamed(indices), isa::elementBytes(op.indexType, 0));
  sink.add(Action::DmaMove, plus(sink.measured.work, bytes));
  sink.add(Action::SbRead, bytes);
  sink.add(Action::SbWrite, times(streamed(resultSteps(op)), op.elemBytes));
}

void ActionCounter::of(const isa::DmaCompress &, Sink &sink) {
  // The work counts the map once for each pass over it.
  sink.add(Action::DmaMove, sink.measured.work);
  sink.add(Action::SbRead, sink.measured.work);
}

void ActionCounter::of(const isa::DmaExpand &, Sink &sink) {
  sink.add(Action::DmaMove, sink.measured.work);
  sink.add(Action::SbWrite, sink.measured.work);
}
