// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Timed runs of compiled networks. Predictions of layers leave out what
// neighbours overlap; the emulator's clock does not.

#include "MeasureClusters.h"

#include "ashlar/Emulator/Emulator.h"
#include "ashlar/Isa/Instruction.h"

#include "llvm/ADT/STLExtras.h"

namespace ashlar::pipelines {

llvm::Expected<bool> usesSparseCluster(const container::Program &program) {
  auto code = isa::decodeAll(program.code);
  if (!code)
    return code.takeError();
  return llvm::any_of(*code, [](const isa::Instruction &instruction) {
    return std::holds_alternative<isa::TccRun>(instruction);
  });
}

llvm::Expected<uint64_t> cyclesOf(const container::Program &program) {
  emulator::Options how;
  how.checkRaces = how.checkUndefined = false;
  auto loaded = emulator::load(program, how);
  if (!loaded)
    return loaded.takeError();
  how.functional = false;
  auto timed = emulator::run(*loaded, {}, how);
  if (!timed)
    return timed.takeError();
  return timed->totalCycles;
}

} // namespace ashlar::pipelines
