// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Timed runs of compiled networks. Predictions of layers leave out what
// neighbours overlap; the emulator's clock does not.

#include "MeasureClusters.h"
#include "ProveProgram.h"

#include "ashlar/Emulator/Emulator.h"
#include "ashlar/Isa/Instruction.h"

namespace ashlar::pipelines {

llvm::Expected<ClusterUse> clusterUseOf(const container::Program &program) {
  auto code = isa::decodeAll(program.code);
  if (!code)
    return code.takeError();
  ClusterUse use;
  for (const isa::Instruction &instruction : *code)
    if (const auto *run = std::get_if<isa::TccRun>(&instruction)) {
      use.runs = true;
      use.scatters |= run->scatter != 0;
    } else {
      use.compresses |= std::holds_alternative<isa::DmaCompress>(instruction);
    }
  return use;
}

llvm::Expected<uint64_t> cyclesOf(const container::Program &program,
                                  llvm::ArrayRef<HostTensor> sample) {
  auto use = clusterUseOf(program);
  if (!use)
    return use.takeError();
  emulator::Options how;
  how.checkRaces = how.checkUndefined = false;
  auto loaded = loadCompiled(program, how);
  if (!loaded)
    return loaded.takeError();
  how.functional = (use->scatters || use->compresses) && !sample.empty();
  auto timed = emulator::run(
      *loaded, how.functional ? sample : llvm::ArrayRef<HostTensor>(), how);
  if (!timed)
    return timed.takeError();
  return timed->totalCycles;
}

} // namespace ashlar::pipelines
