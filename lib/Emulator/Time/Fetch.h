// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// When an instruction is in the buffer of its queue. The stream of instructions
// arrives in program order over a channel of its own, so many bytes per cycle,
// and stops while the buffer of the next instruction's queue is full: as with
// all servers of the account, the order of grants is the order of the program,
// and every arrival is a maximum of sums.

#ifndef ASHLAR_LIB_EMULATOR_TIME_FETCH_H
#define ASHLAR_LIB_EMULATOR_TIME_FETCH_H

#include "Server.h"
#include <array>
#include <deque>

namespace ashlar::emulator {

/// Instructions on their way, in program order: arrive() and leave() by turns.
class Fetch {
public:
  explicit Fetch(const machine::Fetch &machine) : machine(machine) {}

  /// False if every instruction is there at cycle 0.
  bool takesTime() const { return machine.bytesPerCycle > 0; }

  /// The first cycle in which the next instruction, of \p bytes encoded bytes,
  /// can start in \p queue, and the instruction whose start made room for it.
  Moment arrive(unsigned queue, uint64_t bytes);

  /// The instruction that arrived last starts, or the one that keeps it waiting
  /// (\p start): its place is free. Of instructions that start as they arrive,
  /// each waits for the one before.
  void leave(unsigned queue, uint64_t bytes, Moment start) {
    buffers[queue].held.push_back({bytes, start});
    buffers[queue].bytes += bytes;
    if (start.cycle == arrival())
      end.instruction = start.instruction;
  }

private:
  struct Held {
    uint64_t bytes;
    Moment start;
  };
  struct Buffer {
    std::deque<Held> held; ///< Since when their place has not been needed.
    uint64_t bytes = 0;    ///< Of all of them.
  };

  uint64_t arrival() const { return end.cycle + (rest > 0); }

  machine::Fetch machine;
  std::array<Buffer, numQueues> buffers;
  /// The end of what has arrived: `rest` bytes after the start of a cycle. Kept
  /// in bytes, so that no instruction is rounded up to cycles.
  Moment end;
  uint64_t rest = 0;
};

} // namespace ashlar::emulator

#endif // ASHLAR_LIB_EMULATOR_TIME_FETCH_H
