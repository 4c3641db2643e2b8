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
#include "ashlar/Support/Processors.h"
#include "ashlar/Support/Waiting.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <optional>
#include <system_error>
#include <thread>
#include <vector>

using namespace ashlar::support;

namespace {

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

using Body = llvm::function_ref<void(uint64_t, uint64_t)>;

/// A range in chunks. Read only by a thread that holds a claim; the caller
/// waits for every claim before it writes the next one.
struct Loop {
  const Body *body = nullptr;
  uint64_t count = 0;
  uint16_t chunks = 0;

  void run(uint64_t k) const {
    const uint64_t size = count / chunks;
    const uint64_t extra = count % chunks;
    const uint64_t begin = k * size + std::min(k, extra);
    insideLoop = true;
    (*body)(begin, begin + size + (k < extra ? 1 : 0));
    insideLoop = false;
  }
};

/// A thread's ticket, with the loop in the same cache line: a worker learns of
/// a loop by one message from the caller's core. The other line is the answer,
/// which only the thread itself writes.
struct Share {
  alignas(64) std::atomic<uint64_t> ticket{0};
  Loop loop;
  /// Chunks that the thread has run in all loops.
  alignas(64) std::atomic<uint32_t> finished{0};

  uint32_t generation() const {
    return Ticket::unpack(ticket.load(std::memory_order_acquire)).generation;
  }
};

} // namespace

struct ThreadPool::State {
  std::vector<std::thread> workers;
  std::vector<Share> shares;         ///< The caller's first.
  std::vector<StartingPlace> places; ///< Of the workers.
  uint32_t generation = 0;           ///< The caller's.
  uint32_t answered = 0;             ///< Chunks of workers in all loops so far.
  /// What a thread sleeps on.
  alignas(64) std::atomic<uint32_t> alarms{0};
  std::atomic<uint32_t> sleepers{0};
  std::atomic<bool> stop{false};

  explicit State(unsigned threads) : shares(threads), places(threads - 1) {}

  /// Runs chunks of one share until all are claimed; how many it ran.
  static uint32_t drain(Share &share, std::atomic<uint32_t> &finished) {
    uint32_t ran = 0;
    uint64_t word = share.ticket.load(std::memory_order_acquire);
    while (true) {
      Ticket claimed = Ticket::unpack(word), rest = claimed;
      if (claimed.next == claimed.end)
        return ran;
      ++rest.next;
      if (!share.ticket.compare_exchange_weak(word, rest.pack(),
                                              std::memory_order_acq_rel,
                                              std::memory_order_acquire))
        continue;
      share.loop.run(claimed.next);
      // One writer.
      finished.store(finished.load(std::memory_order_relaxed) + 1,
                     std::memory_order_release);
      ++ran;
      word = share.ticket.load(std::memory_order_acquire);
    }
  }

  /// Runs the share of thread `self`, then what is left of the others'.
  uint32_t help(size_t self) {
    uint32_t ran = 0;
    for (size_t i = 0; i < shares.size(); ++i)
      ran += drain(shares[(self + i) % shares.size()], shares[self].finished);
    return ran;
  }

  /// Waits for a generation of the thread's share other than `seen` and returns
  /// it. A thread sleeps only after some milliseconds: to wake it on an idle
  /// processor of a virtual machine takes the caller of a loop 30 microseconds,
  /// more than most loops.
  uint32_t nextGeneration(size_t self, uint32_t seen) {
    const Share &share = shares[self];
    if (!waitAwake([&] { return share.generation() != seen; })) {
      places[self - 1].leave();
      sleepers.fetch_add(1);
      while (true) {
        // Fences on both sides: either the caller sees this sleeper, or this
        // thread sees the new generation.
        const uint32_t before = alarms.load(std::memory_order_acquire);
        std::atomic_thread_fence(std::memory_order_seq_cst);
        if (share.generation() != seen)
          break;
        alarms.wait(before);
      }
      sleepers.fetch_sub(1);
      places[self - 1].arrive();
    }
    return share.generation();
  }

  void work(size_t self) {
    uint32_t seen = 0;
    places[self - 1].arrive();
    while (true) {
      seen = nextGeneration(self, seen);
      if (stop.load(std::memory_order_relaxed))
        return;
      help(self);
    }
  }

