// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Costs of windows that a load from DRAM folds although they share rows: every
// element is fetched once in each band of rows, and copies inside the chip
// bring it to the other rows of the kernel (`ashlar-npu-read-windows`).

#include "FoldPlan.h"

#include "ashlar/Partition/TilePolicy.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <numeric>
#include <optional>

namespace ashlar::nn {

/// Rows of the operand that the windows of two neighbouring rows of results
/// share, if a load can fetch them once: along one axis other than W alone
/// (`ashlar-npu-read-windows`). None otherwise.
static std::optional<int64_t> sharedRows(const FoldConv &conv) {
  std::optional<int64_t> shared;
  for (size_t i = 0; i + 1 < conv.kernel.size(); ++i) {
    const int64_t stride = conv.strides[i], dilation = conv.dilations[i];
    const int64_t reach = (conv.kernel[i] - 1) * dilation + 1;
    if (reach <= stride)
      continue;
    const int64_t common = std::gcd(stride, dilation);
    if (shared || stride / common >= conv.kernel[i] ||
        dilation / common >= conv.output[i])
      return std::nullopt;
    shared = reach - stride;
  }
  return shared;
}

/// Windows of an axis of `extent` elements that reach over an end of it.
static int64_t windowsOverEnds(int64_t extent, int64_t windows, int64_t taps,
                               int64_t stride, int64_t dilation, int64_t low) {
  int64_t count = 0;
  for (int64_t i = 0; i < windows; ++i) {
    const int64_t first = i * stride - low;
    count += first < 0 || first + (taps - 1) * dilation >= extent;
  }
  return count;
}

/// Bands of a load whose floats fit twice beside the encoded map and an eighth
/// of the memory for weights; nothing if no row does.
static std::optional<int64_t> bandsThatFit(int64_t lines, int64_t columns,
                                           const MachineView &machine,
                                           const FoldAlternative &plan) {
  const int64_t row =
      llvm::divideCeilSigned(columns, plan.lanes) *
      (plan.lanes > 1
           ? 1
           : llvm::divideCeilSigned(plan.channels, machine.partitions));
  const int64_t room =
      machine.partitionBytes - machine.partitionBytes / 8 - lines * row;
  const int64_t fit = room / (2 * row * kFloatBytes);
  if (fit < 1)
    return std::nullopt;
  return llvm::divideCeilSigned(lines, fit);
}

bool addWindowLoad(const FoldConv &conv, const MachineView &machine,
                   FoldAlternative &plan) {
  const auto shared = sharedRows(conv);
  if (!shared)
    return false;
  const auto [rows, columns] = encodedMap(conv, plan);
  const int64_t lines = conv.batch * rows;
  const auto least = bandsThatFit(lines, columns, machine, plan);
  if (!least)
    return false;
  const int64_t inside = transferCycles(
      foldTransfer(conv, plan, lines, columns, machine), machine);
  // Rows over an end fetch their taps one by one. Of columns over an end, the
  // elements of a row are a burst of their own.
  const size_t height = conv.kernel.size() - 2;
  const StrideFold &fold = plan.fold;
  const int64_t kernelRows =
      llvm::product_of(llvm::ArrayRef(conv.kernel).drop_back());
  const int64_t endRows = windowsOverEnds(
      conv.input[height], conv.output[height], conv.kernel[height],
      conv.strides[height], conv.dilations[height], conv.pads[height]);
  const int64_t endColumns =
      windowsOverEnds(conv.width(), fold.width, fold.phases, fold.stride,
                      fold.phaseStep, fold.padLow);
  const int64_t fetchedRows = std::min(kernelRows, conv.strides[height]);
  const int64_t dram = machine.dramCycles(
      conv.batch * conv.channels *
      (llvm::product_of(conv.input) * kFloatBytes +
       endColumns * rows * fetchedRows * machine.burstBytes));
  const int64_t ends =
      plan.channels *
      (endRows * columns + endColumns * lines * fetchedRows / kernelRows);
  const int64_t formed = machine.copyRuns > 0
                             ? ends / machine.copyRuns
                             : ends * kFloatBytes / machine.copyBytes;
  const int64_t parts = (endRows + 1) * (endColumns + 1) * conv.channels;
  plan.copiedBytes = lines * columns * kFloatBytes * plan.channels /
                     kernelRows * (kernelRows - fetchedRows);
  const int64_t copies =
      plan.copiedBytes / machine.copyBytes + formed + parts * machine.copySetup;
  const int64_t read = std::max(inside + copies / machine.copyQueues, dram);
  // Every band reads the rows again that it shares with the one before.
  const int64_t inputRows =
      llvm::product_of(llvm::ArrayRef(conv.input).drop_back());
  const int64_t again =
      llvm::divideCeilSigned(read * *shared, std::max<int64_t>(inputRows, 1));
  plan.bands =
      std::max(*least, partition::bandsThatShare(plan.encode, again,
                                                 partition::kOverlapTiles));
  // Its copies wait for what it fetches before the next band is fetched.
  plan.read = std::max(read + (plan.bands - 1) * (again + machine.dramLatency),
                       clearCycles(plan, lines, columns, machine));
  plan.serial = false;
  return true;
}

} // namespace ashlar::nn
