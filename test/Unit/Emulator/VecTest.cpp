// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The vector unit against values computed by hand.

#include "TestSupport.h"

using namespace ashlar;
using namespace ashlar::test;

using Numbers = std::vector<double>;

/// Sixteen floats as two channels of eight; `ops` leave two channels of `n`
/// elements of four bytes at offset 256.
static Numbers twoChannels(const std::string &ops, unsigned n,
                           const std::string &type = "f32") {
  std::string count = std::to_string(n);
  auto result = runText(
      ".machine name=a1-tiny\n"
      ".f32 at=0 values=[1, -2, 3.5, -4, 5, 6, -7, 8, "
      "0.5, 0.25, -0.5, 2, 1, 100, -100, 3]\n"
      ".output name=y type=" +
      type + " shape=[2, " + count +
      "] at=64\n"
      "dma.copy elemBytes=4 srcMem=dram dstMem=sb n3=2 n4=8 srcStride3=32 "
      "srcStride4=4 dstStride3=65536 dstStride4=4\n" +
      ops +
      "\ndma.copy elemBytes=4 srcMem=sb srcBase=256 dstMem=dram dstBase=64 "
      "n3=2 n4=" +
      count + " srcStride3=65536 srcStride4=4 dstStride3=" +
      std::to_string(4 * n) + " dstStride4=4\n");
  return values(result);
}

TEST(Vec, UnaryFunctions) {
  EXPECT_EQ(twoChannels("vec.map op=relu channels=2 n2=8 aStride2=4 "
                        "dstOffset=256 dstStride2=4",
                        8),
            (Numbers{1, 0, 3.5, 0, 5, 6, 0, 8, .5, .25, 0, 2, 1, 100, 0, 3}));
  EXPECT_EQ(
      twoChannels("vec.map op=clip channels=2 n2=8 aStride2=4 alpha=-1 "
                  "beta=4 dstOffset=256 dstStride2=4",
                  8),
      (Numbers{1, -1, 3.5, -1, 4, 4, -1, 4, .5, .25, -.5, 2, 1, 4, -1, 3}));
}

/// The scale of a channel is its element 3, the bias element 1.
TEST(Vec, ScaleAndBiasOfAChannelComeFirst) {
  EXPECT_EQ(twoChannels("vec.map op=relu channels=2 n2=8 aStride2=4 hasScale=1 "
                        "hasBias=1 scaleOffset=12 biasOffset=4 dstOffset=256 "
                        "dstStride2=4",
                        8),
            (Numbers{0, 6, 0, 14, 0, 0, 26, 0, 1.25, .75, 0, 4.25, 2.25, 200.25,
                     0, 6.25}));
  // A bias before a function of two operands.
  EXPECT_EQ(twoChannels("vec.map op=mul channels=2 n2=8 aStride2=4 hasBias=1 "
                        "biasOffset=4 bMode=immediate beta=2 dstOffset=256 "
                        "dstStride2=4",
                        8),
            (Numbers{-2, -8, 3, -12, 6, 8, -18, 12, 1.5, 1, -.5, 4.5, 2.5,
                     200.5, -199.5, 6.5}));
}

TEST(Vec, BinaryWithBroadcastAndImmediate) {
  // B is channel 0 for both channels.
  EXPECT_EQ(twoChannels("vec.map op=add channels=2 n2=8 aStride2=4 "
                        "bMode=tensor bBroadcastPart=1 bStride2=4 "
                        "dstOffset=256 dstStride2=4",
                        8),
            (Numbers{2, -4, 7, -8, 10, 12, -14, 16, 1.5, -1.75, 3, -2, 6, 106,
                     -107, 11}));
  EXPECT_EQ(
      twoChannels("vec.map op=mul channels=2 n2=8 aStride2=4 "
                  "bMode=immediate beta=2 dstOffset=256 dstStride2=4",
                  8),
      (Numbers{2, -4, 7, -8, 10, 12, -14, 16, 1, .5, -1, 4, 2, 200, -200, 6}));
}

TEST(Vec, ConversionsTruncateAndSaturate) {
  EXPECT_EQ(twoChannels("vec.map op=copy channels=2 n2=8 aStride2=4 "
                        "dstType=i8 dstOffset=128 dstStride2=1\n"
                        "vec.map op=copy channels=2 n2=8 aType=i8 aOffset=128 "
                        "aStride2=1 dstType=i32 dstOffset=256 dstStride2=4",
                        8, "i32"),
            (Numbers{1, -2, 3, -4, 5, 6, -7, 8, 0, 0, 0, 2, 1, 100, -100, 3}));
}

