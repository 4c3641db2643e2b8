// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Costs of a feature map whose windows overlap: it is gathered inside the chip,
// tile by tile. A tile is cut as memory planning cuts it (PlanMemory.cpp): the
// fewest rows that leave room for two tiles next to the feature map and the
// weights. What a tile stages, fills, reads and copies follows one after the
// other; only the encode of the tile before runs in parallel with it.

#include "FoldPlan.h"

#include "ashlar/Partition/TilePolicy.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <optional>

namespace ashlar::nn {

namespace {

using partition::kLongMoveBytes;
using partition::kOverlapBytes;
using partition::kOverlapTiles;
using partition::kPreferredTileLimit;
/// Rows of every partition begin at multiples of this.
constexpr int64_t kAlignment = 64;

int64_t ceilDiv(int64_t a, int64_t b) { return llvm::divideCeilSigned(a, b); }

int64_t alignedBytes(int64_t bytes) { return llvm::alignTo(bytes, kAlignment); }

/// One axis of the gathered map: windows of `taps` over `input` elements.
struct Axis {
  int64_t input = 1, output = 1, taps = 1, stride = 1, dilation = 1, low = 0;
  int64_t unit = 1; ///< tiles are multiples of this

  int64_t span(int64_t windows) const {
    return (windows - 1) * stride + (taps - 1) * dilation + 1;
  }
  /// Elements of the input that tiles of `size` windows read, in sum.
  int64_t read(int64_t size) const {
    int64_t sum = 0;
    for (int64_t first = 0; first < output; first += size) {
      int64_t begin = first * stride - low;
      int64_t end = begin + span(std::min(size, output - first));
      sum += std::max<int64_t>(
          std::min(end, input) - std::max<int64_t>(begin, 0), 0);
    }
    return sum;
  }
  /// Windows that reach over an end of the input.
  bool padded() const { return low > 0 || span(output) - low > input; }
};

class Gather {
public:
  Gather(const FoldConv &conv, const FoldAlternative &plan,
         const MachineView &machine);
  void addCosts(FoldAlternative &plan) const;
  /// No element lies in two windows, and none of them reaches over an end.
  bool isView() const {
    return llvm::all_of(axes, [](const Axis &axis) {
      return !axis.padded() && (axis.taps == 1 || axis.span(1) <= axis.stride);
    });
  }

private:
  using Tile = llvm::SmallVector<int64_t, 4>;
  struct Choice {
    Tile tile;
    int64_t slots = 1;
  };
  int64_t positions(const Tile &tile) const;
  int64_t stagedElements(const Tile &tile) const;
  int64_t slotBytes(const Tile &tile, bool spilled) const;
  int64_t count(const Tile &tile) const;
  std::optional<Choice> cut(int64_t available, bool spilled) const;
  Choice choose(bool &spilled) const;
  int64_t evictingLimit() const;
  bool mapOutlastsResults() const;
  /// Cycles of DRAM for the mantissas of a feature map and their exponent
  /// cells.
  int64_t storeCycles(int64_t elements) const {
    return machine.dramCycles(elements + elements / 8);
  }

