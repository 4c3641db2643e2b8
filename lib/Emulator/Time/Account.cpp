// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The cycle accounting: one pass in program order. A queue has a cursor, the
// cycle from which it could start its next instruction, and remembers which
// instruction put it there. Waits, results in flight, the DRAM server and the
// banks of SB push the cursor forward; each push is a stall with a cause. So
// every cycle of a queue is busy or has a cause, and the chain of pushes from
// the last completion back to cycle 0 is the critical path.

#include "../Cost/Costs.h"
#include "DramServer.h"
#include "Fetch.h"
#include "Prediction.h"
#include "Server.h"
#include "ashlar/Isa/Ports.h"
#include <deque>

using namespace ashlar;
using namespace ashlar::emulator;

namespace {

struct QueueState {
  Moment cursor;
  Moment lastComplete; ///< Of the preceding operation, for signals.
  Moment retired;      ///< Operations complete in order.
  Moment waited;       ///< Of the last wait after that operation.
};

struct Signal {
  Moment fires;
  unsigned queue;
  /// Of the operation before it, and since when it is known that nothing but
  /// that operation holds the signal up.
  Moment complete, known;
};

/// The last stream of the array.
struct Stream {
  Moment end; ///< Of its issue.
  uint64_t groups = 1;
};

class Account {
public:
  Account(const LoadedProgram::Impl &impl, const Options &options,
          RunResult &result)
      : impl(impl), options(options), result(result),
        costMachine(costMachineOf(impl.program.machine)), costs(costMachine),
        dram(impl, options, result), actions(impl.program.machine),
        servers(impl.program.machine), fetch(impl.program.machine.fetch) {}

  void run();
  /// The cycles of the program in some order of its instructions, whose queues
  /// and semaphores keep theirs; nothing else of the result is filled in.
  uint64_t totalIn(llvm::ArrayRef<uint32_t> order);

private:
  void prepare();
  void arrive(uint32_t index, unsigned queue);
  void leave(uint32_t index, unsigned queue, Moment start);
  void execute(uint32_t index, unsigned queue);
  void wait(uint32_t index, unsigned queue, unsigned semaphore);
  void signal(unsigned queue, unsigned semaphore);
  void operation(uint32_t index, unsigned queue);
  void hold(uint32_t index, unsigned queue);
  void charge(uint32_t index, unsigned queue, const Cost &cost, uint64_t start,
              uint64_t complete);
  /// The account of an instruction's node.
  NodeStats &accountOf(uint32_t index) {
    const uint32_t node = impl.nodeOf(index);
    return node < result.nodes.size() ? result.nodes[node] : result.unassigned;
  }
  /// Moves a queue's cursor to `to` if that is later.
  void push(unsigned queue, Moment to, StallCause cause);
  /// Finds what an instruction needs of the servers.
  void claim(uint32_t index, Cost &cost);
  void attribute();
  void idle(uint64_t begin, uint64_t end);

  const LoadedProgram::Impl &impl;
  const Options &options;
  RunResult &result;
  machine::Description costMachine; ///< See LoadedProgram::Impl.
  CostModel costs;
  DramServer dram;
  energy::ActionCounter actions;
  QueueState queues[numQueues];
  std::deque<Signal> semaphores[256];
  Servers servers;
  Fetch fetch;
  llvm::SmallVector<Claim, 8> claims; ///< Of the current instruction.
  Moment last;
  Moment arrived; ///< When the current instruction was in its buffer.
  Stream stream;
  bool totalOnly = false; ///< Nothing is charged to queues and nodes.
  uint32_t current = 0;   ///< The instruction that is accounted for.
  size_t nextEarly = 0;   ///< Index into LoadedProgram::Impl::earlyWaits.
  std::vector<uint64_t> starts, completes;
  std::vector<uint32_t> causes; ///< What put the cursor at the start.
};

} // namespace

void Account::push(unsigned queue, Moment to, StallCause cause) {
  Moment &cursor = queues[queue].cursor;
  if (to.cycle <= cursor.cycle)
    return;
  result.queues[queue].stall[static_cast<unsigned>(cause)] +=
      to.cycle - cursor.cycle;
  if (options.recordTimes)
    result.stalls.push_back({current, cause, cursor.cycle, to.cycle});
  cursor = to;
}

/// An instruction cannot start before it is in its queue's buffer.
void Account::arrive(uint32_t index, unsigned queue) {
  if (!fetch.takesTime())
    return;
  arrived = fetch.arrive(queue, isa::encodedBytes(impl.code[index]));
  push(queue, arrived, StallCause::Fetch);
}

void Account::leave(uint32_t index, unsigned queue, Moment start) {
  if (fetch.takesTime())
    fetch.leave(queue, isa::encodedBytes(impl.code[index]), start);
}

