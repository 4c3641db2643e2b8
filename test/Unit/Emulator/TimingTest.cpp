// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The cycle accounting: the worked example of the identity transposition,
// stalls with their causes, and the sums that must hold for every program.

#include "TestSupport.h"
#include "ashlar/Machine/Cycles.h"

using namespace ashlar;
using namespace ashlar::test;
using emulator::RunResult;
using emulator::StallCause;

static emulator::Options timed() {
  emulator::Options options;
  options.recordTimes = true;
  return options;
}

/// Runs a text whose instructions stay as they are.
static RunResult runAsWritten(const std::string &text) {
  llvm::Expected<emulator::LoadedProgram> loaded =
      emulator::load(assembleText(text, false), timed());
  if (!loaded) {
    ADD_FAILURE() << llvm::toString(loaded.takeError());
    return {};
  }
  return llvm::cantFail(emulator::run(*loaded, {}, timed()));
}

static uint64_t stall(const RunResult &result, unsigned queue,
                      StallCause cause) {
  return result.queues[queue].stall[static_cast<unsigned>(cause)];
}

TEST(Timing, IdentityTranspositionTakesSevenWaves) {
  RunResult result = runText(transposition(), timed());
  EXPECT_EQ(values(result), (std::vector<double>{1, 5, 9, 13, 2, 6, 10, 14, 3,
                                                 7, 11, 15, 4, 8, 12, 16}));
  // Cell (r, c) is written in wave r + c + 1; the array's own skew of its four
  // rows adds R - 1 cycles to every wave.
  machine::Description machine = llvm::cantFail(machine::load("fig3-4x4"));
  for (uint64_t r = 0; r < 4; ++r)
    for (uint64_t c = 0; c < 4; ++c)
      EXPECT_EQ(machine::peMatmul(machine, r + 1, 1, c + 1).complete -
                    (machine.pe.rows - 1),
                r + c + 1);
  // Two DMAs, a pair of semaphores, load, pair, swap: the matmul is the ninth.
  const emulator::InstructionTime &matmul = result.times[8];
  EXPECT_EQ(matmul.issueEnd - matmul.start, 4u);
  EXPECT_EQ(matmul.complete - matmul.start - (machine.pe.rows - 1), 7u);
  expectBalanced(machine, result);
  // All cells multiply in all four steps; the load takes a row per cycle.
  EXPECT_EQ(result.queues[5].work, 4u * 16);
  EXPECT_EQ(result.queues[4].work, 4u);
  EXPECT_EQ(result.queues[6].work, 16u);
}

TEST(Timing, QueuesOverlapAndDramIsShared) {
  RunResult result = runAsWritten(R"(
.machine name=a1-tiny
.node name=A
.node name=B
.data at=0 hex=00000000000000000000000000000000
.for node=0
dma.copy queue=dma0 srcMem=dram dstMem=sb n4=16 srcStride4=1 dstStride4=1
.for node=1
dma.copy queue=dma1 srcMem=dram dstMem=sb dstBase=64 n4=16 srcStride4=1 dstStride4=1
)");
  machine::Description machine = llvm::cantFail(machine::load("a1-tiny"));
  machine::Timing one = machine::dmaContiguous(machine, 16);
  // 16 bytes are two cycles of the DRAM; the second copy starts after them.
  EXPECT_EQ(one.dram, 2u);
  EXPECT_EQ(result.times[0].start, 0u);
  EXPECT_EQ(result.times[1].start, one.dram);
  EXPECT_EQ(stall(result, 1, StallCause::DramBusy), one.dram);
  EXPECT_EQ(result.totalCycles, one.dram + one.complete);
  EXPECT_EQ(result.nodes[0].cycles, one.dram);
  EXPECT_EQ(result.nodes[1].cycles, one.complete);
  EXPECT_EQ(result.nodes[0].dramRead, 16u);
  EXPECT_EQ(result.dramUseful, 32u);
  EXPECT_EQ(result.nodes[1].start, one.dram);
  EXPECT_EQ(result.nodes[1].end, result.totalCycles);
  EXPECT_EQ(result.nodes[1].busy[1], one.issue);
  expectBalanced(machine, result);
}

