// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Copies of constants that later runs leave out, and those that they must not.

#include "lib/Emulator/Prove/SettledCopies.h"
#include "TestSupport.h"
#include "lib/Emulator/Impl.h"

using namespace ashlar;
using namespace ashlar::test;

namespace {

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
  EXPECT_EQ(settled(transposition()), (std::vector<size_t>{0, 1}));
}

TEST(SettledCopies, NotWhatIsOverwritten) {
  EXPECT_EQ(settled(transposition(matrixData, overwrite)),
            (std::vector<size_t>{1}));
}

TEST(SettledCopies, NotWhatARunIsGiven) {
  EXPECT_EQ(settled(transposition(".input name=x type=u8 shape=[16] at=0\n")),
            (std::vector<size_t>{1}));
}

TEST(SettledCopies, EveryRunHasTheSameResults) {
  for (const char *between : {"", overwrite}) {
    auto loaded = emulator::load(
        assembleText(transposition(matrixData, between), true), {});
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
  auto loaded = emulator::load(
      assembleText(transposition(".input name=x type=u8 shape=[16] at=0\n"),
                   true),
      {});
  ASSERT_TRUE(bool(loaded));
  for (uint8_t run = 1; run < 5; ++run) {
    support::HostTensor input = support::HostTensor::zeros(
        loaded->program().inputs[0].type, loaded->program().inputs[0].shape);
    std::fill(input.data.begin(), input.data.end(), run);
    const auto result = llvm::cantFail(emulator::run(*loaded, {input}, {}));
    EXPECT_EQ(values(result), std::vector<double>(16, run));
  }
}
