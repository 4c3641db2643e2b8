// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The block floating point unit as assembly: the worked values of its source
// (four steps at 16 and 8 bits, encoding under a fixed exponent), selectors
// with values worked out by hand, exact elementwise functions.

#include "TestSupport.h"

using namespace ashlar;
using namespace ashlar::test;

namespace {

constexpr const char *machineText = ".machine name=a1-tiny\n"
                                    ".model name=unit\n";

/// Encode under one exponent each, multiply, add the aligned bias, select the
/// exponent of the result and shift: {out 0, out 1, cell}.
std::vector<double> runUnit(unsigned width, const char *bias) {
  const char *type = width > 8 ? "i16" : "i8";
  std::string text = fmt::format(
      R"(.data at=0 hex=0000003f0000803f0000803f000080be0000403f000000400000003e000000bf000040c0
.data at=64 hex={1}
.output name=y type={2} shape=[2] at=128
.output name=x type=i8 shape=[1] at=160
dma.copy dstMem=sb n3=3 n4=12 srcStride3=12 srcStride4=1 dstStride3=65536 dstStride4=1
dma.copy srcBase=64 dstMem=sb dstBase=64 n3=2 n4=16 srcStride3=16 srcStride4=1 dstStride3=65536 dstStride4=1
vec.measure channels=3 n2=2 type=f32 mantissa={0} stride2=4 xr=0 clear=1
vec.map op=copy channels=3 n2=2 aType=f32 aStride2=4 dstType=bfp dstMantissa={0} dstOffset=32 dstStride2=2 dstXr=0 cellFromXr=1
vec.measure channels=3 type=f32 mantissa={0} offset=8 xr=1 clear=1
vec.map op=copy channels=3 aType=f32 aOffset=8 dstType=bfp dstMantissa={0} dstOffset=36 dstXr=1 cellFromXr=1
pe.load rows=3 cols=2 offset=32 colStride=2 type=bfp mantissa={0} range=0 xr=0
pe.swap
pe.matmul rows=3 cols=2 offset=36 type=bfp mantissa={0} range=0 xr=1 hi0=1 hi1=1 hi2=1
act.drain mode=block cols=2 xrA=1 xrS=0 hasBias=1 biasAligned=1 paramOffset=64 dstType=bfp dstMantissa={0} dstBlock=8 dstOffset=96 dstXr=2 dstXrClear=1
dma.copy srcMem=sb srcBase=96 dstBase=128 elemBytes={3} n4=2 srcStride4=65536 dstStride4={3}
dma.copy srcMem=xm srcBase=96 dstBase=160
)",
      width, bias, type, width > 8 ? 2 : 1);
  emulator::RunResult result = runText(machineText + text);
  std::vector<double> all = values(result);
  for (double cell : values(result, 1))
    all.push_back(cell);
  return all;
}

TEST(BlockUnit, WorkedExample16) {
  // b = (13107, -26214) * 2^-17; e4 = -13 is cell 1.
  EXPECT_EQ(runUnit(16, "000000003333efff0000000000000000"
                        "000000009a99efff0000000000000000"),
            (std::vector<double>{-2253, 31130, 1}));
}

TEST(BlockUnit, WorkedExample8) {
  // b = (51, -102) * 2^-9; e4 = -5 is cell 1.
  EXPECT_EQ(runUnit(8, "000000003300f7ff0000000000000000"
                       "000000009afff7ff0000000000000000"),
            (std::vector<double>{-9, 122, 1}));
}

/// 131072, 256, 1, 0.5, 0.125 under a fixed exponent.
std::vector<double> fixedExponent(int exponent, const char *overflow) {
  return values(
      runText(machineText +
              fmt::format(
                  R"(.data at=0 hex=00000048000080430000803f0000003f0000003e
.output name=y type=i16 shape=[5] at=64
dma.copy dstMem=sb n4=20 srcStride4=1 dstStride4=1
xr.set xr=3 value={}
vec.map op=copy n2=5 aType=f32 aStride2=4 dstType=bfp dstMantissa=16 dstOffset=32 dstStride2=2 dstXr=3 cellFromXr=1 overflow={}
dma.copy srcMem=sb srcBase=32 dstBase=64 elemBytes=2 n4=5 srcStride4=2 dstStride4=2
)",
                  exponent, overflow)));
}

TEST(BlockUnit, FixedExponent) {
  using Row = std::vector<double>;
  EXPECT_EQ(fixedExponent(3, "wrap"), (Row{16384, 32, 0, 0, 0}));
  EXPECT_EQ(fixedExponent(-3, "wrap"), (Row{0, 2048, 8, 4, 1}));
  EXPECT_EQ(fixedExponent(-3, "saturate"), (Row{32767, 2048, 8, 4, 1}));
}