TEST(Vec, WideIntegersStayExact) {
  // 2^24 + 1 has no binary32; times itself wraps at 32 bits.
  auto result = runText(R"(
.machine name=a1-tiny
.data at=0 hex=01000001ffffffff
.output name=y type=i32 shape=[2] at=16
dma.copy elemBytes=4 srcMem=dram dstMem=sb n4=2 srcStride4=4 dstStride4=4
vec.map op=mul channels=1 n2=2 aType=i32 aStride2=4 bMode=tensor bType=i32 bStride2=4 dstType=i32 dstOffset=64 dstStride2=4
dma.copy elemBytes=4 srcMem=sb srcBase=64 dstMem=dram dstBase=16 n4=2 srcStride4=4 dstStride4=4
)");
  EXPECT_EQ(values(result), (Numbers{33554433, 1}));
}

TEST(Vec, NarrowIntegersWrapAndDivideAsIntegers) {
  // i8 100 + 100 wraps to -56; -7 mod 3 is 2; 5 / 0 is 0.
  auto result = runText(R"(
.machine name=a1-tiny
.data at=0 hex=64f90505640300ff
.output name=y type=i8 shape=[3] at=16
dma.copy elemBytes=1 srcMem=dram dstMem=sb n4=8 srcStride4=1 dstStride4=1
vec.map op=add channels=1 n2=1 aType=i8 aStride2=1 bMode=tensor bType=i8 bOffset=4 bStride2=1 dstType=i8 dstOffset=64 dstStride2=1
vec.map op=mod channels=1 n2=1 aType=i8 aOffset=1 aStride2=1 bMode=tensor bType=i8 bOffset=5 bStride2=1 dstType=i8 dstOffset=65 dstStride2=1
vec.map op=div channels=1 n2=1 aType=i8 aOffset=2 aStride2=1 bMode=tensor bType=i8 bOffset=6 bStride2=1 dstType=i8 dstOffset=66 dstStride2=1
dma.copy elemBytes=1 srcMem=sb srcBase=64 dstMem=dram dstBase=16 n4=3 srcStride4=1 dstStride4=1
)");
  EXPECT_EQ(values(result), (Numbers{-56, 2, 0}));
}

TEST(Vec, DoublesComputeInBinary64) {
  // 1 + 2^-52 is not a binary32, neither is 2^200.
  auto result = runText(R"(
.machine name=a1-tiny
.data at=0 hex=000000000000f03f000000000000b03c000000000000704c
.output name=y type=f64 shape=[2] at=32
dma.copy elemBytes=8 srcMem=dram dstMem=sb n4=3 srcStride4=8 dstStride4=8
vec.map op=add channels=1 n2=1 aType=f64 aStride2=8 bMode=tensor bType=f64 bOffset=8 bStride2=8 dstType=f64 dstOffset=64 dstStride2=8
vec.map op=mul channels=1 n2=1 aType=f64 aOffset=16 aStride2=8 bMode=immediate beta=2 dstType=f64 dstOffset=72 dstStride2=8
dma.copy elemBytes=8 srcMem=sb srcBase=64 dstMem=dram dstBase=32 n4=2 srcStride4=8 dstStride4=8
)");
  EXPECT_EQ(values(result), (Numbers{1 + 0x1p-52, 0x1p201}));
}

TEST(Vec, IntegersReduceExactly) {
  // 2^24 + 1 and 2: binary32 would lose the 1; the last maximum wins.
  auto result = runText(R"(
.machine name=a1-tiny
.data at=0 hex=0100000102000000
.output name=y type=i32 shape=[2] at=16
dma.copy elemBytes=4 srcMem=dram dstMem=sb n4=2 srcStride4=4 dstStride4=4
vec.reduce kind=sum channels=1 r1=2 srcType=i32 srcStrideR1=4 dstType=i32 dstOffset=64
vec.reduce kind=argmin channels=1 r1=2 srcType=i32 srcStrideR1=4 dstType=i32 dstOffset=68
dma.copy elemBytes=4 srcMem=sb srcBase=64 dstMem=dram dstBase=16 n4=2 srcStride4=4 dstStride4=4
)");
  EXPECT_EQ(values(result), (Numbers{16777219, 1}));
}

