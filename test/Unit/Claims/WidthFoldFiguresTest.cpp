// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The two embodiments of lane-folded convolution, as programs on an array of
// the source's size: 16 columns are its slaves, 16 row groups of 16 rows are
// the four computing units with four pixels each. Figures 8 to 12 are what the
// programs do: which column has which output, which pixels a tap meets, the
// order of results.

#include "../Emulator/TestSupport.h"

#include <fmt/format.h>

using namespace ashlar;
using namespace ashlar::test;

namespace {

constexpr int64_t kLanes = 16, kGroup = 16, kColumns = 16; // of the array
constexpr int64_t kTaps = 3, kWidth = 16; // of the kernel, of the results
constexpr int64_t kInput = kWidth + kTaps - 1;
constexpr int64_t kPixels = 2; // of an input row in lanes
constexpr int64_t kPartition = 65536;
constexpr int64_t kWeights = 4096, kResults = 8192; // offsets in a partition
constexpr unsigned kPe = 5;                         // queue

int64_t input(int64_t h, int64_t w, int64_t c) {
  return (7 * h + 5 * w + 3 * c + h * w) % 13;
}

int64_t weight(int64_t co, int64_t kh, int64_t kw, int64_t c) {
  return (co + 4 * kh + 2 * kw + 5 * c + co * c) % 11;
}

struct Program {
  int64_t channels, outputs;
  int64_t blocks() const { return channels / kGroup; }   // BCi
  int64_t kernels() const { return outputs / kColumns; } // nco of a slave
  int64_t weightsAt() const { return kTaps * kInput * channels; }
  int64_t resultsAt() const {
    return weightsAt() + outputs * kTaps * kTaps * channels;
  }
  int64_t tap(int64_t b, int64_t kh, int64_t kw, int64_t n) const {
    return ((b * kTaps + kh) * kTaps + kw) * kernels() + n;
  }

  std::string constants() const {
    std::string hex;
    for (int64_t h = 0; h < kTaps; ++h)
      for (int64_t w = 0; w < kInput; ++w)
        for (int64_t c = 0; c < channels; ++c)
          hex += fmt::format("{:02x}", input(h, w, c));
    for (int64_t co = 0; co < outputs; ++co)
      for (int64_t kh = 0; kh < kTaps; ++kh)
        for (int64_t kw = 0; kw < kTaps; ++kw)
          for (int64_t c = 0; c < channels; ++c)
            hex += fmt::format("{:02x}", weight(co, kh, kw, c));
    return fmt::format(".data at=0 hex={}\n", hex);
  }

  /// Rows of 16 pixels side by side (Fig. 9): pixel w lies in lane w mod 16.
  std::string loadInput(int64_t b) const {
    std::string text;
    for (int64_t pixel = 0; pixel < kPixels; ++pixel)
      text += fmt::format(
          "dma.copy dstMem=sb srcBase={} dstBase={} n2={} n3={} n4={} "
          "srcStride2={} srcStride3={} srcStride4=1 dstStride2={} "
          "dstStride3={} dstStride4={}\n",
          b * kGroup + pixel * kLanes * channels, b * kTaps * kPixels + pixel,
          kTaps, std::min(kLanes, kInput - pixel * kLanes), kGroup,
          kInput * channels, channels, kPixels, kGroup * kPartition,
          kPartition);
    return text;
  }

  /// Fig. 8: column s gets the outputs s, s + 16, s + 32, ...
  std::string loadKernel(int64_t b, int64_t kh, int64_t kw, int64_t n) const {
    return fmt::format(
        "dma.copy dstMem=sb srcBase={} dstBase={} n3={} n4={} srcStride3=1 "
        "srcStride4={} dstStride3={} dstStride4=1\n",
        weightsAt() + ((n * kColumns * kTaps + kh) * kTaps + kw) * channels +
            b * kGroup,
        kWeights + tap(b, kh, kw, n) * kColumns, kGroup, kColumns,
        kTaps * kTaps * channels, kPartition);
  }

