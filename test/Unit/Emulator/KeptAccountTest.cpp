// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The account of a program is counted once: later runs, and its bytes beside a
// kept proof, give the same numbers.

#include "TestSupport.h"
#include "ashlar/Energy/Actions.h"
#include "lib/Emulator/Cache/AccountBytes.h"
#include "lib/Emulator/Impl.h"
#include "llvm/Support/ErrorHandling.h"

using namespace ashlar;
using namespace ashlar::test;
using emulator::RunResult;

/// A product.
static const char *const product = R"(
.machine name=fig3-4x4
.node name=A
.data at=0 hex=0102030405060708090a0b0c0d0e0f10
.data at=16 hex=01000000000100000000010000000001
.output name=y type=u8 shape=[16] at=64
dma.copy srcMem=dram dstMem=sb n3=4 n4=4 srcStride3=4 srcStride4=1 dstStride3=65536 dstStride4=1
dma.copy srcMem=dram srcBase=16 dstMem=sb dstBase=64 n3=4 n4=4 srcStride3=4 srcStride4=1 dstStride3=65536 dstStride4=1
pe.load rows=4 cols=4 colStride=1 type=u8 mode=int
pe.swap
pe.matmul rows=4 cols=4 offset=64 type=u8 mode=int n2=4 stride2=1 psumStride2=1 hi0=1 hi1=1 hi2=4
act.drain cols=4 n2=4 psumStride2=1 mode=int dstType=u8 dstOffset=128 dstStride2=1
dma.copy srcMem=sb srcBase=128 dstMem=dram dstBase=64 n3=4 n4=4 srcStride3=65536 srcStride4=1 dstStride3=4 dstStride4=1
)";

/// Everything that an account holds.
static std::vector<uint8_t> bytesOf(const RunResult &result) {
  emulator::Writer out;
  emulator::writeAccount(result, out);
  return out.bytes;
}

static emulator::LoadedProgram loaded() {
  container::Program text = assembleText(product, true);
  text.nodeOfInstruction.assign(
      llvm::cantFail(isa::decodeAll(text.code)).size(), 0);
  auto program = emulator::load(std::move(text), emulator::Options());
  if (!program)
    llvm::report_fatal_error(program.takeError());
  return std::move(*program);
}

static RunResult runWith(emulator::LoadedProgram &program,
                         const emulator::Options &options) {
  return llvm::cantFail(emulator::run(program, {}, options));
}

TEST(KeptAccount, LaterRunsHaveTheSameNumbers) {
  emulator::LoadedProgram program = loaded();
  const RunResult first = runWith(program, {});
  ASSERT_TRUE(program.impl().account.has_value());
  EXPECT_GT(first.totalCycles, 0u);
  const RunResult second = runWith(program, {});
  EXPECT_EQ(bytesOf(first), bytesOf(second));
  EXPECT_EQ(values(first), values(second));
  EXPECT_EQ(first.nodes[0].fetched, second.nodes[0].fetched);
  EXPECT_GT(second.nodes[0].fetched, 0u);
  emulator::Options timeOnly;
  timeOnly.functional = false;
  const RunResult third = runWith(program, timeOnly);
  EXPECT_EQ(bytesOf(first), bytesOf(third));
  EXPECT_EQ(third.nodes[0].fetched, 0u) << "an execution's count is kept";
}

TEST(KeptAccount, WhatItDoesNotHoldIsCounted) {
  emulator::LoadedProgram program = loaded();
  const RunResult first = runWith(program, {});
  emulator::Options recorded;
  recorded.recordTimes = true;
  recorded.traceDram = true;
  const RunResult second = runWith(program, recorded);
  EXPECT_EQ(second.times.size(), program.numInstructions());
  EXPECT_FALSE(second.dramTrace.empty());
  EXPECT_EQ(bytesOf(first), bytesOf(second));
  emulator::Options untimed;
  untimed.timing = false;
  EXPECT_FALSE(runWith(program, untimed).timed);
}

TEST(KeptAccount, BytesComeBackOrAreRefused) {
  emulator::LoadedProgram program = loaded();
  const std::vector<uint8_t> bytes = bytesOf(runWith(program, {}));
  emulator::Reader in(bytes);
  EXPECT_EQ(bytesOf(emulator::readAccount(in)), bytes);
  EXPECT_TRUE(in.atEnd());
  for (size_t size = 0; size < bytes.size(); size += 7) {
    emulator::Reader part(llvm::ArrayRef<uint8_t>(bytes).take_front(size));
    (void)emulator::readAccount(part);
    EXPECT_FALSE(part.good) << size << " bytes";
  }
}
