// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The stride fold against the definition of convolution, on integers, for all
// small shapes; the worked table of both padding forms; the lanes of row
// groups.

#include "Stem.h"
#include "llvm/ADT/STLExtras.h"
#include "gtest/gtest.h"

#include <fmt/format.h>
#include <numeric>

using namespace ashlar::nn;
using ashlar::test::machineWith;

namespace {

FoldConv row(int64_t width, int64_t kernel, int64_t stride, int64_t dilation,
             int64_t low, int64_t high) {
  FoldConv conv;
  conv.input = {width};
  conv.kernel = {kernel};
  conv.strides = {stride};
  conv.dilations = {dilation};
  conv.pads = {low, high};
  int64_t span = (kernel - 1) * dilation + 1;
  conv.output = {(width + low + high - span) / stride + 1};
  return conv;
}

bool isPossible(int64_t width, int64_t kernel, int64_t dilation, int64_t low,
                int64_t high) {
  return width + low + high >= (kernel - 1) * dilation + 1;
}

int64_t pixel(const std::vector<int64_t> &x, int64_t at) {
  return at < 0 || at >= static_cast<int64_t>(x.size()) ? 0 : x[at];
}

/// Values without symmetries.
std::vector<int64_t> values(int64_t count, int64_t seed) {
  std::vector<int64_t> result;
  for (int64_t i = 0; i < count; ++i)
    result.push_back((seed + 7 * i * i + 3 * i) % 23 - 11);
  return result;
}

std::vector<int64_t> direct(const FoldConv &conv, const std::vector<int64_t> &x,
                            const std::vector<int64_t> &w) {
  std::vector<int64_t> y(conv.output[0], 0);
  for (size_t o = 0; o < y.size(); ++o)
    for (size_t k = 0; k < w.size(); ++k)
      y[o] += w[k] * pixel(x, static_cast<int64_t>(o) * conv.strides[0] +
                                  static_cast<int64_t>(k) * conv.dilations[0] -
                                  conv.pads[0]);
  return y;
}

/// The folded convolution: phases are channels, W stride 1. Its result has
/// exactly as many columns as its shape says, whatever was wanted.
std::vector<int64_t> folded(const StrideFold &fold,
                            const std::vector<int64_t> &x,
                            const std::vector<int64_t> &w) {
  int64_t distance = fold.interiorTaps + 1;
  std::vector<int64_t> taps(fold.kernel * fold.phases, 0);
  for (size_t k = 0; k < w.size(); ++k)
    taps.at(fold.leadingTaps + k * distance) = w[k];
  EXPECT_EQ(fold.trailingTaps(w.size()),
            static_cast<int64_t>(taps.size() - 1 - fold.leadingTaps -
                                 (w.size() - 1) * distance));
  int64_t results = fold.width + fold.foldedLow + fold.foldedHigh -
                    (fold.kernel - 1) * fold.dilation;
  std::vector<int64_t> y(std::max<int64_t>(results, 0), 0);
  for (size_t o = 0; o < y.size(); ++o)
    for (int64_t q = 0; q < fold.kernel; ++q) {
      int64_t column =
          static_cast<int64_t>(o) + q * fold.dilation - fold.foldedLow;
      if (column < 0 || column >= fold.width)
        continue;
      for (int64_t p = 0; p < fold.phases; ++p)
        y[o] +=
            taps[q * fold.phases + p] *
            pixel(x, column * fold.stride + p * fold.phaseStep - fold.padLow);
    }
  return y;
}

/// All shapes of the sweep; `check` gets each.
template <typename Check>
void sweep(Check check) {
  for (int64_t width = 1; width <= 13; ++width)
    for (int64_t kernel = 1; kernel <= 7; ++kernel)
      for (int64_t stride = 1; stride <= 5; ++stride)
        for (int64_t dilation = 1; dilation <= 4; ++dilation)
          for (int64_t low = 0; low <= 5; ++low)
            for (int64_t high = 0; high <= 3; ++high)
              if (isPossible(width, kernel, dilation, low, high))
                check(row(width, kernel, stride, dilation, low, high));
}

std::string describe(const FoldConv &conv) {
  return fmt::format("Wi {} Kw {} Sw {} Dw {} pads {} {}", conv.input[0],
                     conv.kernel[0], conv.strides[0], conv.dilations[0],
                     conv.pads[0], conv.pads[1]);
}

TEST(StrideFold, TrailingFormEqualsTheDefinition) {
  int64_t shapes = 0;
  sweep([&](const FoldConv &conv) {
    auto x = values(conv.input[0], 5), w = values(conv.kernel[0], 2);
    for (Phases phases : {Phases::All, Phases::Selected}) {
      StrideFold fold = trailingFold(conv, phases);
      ASSERT_EQ(folded(fold, x, w), direct(conv, x, w)) << describe(conv);
    }
    ++shapes;
  });
  EXPECT_GT(shapes, 20000);
}

/// Only columns that a tap meets are folded, min(Kw, Sw / gcd(Dw, Sw)) of each
/// step: one column, a strided slice, if the dilation is a multiple of the
/// stride.
TEST(StrideFold, SelectedPhasesAreThoseThatTapsMeet) {
  int64_t slices = 0;
  sweep([&](const FoldConv &conv) {
    int64_t stride = conv.strides[0], dilation = conv.dilations[0];
    int64_t kernel = conv.kernel[0];
    StrideFold fold = trailingFold(conv, Phases::Selected);
    int64_t live = std::min(kernel, stride / std::gcd(stride, dilation));
    if (kernel == 1 || dilation % stride == 0) {
      ASSERT_EQ(fold.phases, 1) << describe(conv);
      ASSERT_EQ(fold.kernel, kernel) << "no tap of zeros " << describe(conv);
      ++slices;
    } else if (fold.kernel == 1) {
      ASSERT_EQ(fold.phases, live) << describe(conv);
    }
    ASSERT_GE(fold.phases, live) << describe(conv);
    ASSERT_LE(fold.phases, trailingFold(conv).phases) << describe(conv);
  });
  EXPECT_GT(slices, 1000);
}

TEST(StrideFold, LeadingFormEqualsTheDefinition) {
  int64_t shapes = 0, longer = 0;
  sweep([&](const FoldConv &conv) {
    auto x = values(conv.input[0], 4), w = values(conv.kernel[0], 9);
    for (Phases phases : {Phases::All, Phases::Selected}) {
      bool valid = false;
      StrideFold fold = leadingFold(conv, valid, phases);
      if (!valid)
        continue;
      ASSERT_EQ(fold.padLow, 0);
      ASSERT_EQ(fold.padHigh, 0) << "the input is only viewed";
      ASSERT_EQ(folded(fold, x, w), direct(conv, x, w)) << describe(conv);
      ++shapes;
      longer += fold.kernel > trailingFold(conv, phases).kernel;
    }
  });
  EXPECT_GT(shapes, 4000);
  EXPECT_GT(longer, 0) << "form B can have a longer kernel";
}

/// The source's width ceil(Wp / Sw) gives one result too many in these cases.
TEST(StrideFold, GapCasesDeliverExactlyWoColumns) {
  int64_t gaps = 0;
  sweep([&](const FoldConv &conv) {
    int64_t padded = conv.input[0] + conv.pads[0] + conv.pads[1];
    int64_t span = (conv.kernel[0] - 1) * conv.dilations[0] + 1;
    int64_t stride = conv.strides[0];
    if ((padded - 1) % stride >= (span - 1) % stride)
      return;
    ++gaps;
    StrideFold fold = trailingFold(conv);
    int64_t claimed = (padded + stride - 1) / stride - fold.kernel + 1;
    ASSERT_EQ(claimed, conv.output[0] + 1) << describe(conv);
    ASSERT_EQ(fold.width - fold.kernel + 1, conv.output[0]) << describe(conv);
  });
  EXPECT_GT(gaps, 1000);
}

struct TableRow {
  const char *layer;
  int64_t width, kernel, stride, low, high;
  int64_t results, foldedWidth, foldedKernel;      // form A
  int64_t leading, padLow, padHigh, leadingKernel; // form B
  bool zeroCopy;
};

TEST(StrideFold, WorkedTable) {
  const TableRow table[] = {
      {"ResNet stem", 224, 7, 2, 3, 3, 112, 115, 4, 1, 2, 1, 4, true},
      {"MobileNet stem", 224, 3, 2, 1, 1, 112, 113, 2, 1, 1, 0, 2, true},
      {"TF SAME stem", 224, 3, 2, 0, 1, 112, 113, 2, 0, 0, 1, 2, true},
      {"AlexNet 224", 224, 11, 4, 2, 2, 55, 57, 3, 2, 1, 1, 4, true},
      {"AlexNet 227", 227, 11, 4, 0, 0, 55, 57, 3, 0, 0, 0, 3, false},
      {"Inception 299", 299, 3, 2, 0, 0, 149, 150, 2, 0, 0, 0, 2, false},
      {"YOLO stem 640", 640, 6, 2, 2, 2, 320, 322, 3, 0, 1, 1, 3, true},
      {"ViT patch 16", 224, 16, 16, 0, 0, 14, 14, 1, 0, 0, 0, 1, true},
      {"audio k10 s5", 16000, 10, 5, 0, 0, 3199, 3200, 2, 0, 0, 0, 2, true},
      {"Fig. 13", 5, 3, 2, 0, 0, 2, 3, 2, 0, 0, 0, 2, false},
      {"gap case", 5, 2, 2, 0, 0, 2, 2, 1, 0, 0, -1, 1, false}};
  for (const TableRow &expected : table) {
    FoldConv conv = row(expected.width, expected.kernel, expected.stride, 1,
                        expected.low, expected.high);
    EXPECT_EQ(conv.output[0], expected.results) << expected.layer;
    StrideFold a = trailingFold(conv);
    EXPECT_EQ(a.width, expected.foldedWidth) << expected.layer;
    EXPECT_EQ(a.kernel, expected.foldedKernel) << expected.layer;
    bool valid = false;
    StrideFold b = leadingFold(conv, valid);
    EXPECT_EQ(b.leadingTaps, expected.leading) << expected.layer;
    EXPECT_EQ(b.foldedLow, expected.padLow) << expected.layer;
    EXPECT_EQ(b.foldedHigh, expected.padHigh) << expected.layer;
    EXPECT_EQ(b.kernel, expected.leadingKernel) << expected.layer;
    EXPECT_EQ(valid, expected.zeroCopy) << expected.layer;
  }
}

TEST(LaneFold, MostLanesThatHoldTheChannels) {
  const MachineView a1 = machineWith();
  EXPECT_EQ(lanesFor(3, 112, a1), 16);
  EXPECT_EQ(lanesFor(8, 112, a1), 16);
  EXPECT_EQ(lanesFor(9, 112, a1), 8);
  EXPECT_EQ(lanesFor(64, 112, a1), 2);
  EXPECT_EQ(lanesFor(65, 112, a1), 1);
  EXPECT_EQ(lanesFor(3, 5, a1), 4) << "no more lanes than results of a row";
  const MachineView whole = machineWith(
      [](auto &machine) { machine.pe.rowGroupGranularity = machine.pe.rows; });
  EXPECT_EQ(lanesFor(3, 112, whole), 1) << "an array without row groups";
}

/// ResNet's stem: <= 23,500 array cycles, >= 60 % of the multipliers useful.
TEST(FoldCosts, StemOfResNet) {
  const FoldConv conv = ashlar::test::stem(224, 7, 3, 64);
  auto plans = foldAlternatives(conv, machineWith(), /*lanes=*/true);
  ASSERT_EQ(plans.size(), 4u);
  EXPECT_EQ(plans[0].array, 614656) << "unfolded";
  const FoldAlternative &fold = plans[1];
  EXPECT_EQ(name(fold), "stride-fold");
  EXPECT_EQ(fold.array, 21952);
  EXPECT_EQ(fold.copiedBytes, 0) << "form B is a view of the input";
  FoldUtilisation use = utilisation(conv, fold, machineWith());
  EXPECT_GE(use.tap * use.lane * use.width * use.channel, 0.60);
  EXPECT_NEAR(use.tap * use.lane * use.width * use.channel, 14406.0 / 21952,
              1e-3);
}

/// A stem of 640 x 640: results too large to stay leave the whole memory to
/// the folded feature map, which then lies in lanes, however small its tiles
/// become; packed windows are larger still and pass through DRAM.
TEST(FoldCosts, MapStaysWhereOnlyResultsMustLeave) {
  FoldConv conv = ashlar::test::stem(640, 6, 2, 16);
  conv.inputInDram = false; // from there windows are loaded
  auto plans = foldAlternatives(conv, machineWith(), /*lanes=*/true);
  ASSERT_EQ(plans.size(), 4u);
  const FoldAlternative &rows = plans[2];
  EXPECT_EQ(name(rows), "rows-and-stride-fold");
  EXPECT_FALSE(rows.spilled);
  EXPECT_EQ(rows.lanes, 2);
  EXPECT_EQ(rows.array, 153600);
  EXPECT_EQ(rows.tiles, 1920);
  EXPECT_EQ(name(plans[3]), "pack-taps");
  EXPECT_TRUE(plans[3].spilled);
}

/// With W stride 1 there is nothing to fold: dilated taps are not spread.
TEST(FoldCosts, StrideOneKeepsTheKernel) {
  FoldConv conv = row(64, 3, 1, 4, 4, 4);
  auto plans = foldAlternatives(conv, machineWith(), /*lanes=*/true);
  ASSERT_GE(plans.size(), 2u);
  EXPECT_EQ(name(plans[1]), "lane-fold");
  EXPECT_EQ(plans[1].taps, 3);
  EXPECT_EQ(plans[1].fold.foldedLow, 4);
}

/// Of the alternatives the one of a name.
const FoldAlternative &named(llvm::ArrayRef<FoldAlternative> plans,
                             llvm::StringRef wanted) {
  return *llvm::find_if(
      plans, [&](const FoldAlternative &plan) { return name(plan) == wanted; });
}

/// Windows gathered inside the chip are single elements: queues form their
/// runs, and banks serve them.
TEST(FoldCosts, GathersCountRunsAndPorts) {
  FoldConv conv = ashlar::test::stem(224, 7, 3, 64);
  conv.inputInDram = false; // from there windows are loaded
  ashlar::machine::Description machine;
  auto copyOf = [&] {
    auto plans = foldAlternatives(conv, MachineView(machine), /*lanes=*/true);
    return named(plans, "rows-and-stride-fold").copy;
  };
  const int64_t bytes = copyOf();
  // Three channels of a staged row lie in three partitions. Read in runs of 16
  // bytes, they are served at the rate of the queues.
  machine.sb.banks = 8;
  machine.sb.ports = 2;
  EXPECT_GE(copyOf(), bytes);
  // Ports that give one element each serve the three partitions more slowly.
  machine.sb.portBytes = 4;
  EXPECT_GT(copyOf(), bytes);
  // Three queues form 4 runs each: 42 rows of the array take 112 x 114
  // elements.
  machine.sb.banks = 0;
  machine.dma.runsPerCycle = 4;
  const int64_t elements = int64_t(42) * 112 * 114;
  EXPECT_GE(copyOf(), elements / 12);
  EXPECT_LE(copyOf(), elements / 12 + elements / 120);
}

/// A load that folds clears what its rows leave open of lanes, element by
/// element.
TEST(FoldCosts, LoadsClearOpenLanes) {
  const FoldConv conv = ashlar::test::stem(299, 3, 0, 32);
  const MachineView machine =
      machineWith([](auto &own) { own.dma.runsPerCycle = 4; });
  auto plans = foldAlternatives(conv, machine, /*lanes=*/true);
  const FoldAlternative &fold = named(plans, "stride-fold");
  ASSERT_EQ(fold.lanes, 16);
  EXPECT_GE(clearCycles(fold, 299, fold.fold.width, machine), 128 * 299 / 4);
  EXPECT_EQ(clearCycles(plans.front(), 299, 299, machine), 0);
}

/// Windows that share rows are loaded from DRAM once, and what bands share once
/// more, if two bands have room beside the map.
TEST(FoldCosts, WindowsAreLoadedOnce) {
  const FoldConv conv = ashlar::test::stem(224, 3, 1, 24);
  MachineView machine =
      machineWith([](auto &own) { own.dma.runsPerCycle = 4; });
  auto plans = foldAlternatives(conv, machine, /*lanes=*/true);
  const FoldAlternative &loaded = named(plans, "rows-and-stride-fold");
  EXPECT_EQ(loaded.tiles, 0);
  const int64_t elements = int64_t(3) * 224 * 224;
  EXPECT_GE(loaded.read, elements / 12);
  EXPECT_LE(loaded.read, elements / 12 + elements / 36);
  EXPECT_EQ(loaded.copiedBytes, int64_t(6) * 112 * loaded.fold.width * 4);
  // The map takes 3,136 bytes or more of a partition, a row of floats 112.
  machine = machineWith([](auto &own) {
    own.dma.runsPerCycle = 4;
    own.sb.bytesPerPartition = 3648;
  });
  plans = foldAlternatives(conv, machine, /*lanes=*/true);
  EXPECT_GT(named(plans, "rows-and-stride-fold").tiles, 0);
}

/// As many bands as make the sum of their last part and of what they read again
/// least.
TEST(FoldCosts, BandsThatShare) {
  using ashlar::partition::bandsThatShare;
  EXPECT_EQ(bandsThatShare(10000, 0, 4), 4);
  EXPECT_EQ(bandsThatShare(100, 1000, 4), 4);
  for (int64_t work : {1000, 6272, 100000})
    for (int64_t again : {1, 40, 300}) {
      const int64_t bands = bandsThatShare(work, again, 1);
      auto cost = [&](int64_t n) {
        return static_cast<double>(work) / static_cast<double>(n) +
               static_cast<double>(n * again);
      };
      EXPECT_LE(cost(bands), cost(bands + 1));
      if (bands > 1) {
        EXPECT_LE(cost(bands), cost(bands - 1));
      }
    }
}

/// Few write ports of PSUM take the gain of many lanes.
TEST(FoldCosts, WritePortsBoundLanes) {
  const FoldConv conv = ashlar::test::stem(224, 7, 3, 64);
  const MachineView machine =
      machineWith([](auto &own) { own.psum.writePorts = 4; });
  auto plans = foldAlternatives(conv, machine, /*lanes=*/true);
  // 112 rows of 112 results and 28 taps, 4 a cycle.
  EXPECT_EQ(named(plans, "stride-fold").array, 112 * 112 / 4 * 28);
  EXPECT_EQ(named(plans, "rows-and-stride-fold").array, 25088);
}

} // namespace
