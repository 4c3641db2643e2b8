// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Prediction.h"

#include "../Prove/Checks.h"
#include "../Prove/SparseCheck.h"
#include "ashlar/Isa/Footprint.h"

using namespace ashlar;
using namespace ashlar::emulator;

using Impl = LoadedProgram::Impl;

/// What the sparse cluster's instructions take; false if the program is one
/// that load() would refuse.
static bool findCosts(Impl &impl) {
  const machine::Description &machine = impl.program.machine;
  ProofWork work(impl.program.code.size());
  std::optional<SparseChecker> sparse;
  if (usesSparse(impl.code))
    sparse.emplace(machine, impl.program.constants, work);
  llvm::SmallVector<isa::Access, 16> accesses;
  for (uint32_t i = 0; i < impl.code.size(); ++i) {
    const auto *wait = std::get_if<isa::SemWait>(&impl.code[i]);
    const auto *signal = std::get_if<isa::SemSignal>(&impl.code[i]);
    if (wait || signal) {
      if ((wait ? wait->sem : signal->sem) >= impl.program.semaphores)
        return false;
      continue;
    }
    if (checkFields(impl.code[i], machine))
      return false;
    accesses.clear();
    isa::footprints(impl.code[i], machine, accesses);
    if (checkBounds(accesses, machine, impl.program.dramBytes))
      return false;
    std::optional<Cost> cost;
    if (sparse && sparse->step(impl.code[i], accesses, cost))
      return false;
    if (cost)
      impl.clusterCosts[i] = *cost;
    keepTileClaims(impl, i, accesses);
  }
  return !work.exhausted();
}

uint64_t emulator::cyclesOf(const Impl &impl) {
  RunResult result;
  result.nodes.resize(impl.program.nodes.size());
  accountCycles(impl, Options(), result);
  return result.totalCycles;
}

bool emulator::prepare(const container::Program &program, Impl &impl) {
  if (llvm::Error error = container::check(program)) {
    llvm::consumeError(std::move(error));
    return false;
  }
  impl.program = program;
  if (decodeProgram(impl) || !findCosts(impl))
    return false;
  impl.hazards.assign(impl.code.size(), noInstruction);
  return true;
}

std::vector<Work> emulator::measure(const Impl &impl) {
  CostModel costs(impl.program.machine);
  std::vector<Work> work(impl.code.size());
  for (uint32_t i = 0; i < impl.code.size(); ++i) {
    const auto known = impl.clusterCosts.find(i);
    Cost cost = costs(impl.code[i]);
    if (known != impl.clusterCosts.end())
      cost = known->second;
    addClaims(cost.timing, claimsOf(impl, i, cost), work[i].claims);
    work[i].issue = cost.timing.issue;
    work[i].complete = std::max(cost.timing.issue, cost.timing.complete);
  }
  return work;
}
