// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// DMA: patterns, broadcast, fill, addresses that run over partitions.

#include "TestSupport.h"
#include <fmt/format.h>
#include <numeric>

using namespace ashlar;
using namespace ashlar::test;

TEST(Dma, TransposesThroughSb) {
  // Rows of three become columns: SB (c, r) = x[r][c].
  auto result = runText(R"(
.machine name=a1-tiny
.f32 at=0 values=[1, 2, 3, 4, 5, 6]
.output name=y type=f32 shape=[6] at=64
dma.copy elemBytes=4 srcMem=dram dstMem=sb n3=3 n4=2 srcStride3=4 srcStride4=12 dstStride3=65536 dstStride4=4
dma.copy elemBytes=4 srcMem=sb dstMem=dram dstBase=64 n3=3 n4=2 srcStride3=65536 srcStride4=4 dstStride3=8 dstStride4=4
)");
  EXPECT_EQ(values(result), (std::vector<double>{1, 4, 2, 5, 3, 6}));
}

/// Words of a rows x cols matrix through SB, where columns are partitions.
static void checkTransposed(unsigned rows, unsigned cols) {
  std::string numbers;
  std::vector<double> expected(size_t(rows) * cols);
  for (unsigned i = 0; i < rows * cols; ++i) {
    numbers += fmt::format("{}{}", i ? ", " : "", i + 1);
    expected[size_t(i % cols) * rows + i / cols] = i + 1;
  }
  const unsigned bytes = 4 * rows * cols;
  const auto result = runText(fmt::format(
      R"(
.machine name=a1-tiny
.f32 at=0 values=[{0}]
.output name=y type=f32 shape=[{1}] at={2}
.output name=z type=f32 shape=[{1}] at={3}
dma.copy elemBytes=4 srcMem=dram dstMem=sb n3={4} n4={5} srcStride3=4 srcStride4={6} dstStride3=65536 dstStride4=4
dma.copy elemBytes=4 srcMem=sb dstMem=dram dstBase={2} n3={4} n4={5} srcStride3=65536 srcStride4=4 dstStride3={7} dstStride4=4
dma.copy elemBytes=4 srcMem=sb dstMem=dram dstBase={3} n3={4} n4={5} srcStride3=65536 srcStride4=4 dstStride3=4 dstStride4={6}
)",
      numbers, rows * cols, bytes, 2 * bytes, cols, rows, 4 * cols, 4 * rows));
  EXPECT_EQ(values(result), expected) << rows << " x " << cols;
  std::vector<double> same(expected.size());
  std::iota(same.begin(), same.end(), 1);
  EXPECT_EQ(values(result, 1), same) << rows << " x " << cols;
}

TEST(Dma, TransposesWordsOfAnyShape) {
  for (unsigned rows : {1, 3, 4, 5, 8, 33})
    for (unsigned cols : {1, 3, 4, 6, 7, 8})
      checkTransposed(rows, cols);
}

TEST(Dma, BroadcastsAndReverses) {
  auto result = runText(R"(
.machine name=a1-tiny
.f32 at=0 values=[7, 8, 9]
.output name=y type=f32 shape=[6] at=64
dma.copy elemBytes=4 srcMem=dram srcBase=8 dstMem=sb n3=2 n4=3 srcStride4=-4 dstStride3=12 dstStride4=4
dma.copy elemBytes=4 srcMem=sb dstMem=dram dstBase=64 n4=6 srcStride4=4 dstStride4=4
)");
  EXPECT_EQ(values(result), (std::vector<double>{9, 8, 7, 9, 8, 7}));
}