  /// One cycle of the source: 16 kernels meet 16 windows (Figs. 10 and 12).
  std::string multiply(int64_t b, int64_t kh, int64_t kw, int64_t n) const {
    return fmt::format(
        "pe.load rows={0} cols={1} offset={2} colStride=1 type=u8 mode=int\n"
        "pe.swap\n"
        "pe.matmul rows={0} cols={1} offset={3} type=u8 mode=int groups={4} "
        "stride2=1 psum={5} psumStride2=1 hi0=1 hi1=1 hi2={6} shift={7} "
        "validW={8} accumulate={9}\n",
        kGroup, kColumns, kWeights + tap(b, kh, kw, n) * kColumns,
        (b * kTaps + kh) * kPixels, kLanes, n * kWidth, kInput, kw, kWidth,
        b + kh + kw > 0 ? 1 : 0);
  }

  std::string text() const {
    std::string text = ".machine yaml=\"name: wfold\\nbase: a1-ideal\\npe: "
                       "{rows: 256, columns: "
                       "16, row_group_granularity: 16}\\nsb: {partitions: "
                       "256}\\n\"\n" +
                       constants();
    text += fmt::format(".output name=y type=i32 shape=[{},{}] at={}\n", kWidth,
                        outputs, resultsAt());
    std::string array;
    for (int64_t b = 0; b < blocks(); ++b) {
      text += loadInput(b);
      for (int64_t kh = 0; kh < kTaps; ++kh)
        for (int64_t kw = 0; kw < kTaps; ++kw)
          for (int64_t n = 0; n < kernels(); ++n) { // outputs innermost
            text += loadKernel(b, kh, kw, n);
            array += multiply(b, kh, kw, n);
          }
    }
    text += array;
    // Fig. 11: PSUM has columns of a kernel one after the other, the drain and
    // the store give outputs first.
    text += fmt::format(
        "act.drain cols={} n2={} psumStride2=1 mode=int dstType=i32 "
        "dstOffset={} dstStride2=4\n",
        kColumns, kernels() * kWidth, kResults);
    text += fmt::format(
        "dma.copy elemBytes=4 srcMem=sb dstMem=dram srcBase={} dstBase={} "
        "n2={} n3={} n4={} srcStride2=4 srcStride3={} srcStride4={} "
        "dstStride2={} dstStride3={} dstStride4=4\n",
        kResults, resultsAt(), kWidth, kernels(), kColumns, 4 * kWidth,
        kPartition, 4 * outputs, 4 * kColumns);
    return text;
  }
};

/// Runs the program and compares with the definition of convolution.
emulator::RunResult check(const Program &program) {
  emulator::RunResult result = runText(program.text());
  const std::vector<double> y = values(result);
  EXPECT_EQ(y.size(), static_cast<size_t>(kWidth * program.outputs));
  if (y.size() != static_cast<size_t>(kWidth * program.outputs))
    return result;
  for (int64_t w = 0; w < kWidth; ++w)
    for (int64_t co = 0; co < program.outputs; ++co) {
      int64_t sum = 0;
      for (int64_t kh = 0; kh < kTaps; ++kh)
        for (int64_t kw = 0; kw < kTaps; ++kw)
          for (int64_t c = 0; c < program.channels; ++c)
            sum += input(kh, w + kw, c) * weight(co, kh, kw, c);
      EXPECT_EQ(y[w * program.outputs + co], sum) << "w" << w << " co" << co;
    }
  return result;
}

/// 16 channels, 64 outputs: 4 kernels of each slave, 9 taps.
TEST(WidthFoldFigure, Embodiment1_Figures8To11_36CyclesFor64x16Results) {
  const emulator::RunResult result = check({16, 64});
  EXPECT_EQ(result.queues[kPe].busy, 36u);
}

/// 48 channels in three blocks, 32 outputs. The source's [190] speaks of one
/// point a unit; four, 16 in all, are what its own counts need.
TEST(WidthFoldFigure, Embodiment2_Figure12_54CyclesFor32x16Results) {
  const emulator::RunResult result = check({48, 32});
  EXPECT_EQ(result.queues[kPe].busy, 54u);
}

} // namespace
