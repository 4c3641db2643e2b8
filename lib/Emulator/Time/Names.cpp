// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Queues and causes of stalls as reports call them.

#include "ashlar/Emulator/Result.h"

using namespace ashlar;
using namespace ashlar::emulator;

llvm::StringRef emulator::queueName(unsigned queue) {
  static constexpr llvm::StringLiteral names[numQueues] = {
      "dma0", "dma1", "dma2", "dma3", "peload",
      "pe",   "act",  "vec",  "tcc",  "host"};
  return queue < numQueues ? llvm::StringRef(names[queue]) : "?";
}

llvm::StringRef emulator::stallCauseName(StallCause cause) {
  static constexpr llvm::StringLiteral names[numStallCauses] = {
      "wait-dma0", "wait-dma1", "wait-dma2", "wait-dma3", "wait-peload",
      "wait-pe",   "wait-act",  "wait-vec",  "wait-tcc",  "wait-host",
      "dram-busy", "latency",   "drained",   "sb-busy",   "fetch"};
  return names[static_cast<unsigned>(cause)];
}