TEST(Dma, FillsEveryElementSize) {
  auto result = runText(R"(
.machine name=a1-tiny
.output name=y type=u8 shape=[16] at=0
dma.fill elemBytes=1 dstMem=sb n4=16 dstStride4=1 value=0x11
dma.fill elemBytes=2 dstMem=sb n4=2 dstStride4=4 value=0x2233
dma.fill elemBytes=4 dstMem=sb dstBase=8 value=0x44556677
dma.copy elemBytes=8 srcMem=sb dstMem=dram n4=2 srcStride4=8 dstStride4=8
)");
  EXPECT_EQ(
      values(result),
      (std::vector<double>{0x33, 0x22, 0x11, 0x11, 0x33, 0x22, 0x11, 0x11, 0x77,
                           0x66, 0x55, 0x44, 0x11, 0x11, 0x11, 0x11}));
}

TEST(Dma, CrossesPartitions) {
  // Eight bytes that start four before the end of partition 0.
  auto result = runText(R"(
.machine name=a1-tiny
.data at=0 hex=0102030405060708
.output name=y type=u8 shape=[8] at=8
.output name=z type=u8 shape=[4] at=16
dma.copy srcMem=dram dstMem=sb dstBase=65532 n4=8 srcStride4=1 dstStride4=1
dma.copy srcMem=sb srcBase=65532 dstMem=dram dstBase=8 n4=8 srcStride4=1 dstStride4=1
dma.copy srcMem=sb srcBase=65536 dstMem=dram dstBase=16 n4=4 srcStride4=1 dstStride4=1
)");
  EXPECT_EQ(values(result), (std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8}));
  EXPECT_EQ(values(result, 1), (std::vector<double>{5, 6, 7, 8}));
}

TEST(Dma, UnpacksCodesOfFiveBits) {
  // 1, -1, 15, -16, 0: 00001 11111 01111 10000 00000, lowest bit first.
  auto result = runText(R"(
.machine name=a1-tiny
.data at=0 hex=e13f0800
.output name=y type=i8 shape=[5] at=64
.output name=z type=i16 shape=[5] at=128
dma.unpack mantissa=5 n4=5 dstStride4=1
dma.unpack elemBytes=2 mantissa=5 dstBase=8 n4=5 dstStride4=2
dma.copy srcMem=sb dstMem=dram dstBase=64 n4=5 srcStride4=1 dstStride4=1
dma.copy elemBytes=2 srcMem=sb srcBase=8 dstMem=dram dstBase=128 n4=5 srcStride4=2 dstStride4=2
)");
  EXPECT_EQ(values(result), (std::vector<double>{1, -1, 15, -16, 0}));
  EXPECT_EQ(values(result, 1), (std::vector<double>{1, -1, 15, -16, 0}));
}

TEST(Dma, UnpacksRowsIntoPartitions) {
  // Rows of three codes of 12 bits have no padding between them.
  auto result = runText(R"(
.machine name=a1-tiny
.data at=0 hex=ff1f00002ffef7ff7f
.output name=y type=i16 shape=[6] at=64
dma.unpack elemBytes=2 mantissa=12 n3=2 n4=3 dstStride3=65536 dstStride4=2
dma.copy elemBytes=2 srcMem=sb dstMem=dram dstBase=64 n3=2 n4=3 srcStride3=65536 srcStride4=2 dstStride3=6 dstStride4=2
)");
  EXPECT_EQ(values(result), (std::vector<double>{-1, 1, -256, -30, -9, 2047}));
}

TEST(Dma, UnpacksStreamsWithoutZeros) {
  // Flags 010010 of six codes, then 5 and -3 in 4 bits: 0x12, 0x35 >> 2 bits.
  auto bitmap = runText(R"(
.machine name=a1-tiny
.data at=0 hex=5235
.output name=y type=i8 shape=[6] at=64
dma.unpack mantissa=4 form=bitmap unit=1 stored=2 n4=6 dstStride4=1
dma.copy srcMem=sb dstMem=dram dstBase=64 n4=6 srcStride4=1 dstStride4=1
)");
  EXPECT_EQ(values(bitmap), (std::vector<double>{0, 5, 0, 0, -3, 0}));
  // Two and one codes are left out before 5 and -3, and all after; they are -1.
  auto runs = runText(R"(
.machine name=a1-tiny
.data at=0 hex=560d
.output name=y type=i16 shape=[6] at=64
dma.unpack elemBytes=2 mantissa=4 form=runs unit=2 zero=-1 stored=2 n4=6 dstStride4=2
dma.copy elemBytes=2 srcMem=sb dstMem=dram dstBase=64 n4=6 srcStride4=2 dstStride4=2
)");
  EXPECT_EQ(values(runs), (std::vector<double>{-1, -1, 5, -1, -3, -1}));
}