/// Encodes 1.0 at W = 8 under the exponent of XR[4] that `code` computes.
/// Data: 3, 1 (f32), as encoded samples at 32 (one channel, W = 8).
double selected(const std::string &code) {
  std::vector<double> found = values(runText(
      machineText + std::string(R"(.data at=0 hex=000040400000803f
.output name=y type=i8 shape=[1] at=64
dma.copy dstMem=sb n4=8 srcStride4=1 dstStride4=1
vec.map op=copy n2=2 aType=f32 aStride2=4 dstType=bfp dstMantissa=8 dstOffset=32 dstStride2=1 dstXr=0 dstXrClear=1
vec.stat n2=2 type=bfp mantissa=8 offset=32 stride2=1 sr=1 clear=1
)") + code +
      R"(vec.map op=copy aType=f32 aOffset=4 dstType=bfp dstMantissa=8 dstOffset=48 dstXr=4 cellFromXr=1
dma.copy srcMem=xm srcBase=48 dstBase=64
)"));
  return found.empty() ? 99 : found[0];
}

TEST(BlockUnit, Selectors) {
  // Mean 2, deviation 1: the cell is lead(log2(2 + k)).
  EXPECT_EQ(selected("xr.select dst=4 sr=1 k=0 mantissa=8\n"), 1);
  EXPECT_EQ(selected("xr.select dst=4 sr=1 k=31 mantissa=8\n"), 1);
  EXPECT_EQ(selected("xr.select dst=4 sr=1 k=32 mantissa=8\n"), 2);
  EXPECT_EQ(selected("xr.select dst=4 sr=1 k=32 mantissa=8 lead=ceil\n"), 2);
  EXPECT_EQ(selected("xr.select dst=4 sr=1 k=33 mantissa=8 lead=ceil\n"), 3);
  EXPECT_EQ(selected("xr.select dst=4 sr=1 mantissa=8 rule=maximum\n"), 1);
  EXPECT_EQ(selected("xr.set xr=2 value=-32768\nxr.set xr=3 value=-3\n"
                     "xr.pick dst=4 preferred=2 fallback=3\n"),
            3);
  EXPECT_EQ(selected("xr.set xr=2 value=-4\nxr.set xr=3 value=-3\n"
                     "xr.pick dst=4 preferred=2 fallback=3\n"),
            2);
}

TEST(BlockUnit, Prediction) {
  std::string history;
  for (int i = 16; i < 22; ++i) // empty history, depth 2
    history += fmt::format("xr.set xr={} value=0\n", i);
  const std::string predict = "xr.predict dst=4 history=16 depth=2 observed=5 "
                              "sr=1 mantissa=8 range=7 k=0\n";
  auto start = [&](int used, int observed) {
    return history + fmt::format("xr.set xr=4 value={}\nxr.set xr=5 "
                                 "value={}\n",
                                 used, observed);
  };
  // Largest sample 3: cell 1; after an overflow it counts as 6: cell 2.
  EXPECT_EQ(selected(start(-5, -5) + predict), 1);
  EXPECT_EQ(selected(start(-6, -5) + predict), 2);
  // Twice: the mean of 6 and 3 is 4.5; the overflow of the first step only.
  EXPECT_EQ(selected(start(-6, -5) + predict + predict), 2);
  // An underflow forgets the 6.
  EXPECT_EQ(
      selected(start(-6, -5) + predict + "xr.set xr=4 value=9\n" + predict), 1);
}

TEST(BlockUnit, ErrorRule) {
  // Samples 3 and 1 of leading places 1 and 0: E = -2 may lose an eighth of
  // each, E = 0 half of each, of magnitudes of 4.
  const std::string error = "xr.select dst=4 sr=1 mantissa=8 rule=error k=";
  EXPECT_EQ(selected("xr.set xr=4 value=-2\n" + error + "4\n"), 4);
  EXPECT_EQ(selected("xr.set xr=4 value=-2\n" + error + "5\n"), 1);
  EXPECT_EQ(selected("xr.set xr=4 value=0\n" + error + "2\n"), 6);
  EXPECT_EQ(selected("xr.set xr=4 value=-32768\n" + error + "31\n"), 1);
}

/// 3 and 0.5, a block each of W = 8, under e = XR[3]: mantissas, cells, the
/// register 5 that collects what they have of their own, and the run.
struct GivenRun {
  std::vector<double> mantissas, cells, own;
  emulator::RunResult result;
};
GivenRun runGiven(int exponent, const char *fields) {
  GivenRun run;
  run.result = runText(machineText + fmt::format(
                                         R"(.data at=0 hex=000040400000003f
.output name=m type=i8 shape=[2] at=64
.output name=x type=i8 shape=[2] at=96
.output name=o type=i16 shape=[1] at=128
dma.copy dstMem=sb n4=8 srcStride4=1 dstStride4=1
xr.set xr=3 value={}
vec.map op=copy n2=2 aType=f32 aStride2=4 dstType=bfp dstMantissa=8 dstOffset=32 dstStride2=1 dstXr=3 cellFromXr=1 ownXr=5 keepOwn=1 dstXrClear=1 {}
dma.copy srcMem=sb srcBase=32 dstBase=64 n4=2 srcStride4=1 dstStride4=1
dma.copy srcMem=xm srcBase=32 dstBase=96 n4=2 srcStride4=1 dstStride4=1
dma.copy srcMem=xr srcBase=10 dstBase=128 elemBytes=2
)",
                                         exponent, fields));
  run.mantissas = values(run.result, 0);
  run.cells = values(run.result, 1);
  run.own = values(run.result, 2);
  return run;
}

