// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The statements about block floating point that speak of a machine
// (BlockFloatingPointTest.cpp has the others): programs on the emulator show
// what instructions do and which memory a number lives in.

#include "../Emulator/TestSupport.h"

#include "ashlar/Machine/Description.h"

#include <bit>
#include <cmath>

using namespace ashlar;
using namespace ashlar::test;

namespace {

using Row = std::vector<double>;

std::string hexOf(const std::vector<float> &values) {
  std::string text;
  for (float v : values) {
    auto bits = std::bit_cast<uint32_t>(v);
    for (int i = 0; i < 4; ++i)
      text += fmt::format("{:02x}", bits >> (8 * i) & 0xff);
  }
  return text;
}

constexpr const char *kHeader = ".machine name=a1-tiny\n.model name=claim\n";

/// Matrix (.5 -.25 .125 | 1 .75 -.5), encoded at SB 32 under XR 0, and vector
/// (1 2 -3) * factor at SB 36 under XR 1, W = 8. The outputs come first.
std::string operands(float factor) {
  return fmt::format(
      R"(.data at=0 hex={}
.output name=y type=i8 shape=[2] at=128
.output name=cell type=i8 shape=[1] at=160
.output name=scale type=i16 shape=[8] at=192
.output name=f type=f32 shape=[2] at=224
dma.fill dstMem=dram dstBase=128 n4=104 dstStride4=1
dma.copy dstMem=sb n3=3 n4=12 srcStride3=12 srcStride4=1 dstStride3=65536 dstStride4=1
vec.measure channels=3 n2=2 type=f32 mantissa=8 stride2=4 xr=0 clear=1
vec.map op=copy channels=3 n2=2 aType=f32 aStride2=4 dstType=bfp dstMantissa=8 dstOffset=32 dstStride2=1 dstXr=0 cellFromXr=1
vec.measure channels=3 type=f32 mantissa=8 offset=8 xr=1 clear=1
vec.map op=copy channels=3 aType=f32 aOffset=8 dstType=bfp dstMantissa=8 dstOffset=36 dstXr=1 cellFromXr=1
)",
      hexOf({0.5f, 1.0f, factor, -0.25f, 0.75f, 2 * factor, 0.125f, -0.5f,
             -3 * factor}));
}

/// The products (-.375, 4) * factor in the accumulators.
constexpr const char *kMultiply =
    R"(pe.load rows=3 cols=2 offset=32 colStride=1 type=bfp mantissa=8 xr=0
pe.swap
pe.matmul rows=3 cols=2 offset=36 type=bfp mantissa=8 xr=1 hi0=1 hi1=1 hi2=1
)";

/// ... as blocks at SB 96, their scale merged into XR 2.
constexpr const char *kDrain =
    R"(act.drain mode=block cols=2 xrA=1 xrS=0 dstType=bfp dstMantissa=8 dstBlock=8 dstOffset=96 dstXr=2 dstXrClear=1
)";

/// Mantissas and cell from SB `offset`, and the first registers.
std::string store(unsigned offset) {
  return fmt::format(
      R"(dma.copy srcMem=sb srcBase={0} dstMem=dram dstBase=128 n4=2 srcStride4=65536 dstStride4=1
dma.copy srcMem=xm srcBase={0} dstMem=dram dstBase=160
)",
      offset);
}

/// XR 0, 1, ... of `count` registers from `first` on.
std::string storeScales(unsigned first, unsigned count) {
  return fmt::format("dma.copy elemBytes=2 srcMem=xr srcBase={} dstMem=dram "
                     "dstBase=192 n4={} srcStride4=2 dstStride4=2\n",
                     2 * first, count);
}

Row outputs(const std::string &code, size_t output, float factor = 1) {
  return values(runText(kHeader + operands(factor) + code), output);
}

/// One whole iteration: multiply, add exponents, sample the result, select
/// the new exponent, shift to it, store. XR 4 has the exponent.
std::string update(unsigned k) {
  return std::string(kMultiply) + kDrain +
         fmt::format(
             R"(vec.stat channels=2 type=bfp mantissa=8 offset=96 sr=1 clear=1
xr.select dst=4 sr=1 k={} mantissa=8
vec.map op=copy channels=2 aType=bfp aMantissa=8 aOffset=96 dstType=bfp dstMantissa=8 dstOffset=112 dstXr=4 cellFromXr=1
)",
             k);
}

