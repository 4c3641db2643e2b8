// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the compiler says of a program that the loader would refuse.

#include "lib/Pipelines/ProveProgram.h"
#include "ashlar/Container/Assembly.h"
#include "ashlar/Support/Error.h"
#include "gtest/gtest.h"

using namespace ashlar;
using pipelines::ProgramSource;

namespace {

container::Program programOf(llvm::StringRef text) {
  return llvm::cantFail(container::assemble(text, "text"));
}

/// Two queues write the same bytes, in either order.
container::Program race() {
  return programOf(".machine name=a1-tiny\n"
                   ".node name=fill7 op=Fill engine=dma\n"
                   ".for node=0\n"
                   "dma.fill queue=dma0 dstMem=sb n4=64 dstStride4=1\n"
                   "dma.fill queue=dma1 dstMem=sb n4=64 dstStride4=1\n");
}

} // namespace

TEST(ProveProgram, AcceptsWhatLoads) {
  EXPECT_FALSE(pipelines::proveProgram(
      programOf(".machine name=a1-tiny\n"
                "dma.fill queue=dma0 dstMem=sb n4=64 dstStride4=1\n"),
      ProgramSource::Model));
}

TEST(ProveProgram, ARefusedProgramIsAnInternalError) {
  llvm::Error error = pipelines::proveProgram(race(), ProgramSource::Model);
  ASSERT_TRUE(static_cast<bool>(error));
  EXPECT_EQ(support::classify(error), ErrorClass::Internal);
  const std::string text = llvm::toString(std::move(error));
  for (const char *part :
       {"the loader refuses the compiled program: race fault at instruction 1",
        "(node 'fill7')", "no semaphore orders them", "in 'dma.fill queue=dma1",
        "please report this"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
}

TEST(ProveProgram, ARefusedFileIsMalformed) {
  llvm::Error error = pipelines::proveProgram(race(), ProgramSource::File);
  ASSERT_TRUE(static_cast<bool>(error));
  EXPECT_EQ(support::classify(error), ErrorClass::Malformed);
  EXPECT_NE(llvm::toString(std::move(error)).find("race fault"),
            std::string::npos);
}

TEST(ProveProgram, RunsNothingThatIsRefused) {
  auto loaded = pipelines::loadCompiled(race(), {});
  ASSERT_FALSE(static_cast<bool>(loaded));
  llvm::Error error = loaded.takeError();
  EXPECT_EQ(support::classify(error), ErrorClass::Internal);
  llvm::consumeError(std::move(error));
}
