// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The array and its drain against values computed by hand.

#include "TestSupport.h"
#include "ashlar/Numerics/Kernels.h"
#include <bit>

using namespace ashlar;
using namespace ashlar::test;

// Eight rows, two steps: mantissa of row i at step t is i + 1 + t; rows 0-3
// have e = 0 (x = 6), rows 4-7 e = -1 (x = 5). As numbers:
//   t=0: 1 2 3 4 2.5 3 3.5 4     t=1: 2 3 4 5 3 3.5 4 4.5
// Two columns with e = 0: ones, and 0..7. Products:
//   column 0: 23, 29             column 1: 94, 111
static const char *const operands = R"(
.machine name=a1-tiny
.data at=0 hex=01020203030404050506060707080809
.data at=16 hex=06060505
.data at=32 hex=01000101010201030104010501060107
.data at=48 hex=06060606
.f32 at=64 values=[2, -40, 0, 0]
.f32 at=80 values=[-1, 30, 0, 0]
.f32 at=96 values=[0.5, 100, -3, 0]
dma.copy srcMem=dram dstMem=sb n3=8 n4=2 srcStride3=2 srcStride4=1 dstStride3=65536 dstStride4=1
dma.copy srcMem=dram srcBase=16 dstMem=xm n3=2 n4=2 srcStride3=2 srcStride4=1 dstStride3=65536 dstStride4=1
dma.copy srcMem=dram srcBase=32 dstMem=sb dstBase=8 n3=8 n4=2 srcStride3=2 srcStride4=1 dstStride3=65536 dstStride4=1
dma.copy srcMem=dram srcBase=48 dstMem=xm dstBase=8 n3=2 n4=2 srcStride3=2 srcStride4=1 dstStride3=65536 dstStride4=1
dma.copy elemBytes=4 srcMem=dram srcBase=64 dstMem=sb dstBase=64 n3=2 n4=4 srcStride3=16 srcStride4=4 dstStride3=65536 dstStride4=4
dma.copy elemBytes=4 srcMem=dram srcBase=96 dstMem=sb dstBase=96 n3=2 n4=2 srcStride3=8 srcStride4=4 dstStride3=65536 dstStride4=4
xr.set xr=0 value=0
xr.set xr=1 value=0
pe.load rows=8 cols=2 offset=8 colStride=1 type=bfp mantissa=8 range=7 xr=0
pe.swap
)";

static const char *const matmul =
    "pe.matmul rows=8 cols=2 type=bfp mantissa=8 range=7 xr=1 n2=2 stride2=1 "
    "psumStride2=1 hi0=1 hi1=1 hi2=2";

static const char *const drain =
    "act.drain cols=2 n2=2 psumStride2=1 xrA=1 xrS=0 shift=-14 dstOffset=256 "
    "dstStride2=4";

static const char *const store = R"(
dma.copy elemBytes=4 srcMem=sb srcBase=256 dstMem=dram dstBase=256 n3=2 n4=2 srcStride3=65536 srcStride4=4 dstStride3=8 dstStride4=4
.output name=y type=f32 shape=[4] at=256
)";

static std::string lines(std::initializer_list<std::string> parts) {
  std::string text;
  for (const std::string &part : parts)
    text += part + "\n";
  return text;
}

TEST(Array, MultipliesBlocksOfDifferentExponents) {
  auto result = runText(lines({operands, matmul, drain, store}));
  EXPECT_EQ(values(result), (std::vector<double>{23, 29, 94, 111}));
}

TEST(Array, AccumulatesOverTwoPasses) {
  auto result = runText(lines(
      {operands, matmul, std::string(matmul) + " accumulate=1", drain, store}));
  EXPECT_EQ(values(result), (std::vector<double>{46, 58, 188, 222}));
}

// A drain that is the last to read its sums leaves none in PSUM.

static const char *const encode =
    "act.drain cols=2 n2=2 psumStride2=1 xrA=1 xrS=0 shift=-14 dstOffset=512 "
    "dstStride2=1 dstType=bfp dstMantissa=8 dstBlock=16 dstXr=2 dstXrClear=1";

