// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tries schedules of a program and keeps the fastest.

#include "Dependences.h"
#include "Instructions.h"
#include "Reorder.h"
#include "Synchroniser.h"

#include "ashlar/Codegen/Assemble.h"
#include "ashlar/Emulator/Order.h"
#include "ashlar/Transforms/ISA/Passes.h"
#include "ashlar/Transforms/NPU/Passes.h"
#include "dialects/Ashlar/Decision.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <iterator>
#include <memory>
#include <numeric>

using namespace mlir;

namespace ashlar::isadialect {

#define GEN_PASS_DEF_SCHEDULE
#include "ashlar/Transforms/ISA/Passes.h.inc"

namespace {

using emulator::Moves, emulator::Pick, emulator::Urgency;

/// A schedule that is tried, and its name in the decision.
struct Rule {
  llvm::StringLiteral name;
  emulator::ListRule list;
};

/// None is best for all programs: free transfers fill pauses but may meet in
/// the queues. The first ones gain most, also alone (docs/decisions, list
/// schedule).
constexpr Rule kRules[] = {
    {"critical-path-moves-shared", {Urgency::CriticalPath, Moves::Shared}},
    {"program-order", {Urgency::Program, Moves::Free}},
    {"program-order-moves-shared", {Urgency::Program, Moves::Shared}},
    {"most-urgent-moves-shared",
     {Urgency::CriticalPath, Moves::Shared, Pick::MostUrgent}},
    {"critical-path-moves-kept", {Urgency::CriticalPath, Moves::InOrder}}};

/// Instructions that are scheduled in all by those rules: of longer programs
/// the first rules alone are tried, or none, so that a program takes as long to
/// schedule as to emit.
constexpr size_t kListInstructions = 150000;

/// Part of the cycles by which an order may gain from its order by start.
constexpr uint64_t kClearlyWorse = 256;

/// What a search lets the DMA queues do, by turns.
constexpr Moves kMoves[] = {Moves::Free, Moves::InOrder, Moves::Shared};

/// Instructions that a search schedules in all, and its schedules at most.
constexpr size_t kSearchInstructions = 2000000, kMostSearched = 256;

/// A program without semaphores, and what it takes with them in some order.
class Timed {
public:
  /// Nothing where there is nothing to choose.
  static std::unique_ptr<Timed> of(container::Program program,
                                   std::vector<isa::Instruction> instructions);

  /// Predicted cycles in the order of \p order; null: as it stands.
  std::optional<uint64_t> cycles(const emulator::ProgramOrder *order) const;

  size_t size() const { return instructions.size(); }
  size_t numDependences() const { return pairs; }
  const emulator::OrderTrials &trials() const { return *known; }

private:
  Timed(const container::Program &program,
        std::vector<isa::Instruction> instructions)
      : machine(program.machine), instructions(std::move(instructions)) {
    for (const container::TensorPlacement &tensor : program.dumps)
      complete.push_back(static_cast<uint32_t>(tensor.afterInstruction));
  }
  emulator::OrderTrials::Trial trialOf(llvm::ArrayRef<isa::Instruction> code,
                                       llvm::ArrayRef<uint32_t> order,
                                       llvm::ArrayRef<uint32_t> complete) const;
  std::vector<std::optional<uint32_t>>
  inFlight(llvm::ArrayRef<isa::Instruction> code,
           llvm::ArrayRef<uint32_t> places, size_t count) const;

  SemaphorePlan semaphoresOf(llvm::ArrayRef<isa::Instruction> code,
                             llvm::ArrayRef<uint32_t> order) const;

