// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// dma.put and the tensors that a run keeps for the next: random rows against
// the naive machine, places that do not exist, destinations that nothing keeps,
// and runs that continue where others have stopped.

#include "NaiveMachine.h"
#include "TestSupport.h"
#include "ashlar/Emulator/Fault.h"
#include "ashlar/Isa/Text.h"

#include <cstring>
#include <fmt/format.h>
#include <random>

using namespace ashlar;
using namespace ashlar::test;
using emulator::FaultKind;
using isa::ElemType;

namespace {

/// The number at 0, sources from 64 on, the kept tensor of 8 KiB at 8192.
constexpr uint64_t sourceAddress = 64, keptAddress = 8192, keptBytes = 8192;

std::string header(const std::string &data) {
  return fmt::format(".machine name=a1-tiny\n.memory dram=32768\n"
                     "{}.cache model=7 position=\"\"\n"
                     ".kept name=past output=now type=u8 shape=[{}] at={} "
                     "axis=0 rows=1\n"
                     ".output name=y type=u8 shape=[{}] at={}\n",
                     data, keptBytes, keptAddress, keptBytes, keptAddress);
}

std::string dataText(llvm::ArrayRef<uint8_t> bytes) {
  std::string hex;
  for (uint8_t byte : bytes)
    hex += fmt::format("{:02x}", byte);
  return fmt::format(".data at=0 hex={}\n", hex);
}

isa::DmaPut randomPut(std::mt19937 &engine) {
  auto between = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(engine);
  };
  isa::DmaPut op;
  op.queue = static_cast<isa::Queue>(between(0, 3));
  op.elemBytes = 1u << between(0, 3);
  op.indexType = between(0, 1) ? ElemType::I64 : ElemType::I32;
  op.size = static_cast<uint32_t>(between(4, 12));
  op.srcBase = sourceAddress + static_cast<uint64_t>(between(0, 9));
  op.dstBase = keptAddress + static_cast<uint64_t>(between(0, 20));
  const auto bytes = static_cast<int64_t>(op.elemBytes);
  op.n2 = static_cast<uint32_t>(between(1, 3));
  op.n3 = static_cast<uint32_t>(between(1, 4));
  op.n4 = static_cast<uint32_t>(between(1, 5));
  op.srcStride4 = between(0, 3) ? bytes : 0;
  op.srcStride3 = between(0, 50), op.srcStride2 = between(0, 50);
  op.dstStride4 = bytes;
  op.dstStride3 = 5 * bytes + between(0, 3);
  op.dstStride2 = 2048;
  op.axisStride = between(0, 100);
  return op;
}

TEST(DmaPut, RandomAgainstTheNaiveMachine) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    std::mt19937 engine(seed);
    const isa::DmaPut op = randomPut(engine);
    std::vector<uint8_t> bytes(512);
    for (uint8_t &byte : bytes)
      byte = static_cast<uint8_t>(engine());
    const int64_t place = engine() % op.size;
    std::memcpy(bytes.data(), &place, sizeof(place));
    const std::string text =
        header(dataText(bytes)) + isa::print(isa::Instruction(op)) + "\n";
    const container::Program program = assembleText(text, true);
    NaiveMachine naive(program.machine, program.dramBytes);
    std::copy(bytes.begin(), bytes.end(), naive.dram.begin());
    for (size_t at = 0; at < program.code.size();)
      naive.execute(llvm::cantFail(isa::decode(program.code, at)));
    const auto begin = naive.dram.begin() + keptAddress;
    const std::vector<uint8_t> wanted(begin, begin + keptBytes);
    const emulator::RunResult result = runText(text);
    ASSERT_EQ(result.outputs[0].data, wanted)
        << "seed " << seed << ": " << isa::print(isa::Instruction(op));
    EXPECT_EQ(result.kept[0].data, wanted);
  }
}

/// One byte goes to the place that the byte at 0 says, of ten.
std::string onePlace(int place) {
  std::vector<uint8_t> bytes(72, 0);
  bytes[0] = static_cast<uint8_t>(place);
  bytes[64] = 77;
  isa::DmaPut op;
  op.indexType = ElemType::I64;
  op.size = 10, op.axisStride = 3;
  op.srcBase = 64, op.dstBase = keptAddress;
  return header(dataText(bytes)) + isa::print(isa::Instruction(op)) + "\n";
}

TEST(DmaPut, RunsGoOnWithWhatTheOneBeforeHasLeft) {
  const emulator::RunResult first = runText(onePlace(2));
  EXPECT_EQ(first.kept[0].data[6], 77);
  emulator::Options options;
  options.kept = first.kept;
  const emulator::RunResult second = runText(onePlace(9), options);
  EXPECT_EQ(second.kept[0].data[6], 77);
  EXPECT_EQ(second.kept[0].data[27], 77);
  // Without it a run begins with zeros.
  EXPECT_EQ(runText(onePlace(9)).kept[0].data[6], 0);
}

TEST(DmaPut, APlaceThatDoesNotExistIsAFaultOfTheRun) {
  EXPECT_EQ(gatherError(onePlace(9), "dma.put", 1), "");
  EXPECT_TRUE(llvm::StringRef(gatherError(onePlace(10), "dma.put", 1))
                  .contains("place 10 of the rows that are kept for the next "
                            "run, expected 0 to 9"));
}

TEST(DmaPut, WritesOnlyIntoOneKeptTensor) {
  isa::DmaPut op;
  op.indexType = ElemType::I64;
  op.size = 10, op.axisStride = 1000;
  op.srcBase = 64, op.dstBase = keptAddress;
  auto refusal = [&] {
    return faultOf(header(dataText(std::vector<uint8_t>(72))) +
                   isa::print(isa::Instruction(op)) + "\n")
        .message;
  };
  EXPECT_EQ(refusal(), "writes dram[0..1)[8192..17193), which is not all in "
                       "one kept tensor");
  op.size = 9; // The last place is inside.
  op.indexType = ElemType::F32;
  EXPECT_EQ(refusal(), "indices of type f32, expected i32 or i64");
  op.indexType = ElemType::I64, op.srcMem = isa::Memory::Xm;
  EXPECT_EQ(refusal(), "source memory is xm, expected dram or sb");
}

TEST(DmaPut, TakesALatencyForTheNumber) {
  const emulator::RunResult result = runText(onePlace(1));
  const machine::Description machine = llvm::cantFail(machine::load("a1-tiny"));
  EXPECT_GE(result.totalCycles, 3 * machine.dram.latency);
}

} // namespace
