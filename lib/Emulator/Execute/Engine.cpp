// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shared parts of the engines, and the scale-exponent registers.

#include "Engine.h"
#include <algorithm>

using namespace ashlar;
using namespace ashlar::emulator;

Scratch &Scratch::ofThisThread() {
  static thread_local Scratch scratch;
  return scratch;
}

void Engine::clearTables() {
  tables.assign(machine->sparse.tileTables, TileTable(machine->sparse.tcus));
  cutTables.assign(machine->sparse.tileTables, false);
}

/// Below this many, some 20 microseconds, a thread that is held up for a moment
/// costs less than ranges that others may take from it.
static constexpr uint64_t severalRangesWork = 65536;

void Engine::setThreads(support::ThreadPool *threads, bool areNear) {
  // Below this many element operations a fork costs more than it saves.
  constexpr uint64_t nearWork = 8192;
  // What one core writes and another one reads takes some microseconds where
  // they share no cache: most instructions then are faster on one thread.
  constexpr uint64_t farWork = uint64_t(1) << 22;
  pool = threads;
  forkWork = areNear ? nearWork : farWork;
  columnSharers = pool && areNear ? pool->size() : 1;
}

void Engine::split(uint64_t n, uint64_t work,
                   llvm::function_ref<void(uint64_t, uint64_t)> fn) {
  if (!pool || n < 2 || work < forkWork)
    return fn(0, n);
  pool->parallelRanges(
      n,
      [&](uint64_t begin, uint64_t end) {
        numerics::FloatEnvironment environment;
        fn(begin, end);
      },
      work < severalRangesWork ? 1 : support::ThreadPool::fewRanges);
}

void Engine::beginEncode(const EncodeTarget &target) {
  if (target.clear && target.merges())
    clearScale(target.merged());
}

void Engine::finishEncode(const numerics::EncodeStats &stats,
                          const EncodeTarget &target) {
  // Sums and maxima do not depend on the order in which threads arrive.
  std::lock_guard<std::mutex> lock(mutex);
  counters.add(stats.counters);
  if (!target.merges())
    return; // a given exponent is read, not merged
  memory.mergeScale(target.merged(), stats.maxExponent);
}

void Engine::execute(const isa::XrSet &op) {
  memory.xr(op.xr) = static_cast<int16_t>(op.value);
}

void Engine::execute(const isa::XrMerge &op) {
  int16_t old = op.clear ? clearedScale : memory.xr(op.dst);
  memory.xr(op.dst) = numerics::mergeScale(old, memory.xr(op.src));
}
