// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The channel of the instruction stream and the buffers of the queues.

#include "Fetch.h"

using namespace ashlar;
using namespace ashlar::emulator;

Moment Fetch::arrive(unsigned queue, uint64_t bytes) {
  Buffer &buffer = buffers[queue];
  // Starts of a queue ascend: the last one that has to be over is the latest.
  while (!buffer.held.empty() && buffer.bytes + bytes > machine.bufferBytes) {
    const Held &oldest = buffer.held.front();
    if (oldest.start.cycle > end.cycle) {
      end = oldest.start;
      rest = 0;
    }
    buffer.bytes -= oldest.bytes;
    buffer.held.pop_front();
  }
  rest += bytes;
  end.cycle += rest / machine.bytesPerCycle;
  rest %= machine.bytesPerCycle;
  return {arrival(), end.instruction};
}
