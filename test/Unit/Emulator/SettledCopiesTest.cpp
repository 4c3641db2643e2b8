// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Copies of constants that later runs leave out, and those that they must not.

#include "lib/Emulator/Prove/SettledCopies.h"
#include "TestSupport.h"
#include "lib/Emulator/Impl.h"

using namespace ashlar;
using namespace ashlar::test;

namespace {

/// Two operands of a product; the first one is an input if \p input says so.
std::string program(const std::string &between, bool input = false) {
  return std::string(".machine name=fig3-4x4\n") +
         (input ? ".input name=x type=u8 shape=[16] at=0\n"
                : ".data at=0 hex=0102030405060708090a0b0c0d0e0f10\n") +
         R"(.data at=16 hex=01000000000100000000010000000001
.output name=y type=u8 shape=[16] at=64
dma.copy srcMem=dram dstMem=sb n3=4 n4=4 srcStride3=4 srcStride4=1 dstStride3=65536 dstStride4=1
dma.copy srcMem=dram srcBase=16 dstMem=sb dstBase=64 n3=4 n4=4 srcStride3=4 srcStride4=1 dstStride3=65536 dstStride4=1
pe.load rows=4 cols=4 colStride=1 type=u8 mode=int
pe.swap
pe.matmul rows=4 cols=4 offset=64 type=u8 mode=int n2=4 stride2=1 psumStride2=1 hi0=1 hi1=1 hi2=4
act.drain cols=4 n2=4 psumStride2=1 mode=int dstType=u8 dstOffset=128 dstStride2=1
)" + between +
         R"(
dma.copy srcMem=sb srcBase=128 dstMem=dram dstBase=64 n3=4 n4=4 srcStride3=65536 srcStride4=1 dstStride3=4 dstStride4=1
)";
}

/// Numbers of the instructions, without semaphores, that are settled.
std::vector<size_t> settled(const std::string &text) {
  const container::Program assembled = assembleText(text, false);
  const std::vector<isa::Instruction> code =
      llvm::cantFail(isa::decodeAll(assembled.code));
  const std::vector<bool> found = emulator::settledCopies(code, assembled);
  std::vector<size_t> numbers;
  for (size_t i = 0; i < found.size(); ++i)
    if (found[i])
      numbers.push_back(i);
  return numbers;
}

/// Overwrites the first constant's place in SB.
const char *const overwrite =
    "dma.fill elemBytes=1 dstMem=sb dstBase=0 n3=4 n4=4 dstStride3=65536 "
    "dstStride4=1 value=7";

} // namespace

TEST(SettledCopies, ConstantsThatStay) {
  EXPECT_EQ(settled(program("")), (std::vector<size_t>{0, 1}));
}

TEST(SettledCopies, NotWhatIsOverwritten) {
  EXPECT_EQ(settled(program(overwrite)), (std::vector<size_t>{1}));
}

TEST(SettledCopies, NotWhatARunIsGiven) {
  EXPECT_EQ(settled(program("", true)), (std::vector<size_t>{1}));
}

TEST(SettledCopies, EveryRunHasTheSameResults) {
  for (const char *between : {"", overwrite}) {
    auto loaded = emulator::load(assembleText(program(between), true), {});
    ASSERT_TRUE(bool(loaded));
    for (int run = 0; run < 4; ++run) {
      const auto result = llvm::cantFail(emulator::run(*loaded, {}, {}));
      EXPECT_EQ(values(result),
                (std::vector<double>{1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15, 4,
                                     8, 12, 16}))
          << between << " run " << run;
    }
    EXPECT_EQ(llvm::count(loaded->impl().settled, true), *between ? 1 : 2);
  }
}

TEST(SettledCopies, EveryRunHasItsInput) {
  auto loaded = emulator::load(assembleText(program("", true), true), {});
  ASSERT_TRUE(bool(loaded));
  for (uint8_t run = 1; run < 5; ++run) {
    support::HostTensor input = support::HostTensor::zeros(
        loaded->program().inputs[0].type, loaded->program().inputs[0].shape);
    std::fill(input.data.begin(), input.data.end(), run);
    const auto result = llvm::cantFail(emulator::run(*loaded, {input}, {}));
    EXPECT_EQ(values(result), std::vector<double>(16, run));
  }
}
