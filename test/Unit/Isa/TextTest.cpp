// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Assembly text: round trips and messages with positions.

#include "ashlar/Isa/Text.h"
#include "RandomInstruction.h"
#include "gtest/gtest.h"

using namespace ashlar::isa;

namespace {
std::string message(llvm::StringRef line) {
  llvm::Expected<Instruction> inst = parse(line, "f.asm:7");
  return inst ? "accepted" : llvm::toString(inst.takeError());
}

TEST(Text, RandomRoundTrip) {
  std::mt19937_64 random(4);
  for (const InstructionInfo &info : instructions())
    for (int i = 0; i < 200; ++i) {
      Instruction original = randomInstruction(info, random);
      std::string text = print(original);
      llvm::Expected<Instruction> back = parse(text, "t");
      ASSERT_TRUE(bool(back)) << text << llvm::toString(back.takeError());
      EXPECT_TRUE(*back == original) << text;
      EXPECT_EQ(print(*back), text);
    }
}

TEST(Text, DefaultsAreOmitted) {
  EXPECT_EQ(print(PeSwap()), "pe.swap");
  EXPECT_EQ(print(PeLoad()), "pe.load");
  PeLoad load;
  load.rows = 16;
  load.type = ElemType::Bfp;
  EXPECT_EQ(print(load), "pe.load rows=16 type=bfp");
}

TEST(Text, Messages) {
  EXPECT_EQ(message(" "), "f.asm:7:2: instruction expected, the line is empty");
  EXPECT_EQ(message("  pe.lod"), "f.asm:7:3: unknown instruction 'pe.lod'");
  EXPECT_EQ(message("pe.load rows"),
            "f.asm:7:9: 'rows' found, expected field=value");
  EXPECT_EQ(message("pe.load row=1"), "f.asm:7:9: pe.load has no field 'row'");
  EXPECT_EQ(message("pe.load rows=1 rows=2"),
            "f.asm:7:16: field 'rows' is given twice");
  EXPECT_EQ(message("pe.load rows=x"),
            "f.asm:7:14: field 'rows' is 'x', expected an integer");
  EXPECT_EQ(message("pe.load rows=0"),
            "f.asm:7:14: pe.load: field 'rows' is 0, must be in [1, 4095]");
  EXPECT_EQ(message("pe.load type=f8"),
            "f.asm:7:14: field 'type' is 'f8', which is not a valid ElemType");
  EXPECT_EQ(message("dma.copy queue=vec"),
            "f.asm:7:16: dma.copy: queue is 7, must be one of dma0, dma1, "
            "dma2, dma3");
  EXPECT_EQ(message("vec.map alpha=inf"),
            "f.asm:7:15: field 'alpha' is 'inf', expected a binary32 number or "
            "its bits as 0x...");
  EXPECT_EQ(message("vec.map alpha=1e99").substr(0, 33),
            "f.asm:7:15: field 'alpha' is '1e9");
  EXPECT_EQ(message("dma.fill value=-1"),
            "f.asm:7:16: field 'value' is '-1', expected an integer");
  EXPECT_EQ(message("dma.fill value=0x-1"),
            "f.asm:7:16: field 'value' is '0x-1', expected an integer");
  EXPECT_EQ(message("xr.set xr=1 value=40000"),
            "f.asm:7:19: xr.set: field 'value' is 40000, must be in [-32768, "
            "32767]");
}

TEST(Text, WholeTexts) {
  auto program = parseAll("; head\n\n pe.swap ; swap\r\nxr.set xr=0x10\n", "t");
  ASSERT_TRUE(bool(program));
  ASSERT_EQ(program->size(), 2u);
  EXPECT_EQ(std::get<XrSet>((*program)[1]).xr, 16u);
  auto bad = parseAll("pe.swap\npe.swop\n", "t");
  EXPECT_EQ(llvm::toString(bad.takeError()),
            "t:2:1: unknown instruction 'pe.swop'");
}

TEST(Text, HostileTextIsRefused) {
  std::mt19937_64 random(5);
  const std::string seed =
      "vec.map op=add channels=8 alpha=0.5 bMode=tensor aStride0=-4 dstXr=3";
  for (int i = 0; i < 20000; ++i) {
    std::string text = seed;
    for (unsigned n = 1 + random() % 4; n; --n)
      text[random() % text.size()] = static_cast<char>(random());
    llvm::Expected<Instruction> inst = parse(text, "t");
    if (!inst)
      llvm::consumeError(inst.takeError());
  }
}
} // namespace
