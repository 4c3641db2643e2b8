// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Weight memory and tile tables in program order, and nothing else.

#include "KnownStreams.h"
#include "../SparseCheck.h"

using namespace ashlar;
using namespace ashlar::emulator;

void emulator::decodeKnownStreams(LoadedProgram::Impl &impl) {
  if (!usesSparse(impl.code))
    return;
  ProofWork work(impl.program);
  SparseChecker checker(impl.program.machine, impl.program.constants, work);
  for (const isa::Instruction &inst : impl.code) {
    checker.follow(inst);
    if (const auto *run = std::get_if<isa::TccRun>(&inst))
      checker.prepare(*run, *impl.engine.tapPrograms);
  }
}
