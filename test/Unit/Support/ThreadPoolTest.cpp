// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every index once, whatever the thread count; nesting; many short loops; who
// sleeps.

#include "ashlar/Support/ThreadPool.h"
#include "gtest/gtest.h"
#include <algorithm>
#include <atomic>
#include <chrono>
#include <sys/resource.h>
#include <thread>
#include <vector>

using ashlar::support::ThreadPool;

TEST(ThreadPool, EveryIndexOnce) {
  for (unsigned threads : {1u, 2u, 3u, 7u}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.size(), threads);
    for (uint64_t n : {0u, 1u, 2u, 3u, 5u, 100u, 1001u}) {
      std::vector<int> hits(n, 0);
      pool.parallelFor(n, [&](uint64_t i) { ++hits[i]; });
      EXPECT_EQ(hits, std::vector<int>(n, 1)) << threads << " " << n;
    }
  }
}

TEST(ThreadPool, RangesPerThread) {
  ThreadPool pool(3);
  for (unsigned each : {1u, 2u, ThreadPool::fewRanges})
    for (uint64_t n : {2u, 3u, 100u}) {
      std::vector<std::atomic<int>> hits(n);
      std::atomic<unsigned> ranges = 0;
      pool.parallelRanges(
          n,
          [&](uint64_t begin, uint64_t end) {
            ++ranges;
            for (uint64_t i = begin; i < end; ++i)
              ++hits[i];
          },
          each);
      EXPECT_EQ(ranges, std::min<uint64_t>(n, 3 * each));
      for (const std::atomic<int> &hit : hits)
        EXPECT_EQ(hit, 1);
    }
}

TEST(ThreadPool, ManyShortLoops) {
  ThreadPool pool(3);
  std::atomic<uint64_t> sum = 0;
  for (int round = 0; round < 3000; ++round)
    pool.parallelFor(3, [&](uint64_t i) { sum += i; });
  EXPECT_EQ(sum, 9000u);
}

TEST(ThreadPool, SleepersWake) {
  ThreadPool pool(2);
  for (int round = 0; round < 3; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    std::atomic<int> count = 0;
    pool.parallelFor(10, [&](uint64_t) { ++count; });
    EXPECT_EQ(count, 10);
  }
}

/// Voluntary switches are sleeps; a thread that offers its processor is still
/// willing to run.
TEST(ThreadPool, ShortGapsKeepWorkersAwake) {
  const auto sleeps = [] {
    rusage usage = {};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_nvcsw;
  };
  constexpr int rounds = 60;
  ThreadPool pool(2);
  // Both threads take part in every loop.
  const auto meet = [&] {
    std::atomic<int> present = 0;
    pool.parallelFor(2, [&](uint64_t) {
      ++present;
      while (present != 2)
        std::this_thread::yield();
    });
  };
  meet();
  const long before = sleeps();
  for (int round = 0; round < rounds; ++round) {
    std::this_thread::sleep_for(std::chrono::microseconds(300));
    meet();
  }
  // The caller's own sleeps, and few of the worker.
  EXPECT_LT(sleeps() - before, rounds * 3 / 2);
}

TEST(ThreadPool, NestedRunsInline) {
  ThreadPool pool(2);
  std::atomic<int> count = 0;
  pool.parallelFor(
      4, [&](uint64_t) { pool.parallelFor(5, [&](uint64_t) { ++count; }); });
  EXPECT_EQ(count, 20);
}

TEST(ThreadPool, OneThreadIsTheCaller) {
  ThreadPool pool(1);
  const std::thread::id self = std::this_thread::get_id();
  pool.parallelFor(
      4, [&](uint64_t) { EXPECT_EQ(std::this_thread::get_id(), self); });
}

TEST(ThreadPool, AnswersOrNot) {
  // Which it is depends on the host; the loops after it must not.
  for (unsigned threads : {1u, 2u, 5u}) {
    ThreadPool pool(threads);
    std::atomic<unsigned> sum = 0;
    for (int round = 0; round < 20; ++round) {
      if (threads == 1)
        EXPECT_EQ(pool.distance(), ThreadPool::Distance::Unknown);
      else
        (void)pool.distance();
      pool.parallelFor(10, [&](uint64_t) { ++sum; });
    }
    EXPECT_EQ(sum, 200u);
  }
}