void Account::wait(uint32_t index, unsigned queue, unsigned semaphore) {
  Signal signal = semaphores[semaphore].front();
  semaphores[semaphore].pop_front();
  // A drain that follows a stream starts after its first row or column, but
  // not before the array knows that the signal depends on the stream alone.
  if (nextEarly < impl.earlyWaits.size() &&
      impl.earlyWaits[nextEarly].wait == index) {
    signal.fires = signal.complete;
    signal.fires.cycle -=
        std::min(signal.fires.cycle, impl.earlyWaits[nextEarly++].lead);
    if (signal.known.cycle > signal.fires.cycle)
      signal.fires = signal.known;
  }
  push(queue, signal.fires, static_cast<StallCause>(signal.queue));
  queues[queue].waited = queues[queue].cursor;
}

void Account::signal(unsigned queue, unsigned semaphore) {
  const QueueState &state = queues[queue];
  // A queue still busy with its last operation reaches the signal later.
  Moment fires = state.lastComplete.cycle >= state.cursor.cycle
                     ? state.lastComplete
                     : state.cursor;
  const Moment known =
      state.waited.cycle > arrived.cycle ? state.waited : arrived;
  semaphores[semaphore].push_back({fires, queue, state.lastComplete, known});
}

/// Adds an operation to the accounts of its queue and its node.
void Account::charge(uint32_t index, unsigned queue, const Cost &cost,
                     uint64_t start, uint64_t complete) {
  QueueStats &stats = result.queues[queue];
  ++stats.instructions;
  stats.busy += cost.timing.issue;
  stats.copied += cost.copied;
  stats.work += cost.work * cost.runs;
  result.dramUseful += cost.dramUseful;
  NodeStats &account = accountOf(index);
  if (account.instructions++ == 0 || start < account.start)
    account.start = start;
  account.end = std::max(account.end, complete);
  account.macs += cost.macs;
  account.busy[queue] += cost.timing.issue;
  account.work[queue] += cost.work * cost.runs;
  account.repairCycles += cost.timing.issue - cost.timing.issue / cost.runs;
  account.dramRead += cost.dramRead;
  account.dramWrite += cost.dramWrite;
  account.dramActivations += cost.dramActivations;
  account.copied += cost.copied;
  for (uint64_t run = 0; run < cost.runs; ++run)
    actions.count(impl.code[index], cost.measured(), account.actions);
}

void Account::claim(uint32_t index, Cost &cost) {
  claims.clear();
  addClaims(cost.timing, claimsOf(impl, index, cost), claims);
}

/// Waits for what an operation needs besides its queue.
void Account::hold(uint32_t index, unsigned queue) {
  const machine::Description &machine = impl.program.machine;
  const uint32_t hazard = impl.hazards[index];
  if (hazard != noInstruction)
    push(queue, {completes[hazard], hazard}, StallCause::Latency);
  // The only set holds the weights until the last stream has used them.
  if (!machine.pe.shadowSet &&
      std::holds_alternative<isa::PeLoad>(impl.code[index]))
    push(queue, queues[static_cast<unsigned>(isa::Queue::Pe)].cursor,
         StallCause::WaitPe);
  // A stream must not meet the one before it in the rows of the array.
  if (const auto *matmul = std::get_if<isa::PeMatmul>(&impl.code[index])) {
    Moment free = stream.end;
    free.cycle += machine::groupPause(machine, stream.groups,
                                      rowGroups(machine, *matmul));
    push(queue, free, StallCause::Latency);
  }
  for (const Claim &claim : claims)
    push(queue, servers.earliest(claim), Servers::cause(claim.server));
}

void Account::operation(uint32_t index, unsigned queue) {
  QueueState &state = queues[queue];
  const auto known = impl.clusterCosts.find(index);
  const auto measured = impl.engine.measured.find(index);
  Cost cost = measured != impl.engine.measured.end() ? measured->second
              : known != impl.clusterCosts.end()     ? known->second
                                                     : costs(impl.code[index]);
  claim(index, cost);
  hold(index, queue);
  const uint64_t start = state.cursor.cycle;
  for (Claim &claim : claims)
    if (claim.server == Servers::dram)
      claim.cycles = dram.serve(index, start + claim.after, cost);
  causes[index] = state.cursor.instruction;
  starts[index] = start;
  const uint64_t issueEnd = start + cost.timing.issue;
  if (const auto *matmul = std::get_if<isa::PeMatmul>(&impl.code[index]))
    stream = {{issueEnd, index}, rowGroups(impl.program.machine, *matmul)};
  uint64_t complete = std::max(issueEnd, start + cost.timing.complete);
  for (const Claim &claim : claims)
    servers.grant(claim, start, index);
  result.dramBusy += cost.timing.dram;
  if (std::holds_alternative<isa::PeSwap>(impl.code[index])) {
    // The swap happens when the queue reaches it, before earlier results.
    state.lastComplete = {complete, index};
  } else {
    if (state.retired.cycle > complete)
      complete = state.retired.cycle;
    state.retired = state.lastComplete = {complete, index};
  }
  completes[index] = complete;
  state.waited = {};
  if (cost.timing.issue > 0)
    state.cursor = {issueEnd, index};
  if (last.instruction == noInstruction || complete >= last.cycle)
    last = {complete, index};
  if (!totalOnly)
    charge(index, queue, cost, start, complete);
  if (options.recordTimes)
    result.times[index] = {start, issueEnd, complete, cost.copied, cost.macs};
}

