// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which instructions keep the order of the program among each other.

#ifndef ASHLAR_LIB_EMULATOR_TIME_ORDEREDQUEUE_H
#define ASHLAR_LIB_EMULATOR_TIME_ORDEREDQUEUE_H

#include "../Impl.h"

namespace ashlar::emulator {

/// The queue of an instruction; with one stationary set, loads and streams
/// count as one queue: their order says which weights a stream uses.
inline unsigned orderedQueue(const LoadedProgram::Impl &impl, uint32_t index) {
  constexpr auto stream = static_cast<unsigned>(isa::Queue::Pe);
  constexpr auto load = static_cast<unsigned>(isa::Queue::Peload);
  const unsigned queue = impl.queues[index];
  return queue == load && !impl.program.machine.pe.shadowSet ? stream : queue;
}

} // namespace ashlar::emulator

#endif // ASHLAR_LIB_EMULATOR_TIME_ORDEREDQUEUE_H
