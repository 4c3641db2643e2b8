// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Fork-join parallelism for loops that take a few microseconds. Workers stay
// awake for some milliseconds after a loop, because the next one usually
// follows at once, and then sleep. Threads claim chunks as they come, so that a
// loop never waits for a worker that the system does not run; what a loop
// computes must depend neither on the partition nor on who runs which part.

#ifndef ASHLAR_SUPPORT_THREADPOOL_H
#define ASHLAR_SUPPORT_THREADPOOL_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include <cstdint>
#include <memory>

namespace ashlar::support {

/// A pool of threads - 1 workers; the caller is the remaining thread.
class ThreadPool {
public:
  /// \p threads = 0 takes the number of hardware threads. One thread starts no
  /// worker. If the system refuses a thread, the pool has fewer.
  explicit ThreadPool(unsigned threads = 0);
  ~ThreadPool();
  ThreadPool(const ThreadPool &) = delete;
  ThreadPool &operator=(const ThreadPool &) = delete;

  /// Number of threads, including the caller.
  unsigned size() const { return numThreads; }

  /// How near the threads are to each other.
  enum class Distance {
    Unknown, ///< Some thread has no processor to run on.
    Far,
    Near, ///< As cores that share a cache.
  };
  /// Wakes the threads and asks each for an answer, some 10 microseconds long.
  /// The next answer may differ: the system moves threads, and a virtual
  /// machine its processors.
  Distance distance();

  /// Ranges per thread with which one that is held up leaves most of its share
  /// to the others. Threads that look for such ranges take half a microsecond
  /// from each other.
  static constexpr unsigned fewRanges = 3;

  /// Calls \p fn(begin, end) over a partition of [0, n) into at most
  /// \p rangesEach contiguous ranges per thread, and returns when all are done.
  /// Runs inline for n <= 1, for one thread, and when called from inside a loop
  /// body. \p fn must not throw. One thread at a time may call this.
  void parallelRanges(uint64_t n,
                      llvm::function_ref<void(uint64_t, uint64_t)> fn,
                      unsigned rangesEach = fewRanges);

  /// Calls \p fn(i) for every i in [0, n).
  void parallelFor(uint64_t n, llvm::function_ref<void(uint64_t)> fn) {
    parallelRanges(n, [fn](uint64_t begin, uint64_t end) {
      for (uint64_t i = begin; i < end; ++i)
        fn(i);
    });
  }

private:
  struct State;
  std::unique_ptr<State> state;
  unsigned numThreads = 1;
};

} // namespace ashlar::support

#endif // ASHLAR_SUPPORT_THREADPOOL_H
