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

/// Everything that an account holds.
static std::vector<uint8_t> bytesOf(const RunResult &result) {
  emulator::Writer out;
  emulator::writeAccount(result, out);
  return out.bytes;
}

static emulator::LoadedProgram loaded(const emulator::Options &options = {}) {
  container::Program text = assembleText(
      transposition(std::string(".node name=A\n") + matrixData), true);
  text.nodeOfInstruction.assign(
      llvm::cantFail(isa::decodeAll(text.code)).size(), 0);
  auto program = emulator::load(std::move(text), options);
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

TEST(KeptAccount, AProgramThatIsOnlyTimedTakesItsMemoryWhenItRuns) {
  emulator::Options timeOnly;
  timeOnly.functional = false;
  emulator::LoadedProgram timed = loaded(timeOnly);
  EXPECT_EQ(timed.impl().engine.memory.dram(0), nullptr);
  emulator::LoadedProgram program = loaded();
  const RunResult wanted = runWith(program, {});
  EXPECT_EQ(runWith(timed, timeOnly).totalCycles, wanted.totalCycles);
  EXPECT_EQ(timed.memoryBytes(), program.memoryBytes());
  EXPECT_EQ(values(runWith(timed, {})), values(wanted));
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
