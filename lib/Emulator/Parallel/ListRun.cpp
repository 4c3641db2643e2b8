// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Threads that execute lists.

#include "ListRun.h"
#include "../Impl.h"
#include "../Step.h"
#include "ashlar/Support/Waiting.h"
#include "llvm/ADT/STLExtras.h"

using namespace ashlar;
using namespace ashlar::emulator;

ListRun *ListRun::prepare(LoadedProgram::Impl &impl, const Options &options,
                          support::ThreadPool::Distance distance) {
  using Distance = support::ThreadPool::Distance;
  // Traces and dumps look at memories between two instructions.
  if (!impl.pool || impl.pool->size() < 2 || options.traceArray ||
      options.dumpTensors || options.observer || !options.lists.value_or(true))
    return nullptr;
  const unsigned threads = std::min(impl.pool->size(), Lists::mostThreads);
  if (impl.listThreads != threads) {
    // To cut a program takes about as long as to run it once: only one that is
    // run again gets its lists.
    if (!impl.wasRun && !impl.proofWasKept && !options.lists)
      return nullptr;
    impl.listThreads = threads;
    impl.listRun.reset();
    if (auto lists =
            cutIntoLists(impl.program, impl.code, impl.engine.reuse, threads))
      impl.listRun = of(std::move(lists));
  }
  ListRun *run = impl.listRun.get();
  if (!run)
    return nullptr;
  const uint64_t bytes =
      impl.engine.memory.size() + (threads - 1) * impl.engine.memory.ownBytes();
  if (options.maxMemory != 0 && bytes > options.maxMemory)
    return nullptr;
  // A list whose thread has no processor would hold up all others.
  const bool near = options.threadsNear.value_or(distance == Distance::Near);
  if (!options.lists &&
      (distance == Distance::Unknown || !run->lists->areWorthIt(near)))
    return nullptr;
  return run->makeEngines(impl) ? run : nullptr;
}

bool ListRun::makeEngines(LoadedProgram::Impl &impl) {
  engines.assign(1, &impl.engine);
  for (size_t k = 1; k < lists->lists.size(); ++k) {
    if (others.size() < k) {
      auto engine = std::make_unique<Engine>();
      if (!engine->memory.share(impl.engine.memory))
        return false;
      engine->memory.populateOnChip();
      engine->machine = impl.engine.machine;
      engine->costMachine = impl.engine.costMachine;
      engine->reuse = impl.engine.reuse;
      engine->lastReads = impl.engine.lastReads;
      engine->tapPrograms = impl.engine.tapPrograms;
      others.push_back(std::move(engine));
    }
    engines.push_back(others[k - 1].get());
  }
  return true;
}

void ListRun::start(LoadedProgram::Impl &impl) {
  stop.store(false, std::memory_order_relaxed);
  for (auto [engine, list, position] :
       llvm::zip(engines, lists->lists, positions)) {
    position.done.store(0, std::memory_order_relaxed);
    engine->ownUses = list.uses;
    engine->setThreads(nullptr, false);
    if (engine == &impl.engine)
      continue;
    engine->kernels = impl.engine.kernels;
    engine->nodes = impl.engine.nodes;
    engine->keepSums = impl.engine.keepSums;
    engine->keepChosen = impl.engine.keepChosen;
    engine->clearTables();
    engine->measured.clear();
    engine->operands.clear();
    engine->sets = {};
    if (impl.zeroMemory)
      engine->memory.clearOwn();
  }
}

bool ListRun::waitFor(const Lists::Wait &wait) const {
  const std::atomic<uint32_t> &done = positions[wait.thread].done;
  const auto isDone = [&] {
    return done.load(std::memory_order_acquire) >= wait.position ||
           stop.load(std::memory_order_relaxed);
  };
  while (!support::waitAwake(isDone)) {
  }
  return !stop.load(std::memory_order_relaxed);
}

void ListRun::runList(const LoadedProgram::Impl &impl, size_t number,
                      RunResult &result) {
  numerics::FloatEnvironment environment;
  Engine &engine = *engines[number];
  const Lists::List &list = lists->lists[number];
  uint32_t wait = 0, position = 0;
  for (const Lists::Entry &entry : list.entries) {
    for (; wait < entry.endOfWaits; ++wait)
      if (!waitFor(list.waits[wait]))
        return;
    executeStep(impl, engine, entry.instruction);
    if (engine.finding) {
      stop.store(true, std::memory_order_relaxed);
      return;
    }
    if (entry.isFirst)
      addStep(impl, engine, result);
    ++position;
    if (entry.isAwaited)
      positions[number].done.store(position, std::memory_order_release);
  }
  engine.batch.flush(engine);
}

/// Adds what the steps of another list have counted.
static void addResult(const RunResult &from, RunResult &to) {
  to.saturated += from.saturated;
  to.underflow += from.underflow;
  to.nonFinite += from.nonFinite;
  for (auto [source, target] : llvm::zip(from.nodes, to.nodes)) {
    target.saturated += source.saturated;
    target.underflow += source.underflow;
    target.fetched += source.fetched;
    target.saturatedAtFetch += source.saturatedAtFetch;
    target.nonFinite += source.nonFinite;
    target.repaired += source.repaired;
  }
}

bool ListRun::run(LoadedProgram::Impl &impl, RunResult &result) {
  start(impl);
  std::vector<RunResult> counted(engines.size());
  for (RunResult &part : counted)
    part.nodes.resize(result.nodes.size());
  impl.pool->parallelRanges(
      engines.size(),
      [&](uint64_t begin, uint64_t end) {
        for (uint64_t number = begin; number < end; ++number)
          runList(impl, number, counted[number]);
      },
      1);
  impl.engine.ownUses = {};
  if (stop.load(std::memory_order_relaxed)) {
    // What waits in them refers to operands of this run.
    impl.engine.batch.flush(impl.engine);
    impl.engine.finding.reset();
    impl.engine.operands.clear();
    impl.engine.sets = {};
    others.clear();
    return false;
  }
  for (const RunResult &part : counted)
    addResult(part, result);
  for (const auto &engine : others)
    for (const auto &[index, cost] : engine->measured)
      impl.engine.measured[index] = cost;
  return true;
}
