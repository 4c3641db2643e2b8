// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The fork-join pool: one generation counter announces a loop, one countdown
// ends it. A worker spins on the counter first and then waits on it, which the
// standard library turns into a futex.

#include "ashlar/Support/ThreadPool.h"

#include <algorithm>
#include <atomic>
#include <system_error>
#include <thread>
#include <vector>

using namespace ashlar::support;

namespace {

/// Roughly 50 microseconds of pauses: longer than the gap between two loops of
/// one layer, short enough not to burn a core while the caller does something
/// else.
constexpr unsigned spinRounds = 2000;

void relaxCpu() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}

/// Set while a thread runs a loop body: nested loops run inline.
thread_local bool insideLoop = false;

} // namespace

struct ThreadPool::State {
  using Body = llvm::function_ref<void(uint64_t, uint64_t)>;

  std::vector<std::thread> workers;
  // Written by the caller before the generation advances, read after.
  const Body *body = nullptr;
  uint64_t count = 0;
  unsigned parts = 1;
  alignas(64) std::atomic<uint32_t> generation{0};
  alignas(64) std::atomic<uint32_t> pending{0};
  std::atomic<bool> stop{false};

  void runPart(unsigned part) {
    const uint64_t size = count / parts;
    const uint64_t extra = count % parts;
    const uint64_t begin = part * size + std::min<uint64_t>(part, extra);
    const uint64_t end = begin + size + (part < extra ? 1 : 0);
    if (begin == end)
      return;
    insideLoop = true;
    (*body)(begin, end);
    insideLoop = false;
  }

  static void await(std::atomic<uint32_t> &value, uint32_t old) {
    for (unsigned i = 0; i < spinRounds; ++i) {
      if (value.load(std::memory_order_acquire) != old)
        return;
      relaxCpu();
    }
    while (value.load(std::memory_order_acquire) == old)
      value.wait(old, std::memory_order_acquire);
  }

  void work(unsigned part) {
    uint32_t seen = 0;
    while (true) {
      await(generation, seen);
      ++seen;
      if (stop.load(std::memory_order_relaxed))
        return;
      if (part < parts)
        runPart(part);
      if (pending.fetch_sub(1, std::memory_order_acq_rel) == 1)
        pending.notify_one();
    }
  }

  void join() {
    while (uint32_t left = pending.load(std::memory_order_acquire))
      await(pending, left);
  }
};

ThreadPool::ThreadPool(unsigned threads) {
  if (threads == 0)
    threads = std::max(1u, std::thread::hardware_concurrency());
  if (threads == 1)
    return;
  state = std::make_unique<State>();
  state->workers.reserve(threads - 1);
  // The standard library reports a refused thread by exception only.
  try {
    for (unsigned i = 1; i < threads; ++i)
      state->workers.emplace_back([s = state.get(), i] { s->work(i); });
  } catch (const std::system_error &) {
  }
  numThreads = 1 + static_cast<unsigned>(state->workers.size());
}

ThreadPool::~ThreadPool() {
  if (!state)
    return;
  state->stop.store(true, std::memory_order_relaxed);
  state->generation.fetch_add(1, std::memory_order_release);
  state->generation.notify_all();
  for (std::thread &worker : state->workers)
    worker.join();
}

void ThreadPool::parallelRanges(
    uint64_t n, llvm::function_ref<void(uint64_t, uint64_t)> fn) {
  if (n == 0)
    return;
  if (n == 1 || numThreads == 1 || insideLoop) {
    fn(0, n);
    return;
  }
  state->body = &fn;
  state->count = n;
  state->parts = static_cast<unsigned>(std::min<uint64_t>(n, numThreads));
  state->pending.store(static_cast<uint32_t>(state->workers.size()),
                       std::memory_order_relaxed);
  state->generation.fetch_add(1, std::memory_order_release);
  state->generation.notify_all();
  state->runPart(0);
  state->join();
}