TEST(Dma, StreamsThatContradictThemselves) {
  const std::string head = R"(
.machine name=a1-tiny
.data at=0 hex=523500
.output name=y type=i8 shape=[6] at=64
)";
  const std::string tail = R"(
dma.copy srcMem=sb dstMem=dram dstBase=64 n4=6 srcStride4=1 dstStride4=1
)";
  for (unsigned threads : {1u, 3u}) {
    EXPECT_NE(gatherError(head +
                              "dma.unpack mantissa=4 form=bitmap unit=1 "
                              "stored=3 n4=6 dstStride4=1" +
                              tail,
                          "dma.unpack", threads)
                  .find("flags of packed codes name 2 codes, the stream "
                        "stores 3"),
              std::string::npos);
    EXPECT_NE(gatherError(head +
                              "dma.unpack mantissa=4 form=runs unit=8 stored=1 "
                              "n4=6 dstStride4=1" +
                              tail,
                          "dma.unpack", threads)
                  .find("run 0 of packed codes reaches code 82 of 6"),
              std::string::npos);
  }
}

TEST(Dma, ScaleRegistersAsMemory) {
  // Registers 3 and 4 from DRAM, one of them filled over, back in turn.
  auto result = runText(R"(
.machine name=a1-tiny
.data at=0 hex=05000080
.output name=y type=i16 shape=[3] at=64
dma.copy elemBytes=2 srcMem=dram dstMem=xr dstBase=6 n4=2 srcStride4=2 dstStride4=2
dma.fill elemBytes=2 dstMem=xr dstBase=10 value=0xfff9
dma.copy elemBytes=2 srcMem=xr srcBase=10 dstMem=dram dstBase=64 n4=3 srcStride4=-2 dstStride4=2
)");
  EXPECT_EQ(values(result), (std::vector<double>{-7, -32768, 5}));
}

TEST(Dma, StateGoesFromRunToRun) {
  // Every run swaps the two numbers.
  container::Program program = assembleText(R"(
.machine name=a1-tiny
.state at=0 initial=[3, -4]
.output name=y type=i16 shape=[2] at=64
dma.copy elemBytes=2 srcMem=dram dstMem=xr n4=2 srcStride4=2 dstStride4=2
dma.copy elemBytes=2 srcMem=xr srcBase=2 dstMem=dram n4=2 srcStride4=-2 dstStride4=2
dma.copy elemBytes=2 srcMem=xr dstMem=dram dstBase=64 n4=2 srcStride4=2 dstStride4=2
)",
                                            /*inOrder=*/true);
  emulator::Options options;
  auto loaded = llvm::cantFail(emulator::load(std::move(program), options));
  auto first = llvm::cantFail(emulator::run(loaded, {}, options));
  EXPECT_EQ(first.state, (std::vector<int16_t>{-4, 3}));
  // A run without a given state begins as the first one did.
  EXPECT_EQ(llvm::cantFail(emulator::run(loaded, {}, options)).state,
            first.state);
  options.state = first.state;
  EXPECT_EQ(llvm::cantFail(emulator::run(loaded, {}, options)).state,
            (std::vector<int16_t>{3, -4}));
  const std::vector<int16_t> wrong(3);
  options.state = wrong;
  auto refused = emulator::run(loaded, {}, options);
  ASSERT_FALSE(bool(refused));
  EXPECT_EQ(llvm::toString(refused.takeError()),
            "state of 3 numbers, the program has 2");
}
