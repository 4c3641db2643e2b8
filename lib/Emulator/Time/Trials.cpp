// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The times of many orders of one program.

#include "Trials.h"

using namespace ashlar;
using namespace ashlar::emulator;

OrderTrials::OrderTrials(std::unique_ptr<State> state)
    : state(std::move(state)) {}
OrderTrials::OrderTrials(OrderTrials &&) noexcept = default;
OrderTrials &OrderTrials::operator=(OrderTrials &&) noexcept = default;
OrderTrials::~OrderTrials() = default;

std::optional<OrderTrials> OrderTrials::of(const container::Program &program,
                                           Dependences dependences) {
  auto state = std::make_unique<State>();
  LoadedProgram::Impl &impl = state->impl;
  if (!prepare(program, impl) || dependences.steps < impl.code.size())
    return std::nullopt;
  state->hasCluster = usesSparse(impl.code);
  // Each order copies the program, but none of them reads this of it.
  impl.program.code.clear();
  impl.program.numericPlanJson.clear();
  impl.program.decisionsJson.clear();
  keepClaims(impl);
  state->rooms.emplace(impl);
  state->work = measure(impl);
  state->dependences = std::move(dependences);
  return OrderTrials(std::move(state));
}

std::optional<uint64_t> OrderTrials::cycles(Trial trial, bool byStart) const {
  const LoadedProgram::Impl &known = state->impl;
  LoadedProgram::Impl impl;
  impl.program = known.program;
  impl.program.nodeOfInstruction.clear();
  impl.program.semaphores = trial.semaphores;
  for (auto [tensor, after] :
       llvm::zip_equal(impl.program.dumps, trial.complete))
    tensor.afterInstruction = after;
  impl.code = std::move(trial.code);
  impl.queues.reserve(impl.code.size());
  for (const isa::Instruction &instruction : impl.code)
    impl.queues.push_back(static_cast<uint8_t>(isa::queueOf(instruction)));
  if (state->hasCluster && !findCosts(impl))
    return std::nullopt;
  impl.hazards.assign(impl.code.size(), noInstruction);
  impl.tileClaims.reserve(static_cast<unsigned>(known.tileClaims.size()));
  for (auto [i, origin] : llvm::enumerate(trial.origins)) {
    if (origin == noInstruction)
      continue;
    if (auto claims = known.tileClaims.find(origin);
        claims != known.tileClaims.end())
      impl.tileClaims.try_emplace(static_cast<uint32_t>(i), claims->second);
    impl.hazards[i] = trial.inFlight[i].value_or(noInstruction);
  }
  return predictCycles(impl, PlannedTensors(impl, *state->rooms, trial.origins),
                       byStart);
}

std::optional<ProgramOrder>
emulator::listSchedule(const container::Program &program,
                       const Dependences &dependences, const ListRule &rule) {
  std::optional<OrderTrials> trials = OrderTrials::of(program, dependences);
  return trials ? trials->listSchedule(rule) : std::nullopt;
}
