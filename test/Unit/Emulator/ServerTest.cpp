// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Servers that are granted in program order: banks of the state buffer beside
// DRAM, with worked times.

#include "TestSupport.h"
#include "ashlar/Machine/Cycles.h"

using namespace ashlar;
using namespace ashlar::test;
using emulator::RunResult;
using emulator::StallCause;

namespace {

/// Runs a text whose instructions stay as they are, on a1-ideal with the prices
/// of `yaml`.
RunResult runOn(const std::string &yaml, const std::string &text) {
  emulator::Options options;
  options.recordTimes = true;
  llvm::Expected<emulator::LoadedProgram> loaded = emulator::load(
      assembleText(".machine yaml=\"name: priced\\nbase: a1-ideal\\n" + yaml +
                       "\"\n" + text,
                   false),
      options);
  if (!loaded) {
    ADD_FAILURE() << llvm::toString(loaded.takeError());
    return {};
  }
  return llvm::cantFail(emulator::run(*loaded, {}, options));
}

uint64_t stall(const RunResult &result, unsigned queue, StallCause cause) {
  return result.queues[queue].stall[static_cast<unsigned>(cause)];
}

/// Two banks of 32,768 bytes with a port of a byte.
const std::string narrow = "sb: {banks: 2, ports: 1, port_bytes: 1}\\n";

/// Fills of every second byte: 100, 10 and 20 accesses in banks 0, 0 and 1, and
/// 30 in both.
const std::string fills = R"(
dma.fill queue=dma0 dstMem=sb n4=100 dstStride4=2
dma.fill queue=dma1 dstMem=sb dstBase=65536 n4=10 dstStride4=2
dma.fill queue=dma2 dstMem=sb dstBase=32768 n4=20 dstStride4=2
dma.fill queue=dma3 dstMem=sb dstBase=163800 n4=60 dstStride4=2
)";

} // namespace

TEST(Servers, BanksAreGrantedInProgramOrder) {
  const RunResult result = runOn(narrow, fills);
  ASSERT_EQ(result.times.size(), 4u);
  // 100 bytes are one cycle of the queue; the bank takes 100.
  EXPECT_EQ(result.times[0].start, 0u);
  EXPECT_EQ(result.times[0].issueEnd, 100u);
  EXPECT_EQ(result.times[1].start, 100u); // another partition, the same bank
  EXPECT_EQ(result.times[1].issueEnd, 110u);
  EXPECT_EQ(result.times[2].start, 0u);
  EXPECT_EQ(result.times[2].issueEnd, 20u);
  // 163,800 is byte 32,728 of partition 2: 20 elements before the bank's end.
  EXPECT_EQ(result.times[3].start, 110u);
  EXPECT_EQ(result.times[3].issueEnd, 150u);
  EXPECT_EQ(stall(result, 1, StallCause::SbBusy), 100u);
  EXPECT_EQ(stall(result, 2, StallCause::SbBusy), 0u);
  EXPECT_EQ(stall(result, 3, StallCause::SbBusy), 110u);
  EXPECT_EQ(result.totalCycles, 150u);
  ASSERT_EQ(result.stalls.size(), 2u);
  EXPECT_EQ(result.stalls[0].instruction, 1u);
  EXPECT_EQ(result.stalls[0].cause, StallCause::SbBusy);
  EXPECT_EQ(result.stalls[0].end, 100u);
  // The critical path goes from the last fill through the banks to cycle 0.
  EXPECT_EQ(result.idleCycles, 150u);
}

TEST(Servers, BanksThatAreFreeCostNothing) {
  const RunResult ideal = runOn("", fills);
  for (const emulator::InstructionTime &time : ideal.times) {
    EXPECT_EQ(time.start, 0u);
    EXPECT_EQ(time.issueEnd, 1u);
  }
  EXPECT_TRUE(ideal.stalls.empty());
  // More ports, wider ones and more banks each only take cycles away.
  uint64_t before = runOn(narrow, fills).totalCycles;
  for (const char *yaml : {"sb: {banks: 2, ports: 2, port_bytes: 1}\\n",
                           "sb: {banks: 4, ports: 2, port_bytes: 1}\\n",
                           "sb: {banks: 4, ports: 2, port_bytes: 4}\\n",
                           "sb: {banks: 4, ports: 64, port_bytes: 4}\\n", ""}) {
    const RunResult result = runOn(yaml, fills);
    EXPECT_LE(result.totalCycles, before) << yaml;
    before = result.totalCycles;
  }
}

TEST(Servers, SetUpsOverlapTheTransferOfAnother) {
  const RunResult result = runOn("dma: {setup_cycles: 8}\\n", R"(
.memory dram=4096
dma.fill queue=dma0 dstMem=dram n4=640 dstStride4=1
dma.fill queue=dma1 dstMem=dram dstBase=1024 n4=640 dstStride4=1
dma.fill queue=dma1 dstMem=dram dstBase=2048 n4=64 dstStride4=1
)");
  ASSERT_EQ(result.times.size(), 3u);
  // DRAM works for the first from cycle 8 to 18, for the second from 18 on: its
  // set-up begins at 10.
  EXPECT_EQ(result.times[0].issueEnd, 18u);
  EXPECT_EQ(result.times[0].complete, 218u);
  EXPECT_EQ(result.times[1].start, 10u);
  EXPECT_EQ(result.times[1].issueEnd, 28u);
  EXPECT_EQ(stall(result, 1, StallCause::DramBusy), 10u);
  // A queue sets up one descriptor at a time.
  EXPECT_EQ(result.times[2].start, 28u);
  EXPECT_EQ(result.times[2].issueEnd, 37u);
  EXPECT_EQ(result.dramBusy, 21u);
}

TEST(Servers, ACopyAsksForItsBanksAfterItsSetUp) {
  const RunResult result = runOn("dma: {setup_cycles: 8}\\n" + narrow, R"(
dma.fill queue=dma0 dstMem=sb n4=100 dstStride4=2
dma.fill queue=dma1 dstMem=sb dstBase=65536 n4=10 dstStride4=2
)");
  ASSERT_EQ(result.times.size(), 2u);
  // The bank works for the first from cycle 8 to 108, and for the second from
  // then on: it is set up by 108.
  EXPECT_EQ(result.times[0].issueEnd, 108u);
  EXPECT_EQ(result.times[1].start, 100u);
  EXPECT_EQ(result.times[1].issueEnd, 118u);
  EXPECT_EQ(stall(result, 1, StallCause::SbBusy), 100u);
}
