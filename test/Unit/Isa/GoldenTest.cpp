// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Words written by hand from the layout in docs/Isa.md, one instruction each:
// an oracle that shares no code and no table with the encoder.

#include "ashlar/Isa/Instruction.h"
#include "gtest/gtest.h"

using namespace ashlar::isa;

namespace {
using Words = std::vector<uint64_t>;

Words encoded(const Instruction &inst) {
  llvm::SmallVector<uint64_t> out;
  llvm::cantFail(encode(inst, out));
  return {out.begin(), out.end()};
}

TEST(Golden, Synchronisation) {
  SemWait wait;
  wait.queue = Queue::Pe;
  wait.sem = 3;
  EXPECT_EQ(encoded(wait), Words({0x0200000000000501, 0x3}));
  SemSignal signal;
  signal.queue = Queue::Dma2;
  signal.sem = 255;
  EXPECT_EQ(encoded(signal), Words({0x0200000000000202, 0xff}));
  XrSet set;
  set.xr = 1;
  set.value = -6; // 0xfffa at bit 10
  EXPECT_EQ(encoded(set), Words({0x0200000000000703, 0x3ffe801}));
  XrMerge merge;
  merge.dst = 4;
  merge.src = 2;      // bit 10
  merge.clear = true; // bit 20
  EXPECT_EQ(encoded(merge), Words({0x0200000000000704, 0x100804}));
}

TEST(Golden, DmaFill) {
  DmaFill fill;
  fill.queue = Queue::Dma3;
  fill.elemBytes = 2;          // word 1, bits 0-3
  fill.dstMem = Memory::Xm;    // bits 4-6: 2
  fill.dstBase = 0x123456789a; // bits 7-46
  fill.n4 = 256;
  fill.dstStride4 = -1;
  fill.value = 0x8081828384858687;
  Words words = encoded(fill);
  ASSERT_EQ(words.size(), 10u);
  EXPECT_EQ(words[0], 0x0a00000000000311u);
  EXPECT_EQ(words[1], 0x2u | 2u << 4 | uint64_t(0x123456789a) << 7);
  EXPECT_EQ(words[9], 0x8081828384858687u);
}

TEST(Golden, PeLoad) {
  PeLoad load;
  load.part = 8;                     // word 1, bits 0-11
  load.rows = 16;                    // bits 12-23
  load.offset = 0xabcdef;            // bits 24-47
  load.cols = 4;                     // bits 48-59
  load.orientation = Orientation::F; // bit 60
  load.mode = OperandMode::Select;   // bits 61-62: 2
  load.colStride = -2;               // word 2, bits 0-31
  load.type = ElemType::Bfp;         // bits 32-36: 13
  load.mantissa = 8;                 // bits 37-41
  load.range = 7;                    // bits 42-46
  load.xr = 1023;                    // bits 47-56
  EXPECT_EQ(encoded(load), Words({0x0400000000000420, 0x5004abcdef010008,
                                  0x01ff9d0dfffffffe, 0}));
}

TEST(Golden, ZeroPointsOfOperands) {
  PeLoad load;
  load.rows = 2;                // word 1, bits 12-23
  load.cols = 3;                // bits 48-59
  load.mode = OperandMode::Int; // bits 61-62: 1
  load.colStride = 1;           // word 2, bits 0-31
  load.type = ElemType::U8;     // bits 32-36: 4
  load.zero = 255;              // word 3, bits 0-8
  EXPECT_EQ(encoded(load), Words({0x0400000000000420, 0x2003000000002000,
                                  0x0000000400000001, 0xff}));
  load.zero = -128; // 0x180
  EXPECT_EQ(encoded(load)[3], 0x180u);
  PeMatmul matmul;
  matmul.zero = 120; // word 2, bits 54-62; groups = 1 at bit 25
  EXPECT_EQ(encoded(matmul)[2], uint64_t(120) << 54 | 1u << 25);
  matmul.zero = -1; // 0x1ff
  EXPECT_EQ(encoded(matmul)[2], uint64_t(0x1ff) << 54 | 1u << 25);
}

TEST(Golden, PeSwap) {
  EXPECT_EQ(encoded(PeSwap()), Words({0x0100000000000521}));
}

TEST(Golden, PeMatmulFirstWords) {
  PeMatmul matmul;
  matmul.part = 1;          // word 1, bits 0-11
  matmul.rows = 2;          // bits 12-23
  matmul.cols = 3;          // bits 24-35
  matmul.offset = 4;        // bits 36-59
  matmul.accumulate = true; // bit 63
  Words words = encoded(matmul);
  ASSERT_EQ(words.size(), 9u);
  EXPECT_EQ(words[0], 0x0900000000000522u);
  EXPECT_EQ(words[1] & 0x0fffffffffffffffu,
            1u | 2u << 12 | uint64_t(3) << 24 | uint64_t(4) << 36);
}

TEST(Golden, Headers) {
  auto header = [](const Instruction &inst) { return encoded(inst)[0]; };
  EXPECT_EQ(header(DmaCopy()), 0x0e00000000000010u);
  EXPECT_EQ(header(DmaGather()), 0x1500000000000013u);
  EXPECT_EQ(header(DmaCompress()), 0x0c00000000000014u);
  EXPECT_EQ(header(DmaExpand()), 0x0c00000000000015u);
  EXPECT_EQ(header(DmaPut()), 0x1000000000000017u);
  EXPECT_EQ(header(ActDrain()), 0x0d00000000000630u);
  EXPECT_EQ(header(ActPool()), 0x0a00000000000631u);
  EXPECT_EQ(header(VecMap()), 0x1200000000000740u);
  EXPECT_EQ(header(VecPool()), 0x0e00000000000741u);
  EXPECT_EQ(header(VecDrain()), 0x0c00000000000747u);
  EXPECT_EQ(header(VecReduce()), 0x0900000000000742u);
  EXPECT_EQ(header(VecReduceChannels()), 0x0800000000000743u);
  EXPECT_EQ(header(VecGather()), 0x0c00000000000744u);
  EXPECT_EQ(header(VecStat()), 0x0600000000000745u);
  EXPECT_EQ(header(VecMeasure()), 0x0600000000000746u);
  EXPECT_EQ(header(XrSelect()), 0x0200000000000705u);
  EXPECT_EQ(header(XrPick()), 0x0200000000000706u);
  EXPECT_EQ(header(XrPredict()), 0x0200000000000707u);
}
} // namespace
