// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Geometry and costs of the folds. Cycle model: the array streams every row of
// results once per tap, row tile and column tile, Ws results a step, while the
// drain takes a cycle per position and group of lanes. The scale exponent of
// the input is known only after its last encode, so the array waits for it;
// reading, copies and encode go on side by side, tile after tile.

#include "FoldPlan.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>

namespace ashlar::nn {

/// Elements of 4 bytes are copied and encoded.
static constexpr int64_t kFloatBytes = 4;
/// Cycles per element of an encode (docs/Machine.md, VEC).
static constexpr int64_t kEncodeCycles = 2;

static int64_t ceilDiv(int64_t a, int64_t b) {
  return llvm::divideCeilSigned(a, b);
}

static int64_t productOf(llvm::ArrayRef<int64_t> values) {
  int64_t product = 1;
  for (int64_t value : values)
    product *= value;
  return product;
}

llvm::StringRef name(const FoldAlternative &alternative) {
  switch (alternative.kind) {
  case FoldKind::Plain:
    return "plain";
  case FoldKind::Width:
    return alternative.fold.stride > 1 ? "stride-fold" : "lane-fold";
  case FoldKind::HeightWidth:
    return "rows-and-stride-fold";
  case FoldKind::PackTaps:
    return "pack-taps";
  }
  return "plain";
}

/// Columns that the kernel spans.
static int64_t kernelSpan(const FoldConv &conv) {
  return (conv.kernel.back() - 1) * conv.dilations.back() + 1;
}

static int64_t padBegin(const FoldConv &conv) {
  return conv.pads[conv.kernel.size() - 1];
}

StrideFold trailingFold(const FoldConv &conv) {
  StrideFold fold;
  fold.stride = conv.strides.back();
  fold.kernel = ceilDiv(kernelSpan(conv), fold.stride);
  fold.width = conv.output.back() + fold.kernel - 1;
  fold.padLow = padBegin(conv);
  fold.padHigh = fold.width * fold.stride - fold.padLow - conv.width();
  return fold;
}

StrideFold leadingFold(const FoldConv &conv, bool &valid) {
  StrideFold fold;
  fold.stride = conv.strides.back();
  fold.foldedLow = ceilDiv(padBegin(conv), fold.stride);
  fold.leadingTaps = fold.foldedLow * fold.stride - padBegin(conv);
  fold.kernel = ceilDiv(fold.leadingTaps + kernelSpan(conv), fold.stride);
  fold.width = ceilDiv(conv.width(), fold.stride);
  fold.foldedHigh =
      conv.output.back() + fold.kernel - 1 - fold.foldedLow - fold.width;
  valid = conv.width() % fold.stride == 0 && fold.foldedHigh >= 0;
  return fold;
}

int64_t lanesFor(int64_t channels, int64_t width, const FoldMachine &machine) {
  int64_t best = 1;
  if (machine.laneUnit <= 0)
    return best;
  for (int64_t count = 2; count <= machine.rows && count <= width; ++count) {
    int64_t pitch = machine.rows / count;
    if (machine.rows % count == 0 && pitch % machine.laneUnit == 0 &&
        pitch >= channels && count < 256)
      best = count;
  }
  return best;
}

/// The form of the stride fold to use. With W stride 1 there is nothing to
/// fold: the input is viewed as it is, and dilated taps stay apart.
static StrideFold chooseForm(const FoldConv &conv) {
  if (conv.strides.back() == 1) {
    StrideFold fold;
    fold.kernel = conv.kernel.back();
    fold.width = conv.width();
    fold.foldedLow = padBegin(conv);
    fold.foldedHigh = conv.pads.back();
    return fold;
  }
  bool valid = false;
  StrideFold leading = leadingFold(conv, valid);
  StrideFold trailing = trailingFold(conv);
  // Form B views the input as it lies; it loses where its kernel is longer.
  return valid && leading.kernel == trailing.kernel ? leading : trailing;
}

/// Cycles of the array for an alternative's channels, taps and lanes.
static int64_t arrayCycles(const FoldConv &conv, const FoldAlternative &plan,
                           const FoldMachine &machine) {
  int64_t rows =
      conv.batch * productOf(llvm::ArrayRef(conv.output).drop_back());
  int64_t steps = ceilDiv(conv.output.back(), plan.lanes);
  return rows * steps * plan.taps * ceilDiv(plan.channels, machine.rows) *
         ceilDiv(conv.outputs, machine.columns);
}

static FoldAlternative plainPlan(const FoldConv &conv) {
  FoldAlternative plan;
  plan.channels = conv.channels;
  plan.taps = productOf(conv.kernel);
  return plan;
}

static FoldAlternative packedPlan(const FoldConv &conv) {
  FoldAlternative plan;
  plan.kind = FoldKind::PackTaps;
  plan.channels = conv.channels * productOf(conv.kernel);
  return plan;
}

static FoldAlternative widthPlan(const FoldConv &conv, const StrideFold &fold,
                                 bool rows) {
  FoldAlternative plan;
  plan.kind = rows ? FoldKind::HeightWidth : FoldKind::Width;
  plan.fold = fold;
  int64_t kernelRows = productOf(llvm::ArrayRef(conv.kernel).drop_back());
  plan.channels = conv.channels * fold.stride * (rows ? kernelRows : 1);
  plan.taps = fold.kernel * (rows ? 1 : kernelRows);
  return plan;
}

/// Rows of the map that is encoded, and its columns.
static std::pair<int64_t, int64_t> encodedMap(const FoldConv &conv,
                                              const FoldAlternative &plan) {
  int64_t inputRows = productOf(llvm::ArrayRef(conv.input).drop_back());
  int64_t outputRows = productOf(llvm::ArrayRef(conv.output).drop_back());
  switch (plan.kind) {
  case FoldKind::Plain:
    return {inputRows, conv.width()};
  case FoldKind::Width:
    return {inputRows, plan.fold.width};
  case FoldKind::HeightWidth:
    return {outputRows, plan.fold.width};
  case FoldKind::PackTaps:
    return {outputRows, conv.output.back()};
  }
  return {0, 0};
}

static void addCosts(const FoldConv &conv, const FoldMachine &machine,
                     bool lanes, FoldAlternative &plan) {
  auto [rows, columns] = encodedMap(conv, plan);
  // Row groups read what a move has laid into lanes.
  if (lanes && plan.kind != FoldKind::Plain)
    plan.lanes = lanesFor(plan.channels, conv.output.back(), machine);
  plan.array = arrayCycles(conv, plan, machine);
  plan.drain = conv.batch * productOf(conv.output) *
               ceilDiv(conv.outputs, machine.columns);
  int64_t tiles =
      plan.lanes > 1 ? 1 : ceilDiv(plan.channels, machine.partitions);
  bool converts = conv.inputIsFloat || plan.kind != FoldKind::Plain;
  if (converts)
    plan.encode = conv.batch * rows * ceilDiv(columns, plan.lanes) * tiles *
                  kEncodeCycles;
  int64_t inputBytes =
      conv.batch * conv.channels * productOf(conv.input) * kFloatBytes;
  if (converts)
    plan.read = inputBytes / machine.dramBytes;
  // Windows that overlap, and borders, are gathered inside the chip.
  bool direct = plan.kind == FoldKind::Plain ||
                (plan.kind == FoldKind::Width && plan.fold.padLow == 0 &&
                 plan.fold.padHigh == 0);
  if (!direct) {
    plan.copiedBytes =
        conv.batch * plan.channels * rows * columns * kFloatBytes;
    plan.copy = plan.copiedBytes / (machine.copyBytes * machine.copyQueues);
  }
}

llvm::SmallVector<FoldAlternative, 4>
foldAlternatives(const FoldConv &conv, const FoldMachine &machine, bool lanes) {
  lanes &= machine.laneUnit > 0;
  llvm::SmallVector<FoldAlternative, 4> plans{plainPlan(conv)};
  StrideFold fold = chooseForm(conv);
  bool oneRow = productOf(llvm::ArrayRef(conv.kernel).drop_back()) == 1;
  if (conv.strides.back() > 1 || lanes)
    plans.push_back(widthPlan(conv, fold, /*rows=*/false));
  if (!oneRow && conv.strides.back() > 1)
    plans.push_back(widthPlan(conv, fold, /*rows=*/true));
  if (productOf(conv.kernel) > 1)
    plans.push_back(packedPlan(conv));
  for (FoldAlternative &plan : plans)
    addCosts(conv, machine, lanes, plan);
  return plans;
}

FoldUtilisation utilisation(const FoldConv &conv, const FoldAlternative &plan,
                            const FoldMachine &machine) {
  auto share = [](int64_t useful, int64_t all) {
    return all ? static_cast<double>(useful) / static_cast<double>(all) : 0.0;
  };
  FoldUtilisation result;
  int64_t useful = conv.channels * productOf(conv.kernel);
  result.tap = share(useful, plan.channels * plan.taps);
  int64_t rows = ceilDiv(plan.channels, machine.rows) * machine.rows;
  result.lane = share(plan.channels * plan.lanes, rows);
  int64_t width = conv.output.back();
  result.width = share(width, plan.lanes * ceilDiv(width, plan.lanes));
  result.channel = share(
      conv.outputs, machine.columns * ceilDiv(conv.outputs, machine.columns));
  return result;
}

} // namespace ashlar::nn
