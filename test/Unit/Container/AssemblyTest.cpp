// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Program text: exact round trip and positions of messages.

#include "ashlar/Container/Assembly.h"
#include "SampleProgram.h"
#include "gtest/gtest.h"
#include <random>

using namespace ashlar;
using namespace ashlar::container;

namespace {
std::string message(llvm::StringRef text) {
  llvm::Expected<Program> program = assemble(text, "f");
  return program ? "accepted" : llvm::toString(program.takeError());
}

TEST(Assembly, RoundTripIsExact) {
  Program sample = sampleProgram();
  // Bytes that need escapes, a machine that is not built in.
  sample.modelName = "a\"b\\c\n\x01\xff";
  sample.machine.name = "own";
  sample.state = {0, {-32768, 7, 32767}};
  std::string text = llvm::cantFail(disassemble(sample));
  llvm::Expected<Program> back = assemble(text, "t");
  ASSERT_TRUE(bool(back)) << llvm::toString(back.takeError());
  EXPECT_EQ(llvm::cantFail(serialize(*back)),
            llvm::cantFail(serialize(sample)));
  EXPECT_EQ(llvm::cantFail(disassemble(*back)), text);
}

TEST(Assembly, MemoryDefaultsToWhatIsUsed) {
  llvm::Expected<Program> program =
      assemble(".input name=\"x\" type=f32 shape=[4] at=64\n"
               ".data at=0 hex=\"0102\"\n",
               "t");
  ASSERT_TRUE(bool(program)) << llvm::toString(program.takeError());
  EXPECT_EQ(program->dramBytes, 80u);
  EXPECT_EQ(program->machine.name, "a1-ideal");
}

TEST(Assembly, Messages) {
  EXPECT_EQ(message(".what"), "f:1:1: unknown directive '.what'");
  EXPECT_EQ(message("\n.memory"), "f:2:1: .memory needs 'dram'");
  EXPECT_EQ(message(".memory dram=1 x=2"), "f:1:16: .memory has no 'x'");
  EXPECT_EQ(message(".memory dram=-1"),
            "f:1:9: 'dram' is '-1', expected an integer of 64 bits");
  EXPECT_EQ(message(".memory dram=[1]"), "f:1:9: 'dram' must be one value");
  EXPECT_EQ(message(".memory dram"), "f:1:13: expected key=value");
  EXPECT_EQ(message(".memory dram="), "f:1:14: expected a value");
  EXPECT_EQ(message(".memory dram=1 dram=2"), "f:1:21: 'dram' is given twice");
  EXPECT_EQ(message(".model name=\"a"), "f:1:15: string without end");
  EXPECT_EQ(message(".model name=\"\\q\""),
            "f:1:15: unknown escape, expected \\n, \\\", \\\\ or \\xHH");
  EXPECT_EQ(message(".node name=\"a\" absorbed=[b c]"),
            "f:1:28: expected ',' or ']'");
  EXPECT_EQ(message(".input name=\"x\" type=f8 shape=[] at=0"),
            "f:1:17: 'type' is 'f8', which is not an element type");
  EXPECT_EQ(message(".state at=0 initial=[1, 32768]"),
            "f:1:13: 'initial' has 32768, expected numbers of 16 bits");
  EXPECT_EQ(message(".input name=\"x\" type=f32 shape=4 at=0"),
            "f:1:26: 'shape' must be a list");
  EXPECT_EQ(message(".data at=0 hex=\"012\""),
            "f:1:12: 'hex' must be an even number of hexadecimal digits");
  EXPECT_EQ(message(".more hex=\"00\""),
            "f:1:7: .more continues .data, but there is none");
  EXPECT_EQ(message(".machine name=\"a2\""),
            "f:1:10: 'a2' is not a built-in machine");
  EXPECT_EQ(message(".for node=-2"),
            "f:1:6: 'node' is -2, expected -1 or an index");
  EXPECT_EQ(message(".f32 at=0 values=[x]"),
            "f:1:11: field 'values' is 'x', expected a binary32 number or its "
            "bits as 0x...");
  EXPECT_EQ(message(".dump name=\"a\" memory=wm"),
            "f:1:16: 'memory' is 'wm', expected sb or dram");
  EXPECT_EQ(message("pe.swap\npe.load rows=0"),
            "f:2:14: pe.load: field 'rows' is 0, must be in [1, 4095]");
  EXPECT_EQ(message(".for node=0\npe.swap"),
            "f: instruction 0 belongs to node 0 of 0");
}

TEST(Assembly, HostileTextIsRefusedOrUsable) {
  std::mt19937_64 random(7);
  const std::string seed = llvm::cantFail(disassemble(sampleProgram()));
  for (int i = 0; i < 3000; ++i) {
    std::string text = seed;
    for (unsigned n = 1 + random() % 4; n; --n)
      text[random() % text.size()] = static_cast<char>(random());
    llvm::Expected<Program> program = assemble(text, "t");
    if (!program) {
      llvm::consumeError(program.takeError());
      continue;
    }
    EXPECT_FALSE(llvm::cantFail(serialize(*program)).empty());
  }
}
} // namespace