TEST(Array, SumsAreDrainedTwice) {
  auto result = runText(lines({operands, matmul, encode, drain, store}));
  EXPECT_EQ(values(result), (std::vector<double>{23, 29, 94, 111}));
}

TEST(Array, SumsGoOnAfterADrain) {
  auto result = runText(
      lines({operands, matmul, encode, std::string(matmul) + " accumulate=1",
             encode, std::string(matmul) + " accumulate=1", drain, store}));
  EXPECT_EQ(values(result), (std::vector<double>{69, 87, 282, 333}));
}

TEST(Array, SumsStartAgainAfterADrain) {
  auto result =
      runText(lines({operands, matmul, encode, matmul, drain, store}));
  EXPECT_EQ(values(result), (std::vector<double>{23, 29, 94, 111}));
}

/// Column c multiplies row c % 8 with 1 + c / 8; each step drains the results
/// of 16 columns, 8 lanes each, five in all.
static emulator::RunResult drainGroups(const emulator::Options &options) {
  std::string weights;
  for (unsigned i = 0; i < 8; ++i)
    for (unsigned c = 0; c < 16; ++c)
      weights += c % 8 == i ? (c < 8 ? "01" : "02") : "00";
  // The same operands on a machine of 16 columns.
  std::string begin = operands;
  const std::string tiny = "name=a1-tiny";
  begin.replace(
      begin.find(tiny), tiny.size(),
      R"(yaml="name: wide\nbase: a1-tiny\npe: {columns: 16}\nsb: {partitions: 16}\n")");
  return runText(
      lines({begin, ".data at=512 hex=" + weights,
             "dma.copy srcMem=dram srcBase=512 dstMem=sb dstBase=128 n3=8 "
             "n4=16 srcStride3=16 srcStride4=1 dstStride3=65536 dstStride4=1",
             "dma.fill dstMem=xm elemBytes=1 dstBase=128 n3=2 n4=16 "
             "dstStride3=65536 dstStride4=1 value=6",
             "pe.load rows=8 cols=16 offset=128 colStride=1 type=bfp "
             "mantissa=8 range=7 xr=0",
             "pe.swap",
             "pe.matmul rows=8 cols=16 type=bfp mantissa=8 range=7 xr=1 n1=3 "
             "stride1=1 psumStride1=1 hi0=1 hi1=2 hi2=1",
             "act.drain cols=16 n1=3 psumStride1=1 groupLanes=8 validN1=5 "
             "xrA=1 xrS=0 shift=-14 dstOffset=256 dstStride1=1 "
             "dstType=bfp dstMantissa=8 dstBlock=8 dstXr=2 dstXrClear=1",
             "dma.copy srcMem=sb srcBase=256 dstMem=dram dstBase=1024 n3=8 "
             "n4=5 srcStride3=65536 srcStride4=1 dstStride3=5 dstStride4=1",
             "dma.copy srcMem=xm srcBase=256 dstMem=dram dstBase=1064 n4=5 "
             "srcStride4=1 dstStride4=1",
             ".output name=y type=i8 shape=[45] at=1024"}),
      options);
}

TEST(Array, ResultsSideBySideAreDrainedFromOneSum) {
  // Rows 4 to 7 count half, and the third step is padding. The largest values
  // are 4, 8, 5, 10 and 0, hence x is 2, 3, 2, 3 and that of zeros.
  const double rows[3][8] = {{1, 2, 3, 4, 2.5, 3, 3.5, 4},
                             {2, 3, 4, 5, 3, 3.5, 4, 4.5}};
  std::vector<double> expected;
  for (unsigned lane = 0; lane < 8; ++lane)
    for (unsigned r = 0; r < 5; ++r)
      expected.push_back(16 * rows[r / 2][lane]);
  expected.insert(expected.end(), {2, 3, 2, 3, -128});
  for (const numerics::KernelTable *table : numerics::availableKernels())
    for (bool keepsSums : {false, true}) {
      emulator::Options options;
      options.kernels = table->name.str();
      options.traceArray = keepsSums;
      EXPECT_EQ(values(drainGroups(options)), expected)
          << table->name.str() << (keepsSums ? ", sums in PSUM" : "");
    }
}

// The emulator computes products late and packs equal operands once: what a
// matmul reads is still what lay there when the program came to it.

