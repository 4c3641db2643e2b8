// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The fork-join pool. Every thread has a word that names the current loop and
// the next unclaimed chunk of the thread's own share of the range; a thread
// claims its share first and then helps the others. The same part of a range
// therefore meets the same thread in loop after loop, which keeps what one loop
// wrote in the cache of the core that reads it in the next; and a worker that
// the system does not run costs nothing but its help: the caller waits for
// claimed chunks only.

#include "ashlar/Support/ThreadPool.h"

#include <algorithm>
#include <atomic>
#include <system_error>
#include <thread>
#include <vector>

using namespace ashlar::support;

namespace {

/// Some 30 microseconds of pauses: longer than the usual gap between two loops
/// of one layer, short enough not to burn a core while the caller does
/// something else.
constexpr unsigned spinRounds = 600;

/// Chunks per thread. More than one, so that a thread that starts late or is
/// held up leaves its share to the others.
constexpr unsigned chunksPerThread = 3;

void relaxCpu() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}

/// Set while a thread runs a loop body: nested loops run inline.
thread_local bool insideLoop = false;

/// The word that chunks [next, end) are claimed from. The generation makes a
/// claim fail if the loop has ended meanwhile, so that nothing runs a chunk of
/// a dead loop.
struct Ticket {
  uint32_t generation;
  uint16_t end, next;

  static Ticket unpack(uint64_t word) {
    return {static_cast<uint32_t>(word >> 32),
            static_cast<uint16_t>(word >> 16), static_cast<uint16_t>(word)};
  }
  uint64_t pack() const {
    return uint64_t(generation) << 32 | uint64_t(end) << 16 | next;
  }
};

/// A thread's ticket on a cache line of its own.
struct alignas(64) Share {
  std::atomic<uint64_t> ticket{0};
};

} // namespace

struct ThreadPool::State {
  using Body = llvm::function_ref<void(uint64_t, uint64_t)>;

  std::vector<std::thread> workers;
  // Written by the caller before the ticket is published; read only by the
  // thread that holds a claim, and the caller waits for every claim before it
  // continues.
  const Body *body = nullptr;
  uint64_t count = 0;
  uint16_t chunks = 0;
  std::vector<Share> shares; ///< The caller's first.
  /// The tickets' generation once more: 32 bits are what a thread can sleep on.
  alignas(64) std::atomic<uint32_t> generation{0};
  std::atomic<uint32_t> sleepers{0};
  std::atomic<bool> stop{false};
  alignas(64) std::atomic<uint32_t> finished{0};

  explicit State(unsigned threads) : shares(threads) {}

  void runChunk(uint64_t k) {
    const uint64_t size = count / chunks;
    const uint64_t extra = count % chunks;
    const uint64_t begin = k * size + std::min(k, extra);
    insideLoop = true;
    (*body)(begin, begin + size + (k < extra ? 1 : 0));
    insideLoop = false;
    finished.fetch_add(1, std::memory_order_release);
  }

  /// Runs chunks of one share until all are claimed.
  void drain(std::atomic<uint64_t> &ticket) {
    uint64_t word = ticket.load(std::memory_order_acquire);
    while (true) {
      Ticket claimed = Ticket::unpack(word), rest = claimed;
      if (claimed.next == claimed.end)
        return;
      ++rest.next;
      if (!ticket.compare_exchange_weak(word, rest.pack(),
                                        std::memory_order_acq_rel,
                                        std::memory_order_acquire))
        continue;
      runChunk(claimed.next);
      word = ticket.load(std::memory_order_acquire);
    }
  }

  /// Runs the share of thread `self`, then what is left of the others'.
  void help(size_t self) {
    for (size_t i = 0; i < shares.size(); ++i)
      drain(shares[(self + i) % shares.size()].ticket);
  }

  /// Waits for a generation other than `seen` and returns it.
  uint32_t nextGeneration(uint32_t seen) {
    for (unsigned i = 0; i < spinRounds; ++i) {
      uint32_t now = generation.load(std::memory_order_acquire);
      if (now != seen)
        return now;
      relaxCpu();
    }
    // Sequentially consistent on both sides: either the caller sees this
    // sleeper, or this thread sees the new generation.
    sleepers.fetch_add(1);
    uint32_t now = generation.load();
    for (; now == seen; now = generation.load())
      generation.wait(seen);
    sleepers.fetch_sub(1);
    return now;
  }

  void work(size_t self) {
    uint32_t seen = 0;
    while (true) {
      seen = nextGeneration(seen);
      if (stop.load(std::memory_order_relaxed))
        return;
      help(self);
    }
  }

  void announce() {
    generation.fetch_add(1);
    if (sleepers.load() != 0)
      generation.notify_all();
  }

  /// Claimed chunks are running, or their thread has lost its processor: then
  /// giving up this one is the fastest way to get them done.
  void join(uint32_t chunks) {
    for (unsigned i = 0; finished.load(std::memory_order_acquire) != chunks;
         ++i) {
      if (i < spinRounds)
        relaxCpu();
      else
        std::this_thread::yield();
    }
  }
};

ThreadPool::ThreadPool(unsigned threads) {
  if (threads == 0)
    threads = std::max(1u, std::thread::hardware_concurrency());
  if (threads == 1)
    return;
  state = std::make_unique<State>(threads);
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
  state->announce();
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
  const auto chunks = static_cast<uint16_t>(std::min<uint64_t>(
      {n, uint64_t(numThreads) * chunksPerThread, UINT16_MAX}));
  state->body = &fn;
  state->count = n;
  state->chunks = chunks;
  state->finished.store(0, std::memory_order_relaxed);
  const uint32_t generation =
      state->generation.load(std::memory_order_relaxed) + 1;
  const size_t threads = state->shares.size();
  auto boundary = [&](size_t k) {
    return static_cast<uint16_t>(chunks * k / threads);
  };
  for (size_t k = 0; k < threads; ++k)
    state->shares[k].ticket.store(
        Ticket{generation, boundary(k + 1), boundary(k)}.pack(),
        std::memory_order_release);
  state->announce();
  state->help(0);
  state->join(chunks);
}
