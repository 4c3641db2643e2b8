// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Orders a program by start: queues are followed side by side, and of their
// next instructions the one that can start first is the next of the program.

#include "ashlar/Emulator/Order.h"

#include "OrderedQueue.h"
#include "PlannedTensors.h"
#include "Prediction.h"
#include "llvm/ADT/STLExtras.h"
#include <deque>

using namespace ashlar;
using namespace ashlar::emulator;

namespace {

using Impl = LoadedProgram::Impl;

class EarliestFirst {
public:
  EarliestFirst(const Impl &impl, PlannedTensors &tensors)
      : impl(impl), machine(impl.program.machine), tensors(tensors),
        servers(machine) {}

  /// The new order; nothing if some instruction can never start.
  std::optional<std::vector<uint32_t>> run();

private:
  struct Line {
    std::vector<uint32_t> instructions;
    size_t next = 0;
    uint64_t start = 0; ///< Of its next operation.
  };
  struct Queue {
    uint64_t cursor = 0, lastComplete = 0, retired = 0;
  };

  bool canStart(Line &line) const;
  void advance(Line &line);
  void perform(uint32_t index);

  const Impl &impl;
  const machine::Description &machine;
  PlannedTensors &tensors;
  Servers servers;
  std::vector<Work> work;
  Line lines[numQueues];
  Queue queues[numQueues];
  std::deque<uint64_t> semaphores[256];
  std::vector<uint32_t> order;
};

} // namespace

/// Finds out when the next operation of a line could start; false if it waits
/// for a signal that is not known yet, or for others to make a planned tensor.
bool EarliestFirst::canStart(Line &line) const {
  llvm::SmallVector<uint32_t, 8> taken; // semaphores, once for each wait
  uint64_t start = 0;
  for (size_t i = line.next; i < line.instructions.size(); ++i) {
    const uint32_t index = line.instructions[i];
    start = std::max(start, queues[impl.queues[index]].cursor);
    if (const auto *wait = std::get_if<isa::SemWait>(&impl.code[index])) {
      const std::deque<uint64_t> &fired = semaphores[wait->sem];
      const auto before =
          static_cast<size_t>(llvm::count(taken, uint32_t(wait->sem)));
      if (before >= fired.size())
        return false;
      start = std::max(start, fired[before]);
      taken.push_back(wait->sem);
      continue;
    }
    if (!tensors.mayRun(index))
      return false;
    for (const Claim &claim : work[index].claims)
      start = std::max(start, servers.earliest(claim).cycle);
    break;
  }
  line.start = start;
  return true;
}

void EarliestFirst::perform(uint32_t index) {
  Queue &queue = queues[impl.queues[index]];
  tensors.ran(index, static_cast<uint32_t>(order.size()));
  order.push_back(index);
  if (const auto *wait = std::get_if<isa::SemWait>(&impl.code[index])) {
    queue.cursor = std::max(queue.cursor, semaphores[wait->sem].front());
    semaphores[wait->sem].pop_front();
    return;
  }
  if (const auto *signal = std::get_if<isa::SemSignal>(&impl.code[index])) {
    semaphores[signal->sem].push_back(
        std::max(queue.lastComplete, queue.cursor));
    return;
  }
  const Work &own = work[index];
  uint64_t start = queue.cursor;
  for (const Claim &claim : own.claims)
    start = std::max(start, servers.earliest(claim).cycle);
  for (const Claim &claim : own.claims)
    servers.grant(claim, start, index);
  queue.lastComplete = start + own.complete;
  if (!std::holds_alternative<isa::PeSwap>(impl.code[index]))
    queue.lastComplete = queue.retired =
        std::max(queue.retired, queue.lastComplete);
  if (own.issue > 0)
    queue.cursor = start + own.issue;
}

/// The waits of a line, its next operation and the signals that follow.
void EarliestFirst::advance(Line &line) {
  bool performed = false;
  for (; line.next < line.instructions.size(); ++line.next) {
    const uint32_t index = line.instructions[line.next];
    const bool signals =
        std::holds_alternative<isa::SemSignal>(impl.code[index]);
    if (performed && !signals)
      return;
    perform(index);
    performed |=
        !signals && !std::holds_alternative<isa::SemWait>(impl.code[index]);
  }
}

std::optional<std::vector<uint32_t>> EarliestFirst::run() {
  work = measure(impl);
  for (uint32_t i = 0; i < impl.code.size(); ++i)
    lines[orderedQueue(impl, i)].instructions.push_back(i);
  order.reserve(impl.code.size());
  while (order.size() < impl.code.size()) {
    Line *first = nullptr;
    for (Line &line : lines) {
      if (line.next == line.instructions.size() || !canStart(line))
        continue;
      auto key = [](const Line &line) {
        return std::pair(line.start, line.instructions[line.next]);
      };
      if (!first || key(line) < key(*first))
        first = &line;
    }
    if (!first)
      return std::nullopt;
    advance(*first);
  }
  return std::move(order);
}

static std::optional<ProgramOrder> orderByStart(const Impl &old,
                                                PlannedTensors tensors) {
  std::optional<std::vector<uint32_t>> order =
      EarliestFirst(old, tensors).run();
  if (!order)
    return std::nullopt;
  ProgramOrder result;
  result.before = cyclesOf(old);
  result.after = cyclesIn(old, *order);
  if (result.after >= result.before)
    return std::nullopt;
  result.instructions = std::move(*order);
  result.dumps = tensors.take();
  return result;
}

std::optional<ProgramOrder>
emulator::orderByStart(const container::Program &program) {
  Impl impl;
  if (!prepare(program, impl))
    return std::nullopt;
  keepClaims(impl);
  return ::orderByStart(impl, PlannedTensors(impl));
}

uint64_t emulator::predictCycles(const Impl &impl, PlannedTensors tensors,
                                 bool byStart) {
  if (byStart)
    if (const std::optional<ProgramOrder> order =
            ::orderByStart(impl, std::move(tensors)))
      return order->after;
  return cyclesOf(impl);
}
