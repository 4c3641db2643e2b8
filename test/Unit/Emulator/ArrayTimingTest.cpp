// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Streams of the array next to each other: row groups that would meet longer
// columns, passes that read SB again, drains that follow a stream. The hardware
// model (test/Rtl) shows the same cycles.

#include "TestSupport.h"
#include "ashlar/Machine/Cycles.h"
#include <fmt/format.h>

using namespace ashlar;
using namespace ashlar::test;
using emulator::RunResult;
using emulator::StallCause;

/// Runs a text as it stands, on a1-ideal with the parameters of `yaml`.
static RunResult runOn(const std::string &yaml, const std::string &text) {
  emulator::Options options;
  options.recordTimes = true;
  llvm::Expected<emulator::LoadedProgram> loaded = emulator::load(
      assembleText(".machine yaml=\"name: array\\nbase: a1-ideal\\n" + yaml +
                       "\"\n" + text,
                   false),
      options);
  if (!loaded) {
    ADD_FAILURE() << llvm::toString(loaded.takeError());
    return {};
  }
  return llvm::cantFail(emulator::run(*loaded, {}, options));
}

static uint64_t stall(const RunResult &result, StallCause cause) {
  return result.queues[static_cast<unsigned>(isa::Queue::Pe)]
      .stall[static_cast<unsigned>(cause)];
}

/// A stationary tile, and streams over it after their waits.
static const char *const loaded = R"(
.semaphores count=3
dma.fill queue=dma0 elemBytes=8 dstMem=sb n3=128 n4=64 dstStride3=65536 dstStride4=8
sem.signal queue=dma0 sem=0
sem.wait queue=peload sem=0
pe.load rows=16 cols=4 colStride=1 type=u8 mode=int
sem.signal queue=peload sem=1
sem.wait queue=pe sem=1
pe.swap
)";

/// A stream of five steps into entries of its own.
static std::string groups(unsigned count, unsigned psum = 0) {
  const std::string lanes =
      count > 1 ? fmt::format("groups={} validW={} ", count, 5 * count) : "";
  return fmt::format("pe.matmul rows=16 cols=4 type=u8 mode=int {}psum={} "
                     "n2=5 stride2=1 psumStride2=1 hi0=1 hi1=1 hi2=40\n",
                     lanes, psum);
}

TEST(ArrayTiming, RowGroupsWaitForLongerColumns) {
  std::string text = loaded;
  unsigned psum = 0;
  for (unsigned count : {1, 2, 8, 8, 1, 4})
    text += groups(count, 50 * psum++);
  const RunResult free = runOn("", text);
  const RunResult waits = runOn("pe: {groups_wait: true}\\n", text);
  ASSERT_EQ(free.times.size(), 13u);
  ASSERT_EQ(waits.times.size(), 13u);
  // Row r of one group gets its last element r cycles after the last step, row
  // r of eight groups its first one r mod 16 cycles after the first.
  const uint64_t pauses[] = {0, 128 - 64, 64 - 16, 0, 0, 128 - 32};
  uint64_t sum = 0;
  for (size_t i = 0; i < 6; ++i) {
    sum += pauses[i];
    EXPECT_EQ(waits.times[7 + i].start, free.times[7 + i].start + sum) << i;
  }
  EXPECT_EQ(stall(waits, StallCause::Latency), sum);
  EXPECT_EQ(stall(free, StallCause::Latency), 0u);
}

TEST(ArrayTiming, APauseIsOverWhenNothingStreams) {
  machine::Description machine;
  EXPECT_EQ(machine::groupPause(machine, 1, 8), 0u);
  machine.pe.groupsWait = true;
  EXPECT_EQ(machine::groupPause(machine, 1, 8), 112u);
  EXPECT_EQ(machine::groupPause(machine, 8, 1), 0u);
  // The second stream waits for a long copy anyway.
  std::string text =
      loaded + groups(1) + "sem.wait queue=pe sem=2\n" + groups(8, 50);
  const std::string copy =
      "dma.fill queue=dma1 elemBytes=8 dstMem=sb dstBase=1024 n3=8 n4=4000 "
      "dstStride3=65536 dstStride4=8\nsem.signal queue=dma1 sem=2\n";
  text.insert(text.find("dma.fill"), copy);
  const RunResult result = runOn("pe: {groups_wait: true}\\n", text);
  ASSERT_EQ(result.times.size(), 12u);
  const emulator::InstructionTime &first = result.times[9],
                                  &second = result.times[11];
  EXPECT_GT(result.times[0].complete, first.issueEnd + 112);
  EXPECT_EQ(second.start, result.times[0].complete);
}

