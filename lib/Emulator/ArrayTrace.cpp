// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The trace of the array: values as the functional run leaves them, cycles by
// the formulas of docs/Machine.md 4 and 5 from the start of each instruction.

#include "Cost/Costs.h"
#include "Execute/MovingOperand.h"
#include "Impl.h"
#include <algorithm>
#include <numeric>

using namespace ashlar;
using namespace ashlar::emulator;

/// Events of one run that are kept; a trace is for looking at small programs.
static constexpr size_t maxEvents = size_t(1) << 22;

/// Whether a drain takes an entry: those past the last of several results side
/// by side stay where they are.
static bool takes(const isa::ActDrain &op, uint64_t step, uint64_t column) {
  if (op.groupLanes == 0)
    return true;
  const uint64_t results = op.cols / op.groupLanes;
  return step / op.n2 % op.n1 * results + column / op.groupLanes < op.validN1;
}
static bool takes(const isa::PeMatmul &, uint64_t, uint64_t) { return true; }

/// Events of one PSUM pattern, step by step.
template <typename Op>
static void addEntries(LoadedProgram::Impl &impl, uint32_t index, const Op &op,
                       uint64_t n2, ArrayEventKind kind, RunResult &result) {
  const Pattern pattern{{op.n0, op.n1, n2},
                        {op.psumStride0, op.psumStride1, op.psumStride2}};
  if (result.arrayTrace.size() + pattern.size() * op.cols > maxEvents)
    return;
  pattern.forRuns(0, pattern.size(), [&](uint64_t k, int64_t at, uint64_t n) {
    for (uint64_t i = 0; i < n; ++i, at += op.psumStride2)
      for (uint32_t c = 0; c < op.cols; ++c) {
        if (!takes(op, k + i, c))
          continue;
        const auto entry =
            static_cast<uint32_t>(op.psum + static_cast<uint64_t>(at));
        result.arrayTrace.push_back({index, kind, static_cast<uint32_t>(k + i),
                                     c, entry,
                                     *impl.engine.memory.psum(c, entry), 0, 0});
      }
  });
}

void emulator::traceValues(LoadedProgram::Impl &impl, uint32_t index,
                           RunResult &result) {
  const isa::Instruction &inst = impl.code[index];
  if (const auto *drain = std::get_if<isa::ActDrain>(&inst)) {
    if (!drain->fromTcu)
      addEntries(impl, index, *drain, drain->n2, ArrayEventKind::Drain, result);
    return;
  }
  const auto *op = std::get_if<isa::PeMatmul>(&inst);
  if (!op)
    return;
  impl.engine.batch.flush(impl.engine);
  const uint64_t steps = uint64_t(op->n0) * op->n1 * op->n2;
  if (result.arrayTrace.size() + steps > maxEvents)
    return;
  for (uint64_t k = 0; k < steps; ++k)
    result.arrayTrace.push_back({index, ArrayEventKind::Enter,
                                 static_cast<uint32_t>(k), 0, 0, 0, 0, 0});
  addEntries(impl, index, *op, op->groups > 1 ? op->validW : op->n2,
             ArrayEventKind::Write, result);
}

/// A step of a stream and, of row groups, the group that an event belongs to.
struct Place {
  uint64_t step = 0, group = 0;
};

static Place placeOf(const machine::Description &machine,
                     const isa::PeMatmul &op, const ArrayEvent &event) {
  const uint64_t positions = stepPositions(machine, op);
  const uint64_t rowSteps = (op.n2 + positions - 1) / positions;
  auto placed = [&](uint64_t row, uint64_t step, uint64_t group) {
    return Place{row * rowSteps + step / positions,
                 step % positions * op.groups + group};
  };
  if (event.kind == ArrayEventKind::Enter)
    return Place{placed(event.step / op.n2, event.step % op.n2, 0).step};
  if (op.groups <= 1)
    return placed(event.step / op.n2, event.step % op.n2, 0);
  // Results of a row, as many as are valid, fill its steps.
  const uint64_t row = event.step / op.validW, result = event.step % op.validW;
  return placed(row, result / op.groups, result % op.groups);
}

/// Cycles of an event after the start of its stream, and its wave.
static void timeStream(const machine::Description &machine,
                       const isa::PeMatmul &op, const InstructionTime &time,
                       ArrayEvent &event) {
  const uint64_t steps = streamSteps(machine, op);
  const uint64_t advance = 1 + uint64_t(op.skip);
  const uint64_t ports = machine::peStepCycles(machine, op.groups, advance,
                                               stepPositions(machine, op));
  // Of several passes the last one completes an entry.
  const uint64_t issue = time.issueEnd - time.start;
  const uint64_t last = issue > steps * ports ? issue - steps * ports : 0;
  const Place place = placeOf(machine, op, event);
  // Groups enter in the turn in which their lane gives them their elements, and
  // leave as PSUM takes them, turn by turn.
  const uint64_t groups = std::max<uint64_t>(op.groups, 1);
  const uint64_t inTurn = groups / std::gcd(groups, advance);
  const uint64_t group = place.group % groups, turn = group / inTurn;
  const uint64_t port =
      (turn * stepPositions(machine, op) + place.group / groups) * inTurn +
      group % inTurn;
  const uint64_t atPort =
      machine.psum.writePorts ? port / machine.psum.writePorts : 0;
  const uint64_t cycle = last + place.step * ports + std::max(atPort, turn);
  event.wave = cycle + event.column + 1;
  event.cycle = time.start + cycle;
  if (event.kind == ArrayEventKind::Write)
    event.cycle += event.column + machine.pe.rows - 1;
}

/// The cycle in which a drain takes an entry: results of a lane follow each
/// other after the cycles of the function, or at the rate at which PSUM gives
/// them. Where the ports of SB take longer, all come as much later.
static uint64_t drainCycle(const machine::Description &machine,
                           const isa::ActDrain &op, const InstructionTime &time,
                           const ArrayEvent &event) {
  const uint64_t lanes = std::max<uint64_t>(machine.act.lanes, 1);
  const uint64_t group = event.column / lanes;
  const uint64_t groups = (op.cols + lanes - 1) / lanes;
  const uint64_t entries = uint64_t(op.n0) * op.n1 * op.n2;
  const uint64_t cost =
      machine::actClassCycles(machine, functionCost(op.function));
  uint64_t at = (event.step * groups + group) * cost;
  uint64_t all = entries * groups * cost;
  if (op.order == isa::DrainOrder::Partition) {
    const uint64_t period = std::max(entries * cost, lanes);
    const uint64_t lastColumns = op.cols - (groups - 1) * lanes;
    at = group * period + event.column % lanes + event.step * cost;
    all = (groups - 1) * period + entries * cost + lastColumns - 1;
  }
  const uint64_t read = machine::psumReadCycles(machine, op.cols, entries);
  const uint64_t taken = std::max(all, read);
  const uint64_t issue = time.issueEnd - time.start;
  const uint64_t later = issue > taken ? issue - taken : 0;
  return time.start + later + (read > all ? at * read / all : at);
}

void emulator::traceTimes(const LoadedProgram::Impl &impl, RunResult &result) {
  const machine::Description &machine = impl.program.machine;
  for (ArrayEvent &event : result.arrayTrace) {
    const InstructionTime &time = result.times[event.instruction];
    const isa::Instruction &inst = impl.code[event.instruction];
    if (const auto *op = std::get_if<isa::PeMatmul>(&inst))
      timeStream(machine, *op, time, event);
    else
      event.cycle =
          drainCycle(machine, std::get<isa::ActDrain>(inst), time, event);
  }
}
