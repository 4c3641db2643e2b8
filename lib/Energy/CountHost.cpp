// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Functions of the host: the steps of their cost, which of host.nms data
// decide. What they move is traffic of DRAM.

#include "Sink.h"

using namespace ashlar;
using namespace ashlar::energy;

void ActionCounter::of(const isa::HostNonzero &, Sink &sink) {
  sink.add(Action::HostStep, sink.measured.work);
}

void ActionCounter::of(const isa::HostSort &, Sink &sink) {
  sink.add(Action::HostStep, sink.measured.work);
}

void ActionCounter::of(const isa::HostUnique &, Sink &sink) {
  sink.add(Action::HostStep, sink.measured.work);
}

void ActionCounter::of(const isa::HostNms &, Sink &sink) {
  sink.add(Action::HostStep, sink.measured.work);
}