TEST(Array, OperandOverwrittenBetweenMatmuls) {
  // Row 0 becomes zero after the first product; its weights are 1 and 0.
  auto result = runText(lines(
      {operands, matmul,
       "dma.fill elemBytes=1 dstMem=sb dstBase=0 n4=2 dstStride4=1 value=0",
       std::string(matmul) + " accumulate=1", drain, store}));
  EXPECT_EQ(values(result), (std::vector<double>{45, 56, 188, 222}));
}

TEST(Array, ScaleChangedBetweenMatmuls) {
  // With E = 1 the second product counts half, and the drain doubles both.
  auto result =
      runText(lines({operands, matmul, "xr.set xr=1 value=1",
                     std::string(matmul) + " accumulate=1", drain, store}));
  EXPECT_EQ(values(result), (std::vector<double>{69, 87, 282, 333}));
}

TEST(Array, StationarySetReplacedBetweenMatmuls) {
  auto result = runText(lines(
      {operands, matmul,
       "dma.fill elemBytes=1 dstMem=sb dstBase=8 n3=8 n4=2 dstStride3=65536 "
       "dstStride4=1 value=0",
       "pe.load rows=8 cols=2 offset=8 colStride=1 type=bfp mantissa=8 range=7 "
       "xr=0",
       "pe.swap", std::string(matmul) + " accumulate=1", drain, store}));
  EXPECT_EQ(values(result), (std::vector<double>{23, 29, 94, 111}));
}

TEST(Array, EveryKernelTableGivesTheSame) {
  for (const numerics::KernelTable *table : numerics::availableKernels()) {
    emulator::Options options;
    options.kernels = table->name.str();
    auto result = runText(lines({operands, matmul, drain, store}), options);
    EXPECT_EQ(values(result), (std::vector<double>{23, 29, 94, 111}));
  }
}

TEST(Array, PaddingReadsNothing) {
  // Four steps around the two stored ones: only indices 1 and 2 read memory,
  // and the operand starts one byte before its partition.
  auto result = runText(lines(
      {operands,
       "pe.matmul rows=8 cols=2 offset=-1 type=bfp mantissa=8 range=7 xr=1 "
       "n2=4 stride2=1 psumStride2=1 hi0=1 hi1=1 lo2=1 hi2=3",
       "act.drain cols=2 n2=4 psumStride2=1 xrA=1 xrS=0 shift=-14 "
       "dstOffset=256 dstStride2=4",
       "dma.copy elemBytes=4 srcMem=sb srcBase=256 dstMem=dram dstBase=256 "
       "n3=2 "
       "n4=4 srcStride3=65536 srcStride4=4 dstStride3=16 dstStride4=4",
       ".output name=y type=f32 shape=[8] at=256"}));
  EXPECT_EQ(values(result), (std::vector<double>{0, 23, 29, 0, 0, 94, 111, 0}));
}

TEST(Array, WindowRowsWithHoles) {
  // Two rows of two steps, stride 0 between rows: row 0 reads only its last
  // column, row 1 nothing (hi1 = 1).
  auto result = runText(lines(
      {operands,
       "pe.matmul rows=8 cols=2 type=bfp mantissa=8 range=7 xr=1 n1=2 n2=2 "
       "stride1=2 stride2=1 psumStride1=2 psumStride2=1 hi0=1 hi1=1 lo2=1 "
       "hi2=2",
       "act.drain cols=2 n2=4 psumStride2=1 xrA=1 xrS=0 shift=-14 "
       "dstOffset=256 dstStride2=4",
       "dma.copy elemBytes=4 srcMem=sb srcBase=256 dstMem=dram dstBase=256 "
       "n3=2 "
       "n4=4 srcStride3=65536 srcStride4=4 dstStride3=16 dstStride4=4",
       ".output name=y type=f32 shape=[8] at=256"}));
  EXPECT_EQ(values(result), (std::vector<double>{0, 29, 0, 0, 0, 111, 0, 0}));
}