TEST(Claim11, instructionsPerformTheUpdate) {
  // Magnitudes .375 and 4: mean 2.1875, deviation 1.8125. With the mean alone
  // steps of 2^-5 hold 4 but for one step, with a deviation those of 2^-4.
  EXPECT_EQ(outputs(update(0) + store(112), 0), (Row{-12, 127}));
  EXPECT_EQ(outputs(update(0) + store(112), 1), (Row{1}));
  EXPECT_EQ(outputs(update(16) + store(112), 0), (Row{-6, 64}));
  EXPECT_EQ(outputs(update(16) + store(112), 1), (Row{2}));
  // The adder's exponent takes part: operands an octave up.
  EXPECT_EQ(outputs(update(0) + store(112), 0, 2), (Row{-12, 127}));
  EXPECT_EQ(outputs(update(0) + store(112), 1, 2), (Row{2}));
  EXPECT_EQ(outputs(update(0) + storeScales(4, 1), 2)[0], -5);
  EXPECT_EQ(outputs(update(0) + storeScales(4, 1), 2, 2)[0], -4);
}

/// Shows one element of the vector, 1, 2 or 3, to a predictor of depth 2 with
/// its history from XR 16 on.
std::string show(unsigned element) {
  return fmt::format(
      R"(vec.map op=copy aType=f32 aPart={0} aOffset=8 dstType=bfp dstMantissa=8 dstOffset=40 dstXr=5 dstXrClear=1
vec.stat type=bfp mantissa=8 offset=40 sr=1 clear=1
xr.set xr=4 value=-32768
xr.predict dst=4 history=16 depth=2 observed=5 sr=1 mantissa=8 range=7 k=0
)",
      element - 1);
}

std::string emptyHistory() {
  std::string text;
  for (int i = 16; i < 22; ++i)
    text += fmt::format("xr.set xr={} value=0\n", i);
  return text;
}

TEST(Claim13, aMemoryKeepsTheSuccessiveElements) {
  auto history = [](const std::string &code) {
    Row words = outputs(emptyHistory() + code + storeScales(16, 6), 2);
    words.resize(6);
    return words;
  };
  // Two kept, the next place; 3, 1 and 2 are 96 * 2^-5, 64 * 2^-6, 64 * 2^-5.
  EXPECT_EQ(history(show(3)), (Row{1, 1, 96, -5, 0, 0}));
  EXPECT_EQ(history(show(3) + show(1)), (Row{2, 0, 96, -5, 64, -6}));
  EXPECT_EQ(history(show(3) + show(1) + show(2)), (Row{2, 1, 64, -5, 64, -6}));
  // What is kept decides: after 3 and 1 their mean, after 1 and 1 that.
  auto next = [](const std::string &code) {
    return outputs(emptyHistory() + code + storeScales(4, 1), 2)[0];
  };
  EXPECT_EQ(next(show(3) + show(1)), 1 - 6);
  EXPECT_EQ(next(show(1) + show(1)), 0 - 6);
}

TEST(Claim15, aSequencerControlsTheOperations) {
  // Order decides: the last of two instructions for one register wins.
  const std::string low = "xr.set xr=4 value=-9\n",
                    high = "xr.set xr=4 value=9\n";
  EXPECT_EQ(outputs(low + high + storeScales(4, 1), 2)[0], 9);
  EXPECT_EQ(outputs(high + low + storeScales(4, 1), 2)[0], -9);
  // Queues run side by side until a wait holds one of them: without it the
  // drain would read accumulators that are being summed.
  const std::string held = "sem.signal queue=vec sem=0\n"
                           "sem.wait queue=dma0 sem=0\n";
  auto program = [&](const std::string &between) {
    return std::string(".machine name=a1-tiny\n.model name=claim\n"
                       ".semaphores count=1\n.memory dram=64\n"
                       "vec.map op=exp n2=64 aType=f32 bMode=none "
                       "dstType=f32 dstOffset=512 aStride2=4 dstStride2=4\n") +
           between +
           "dma.copy queue=dma0 srcMem=sb srcBase=512 dstMem=dram n4=4 "
           "srcStride4=1 dstStride4=1\n";
  };
  emulator::Options options;
  options.checkUndefined = false;
  auto loads = [&](const std::string &text, emulator::Fault &fault) {
    auto loaded = emulator::load(assembleText(text, false), options, &fault);
    if (!loaded)
      llvm::consumeError(loaded.takeError());
    return bool(loaded);
  };
  emulator::Fault fault;
  EXPECT_TRUE(loads(program(held), fault));
  EXPECT_FALSE(loads(program(""), fault));
  EXPECT_EQ(fault.kind, emulator::FaultKind::Race);
}

TEST(Claim17, theMachineIsANeuralNetworkProcessor) {
  // A layer, relu(M v), on every machine that there is.
  for (llvm::StringRef name : machine::builtinNames()) {
    machine::Description machine = llvm::cantFail(machine::load(name));
    std::string code = operands(1) + kMultiply +
                       "act.drain cols=2 xrA=1 xrS=0 function=relu dstType=f32 "
                       "dstOffset=96\n"
                       "dma.copy elemBytes=4 srcMem=sb srcBase=96 dstMem=dram "
                       "dstBase=224 n4=2 srcStride4=65536 dstStride4=4\n";
    // Rows of the state buffer are longer or shorter elsewhere.
    const std::string pitch =
        "=" + std::to_string(machine.sb.bytesPerPartition);
    for (size_t at = 0; (at = code.find("=65536", at)) != std::string::npos;
         at += pitch.size())
      code.replace(at, 6, pitch);
    emulator::RunResult result =
        runText(".machine name=" + name.str() + "\n.model name=layer\n" + code);
    EXPECT_EQ(values(result, 3), (Row{0, 4})) << name.str();
  }
}

