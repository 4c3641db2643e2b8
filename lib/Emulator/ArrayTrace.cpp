// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The trace of the array: values as the functional run leaves them, cycles by
// the formulas of docs/Machine.md 4 and 5 from the start of each instruction.

#include "Impl.h"
#include "MovingOperand.h"
#include <algorithm>

using namespace ashlar;
using namespace ashlar::emulator;

/// Events of one run that are kept; a trace is for looking at small programs.
static constexpr size_t maxEvents = size_t(1) << 22;

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

void emulator::traceTimes(const LoadedProgram::Impl &impl, RunResult &result) {
  const machine::Description &machine = impl.program.machine;
  for (ArrayEvent &event : result.arrayTrace) {
    const InstructionTime &time = result.times[event.instruction];
    const isa::Instruction &inst = impl.code[event.instruction];
    if (const auto *op = std::get_if<isa::PeMatmul>(&inst)) {
      const uint64_t steps = uint64_t(op->n0) * op->n1 * op->n2;
      // Of several passes the last one completes an entry.
      const uint64_t issue = time.issueEnd - time.start;
      const uint64_t last = issue > steps ? issue - steps : 0;
      const uint64_t step = event.step / op->groups;
      event.wave = last + step + event.column + 1;
      event.cycle = time.start + last + step;
      if (event.kind == ArrayEventKind::Write)
        event.cycle += event.column + machine.pe.rows - 1;
      continue;
    }
    const auto &op = std::get<isa::ActDrain>(inst);
    const uint64_t lanes = std::max<uint64_t>(machine.act.lanes, 1);
    const uint64_t group = event.column / lanes;
    const uint64_t groups = (op.cols + lanes - 1) / lanes;
    const uint64_t entries = uint64_t(op.n0) * op.n1 * op.n2;
    event.cycle = time.start;
    if (op.order == isa::DrainOrder::Partition)
      event.cycle +=
          group * std::max(entries, lanes) + event.column % lanes + event.step;
    else
      event.cycle += event.step * groups + group;
  }
}
