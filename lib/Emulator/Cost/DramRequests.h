// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What an instruction asks of DRAM: addresses, in the order of its requests.

#ifndef ASHLAR_LIB_EMULATOR_COST_DRAMREQUESTS_H
#define ASHLAR_LIB_EMULATOR_COST_DRAMREQUESTS_H

#include "ashlar/Isa/Instruction.h"
#include "ashlar/Machine/Description.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <cstdint>

namespace ashlar::emulator {

/// Runs of equal length at equal distances; each takes
/// machine::runBursts(address, bytes) bursts from the one it starts in.
struct DramLine {
  uint64_t address = 0;
  uint64_t runs = 1;
  int64_t stride = 0; ///< Bytes from the start of a run to that of the next.
  uint64_t bytes = 0; ///< Of a run.
  bool write = false;
};

/// Calls \p request for all that \p instruction asks of DRAM: what it reads
/// first, then what it writes, each side in the order of its loops, outermost
/// first. dma.expand requests the first burst of every cell, then for the rest
/// of each. \p chosen is what a run has found out (Engine::chosen); without it
/// the rows of a gather follow each other from the first on, and cells take
/// what is typical.
void dramRequests(const machine::Description &machine,
                  const isa::Instruction &instruction,
                  llvm::ArrayRef<uint64_t> chosen,
                  llvm::function_ref<void(const DramLine &)> request);

/// Bursts of all requests.
uint64_t requestedBursts(const machine::Description &machine,
                         const isa::Instruction &instruction,
                         llvm::ArrayRef<uint64_t> chosen);

} // namespace ashlar::emulator

#endif // ASHLAR_LIB_EMULATOR_COST_DRAMREQUESTS_H