TEST(Vec, EncodeAndDecode) {
  // One block of two channels per position, W = 4: |m| <= 7. Position 0:
  // max 1, x 0, step 2^-2: 4, 2 -> 1, 0.5. Position 1: max 2, x 1, step 1/2:
  // -4, 0.5 -> 0 (tie to even). Position 2: max 3.5: 7, -1. Position 3: -4:
  // x 2, step 1: -4, 2.
  EXPECT_EQ(twoChannels("vec.map op=copy channels=2 n2=4 aStride2=4 "
                        "dstType=bfp dstMantissa=4 dstBlock=8 dstXr=3 "
                        "dstXrClear=1 dstOffset=128 dstStride2=1\n"
                        "vec.map op=copy channels=2 n2=4 aType=bfp "
                        "aMantissa=4 aOffset=128 aStride2=1 dstOffset=256 "
                        "dstStride2=4",
                        4),
            (Numbers{1, -2, 3.5, -4, .5, 0, -.5, 2}));
}

TEST(Vec, MaxPoolWithPadding) {
  // Width 8, kernel 3, stride 2, one column of padding before.
  EXPECT_EQ(twoChannels("vec.pool kind=max channels=2 srcStrideW=4 inD=1 inH=1 "
                        "inW=8 outW=4 kW=3 sW=2 pW=1 dstOffset=256 "
                        "dstStrideW=4",
                        4),
            (Numbers{1, 3.5, 6, 8, .5, 2, 100, 100}));
}

TEST(Vec, AveragePoolCountsWhatItIsTold) {
  // Kernel 2 x 2 over 2 x 4; the second output's window ends outside: with
  // chiW = 5 the padding column counts.
  EXPECT_EQ(twoChannels("vec.pool kind=avg channels=2 srcStrideH=16 "
                        "srcStrideW=4 inD=1 inH=2 inW=4 outW=2 kH=2 kW=2 sW=3 "
                        "chiD=1 chiH=2 chiW=5 dstOffset=256 dstStrideW=4",
                        2),
            (Numbers{2.5, 1, 25.4375, 1.25}));
}

TEST(Vec, Reductions) {
  EXPECT_EQ(twoChannels("vec.reduce kind=mean channels=2 r1=8 srcStrideR1=4 "
                        "dstOffset=256",
                        1),
            (Numbers{10.5 / 8, 6.25 / 8}));
  EXPECT_EQ(twoChannels("vec.reduce kind=argmax channels=2 o1=2 r1=4 "
                        "srcStrideO1=16 srcStrideR1=4 dstType=i32 "
                        "dstOffset=256 dstStrideO1=4",
                        2, "i32"),
            (Numbers{2, 3, 3, 1}));
}

TEST(Vec, ReduceChannels) {
  auto result = runText(R"(
.machine name=a1-tiny
.f32 at=0 values=[1, 2, 30, 4, 5, -6]
.output name=y type=f32 shape=[2] at=64
dma.copy elemBytes=4 srcMem=dram dstMem=sb n3=3 n4=2 srcStride3=8 srcStride4=4 dstStride3=65536 dstStride4=4
vec.reduce_channels kind=max channels=3 n2=2 srcStride2=4 dstPart=2 dstOffset=64 dstStride2=4
dma.copy elemBytes=4 srcMem=sb srcBase=131136 dstMem=dram dstBase=64 n4=2 srcStride4=4 dstStride4=4
)");
  EXPECT_EQ(values(result), (Numbers{30, 4}));
}

TEST(Vec, ChannelTiles) {
  // Ten channels on eight partitions: channels 8 and 9 in the second tile.
  auto result = runText(R"(
.machine name=a1-tiny
.f32 at=0 values=[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
.output name=y type=f32 shape=[10] at=64
dma.copy elemBytes=4 srcMem=dram dstMem=sb n4=8 srcStride4=4 dstStride4=65536
dma.copy elemBytes=4 srcMem=dram srcBase=32 dstMem=sb dstBase=16 n4=2 srcStride4=4 dstStride4=65536
vec.map op=neg channels=10 aTileStride=16 dstOffset=64 dstTileStride=4
dma.copy elemBytes=4 srcMem=sb srcBase=64 dstMem=dram dstBase=64 n4=8 srcStride4=65536 dstStride4=4
dma.copy elemBytes=4 srcMem=sb srcBase=68 dstMem=dram dstBase=96 n4=2 srcStride4=65536 dstStride4=4
)");
  EXPECT_EQ(values(result),
            (Numbers{-0.0, -1, -2, -3, -4, -5, -6, -7, -8, -9}));
}