  machine::Description machine;
  std::vector<isa::Instruction> instructions;
  /// Nothing where steps collect dependences.
  std::optional<Predecessors> predecessors;
  std::vector<uint32_t> complete; ///< Per tensor, TensorPlacement.
  size_t pairs = 0;               ///< Dependences.
  /// Those of results between instructions of one queue, or that may be.
  std::vector<emulator::Dependences::Pair> readers;
  std::optional<emulator::OrderTrials> known;
};

struct Schedule : impl::ScheduleBase<Schedule> {
  using ScheduleBase::ScheduleBase;

protected:
  void runOnOperation() override;

private:
  struct Choice {
    llvm::StringLiteral name;
    uint64_t cycles;
    std::optional<emulator::ProgramOrder> order;
  };
  LogicalResult schedule(ProgramOp program);
  std::optional<uint64_t> attempt(const Timed &timed, const Rule &rule,
                                  Choice &best);
  void search(const Timed &timed, Choice &best);
};

} // namespace

/// Whether a schedule may have both in one queue.
static bool mayShareQueue(const isa::Instruction &a,
                          const isa::Instruction &b) {
  return isa::queueOf(a) == isa::queueOf(b) ||
         (isa::info(a).queueMask & isa::info(b).queueMask) != 0;
}

std::unique_ptr<Timed> Timed::of(container::Program program,
                                 std::vector<isa::Instruction> instructions) {
  std::unique_ptr<Timed> timed(new Timed(program, std::move(instructions)));
  auto dependences = findDependences(timed->instructions, timed->machine);
  if (!dependences)
    return nullptr;
  timed->pairs = dependences->pairs.size();
  timed->predecessors = Predecessors::of(*dependences, timed->size());
  llvm::copy_if(dependences->pairs, std::back_inserter(timed->readers),
                [&](const emulator::Dependences::Pair &pair) {
                  return pair.result && pair.earlier < timed->size() &&
                         pair.later < timed->size() &&
                         mayShareQueue(timed->instructions[pair.earlier],
                                       timed->instructions[pair.later]);
                });
  timed->known = emulator::OrderTrials::of(program, std::move(*dependences));
  if (!timed->known)
    return nullptr;
  return timed;
}

/// Of every instruction of \p code the latest one of its queue whose results
/// it reads. \p places: of the instructions, among \p count with semaphores.
std::vector<std::optional<uint32_t>>
Timed::inFlight(llvm::ArrayRef<isa::Instruction> code,
                llvm::ArrayRef<uint32_t> places, size_t count) const {
  std::vector<std::optional<uint32_t>> latest(count);
  for (const emulator::Dependences::Pair &pair : readers) {
    if (isa::queueOf(code[pair.earlier]) != isa::queueOf(code[pair.later]))
      continue;
    std::optional<uint32_t> &own = latest[places[pair.later]];
    own = std::max(own.value_or(0), places[pair.earlier]);
  }
  return latest;
}

/// The semaphores of an order. Where steps collect dependences, they are found
/// by accesses again.
SemaphorePlan Timed::semaphoresOf(llvm::ArrayRef<isa::Instruction> code,
                                  llvm::ArrayRef<uint32_t> order) const {
  return predecessors ? planSemaphores(code, order, *predecessors)
                      : planSemaphores(code, order, machine);
}

/// The program with semaphores, of which \p code has the instructions on their
/// queues. \p complete tells for every tensor the place
/// in \p order after which it is copied out.
emulator::OrderTrials::Trial
Timed::trialOf(llvm::ArrayRef<isa::Instruction> code,
               llvm::ArrayRef<uint32_t> order,
               llvm::ArrayRef<uint32_t> complete) const {
  const SemaphorePlan plan = semaphoresOf(code, order);
  emulator::OrderTrials::Trial trial;
  trial.semaphores = plan.semaphores;
  std::vector<uint32_t> places(order.size()); ///< By old index.
  size_t count = order.size();
  for (auto [waits, signals] : llvm::zip(plan.waits, plan.signals))
    count += waits.size() + signals.size();
  trial.code.reserve(count);
  trial.origins.reserve(count);
  auto add = [&](const isa::Instruction &instruction, uint32_t origin) {
    trial.code.push_back(instruction);
    trial.origins.push_back(origin);
  };
  for (auto [i, index] : llvm::enumerate(order)) {
    const isa::Queue queue = isa::queueOf(code[index]);
    for (uint32_t semaphore : plan.waits[i]) {
      isa::SemWait wait{};
      wait.queue = queue, wait.sem = semaphore;
      add(wait, emulator::OrderTrials::kNone);
    }
    places[index] = static_cast<uint32_t>(trial.code.size());
    add(code[index], index);
    for (uint32_t semaphore : plan.signals[i]) {
      isa::SemSignal signal{};
      signal.queue = queue, signal.sem = semaphore;
      add(signal, emulator::OrderTrials::kNone);
    }
  }
  trial.inFlight = inFlight(code, places, trial.code.size());
  for (uint32_t place : complete)
    trial.complete.push_back(places[order[place]]);
  return trial;
}

std::optional<uint64_t>
Timed::cycles(const emulator::ProgramOrder *order) const {
  // Where queues share nothing but DRAM, their order is as good as any.
  const bool byStart = machine.sb.banks > 0 || machine.fetch.bytesPerCycle > 0;
  if (!order) {
    std::vector<uint32_t> asEmitted(instructions.size());
    std::iota(asEmitted.begin(), asEmitted.end(), 0);
    return known->cycles(trialOf(instructions, asEmitted, complete), byStart);
  }
  if (order->queues.empty())
    return known->cycles(
        trialOf(instructions, order->instructions, order->dumps), byStart);
  std::vector<isa::Instruction> code = instructions;
  for (auto [instruction, queue] : llvm::zip_equal(code, order->queues))
    setQueue(instruction, queue);
  return known->cycles(trialOf(code, order->instructions, order->dumps),
                       byStart);
}

LogicalResult Schedule::schedule(ProgramOp program) {
  llvm::Expected<container::Program> assembled =
      codegen::assemble(getOperation(), codegen::ConstantBytes::Shared);
  if (!assembled)
    return program.emitError() << llvm::toString(assembled.takeError());
  FailureOr<ProgramInstructions> read = instructionsOf(program);
  if (failed(read))
    return failure();
  // The times of orders hold for the semaphores that each order gets.
  if (firstSemaphore(*read))
    return success();
  std::vector<isa::Instruction> instructions = std::move(read->instructions);
  const size_t rules =
      std::min(std::size(kRules),
               kListInstructions / std::max<size_t>(instructions.size(), 1));
  if (rules == 0)
    return success();
  const std::unique_ptr<Timed> found =
      Timed::of(std::move(*assembled), std::move(instructions));
  if (!found)
    return success();
  const Timed &timed = *found;
  numDependences += timed.numDependences();
  const std::optional<uint64_t> emitted = timed.cycles(nullptr);
  if (!emitted)
    return success();
  Choice best{"emitted", *emitted, {}};
  records::Decision decision(&getContext());
  decision.alternative(best.name, int64_t(*emitted));
  for (const Rule &rule : llvm::ArrayRef(kRules).take_front(rules))
    if (std::optional<uint64_t> cycles = attempt(timed, rule, best))
      decision.alternative(rule.name, int64_t(*cycles));
  if (mode == "search")
    search(timed, best);
  cyclesBefore += *emitted;
  cyclesAfter += best.cycles;
  const int64_t gain = int64_t(*emitted) - int64_t(best.cycles);
  decision.choose(best.name)
      .because(llvm::formatv(
          "{0} of {1} cycles fewer than as emitted, predicted", gain, *emitted))
      .record(program, "ashlar.decision.schedule");
  if (best.order)
    numMoved += reorder(program, *best.order);
  return success();
}

/// Times a schedule, which becomes `best` if it is better. One that is clearly
/// worse already without semaphores is not timed with them.
std::optional<uint64_t> Schedule::attempt(const Timed &timed, const Rule &rule,
                                          Choice &best) {
  auto order = timed.trials().listSchedule(rule.list);
  if (!order)
    return std::nullopt;
  if (order->after > best.cycles + best.cycles / kClearlyWorse)
    return order->after;
  const std::optional<uint64_t> cycles = timed.cycles(&*order);
  if (cycles && *cycles < best.cycles)
    best = {rule.name, *cycles, std::move(order)};
  return cycles;
}

void Schedule::search(const Timed &timed, Choice &best) {
  const size_t count = std::min(
      kSearchInstructions / std::max<size_t>(timed.size(), 1), kMostSearched);
  for (uint32_t seed = 1; seed <= count; ++seed)
    attempt(timed,
            {"searched",
             {Urgency::CriticalPath, kMoves[seed % std::size(kMoves)],
              Pick::FirstToStart, seed}},
            best);
}

void Schedule::runOnOperation() {
  auto programs = getOperation().getOps<ProgramOp>();
  if (programs.empty() || mode == "off")
    return;
  if (mode != "list" && mode != "search") {
    getOperation().emitError()
        << "mode is '" << mode << "', expected list, search or off";
    return signalPassFailure();
  }
  if (failed(schedule(*programs.begin())))
    signalPassFailure();
}

} // namespace ashlar::isadialect