/// Only what stays inside the chip and stays as it is counts as copied.
TEST(Timing, CopiesInsideTheChipAreCounted) {
  RunResult result = runAsWritten(R"(
.machine name=a1-tiny
.node name=A
.node name=B
.data at=0 hex=00000000000000000000000000000000
.for node=0
dma.copy queue=dma0 srcMem=dram dstMem=sb n4=16 srcStride4=1 dstStride4=1
.for node=1
dma.copy queue=dma0 srcMem=sb dstMem=sb dstBase=64 n3=3 n4=4 srcStride3=4 srcStride4=1 dstStride3=8 dstStride4=1
dma.fill queue=dma0 elemBytes=4 dstMem=sb dstBase=128 n4=4 dstStride4=4
)");
  EXPECT_EQ(result.nodes[0].copied, 0u);
  EXPECT_EQ(result.nodes[1].copied, 12u);
  EXPECT_EQ(result.queues[0].copied, 12u);
  EXPECT_EQ(result.times[1].copied, 12u);
  EXPECT_EQ(result.times[2].copied, 0u);
}

TEST(Timing, WaitsNameTheirQueue) {
  RunResult result = runAsWritten(R"(
.machine name=a1-tiny
.semaphores count=1
.data at=0 hex=00000000000000000000000000000000
dma.copy queue=dma2 srcMem=dram dstMem=sb n4=16 srcStride4=1 dstStride4=1
sem.signal queue=dma2 sem=0
sem.wait queue=vec sem=0
vec.map op=relu n2=4 aStride2=4 dstOffset=64 dstStride2=4
)");
  EXPECT_EQ(stall(result, 7, StallCause::WaitDma2), result.times[0].complete);
  EXPECT_EQ(result.times[3].start, result.times[0].complete);
  EXPECT_EQ(result.idleCycles, result.totalCycles); // no node is named
  EXPECT_EQ(result.unassigned.busy[7], result.queues[7].busy);
  expectBalanced(llvm::cantFail(machine::load("a1-tiny")), result);
}

TEST(Timing, ResultsInFlightStallTheirOwnQueue) {
  const char *const text = R"(
.machine name=a1-tiny
.semaphores count=1
dma.fill elemBytes=4 dstMem=sb n4=16 dstStride4=4
sem.signal queue=dma0 sem=0
sem.wait queue=vec sem=0
vec.map op=relu n2=4 aStride2=4 dstOffset=64 dstStride2=4
vec.map op=relu n2=4 aStride2=4 aOffset=%u dstOffset=128 dstStride2=4
)";
  char buffer[512];
  std::snprintf(buffer, sizeof(buffer), text, 64u);
  RunResult dependent = runAsWritten(buffer);
  std::snprintf(buffer, sizeof(buffer), text, 16u);
  RunResult independent = runAsWritten(buffer);
  EXPECT_EQ(dependent.times[4].start, dependent.times[3].complete);
  EXPECT_EQ(independent.times[4].start, independent.times[3].issueEnd);
  EXPECT_EQ(stall(dependent, 7, StallCause::Latency),
            dependent.times[3].complete - dependent.times[3].issueEnd);
  EXPECT_EQ(stall(independent, 7, StallCause::Latency), 0u);
  const machine::Description tiny = llvm::cantFail(machine::load("a1-tiny"));
  expectBalanced(tiny, dependent);
  expectBalanced(tiny, independent);
}

TEST(Timing, TimingOffChangesNoData) {
  const std::string text = R"(
.machine name=a1-tiny
.f32 at=0 values=[1, 2, 3, 4]
.output name=y type=f32 shape=[4] at=16
dma.copy elemBytes=4 srcMem=dram dstMem=sb n4=4 srcStride4=4 dstStride4=4
vec.map op=exp n2=4 aStride2=4 dstOffset=64 dstStride2=4
dma.copy elemBytes=4 srcMem=sb srcBase=64 dstMem=dram dstBase=16 n4=4 srcStride4=4 dstStride4=4
)";
  emulator::Options functional;
  functional.timing = false;
  RunResult a = runText(text, timed()), b = runText(text, functional);
  EXPECT_EQ(a.outputs, b.outputs);
  EXPECT_TRUE(a.timed);
  EXPECT_FALSE(b.timed);
}