TEST(ArrayTiming, EveryPassReadsItsOperandAgain) {
  // 100 bytes of a partition are 7 accesses of 16 bytes; with digits of 2 bits,
  // 16 passes make 112 of them.
  const std::string stream =
      "pe.matmul rows=16 cols=4 type=u8 mode=int n2=100 stride2=1 "
      "psumStride2=1 hi0=1 hi1=1 hi2=100\n"
      "dma.fill queue=dma1 dstMem=sb dstBase=6557696\n";
  for (auto [bits, cycles] : {std::pair(8, 7u), std::pair(2, 112u)}) {
    const RunResult result = runOn(
        fmt::format("sb: {{banks: 1}}\\npe: {{cell_digit_bits: {}}}\\n", bits),
        loaded + stream);
    ASSERT_EQ(result.times.size(), 9u);
    EXPECT_EQ(result.times[8].start, result.times[7].start + cycles) << bits;
  }
}

/// A stream of 40 steps, what comes between it and its signal, and a drain that
/// follows it row by row.
static std::string followed(const char *between) {
  return fmt::format(R"({}
pe.matmul rows=16 cols=4 type=u8 mode=select n2=40 stride2=1 psumStride2=1 hi0=1 hi1=1 hi2=40
{}
sem.signal queue=pe sem=2
sem.wait queue=act sem=2
act.drain cols=4 n2=40 psumStride2=1 mode=raw64 order=row dstType=i64 dstOffset=8192 dstStride2=8
)",
                     loaded, between);
}

static std::string selecting(std::string text) {
  const std::string from = "type=u8 mode=int\nsem",
                    to = "type=u8 mode=select\nsem";
  return text.replace(text.find(from), from.size(), to);
}

TEST(ArrayTiming, ADrainFollowsWhatTheArrayIsSureOf) {
  const RunResult free = runOn("", selecting(followed("")));
  ASSERT_EQ(free.times.size(), 11u);
  EXPECT_EQ(free.times[10].start, free.times[7].complete - 39);
  // The queue of the array waits for a copy before it comes to the signal: what
  // the copy writes, the drain may read.
  const std::string copy = R"(
.semaphores count=4
dma.fill queue=dma1 elemBytes=8 dstMem=sb dstBase=32768 EXTENT dstStride3=65536 dstStride4=8
sem.signal queue=dma1 sem=3
)";
  for (auto [extent, held] :
       {std::pair("n4=1", false), std::pair("n3=8 n4=4000", true)}) {
    std::string text = selecting(followed("sem.wait queue=pe sem=3"));
    std::string before = copy;
    before.replace(before.find("EXTENT"), 6, extent);
    text.replace(text.find(".semaphores count=3\n"), 20, before);
    const RunResult result = runOn("", text);
    ASSERT_EQ(result.times.size(), 14u);
    const uint64_t early = result.times[9].complete - 39;
    EXPECT_EQ(result.times[13].start,
              std::max(early, std::max(result.times[9].issueEnd,
                                       result.times[0].complete)));
    EXPECT_EQ(result.times[13].start > early, held);
  }
}

TEST(ArrayTiming, ADrainFollowsNoSignalThatHasNotArrived) {
  // The signal, 16 bytes, arrives while the stream is under way.
  const RunResult result =
      runOn("fetch: {bytes_per_cycle: 1, buffer_bytes: 4096}\\n",
            selecting(followed("")));
  ASSERT_EQ(result.times.size(), 11u);
  const uint64_t early = result.times[7].complete - 39;
  EXPECT_GE(result.times[10].start, early);
  EXPECT_GE(result.times[10].start, result.times[7].start + 16);
}