TEST(Array, EpilogueOrder) {
  // (acc * scale + bias) + residual, then relu:
  //   column 0: 23*2-40+0.5 = 6.5, 29*2-40+100 = 118
  //   column 1: -94+30-3 < 0, -111+30+0 < 0
  auto result = runText(
      lines({operands, matmul,
             std::string(drain) +
                 " hasScale=1 hasBias=1 paramOffset=64 resMode=1 resOffset=96 "
                 "resStride2=4 function=relu",
             store}));
  EXPECT_EQ(values(result), (std::vector<double>{6.5, 118, 0, 0}));
}

TEST(Array, EncodingDrainMergesItsExponent) {
  // Block of both columns: step 0 max 94 -> x 6, e 0; step 1 max 111 -> the
  // same. Mantissas are the numbers; E becomes 0, visible in a second product
  // with one row... here through the stored bytes and cells.
  auto result = runText(
      lines({operands, matmul,
             "act.drain cols=2 n2=2 psumStride2=1 xrA=1 xrS=0 shift=-14 "
             "dstOffset=256 dstStride2=1 dstType=bfp dstMantissa=8 dstBlock=8 "
             "dstXr=5 dstXrClear=1",
             "dma.copy srcMem=sb srcBase=256 dstMem=dram dstBase=256 n3=2 n4=2 "
             "srcStride3=65536 srcStride4=1 dstStride3=2 dstStride4=1",
             "dma.copy srcMem=xm srcBase=256 dstMem=dram dstBase=260 n4=2 "
             "srcStride4=1 dstStride4=1",
             ".output name=y type=i8 shape=[6] at=256"}));
  EXPECT_EQ(values(result), (std::vector<double>{23, 29, 94, 111, 6, 6}));
}

TEST(Array, IntegerAndRawDrains) {
  // acc is 23*2^14 and so on: 376832 saturates 16 bits; raw keeps low bytes.
  auto result = runText(lines(
      {operands, matmul,
       "act.drain cols=2 n2=2 psumStride2=1 mode=int dstOffset=256 "
       "dstStride2=4 dstType=i16",
       "act.drain cols=2 n2=2 psumStride2=1 mode=raw64 dstOffset=512 "
       "dstStride2=8 dstType=i64",
       "dma.copy elemBytes=2 srcMem=sb srcBase=256 dstMem=dram dstBase=256 "
       "n3=2 n4=2 srcStride3=65536 srcStride4=4 dstStride3=4 dstStride4=2",
       "dma.copy elemBytes=8 srcMem=sb srcBase=512 dstMem=dram dstBase=264 "
       "n3=2 n4=2 srcStride3=65536 srcStride4=8 dstStride3=16 dstStride4=8",
       ".output name=y type=i16 shape=[4] at=256",
       ".output name=z type=i64 shape=[4] at=264"}));
  EXPECT_EQ(values(result), (std::vector<double>(4, 32767)));
  EXPECT_EQ(values(result, 1),
            (std::vector<double>{23 * 16384., 29 * 16384., 94 * 16384.,
                                 111 * 16384.}));
}

TEST(Array, SelectModeMovesEveryBit) {
  // The 4 x 4 example of the identity transposition on binary32, with a NaN
  // payload and -0 among the numbers: rows of A become columns.
  auto result = runText(R"(
.machine name=fig3-4x4
.f32 at=0 values=[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]
.data at=48 hex=0100c07f00000080ffffff7f00000500
.data at=64 hex=01000000000100000000010000000001
.output name=y type=u32 shape=[16] at=128
dma.copy elemBytes=4 srcMem=dram dstMem=sb n3=4 n4=4 srcStride3=16 srcStride4=4 dstStride3=65536 dstStride4=4
dma.copy srcMem=dram srcBase=64 dstMem=sb dstBase=64 n3=4 n4=4 srcStride3=4 srcStride4=1 dstStride3=65536 dstStride4=1
pe.load rows=4 cols=4 colStride=4 type=f32 mode=select
pe.swap
pe.matmul rows=4 cols=4 offset=64 type=u8 mode=select n2=4 stride2=1 psumStride2=1 hi0=1 hi1=1 hi2=4
act.drain cols=4 n2=4 psumStride2=1 mode=raw64 dstType=u32 dstOffset=128 dstStride2=4
dma.copy elemBytes=4 srcMem=sb srcBase=128 dstMem=dram dstBase=128 n3=4 n4=4 srcStride3=65536 srcStride4=4 dstStride3=16 dstStride4=4
)");
  auto bits = [](float x) { return double(std::bit_cast<uint32_t>(x)); };
  EXPECT_EQ(values(result),
            (std::vector<double>{bits(1), bits(5), bits(9), 0x7fc00001, bits(2),
                                 bits(6), bits(10), 0x80000000, bits(3),
                                 bits(7), bits(11), 0x7fffffff, bits(4),
                                 bits(8), bits(12), 0x00050000}));
}