/// Two tiles: the second load meets the first stream.
static std::string twoTiles(const char *shadow) {
  return fmt::format(R"(
.machine yaml="name: one-set\nbase: a1-ideal\npe: {{shadow_set: {}}}\n"
.semaphores count=3
dma.fill queue=dma0 elemBytes=8 dstMem=sb n3=128 n4=64 dstStride3=65536 dstStride4=8
sem.signal queue=dma0 sem=0
sem.wait queue=peload sem=0
pe.load rows=16 cols=4 colStride=1 type=u8 mode=int
sem.signal queue=peload sem=1
sem.wait queue=pe sem=1
pe.swap
sem.signal queue=pe sem=2
pe.matmul rows=16 cols=4 type=u8 mode=int n2=100 stride2=1 psumStride2=1 hi0=1 hi1=1 hi2=100
sem.wait queue=peload sem=2
pe.load rows=16 cols=4 colStride=1 offset=4 type=u8 mode=int
sem.signal queue=peload sem=1
sem.wait queue=pe sem=1
pe.swap
pe.matmul rows=16 cols=4 type=u8 mode=int psum=128 n2=10 stride2=1 psumStride2=1 hi0=1 hi1=1 hi2=10
)",
                     shadow);
}

TEST(Timing, ALoadWithoutShadowSetWaitsForTheStream) {
  const RunResult two = runAsWritten(twoTiles("true"));
  const RunResult one = runAsWritten(twoTiles("false"));
  ASSERT_EQ(one.times.size(), two.times.size());
  // Beside the stream of 100 steps, or after it.
  EXPECT_EQ(two.times[10].issueEnd, two.times[3].issueEnd + 16);
  EXPECT_EQ(one.times[10].start, one.times[8].issueEnd);
  EXPECT_EQ(stall(one, 4, StallCause::WaitPe), 100u);
  EXPECT_EQ(one.times[14].start, two.times[14].start + 16);
  // Load, stream beside or before the next load, stream.
  machine::Description machine;
  auto sequence = [&machine] {
    return 16 + machine::peTile(machine, 100, 16) +
           machine::peMatmul(machine, 10, 1, 4).complete;
  };
  EXPECT_EQ(two.times[14].complete - two.times[3].start, sequence());
  machine.pe.shadowSet = false;
  EXPECT_EQ(one.times[14].complete - one.times[3].start, sequence());
  expectBalanced(machine, one);
}

TEST(Timing, ASetThatIsOverwrittenBeforeItsUseIsAFault) {
  const char *const text = R"(
.machine yaml="name: one-set\nbase: a1-ideal\npe: {shadow_set: false}\n"
dma.fill elemBytes=8 dstMem=sb n3=128 n4=64 dstStride3=65536 dstStride4=8
pe.load rows=16 cols=4 colStride=1 type=u8 mode=int
pe.swap
pe.load rows=16 cols=4 colStride=1 offset=4 type=u8 mode=int
pe.matmul rows=16 cols=4 type=u8 mode=int n2=10 stride2=1 psumStride2=1 hi0=1 hi1=1 hi2=10
)";
  container::Program program = assembleText(text, true);
  EXPECT_NE(faultOf(program).message.find("pe.shadow_set is false"),
            std::string::npos);
  program.machine.pe.shadowSet = true;
  EXPECT_EQ(faultOf(program).message, "");
}

/// `count` instructions of two words and a cycle each, on a machine that
/// fetches `rate` bytes per cycle into buffers of `buffer` bytes.
static std::string fetched(unsigned rate, unsigned buffer, unsigned count) {
  std::string text =
      fmt::format(".machine yaml=\"name: f\\nbase: a1-ideal\\nfetch: "
                  "{{bytes_per_cycle: {}, buffer_bytes: {}}}"
                  "\\n\"\n",
                  rate, buffer);
  for (unsigned i = 0; i < count; ++i)
    text += fmt::format("xr.set xr={} value=1\n", i);
  return text;
}

TEST(Timing, InstructionsStartWhenTheyHaveArrived) {
  // 16, 32 and 48 bytes have arrived after 3.2, 6.4 and 9.6 cycles.
  const RunResult five = runAsWritten(fetched(5, 1024, 3));
  ASSERT_EQ(five.times.size(), 3u);
  EXPECT_EQ(five.times[0].start, 4u);
  EXPECT_EQ(five.times[1].start, 7u);
  EXPECT_EQ(five.times[2].start, 10u);
  EXPECT_EQ(five.totalCycles, 11u);
  EXPECT_EQ(stall(five, 7, StallCause::Fetch), 4u + 2 + 2);
  EXPECT_EQ(five.idleCycles, five.totalCycles); // no node is named
  machine::Description machine;
  expectBalanced(machine, five);
  // Four bytes of a fifth instruction of the cycle before are not lost.
  EXPECT_EQ(runAsWritten(fetched(20, 1024, 4)).times[3].start, 4u);
  const RunResult free = runAsWritten(fetched(0, 1024, 3));
  EXPECT_EQ(free.totalCycles, 3u);
  EXPECT_EQ(stall(free, 7, StallCause::Fetch), 0u);
}