/// Walks the critical path back: from the last completion to the start of its
/// instruction, on to what put that start there, until cycle 0. What follows
/// an instruction's completion is time in which the next one arrived.
void Account::attribute() {
  uint64_t end = last.cycle;
  for (uint32_t index = last.instruction; index != noInstruction && end > 0;
       index = causes[index]) {
    if (end > completes[index]) {
      idle(completes[index], end);
      end = completes[index];
    }
    const uint64_t cycles = end - starts[index];
    const uint32_t node = impl.nodeOf(index);
    (node < result.nodes.size() ? result.nodes[node].cycles
                                : result.unassigned.cycles) += cycles;
    end = starts[index];
  }
  idle(0, end);
}

/// Cycles of the critical path in which nothing was done for any node.
void Account::idle(uint64_t begin, uint64_t end) {
  if (begin >= end)
    return;
  NodeStats &none = result.unassigned;
  none.cycles += end - begin;
  none.start = none.instructions == 0 ? 0 : std::min(none.start, begin);
  none.end = std::max(none.end, end);
}

void Account::execute(uint32_t index, unsigned queue) {
  if (const auto *op = std::get_if<isa::SemWait>(&impl.code[index]))
    wait(index, queue, op->sem);
  else if (const auto *op = std::get_if<isa::SemSignal>(&impl.code[index]))
    signal(queue, op->sem);
  else {
    operation(index, queue);
    leave(index, queue, {starts[index], index});
    return;
  }
  if (!totalOnly)
    actions.count(impl.code[index], {}, accountOf(index).actions);
  const Moment at = queues[queue].cursor;
  leave(index, queue, at);
  if (at.cycle > last.cycle)
    last = at; // it arrived after everything was done
  if (options.recordTimes)
    result.times[index] = {at.cycle, at.cycle, at.cycle};
}

void Account::prepare() {
  const size_t count = impl.code.size();
  starts.assign(count, 0);
  completes.assign(count, 0);
  causes.assign(count, noInstruction);
}

uint64_t Account::totalIn(llvm::ArrayRef<uint32_t> order) {
  totalOnly = true;
  // Waits that end early are known for programs in their own order only.
  nextEarly = impl.earlyWaits.size();
  prepare();
  for (uint32_t index : order) {
    current = index;
    arrive(index, impl.queues[index]);
    execute(index, impl.queues[index]);
  }
  return last.cycle;
}

void Account::run() {
  const size_t count = impl.code.size();
  prepare();
  if (options.recordTimes)
    result.times.assign(count, {});
  for (uint32_t i = 0; i < count; ++i) {
    current = i;
    const unsigned queue = impl.queues[i];
    arrive(i, queue);
    execute(i, queue);
  }
  result.totalCycles = last.cycle;
  for (unsigned q = 0; q < numQueues; ++q)
    result.queues[q].stall[static_cast<unsigned>(StallCause::Drained)] +=
        result.totalCycles -
        std::min(result.totalCycles, queues[q].cursor.cycle);
  attribute();
  result.idleCycles = result.unassigned.cycles;
  result.timed = true;
}

void emulator::accountCycles(const LoadedProgram::Impl &impl,
                             const Options &options, RunResult &result) {
  auto account = std::make_unique<Account>(impl, options, result);
  account->run();
}

uint64_t emulator::cyclesIn(const LoadedProgram::Impl &impl,
                            llvm::ArrayRef<uint32_t> order) {
  const Options options;
  RunResult result;
  return std::make_unique<Account>(impl, options, result)->totalIn(order);
}

isa::BankClaims emulator::claimsOf(const LoadedProgram::Impl &impl,
                                   uint32_t index, const Cost &cost) {
  const auto known = impl.tileClaims.find(index);
  return known != impl.tileClaims.end()
             ? *known->second
             : isa::bankClaims(impl.code[index], impl.program.machine,
                               cost.passes);
}

void emulator::keepTileClaims(LoadedProgram::Impl &impl, uint32_t index,
                              llvm::ArrayRef<isa::Access> accesses) {
  const auto *drain = std::get_if<isa::ActDrain>(&impl.code[index]);
  if (impl.program.machine.sb.banks > 0 &&
      (std::holds_alternative<isa::DmaTile>(impl.code[index]) ||
       (drain && drain->fromTcu)))
    impl.tileClaims[index] = std::make_shared<const isa::BankClaims>(
        isa::bankClaims(accesses, impl.program.machine));
}