  const FoldConv &conv;
  const MachineView &machine;
  int64_t lanes, channels, channelTiles;
  int64_t mapBytes = 0, resultBytes = 0; ///< of a partition
  llvm::SmallVector<Axis, 4> axes;       ///< batch, then the spatial ones
};

Gather::Gather(const FoldConv &conv, const FoldAlternative &plan,
               const MachineView &machine)
    : conv(conv), machine(machine), lanes(plan.lanes), channels(plan.channels) {
  channelTiles = lanes > 1 ? 1 : ceilDiv(plan.channels, machine.partitions);
  axes.push_back({conv.batch, conv.batch});
  const size_t last = conv.kernel.size() - 1;
  for (size_t i = 0; i <= last; ++i)
    axes.push_back({conv.input[i], conv.output[i], conv.kernel[i],
                    conv.strides[i], conv.dilations[i], conv.pads[i]});
  if (plan.kind != FoldKind::PackTaps) {
    Axis &w = axes.back();
    w.output = plan.fold.width;
    w.taps = plan.fold.phases;
    w.dilation = plan.fold.phaseStep;
    w.low = plan.fold.padLow;
    if (plan.kind == FoldKind::Width)
      for (size_t i = 1; i <= last; ++i)
        axes[i] = {conv.input[i - 1], conv.input[i - 1]};
  }
  axes.back().unit = lanes;
  Tile whole;
  for (const Axis &axis : axes)
    whole.push_back(axis.output);
  mapBytes = alignedBytes(positions(whole) * channelTiles);
  resultBytes = conv.batch * ceilDiv(conv.outputs, machine.partitions);
  for (int64_t extent : conv.output)
    resultBytes *= extent;
  resultBytes = alignedBytes(resultBytes);
}

/// Bytes of one element a partition: pixels of a feature map in lanes hold
/// several.
int64_t Gather::positions(const Tile &tile) const {
  int64_t count = ceilDiv(tile.back(), lanes);
  for (int64_t extent : llvm::ArrayRef(tile).drop_back())
    count *= extent;
  return count;
}

int64_t Gather::stagedElements(const Tile &tile) const {
  int64_t elements = 1;
  for (auto [axis, extent] : llvm::zip(axes, tile))
    elements *= axis.span(extent);
  return elements;
}

int64_t Gather::slotBytes(const Tile &tile, bool spilled) const {
  return alignedBytes(stagedElements(tile) * kFloatBytes *
                      ceilDiv(conv.channels, machine.partitions)) +
         alignedBytes(positions(tile) * channelTiles * kFloatBytes) +
         (spilled ? alignedBytes(positions(tile) * channelTiles) : 0);
}

int64_t Gather::count(const Tile &tile) const {
  int64_t tiles = 1;
  for (auto [axis, extent] : llvm::zip(axes, tile))
    tiles *= ceilDiv(axis.output, extent);
  return tiles;
}

/// The largest tile of which two fit, axis after axis; then one.
std::optional<Gather::Choice> Gather::cut(int64_t available,
                                          bool spilled) const {
  Choice choice;
  for (const Axis &axis : axes)
    choice.tile.push_back(axis.output);
  const bool overlap = slotBytes(choice.tile, spilled) > kOverlapBytes ||
                       mapBytes > kLongMoveBytes;
  if (slotBytes(choice.tile, spilled) <= available && !overlap)
    return choice;
  for (size_t i = 0; i < axes.size(); ++i) {
    const int64_t steps = ceilDiv(axes[i].output, axes[i].unit);
    for (int64_t cuts = 1; cuts <= steps; ++cuts) {
      choice.tile[i] =
          std::min(ceilDiv(steps, cuts) * axes[i].unit, axes[i].output);
      const bool enough = !overlap || count(choice.tile) >= kOverlapTiles ||
                          (cuts == steps && i + 1 == axes.size());
      if (2 * slotBytes(choice.tile, spilled) <= available && enough) {
        choice.slots = count(choice.tile) > 1 ? 2 : 1;
        return choice;
      }
    }
  }
  if (slotBytes(choice.tile, spilled) <= available)
    return choice;
  return std::nullopt;
}

/// An eighth of the memory is for weights where something goes to DRAM: of
/// feature map and results, if both do not fit together, the larger one.
int64_t Gather::evictingLimit() const {
  return machine.partitionBytes - machine.partitionBytes / 8;
}

bool Gather::mapOutlastsResults() const {
  const int64_t limit = evictingLimit();
  return resultBytes > limit || mapBytes + resultBytes <= limit ||
         resultBytes > mapBytes;
}

/// Weights are given half of the memory, or less if maps or tiles need it. What
/// stays in the chip may be cut into any number of tiles.
Gather::Choice Gather::choose(bool &spilled) const {
  spilled = false;
  for (bool comfortable : {true, false})
    for (int64_t eighths : {4, 3, 2, 1}) {
      const int64_t limit =
          machine.partitionBytes - machine.partitionBytes * eighths / 8;
      if (mapBytes + resultBytes > limit)
        continue;
      auto choice = cut(limit - mapBytes, spilled);
      if (choice &&
          (!comfortable || count(choice->tile) <= kPreferredTileLimit))
        return *choice;
    }
  const int64_t limit = evictingLimit();
  if (mapBytes <= limit && mapOutlastsResults())
    if (auto choice = cut(limit - mapBytes, spilled))
      return *choice;
  spilled = true;
  if (auto choice = cut(limit, spilled))
    return *choice;
  // Memory planning will refuse even this.
  Choice smallest;
  for (const Axis &axis : axes)
    smallest.tile.push_back(std::min(axis.unit, axis.output));
  return smallest;
}

void Gather::addCosts(FoldAlternative &plan) const {
  bool spilled = false;
  const Choice choice = choose(spilled);
  plan.tiles = count(choice.tile);
  plan.slots = choice.slots;
  int64_t read = conv.channels * kFloatBytes;
  for (auto [axis, extent] : llvm::zip(axes, choice.tile))
    read *= axis.read(extent);
  if (conv.inputInDram)
    plan.read = machine.dramCycles(read);
  else
    plan.copy += read / (machine.copyBytes * machine.copyQueues);
  if (spilled) {
    plan.spilled = true;
    int64_t elements = channels, results = conv.batch * conv.outputs;
    for (const Axis &axis : axes)
      elements *= axis.output;
    for (int64_t extent : conv.output)
      results *= extent;
    plan.store = storeCycles(elements);
    if (resultBytes > evictingLimit())
      plan.resultStore = storeCycles(results);
  }
  if (axes.back().padded())
    plan.fill = plan.tiles * stagedElements(choice.tile) * conv.channels *
                kFloatBytes / machine.copyBytes;
}

} // namespace

bool addGatherCosts(const FoldConv &conv, const MachineView &machine,
                    FoldAlternative &plan) {
  const Gather gather(conv, plan, machine);
  if (conv.inputInDram && gather.isView())
    return false;
  gather.addCosts(plan);
  return true;
}

} // namespace ashlar::nn