TEST(Timing, AFullBufferHoldsTheStreamUp) {
  // A fill of 512 cycles and small ones, of 80 bytes each: 12 fit a buffer of
  // 1,024 bytes. The 13th small one follows the start of the first small one.
  auto program = [](unsigned buffer, unsigned fills) {
    std::string text = fetched(1024, buffer, 0);
    text += "dma.fill elemBytes=8 dstMem=sb n3=128 n4=64 dstStride3=65536 "
            "dstStride4=8\n";
    for (unsigned i = 0; i < fills; ++i)
      text += fmt::format("dma.fill elemBytes=8 dstMem=sb dstBase={}\n",
                          1024 + 8 * i);
    return runAsWritten(text + "xr.set xr=0 value=1\n");
  };
  const RunResult full = program(1024, 13);
  ASSERT_EQ(full.times.size(), 15u);
  EXPECT_EQ(full.times[0].start, 1u);
  EXPECT_EQ(full.times[1].start, 513u);
  // 80 and 16 bytes later.
  EXPECT_EQ(full.times[14].start, 514u);
  EXPECT_EQ(stall(full, 7, StallCause::Fetch), 514u);
  expectBalanced(machine::Description(), full);
  // One less, or a buffer with room for it: the setting waits for bytes alone.
  EXPECT_EQ(program(1024, 12).times[13].start, 2u);
  EXPECT_EQ(program(2048, 13).times[14].start, 2u);
}

TEST(Timing, TrailingInstructionsEndARunWhenTheyArrive) {
  const RunResult result = runAsWritten(
      fetched(2, 1024, 1) + ".semaphores count=1\nsem.signal queue=pe sem=0\n"
                            "sem.wait queue=act sem=0\n");
  // 16 bytes each: the wait is there after 24 cycles.
  EXPECT_EQ(result.times[0].complete, 9u);
  EXPECT_EQ(result.totalCycles, 24u);
  EXPECT_EQ(result.idleCycles, 24u);
  expectBalanced(machine::Description(), result);
}

/// A stream of 40 steps into 4 row groups, drained through a function.
static std::string groupsAndFunction(const char *prices, const char *function) {
  return fmt::format(R"(
.machine yaml="name: p\nbase: a1-ideal\n{}"
.semaphores count=4
dma.fill queue=dma0 elemBytes=8 dstMem=sb n3=128 n4=64 dstStride3=65536 dstStride4=8
sem.signal queue=dma0 sem=0
xr.set xr=0 value=0
sem.signal queue=vec sem=3
sem.wait queue=peload sem=0
pe.load rows=16 cols=4 colStride=1 type=u8 mode=int
sem.signal queue=peload sem=1
sem.wait queue=pe sem=1
pe.swap
pe.matmul rows=16 cols=4 type=u8 mode=int groups=8 validW=40 n2=5 stride2=1 psumStride2=1 hi0=1 hi1=1 hi2=40
sem.signal queue=pe sem=2
sem.wait queue=act sem=2
sem.wait queue=act sem=3
act.drain cols=4 n2=40 psumStride2=1 mode=f32 xrA=0 xrS=0 dstType=f32 function={} dstOffset=8192 dstStride2=4
)",
                     prices, function);
}

TEST(Timing, PortsAndFunctionsTakeTheirCycles) {
  auto issues = [](const char *prices, const char *function) {
    const RunResult result = runAsWritten(groupsAndFunction(prices, function));
    return std::pair(result.times[9].issueEnd - result.times[9].start,
                     result.times[13].issueEnd - result.times[13].start);
  };
  EXPECT_EQ(issues("", "exp"), (std::pair<uint64_t, uint64_t>(5, 40)));
  // 8 groups through 3 ports: 3 cycles a step.
  EXPECT_EQ(issues("psum: {write_ports: 3}\\n", "relu"),
            (std::pair<uint64_t, uint64_t>(15, 40)));
  const char *const costs = "act: {cost_expensive: 4, cost_very_expensive: 8}"
                            "\\n";
  EXPECT_EQ(issues(costs, "relu").second, 40u);
  EXPECT_EQ(issues(costs, "sqrt").second, 160u);
  EXPECT_EQ(issues(costs, "exp").second, 320u);
  // 4 columns of 40 entries are 1,280 bytes.
  EXPECT_EQ(issues("psum: {read_bytes_per_cycle: 10}\\n", "relu").second, 128u);
}
