// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Prediction.h"

#include "../Prove/Checks.h"
#include "../Prove/SparseCheck.h"
#include "ashlar/Isa/Footprint.h"
#include <array>
#include <numeric>

using namespace ashlar;
using namespace ashlar::emulator;

using Impl = LoadedProgram::Impl;

/// Signals that no wait has taken yet, by semaphore.
using Pending = std::array<uint32_t, 256>;

/// False if load() would refuse the wait or signal: accounting goes in program
/// order and takes each wait's signal from before it.
static bool follow(const isa::Instruction &instruction,
                   const container::Program &program, Pending &pending) {
  if (const auto *signal = std::get_if<isa::SemSignal>(&instruction)) {
    ++pending[signal->sem];
    return signal->sem < program.semaphores;
  }
  const auto &wait = std::get<isa::SemWait>(instruction);
  return wait.sem < program.semaphores && pending[wait.sem]-- > 0;
}

bool emulator::findCosts(Impl &impl) {
  const machine::Description &machine = impl.program.machine;
  ProofWork work(impl.program);
  std::optional<SparseChecker> sparse;
  if (usesSparse(impl.code))
    sparse.emplace(machine, impl.program.constants, work);
  llvm::SmallVector<isa::Access, 16> accesses;
  Pending pending{};
  for (uint32_t i = 0; i < impl.code.size(); ++i) {
    if (std::holds_alternative<isa::SemWait>(impl.code[i]) ||
        std::holds_alternative<isa::SemSignal>(impl.code[i])) {
      if (!follow(impl.code[i], impl.program, pending))
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
  std::vector<uint32_t> order(impl.code.size());
  std::iota(order.begin(), order.end(), 0);
  return cyclesIn(impl, order);
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

void emulator::keepClaims(Impl &impl) {
  if (impl.program.machine.sb.banks == 0)
    return;
  CostModel costs(impl.program.machine);
  for (uint32_t i = 0; i < impl.code.size(); ++i) {
    const Cost own = costs(impl.code[i]);
    const auto known = impl.clusterCosts.find(i);
    impl.tileClaims.try_emplace(
        i,
        std::make_shared<const isa::BankClaims>(claimsOf(
            impl, i, known == impl.clusterCosts.end() ? own : known->second)));
  }
}