TEST(BlockUnit, GivenExponents) {
  using Row = std::vector<double>;
  // Steps of 2^-6: 3 is 192 steps, which 8 bits do not hold.
  GivenRun clipped = runGiven(-6, "");
  EXPECT_EQ(clipped.mantissas, (Row{127, 32}));
  EXPECT_EQ(clipped.cells, (Row{0, 0}));
  EXPECT_EQ(runGiven(-6, "overflow=wrap").mantissas, (Row{-64, 32}));
  GivenRun repaired = runGiven(-6, "repair=1");
  EXPECT_EQ(repaired.mantissas, (Row{96, 32}));
  EXPECT_EQ(repaired.cells, (Row{1, 0}));
  // Of their own they have 2^-5 and 2^-7, whoever takes them.
  EXPECT_EQ(clipped.own, (Row{-5}));
  EXPECT_EQ(repaired.own, (Row{-5}));
  // Nothing is known: both have their own.
  EXPECT_EQ(runGiven(-32768, "").cells, (Row{1, -1}));
  // The map with a repaired block takes its time twice.
  GivenRun fits = runGiven(-5, "repair=1");
  EXPECT_EQ(fits.result.unassigned.repairCycles, 0u);
  const uint64_t again = repaired.result.unassigned.repairCycles;
  EXPECT_GT(again, 0u);
  EXPECT_EQ(repaired.result.unassigned.busy[7],
            fits.result.unassigned.busy[7] + again);
  EXPECT_EQ(repaired.result.totalCycles, fits.result.totalCycles + again);
}

/// Elements op(3, 1) and op(-2, 0) at W = 8, one block each.
std::vector<double> blockFunction(const char *op) {
  return values(runText(machineText +
                        fmt::format(
                            R"(.data at=0 hex=00004040000000c00000803f00000000
.output name=y type=i8 shape=[2] at=64
dma.copy dstMem=sb n4=16 srcStride4=1 dstStride4=1
vec.map op=copy n2=4 aType=f32 aStride2=4 dstType=bfp dstMantissa=8 dstOffset=32 dstStride2=1 dstXr=0 dstXrClear=1
vec.map op={} n2=2 aType=bfp aMantissa=8 aOffset=32 aStride2=1 bMode=tensor bType=bfp bMantissa=8 bOffset=34 bStride2=1 dstType=bfp dstMantissa=8 dstOffset=48 dstStride2=1 dstXr=1 dstXrClear=1
dma.copy srcMem=sb srcBase=48 dstBase=64 n4=2 srcStride4=1 dstStride4=1
)",
                            op)));
}

TEST(BlockUnit, ElementwiseFunctions) {
  using Row = std::vector<double>;
  EXPECT_EQ(blockFunction("blockAdd"), (Row{64, -64}));
  EXPECT_EQ(blockFunction("blockSub"), (Row{64, -64}));
  EXPECT_EQ(blockFunction("blockMul"), (Row{96, 0}));
  // A block that is nothing but a division by zero has no exponent.
  EXPECT_EQ(blockFunction("blockDiv"), (Row{96, 0}));
}

TEST(BlockUnit, Refused) {
  const std::string text = machineText;
  auto fault = [&](const char *code) {
    return emulator::describe(faultOf(text + code));
  };
  auto names = [](const std::string &message, const char *part) {
    EXPECT_NE(message.find(part), std::string::npos) << message;
  };
  names(fault("xr.set xr=4 value=0\nxr.set xr=5 value=0\n"
              "xr.predict dst=4 history=4 depth=1 observed=5 mantissa=8\n"),
        "part of the history");
  names(fault("xr.select dst=1 sr=2 mantissa=8\n"), "has not been written");
  names(fault("xr.select dst=1 sr=16 mantissa=8\n"), "sr[0..1)[16..17)");
  names(fault("vec.stat type=f32 mantissa=8 clear=1\n"), "expected encoded");
  names(fault("vec.stat n2=2 type=bfp mantissa=8 clear=1\n"), "twice");
  names(fault("vec.map op=copy aType=f32 dstType=f32 cellFromXr=1\n"),
        "an exponent is given");
  const std::string map = "xr.set xr=3 value=0\nvec.map op=copy aType=f32 "
                          "dstType=bfp dstMantissa=8 dstOffset=32 ";
  names(fault((map + "repair=1\n").c_str()), "without a given one");
  names(fault((map + "keepOwn=1 ownXr=5\n").c_str()), "without a given one");
  names(fault((map + "dstXr=3 cellFromXr=1 keepOwn=1 ownXr=3\n").c_str()),
        "gives the exponent and collects others");
  names(fault((map + "dstXr=3 cellFromXr=1 repair=1 overflow=wrap\n").c_str()),
        "repaired and wrap");
  names(fault((map + "dstXr=3 cellFromXr=1 dstXrClear=1\n").c_str()),
        "gives the exponent and is cleared");
  names(fault("act.drain mode=block dstType=f32\n"), "drain mode block");
}

} // namespace