TEST(Claim24, theUpdatedMatrixIsStored) {
  // The old blocks at 96 are gone before the new ones are read from memory.
  std::string code = update(0) + store(112) +
                     "dma.fill dstMem=sb n3=8 n4=128 dstStride3=65536 "
                     "dstStride4=1\n"
                     "dma.copy srcMem=dram srcBase=128 dstMem=sb dstBase=48 "
                     "n4=2 srcStride4=1 dstStride4=65536\n"
                     "dma.copy srcMem=dram srcBase=160 dstMem=xm dstBase=48\n"
                     "vec.map op=copy channels=2 aType=bfp aMantissa=8 "
                     "aOffset=48 dstType=f32 dstOffset=64\n"
                     "dma.copy elemBytes=4 srcMem=sb srcBase=64 dstMem=dram "
                     "dstBase=224 n4=2 srcStride4=65536 dstStride4=4\n";
  EXPECT_EQ(outputs(code, 3), (Row{-0.375, 127.0 / 32}));
}

/// The blocks at 96 as floats.
constexpr const char *kDecode =
    R"(vec.map op=copy channels=2 aType=bfp aMantissa=8 aOffset=96 dstType=f32 dstOffset=64
dma.copy elemBytes=4 srcMem=sb srcBase=64 dstMem=dram dstBase=224 n4=2 srcStride4=65536 dstStride4=4
)";

Row decoded(const std::string &tampering) {
  return outputs(std::string(kMultiply) + kDrain + tampering + kDecode, 3);
}

TEST(Claim25, mantissasAreInBlockMemory) {
  EXPECT_EQ(decoded(""), (Row{-0.375, 4}));
  // Steps of 2^-4: a byte of the state buffer is a mantissa and nothing else.
  EXPECT_EQ(decoded("dma.fill dstMem=sb dstBase=96 value=5\n"),
            (Row{0.3125, 4}));
  EXPECT_EQ(decoded("dma.fill dstMem=sb dstBase=65632 value=251\n"),
            (Row{-0.375, -0.3125}));
  EXPECT_EQ(decoded("dma.fill dstMem=sb dstBase=97 value=5\n"),
            (Row{-0.375, 4}));
}

/// The products as floats, their exponent from registers `a` and `s`.
std::string drainUnder(unsigned a, unsigned s) {
  return fmt::format(
      R"(act.drain cols=2 xrA={} xrS={} dstType=f32 dstOffset=64
dma.copy elemBytes=4 srcMem=sb srcBase=64 dstMem=dram dstBase=224 n4=2 srcStride4=65536 dstStride4=4
)",
      a, s);
}

TEST(Claim26, exponentsAreInRegistersNotInBlockMemory) {
  EXPECT_EQ(outputs(kMultiply + drainUnder(1, 0), 3), (Row{-0.375, 4}));
  // Nothing is left of the state buffer: the exponents are.
  const std::string wipe = "dma.fill dstMem=sb n3=8 n4=128 dstStride3=65536 "
                           "dstStride4=1 value=85\n";
  EXPECT_EQ(outputs(kMultiply + wipe + drainUnder(1, 0), 3), (Row{-0.375, 4}));
  // Another number in a register is another exponent.
  EXPECT_EQ(outputs(kMultiply + std::string("xr.set xr=6 value=-4\n") +
                        drainUnder(6, 0),
                    3),
            (Row{-0.75, 8}));
}

TEST(Claim27, mantissasInBlockMemoryAndExponentsElsewhere) {
  const std::string wipe = "dma.fill dstMem=sb n3=8 n4=128 dstStride3=65536 "
                           "dstStride4=1\n";
  const std::string made = std::string(kMultiply) + kDrain;
  // Without the state buffer the mantissas are gone and the exponents stay.
  EXPECT_EQ(outputs(made + wipe + store(96), 0), (Row{0, 0}));
  EXPECT_EQ(outputs(made + wipe + store(96), 1), (Row{2}));
  EXPECT_EQ(outputs(made + wipe + storeScales(2, 1), 2)[0], -4);
  // Without the exponents the mantissas stay.
  const std::string blank = "dma.fill dstMem=xm n4=128 dstStride4=1\n"
                            "xr.set xr=2 value=0\n";
  EXPECT_EQ(outputs(made + blank + store(96), 0), (Row{-6, 64}));
  EXPECT_EQ(outputs(made + blank + kDecode, 3), (Row{-6.0 / 64, 1}));
}

} // namespace
