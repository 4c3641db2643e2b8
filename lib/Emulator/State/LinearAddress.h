// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Linear addresses of the machine as host pointers.

#ifndef ASHLAR_LIB_EMULATOR_STATE_LINEARADDRESS_H
#define ASHLAR_LIB_EMULATOR_STATE_LINEARADDRESS_H

#include "Memory.h"
#include "ashlar/Isa/Instruction.h"

namespace ashlar::emulator {

/// The host pointer of a linear address.
inline uint8_t *translate(Memory &memory, isa::Memory space, uint64_t address) {
  if (space == isa::Memory::Dram)
    return memory.dram(address);
  if (space == isa::Memory::Xr)
    return memory.scaleBytes(address);
  if (space == isa::Memory::Wm)
    return memory.wm(address);
  uint64_t row = address / memory.bytesPerPartition();
  uint64_t offset = address % memory.bytesPerPartition();
  if (space == isa::Memory::Sb)
    return memory.sb(row, offset);
  return reinterpret_cast<uint8_t *>(memory.xmRow(row, offset));
}

} // namespace ashlar::emulator

#endif // ASHLAR_LIB_EMULATOR_STATE_LINEARADDRESS_H
