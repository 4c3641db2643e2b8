// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tries schedules of a program and keeps the fastest.

#include "Dependences.h"
#include "Reorder.h"
#include "Synchroniser.h"

#include "ashlar/Codegen/Assemble.h"
#include "ashlar/Emulator/Order.h"
#include "ashlar/Transforms/ISA/Passes.h"
#include "ashlar/Transforms/NPU/Passes.h"
#include <numeric>

using namespace mlir;

namespace ashlar::isadialect {

#define GEN_PASS_DEF_SCHEDULE
#include "ashlar/Transforms/ISA/Passes.h.inc"

namespace {

/// The schedules that are tried. None is best for all programs: free transfers
/// fill pauses but may meet in the queues.
constexpr emulator::ListRule kRules[] = {
    {emulator::Urgency::Program, false},
    {emulator::Urgency::CriticalPath, false},
    {emulator::Urgency::Program, true},
    {emulator::Urgency::CriticalPath, true}};

struct Schedule : impl::ScheduleBase<Schedule> {
protected:
  void runOnOperation() override;

private:
  LogicalResult schedule(ProgramOp program);
};

/// A program without semaphores, and what it takes with them in some order.
class Timed {
public:
  Timed(container::Program program, std::vector<isa::Instruction> instructions,
        emulator::Dependences dependences)
      : program(std::move(program)), instructions(std::move(instructions)),
        dependences(std::move(dependences)) {}

  /// Predicted cycles in the order of \p order; null: as it stands.
  std::optional<uint64_t> cycles(const emulator::ProgramOrder *order) const;

  const container::Program program;
  const std::vector<isa::Instruction> instructions;
  const emulator::Dependences dependences;

private:
  std::vector<std::optional<uint32_t>> inFlight(llvm::ArrayRef<uint32_t> places,
                                                uint32_t count) const;
};

} // namespace

/// Of every instruction the latest one of its queue whose results it reads.
/// \p places: of the instructions, among \p count with semaphores.
std::vector<std::optional<uint32_t>>
Timed::inFlight(llvm::ArrayRef<uint32_t> places, uint32_t count) const {
  std::vector<std::optional<uint32_t>> latest(count);
  for (const emulator::Dependences::Pair &pair : dependences.pairs) {
    if (!pair.result || pair.earlier >= places.size() ||
        pair.later >= places.size() ||
        isa::queueOf(instructions[pair.earlier]) !=
            isa::queueOf(instructions[pair.later]))
      continue;
    std::optional<uint32_t> &own = latest[places[pair.later]];
    own = std::max(own.value_or(0), places[pair.earlier]);
  }
  return latest;
}

std::optional<uint64_t>
Timed::cycles(const emulator::ProgramOrder *order) const {
  std::vector<isa::Instruction> code = instructions;
  std::vector<uint32_t> indices(code.size());
  std::iota(indices.begin(), indices.end(), 0);
  if (order)
    indices = order->instructions;
  for (auto [place, index] : llvm::enumerate(indices))
    code[place] = instructions[index];
  const SemaphorePlan plan = planSemaphores(code, program.machine);
  llvm::SmallVector<uint64_t, 0> words;
  std::vector<uint32_t> places(code.size()); ///< By old index.
  uint32_t count = 0;
  auto add = [&](const isa::Instruction &instruction) {
    ++count;
    return !llvm::errorToBool(isa::encode(instruction, words));
  };
  bool legal = true;
  for (auto [i, instruction] : llvm::enumerate(code)) {
    const isa::Queue queue = isa::queueOf(instruction);
    for (uint32_t semaphore : plan.waits[i]) {
      isa::SemWait wait{};
      wait.queue = queue, wait.sem = semaphore;
      legal &= add(wait);
    }
    places[indices[i]] = count;
    legal &= add(instruction);
    for (uint32_t semaphore : plan.signals[i]) {
      isa::SemSignal signal{};
      signal.queue = queue, signal.sem = semaphore;
      legal &= add(signal);
    }
  }
  if (!legal)
    return std::nullopt;
  container::Program timed = program;
  timed.code.assign(words.begin(), words.end());
  timed.semaphores = plan.semaphores;
  timed.nodeOfInstruction.clear();
  for (auto [t, tensor] : llvm::enumerate(timed.dumps))
    tensor.afterInstruction =
        places[order ? indices[order->dumps[t]] : tensor.afterInstruction];
  // Where queues share nothing but DRAM, their order is as good as any.
  const machine::Description &machine = program.machine;
  return emulator::predictCycles(timed, inFlight(places, count),
                                 machine.sb.banks > 0 ||
                                     machine.fetch.bytesPerCycle > 0);
}

LogicalResult Schedule::schedule(ProgramOp program) {
  llvm::Expected<container::Program> assembled =
      codegen::assemble(getOperation());
  if (!assembled)
    return program.emitError() << llvm::toString(assembled.takeError());
  std::vector<isa::Instruction> instructions;
  for (Operation &op : program.getBody().front())
    if (isInstruction(&op)) {
      llvm::Expected<isa::Instruction> instruction = toInstruction(&op);
      if (!instruction)
        return op.emitOpError() << llvm::toString(instruction.takeError());
      instructions.push_back(std::move(*instruction));
    }
  auto dependences = findDependences(instructions, assembled->machine);
  if (!dependences)
    return success();
  numDependences += dependences->pairs.size();
  const Timed timed(std::move(*assembled), std::move(instructions),
                    std::move(*dependences));
  std::optional<uint64_t> least = timed.cycles(nullptr);
  if (!least)
    return success();
  cyclesBefore += *least;
  std::optional<emulator::ProgramOrder> best;
  for (const emulator::ListRule &rule : kRules) {
    auto order = emulator::listSchedule(timed.program, timed.dependences, rule);
    if (!order)
      continue;
    const std::optional<uint64_t> cycles = timed.cycles(&*order);
    if (!cycles || *cycles >= *least)
      continue;
    least = cycles;
    best = std::move(order);
  }
  cyclesAfter += *least;
  if (best)
    numMoved += reorder(program, *best);
  return success();
}

void Schedule::runOnOperation() {
  auto programs = getOperation().getOps<ProgramOp>();
  if (programs.empty())
    return;
  if (failed(schedule(*programs.begin())))
    signalPassFailure();
}

} // namespace ashlar::isadialect
