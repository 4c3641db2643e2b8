// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Threads start where they are shown to, and are free as soon as they run.

#include "ashlar/Support/Processors.h"
#include "ashlar/Support/ThreadPool.h"
#include "gtest/gtest.h"
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

using namespace ashlar::support;

TEST(Processors, PlaceWithoutThreadToRun) {
  // A place is no more than a hint: all states in turn, on any system.
  StartingPlace place;
  EXPECT_TRUE(place.isAway());
  std::atomic<bool> go = false;
  std::thread thread([&] {
    while (!go)
      std::this_thread::yield();
    place.arrive();
  });
  place.place(thread, ProcessorSet());
  go = true;
  thread.join();
  EXPECT_FALSE(place.isAway());
  place.leave();
  EXPECT_TRUE(place.isAway());
}

#if defined(__linux__)
#include <pthread.h>
#include <sched.h>

static ProcessorSet maskOf(pthread_t thread) {
  cpu_set_t mask;
  ProcessorSet processors;
  EXPECT_EQ(pthread_getaffinity_np(thread, sizeof mask, &mask), 0);
  for (size_t number = 0; number < processors.size(); ++number)
    processors[number] = CPU_ISSET(number, &mask);
  return processors;
}

/// A thread that waits before it arrives, and after that before it ends.
class Waiting {
public:
  ~Waiting() {
    mayArrive = mayEnd = true;
    thread.join();
  }
  void arrive() {
    mayArrive = true;
    while (!arrived)
      std::this_thread::yield();
  }
  ProcessorSet mask() { return maskOf(thread.native_handle()); }

  StartingPlace place;
  std::atomic<bool> mayArrive = false, arrived = false, mayEnd = false;
  std::thread thread{[this] {
    while (!mayArrive)
      std::this_thread::yield();
    place.arrive();
    arrived = true;
    while (!mayEnd)
      std::this_thread::yield();
  }};
};

TEST(Processors, OneUntilItRuns) {
  const ProcessorSet all = maskOf(pthread_self());
  Waiting waiting;
  ProcessorSet taken;
  if (all.count() > 1)
    taken.set(*currentProcessor());
  waiting.place.place(waiting.thread, taken);
  const ProcessorSet one = waiting.mask();
  EXPECT_EQ(one.count(), 1u);
  EXPECT_TRUE((one & taken).none());
  EXPECT_TRUE((one & ~all).none());
  EXPECT_TRUE(one[*waiting.place.processor()]);
  // It has a place: a second one changes nothing.
  waiting.place.place(waiting.thread, one);
  EXPECT_EQ(waiting.mask(), one);
  waiting.arrive();
  EXPECT_EQ(waiting.mask(), all);
}

TEST(Processors, NoPlaceWhereAllAreTaken) {
  const ProcessorSet all = maskOf(pthread_self());
  Waiting waiting;
  waiting.place.place(waiting.thread, all);
  EXPECT_EQ(waiting.mask(), all);
  EXPECT_TRUE(waiting.place.isAway());
  waiting.arrive();
  EXPECT_EQ(waiting.mask(), all);
}

TEST(Processors, AwakeThreadsAreLeftAlone) {
  const ProcessorSet all = maskOf(pthread_self());
  Waiting waiting;
  waiting.arrive();
  waiting.place.place(waiting.thread, ProcessorSet());
  EXPECT_EQ(waiting.mask(), all);
}

/// The masks of the threads of a pool after loops with sleeps between them.
static std::vector<ProcessorSet> masksOfPool(unsigned threads) {
  std::vector<ProcessorSet> masks(threads);
  ThreadPool pool(threads);
  for (int round = 0; round < 3; ++round) {
    std::atomic<unsigned> present = 0;
    pool.parallelRanges(
        threads,
        [&](uint64_t, uint64_t) {
          masks[present++] = maskOf(pthread_self());
          while (present != threads)
            std::this_thread::yield();
        },
        1);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return masks;
}

TEST(Processors, PoolsKeepTheMaskOfTheProcess) {
  const ProcessorSet all = maskOf(pthread_self());
  for (unsigned threads : {2u, 3u, 5u})
    for (const ProcessorSet &mask : masksOfPool(threads))
      EXPECT_EQ(mask, all) << threads;
}

TEST(Processors, OneProcessorIsEnough) {
  const ProcessorSet all = maskOf(pthread_self());
  const auto restrictTo = [](const ProcessorSet &processors) {
    cpu_set_t mask;
    CPU_ZERO(&mask);
    for (size_t number = 0; number < processors.size(); ++number)
      if (processors[number])
        CPU_SET(number, &mask);
    ASSERT_EQ(pthread_setaffinity_np(pthread_self(), sizeof mask, &mask), 0);
  };
  const ProcessorSet one = ProcessorSet().set(*currentProcessor());
  restrictTo(one);
  for (const ProcessorSet &mask : masksOfPool(3))
    EXPECT_EQ(mask, one);
  restrictTo(all);
}
#endif