  /// Shows workers that are about to run to processors that neither the caller
  /// nor another worker has; those that find none are left to the system.
  void placeWorkers() {
    const std::optional<unsigned> own = currentProcessor();
    ProcessorSet taken;
    const auto take = [&](std::optional<unsigned> processor) {
      if (processor && *processor < taken.size())
        taken.set(*processor);
    };
    if (!own)
      return;
    take(own);
    for (const StartingPlace &place : places)
      if (!place.isAway())
        take(place.processor());
    for (size_t k = 0; k < workers.size(); ++k) {
      if (!places[k].isAway())
        continue;
      places[k].place(workers[k], taken);
      take(places[k].processor());
    }
  }

  /// Gives every thread its part of the chunks.
  void announce(const Loop &loop) {
    ++generation;
    const size_t threads = shares.size();
    auto boundary = [&](size_t k) {
      return static_cast<uint16_t>(loop.chunks * k / threads);
    };
    for (size_t k = 0; k < threads; ++k) {
      shares[k].loop = loop;
      shares[k].ticket.store(
          Ticket{generation, boundary(k + 1), boundary(k)}.pack(),
          std::memory_order_release);
    }
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (sleepers.load(std::memory_order_relaxed) == 0)
      return;
    placeWorkers();
    alarms.fetch_add(1);
    alarms.notify_all();
  }

  /// Chunks of workers that they have finished.
  uint32_t finishedByWorkers() const {
    uint32_t all = 0;
    for (size_t k = 1; k < shares.size(); ++k)
      all += shares[k].finished.load(std::memory_order_acquire);
    return all;
  }
  std::optional<std::chrono::nanoseconds> answer();

  /// Waits until workers have run `chunks` more. They are claimed: their
  /// threads are running them, or have lost their processors; then giving up
  /// this one is the fastest way to get them done.
  void join(uint32_t chunks) {
    answered += chunks;
    const auto done = [&] { return finishedByWorkers() == answered; };
    while (!waitAwake(done)) {
    }
  }
};

/// One empty range for each thread, which nobody takes from another one, and
/// the answers of all of them; null if that takes far too long. A thread that
/// sleeps or has just been created answers after 30 to 170 microseconds, if an
/// idle processor is there for it.
std::optional<std::chrono::nanoseconds> ThreadPool::State::answer() {
  constexpr std::chrono::microseconds patience(500);
  const auto nothing = [](uint64_t, uint64_t) {};
  const Body body = nothing;
  const auto start = std::chrono::steady_clock::now();
  announce({&body, shares.size(), static_cast<uint16_t>(shares.size())});
  uint32_t ran = drain(shares[0], shares[0].finished);
  const uint32_t all = answered + static_cast<uint32_t>(shares.size() - 1);
  auto time = std::chrono::steady_clock::now() - start;
  // One that is early may have taken the range of this thread as well.
  while (static_cast<int32_t>(finishedByWorkers() - all) < 0 &&
         time < patience) {
    relaxCpu();
    time = std::chrono::steady_clock::now() - start;
  }
  ran += help(0);
  join(static_cast<uint32_t>(shares.size()) - ran);
  return time < patience ? std::optional(time) : std::nullopt;
}

ThreadPool::Distance ThreadPool::distance() {
  // The two messages take cores that share a cache 0.15 to 0.3 microseconds,
  // others 0.4 and more, though not always.
  constexpr std::chrono::nanoseconds fast(350);
  constexpr size_t rounds = 32, most = rounds * 3 / 4;
  std::array<std::chrono::nanoseconds, rounds> times;
  if (!state)
    return Distance::Unknown;
  for (std::chrono::nanoseconds &time : times) {
    const std::optional<std::chrono::nanoseconds> answer = state->answer();
    if (!answer)
      return Distance::Unknown;
    time = *answer;
  }
  std::nth_element(times.begin(), times.begin() + most, times.end());
  return times[most] < fast ? Distance::Near : Distance::Far;
}

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
  state->placeWorkers();
  numThreads = 1 + static_cast<unsigned>(state->workers.size());
}

ThreadPool::~ThreadPool() {
  if (!state)
    return;
  state->stop.store(true, std::memory_order_relaxed);
  state->announce({});
  for (std::thread &worker : state->workers)
    worker.join();
}

void ThreadPool::parallelRanges(uint64_t n,
                                llvm::function_ref<void(uint64_t, uint64_t)> fn,
                                unsigned rangesEach) {
  if (n == 0)
    return;
  if (n == 1 || numThreads == 1 || insideLoop) {
    fn(0, n);
    return;
  }
  const auto chunks = static_cast<uint16_t>(
      std::min<uint64_t>({n, uint64_t(numThreads) * rangesEach, UINT16_MAX}));
  state->announce({&fn, n, chunks});
  state->join(chunks - state->help(0));
}