// Bytes less a zero point, both operands; a step of padding is zero, not the
// zero point. The second product reads the moving bytes as they are:
//   moving - 3:  2 0 | 252 -3          weights - 120:  -120 135 | 0 1
TEST(Array, ZeroPointsOfIntegers) {
  const std::string text = R"(
.machine name=a1-tiny
.data at=0 hex=0503ff00
.data at=16 hex=00ff7879
dma.copy srcMem=dram dstMem=sb n3=2 n4=2 srcStride3=2 srcStride4=1 dstStride3=65536 dstStride4=1
dma.copy srcMem=dram srcBase=16 dstMem=sb dstBase=8 n3=2 n4=2 srcStride3=2 srcStride4=1 dstStride3=65536 dstStride4=1
pe.load rows=2 cols=2 offset=8 colStride=1 type=u8 mode=int zero=120
pe.swap
pe.matmul rows=2 cols=2 offset=-1 type=u8 mode=int zero=3 n2=3 stride2=1 psumStride2=1 hi0=1 hi1=1 lo2=1 hi2=3
pe.matmul rows=2 cols=2 offset=-1 type=u8 mode=int n2=3 stride2=1 psumStride2=1 hi0=1 hi1=1 lo2=1 hi2=3 accumulate=1
act.drain cols=2 n2=3 psumStride2=1 mode=int dstType=i32 dstOffset=256 dstStride2=4
dma.copy elemBytes=4 srcMem=sb srcBase=256 dstMem=dram dstBase=256 n3=2 n4=3 srcStride3=65536 srcStride4=4 dstStride3=12 dstStride4=4
.output name=y type=i32 shape=[6] at=256
)";
  for (const numerics::KernelTable *table : numerics::availableKernels()) {
    emulator::Options options;
    options.kernels = table->name.str();
    EXPECT_EQ(
        values(runText(text, options)),
        (std::vector<double>{0, -240 - 600, 0 - 360, 0, 522 + 930, -3 + 405}));
  }
}

TEST(Array, DumpsPlannedTensors) {
  // The encoded result above in logical order [step, column], with its cells
  // and its scale exponent, copied out right after the drain.
  container::Program program = assembleText(
      lines({operands, matmul,
             "act.drain cols=2 n2=2 psumStride2=1 xrA=1 xrS=0 shift=-14 "
             "dstOffset=256 dstStride2=1 dstType=bfp dstMantissa=8 dstBlock=8 "
             "dstXr=5 dstXrClear=1",
             "dma.fill dstMem=sb dstBase=256",
             ".dump name=t memory=sb mantissa=8 block=8 range=7 axis=1 xr=5 "
             "shape=[2, 2] strides=[1, 0] channelAxis=1 at=256 after=0"}),
      true);
  auto code = llvm::cantFail(isa::decodeAll(program.code));
  for (size_t i = 0; i < code.size(); ++i)
    if (std::holds_alternative<isa::ActDrain>(code[i]))
      program.dumps[0].afterInstruction = static_cast<uint32_t>(i);
  emulator::Options options;
  options.dumpTensors = true;
  auto loaded = llvm::cantFail(emulator::load(program, options));
  auto result = llvm::cantFail(emulator::run(loaded, {}, options));
  ASSERT_EQ(result.dumps.size(), 1u);
  EXPECT_EQ(result.dumps[0].data, (std::vector<uint8_t>{23, 94, 29, 111}));
  EXPECT_EQ(result.dumps[0].exponents, (std::vector<int8_t>{6, 6}));
  EXPECT_EQ(result.dumps[0].scaleExponent, 0);
}
