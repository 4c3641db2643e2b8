// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// N:M weights: which stationary tiles have the pattern, and what they cost.

#include "ashlar/Analysis/Array/PatternTiles.h"

#include "ashlar/Analysis/Array/WeightPattern.h"
#include "ashlar/Analysis/Layout/Lanes.h"
#include "ashlar/Analysis/Layout/StorageType.h"
#include "ashlar/Machine/Cycles.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <iterator>

using namespace mlir;

namespace ashlar::analysis {
namespace {

/// Cells of a product's stationary tiles that are not zero.
class Cells {
public:
  Cells(const ProductShape &product, const WeightPattern &weights)
      : weights(weights), inPerGroup(product.channels / product.groups),
        outPerGroup(product.outputs / product.groups) {}

  /// True if of `group` rows from `row` on an output has at most `kept` cells
  /// that are not zero. Rows hold zeros for outputs of other groups and layers.
  bool fits(const StationaryTile &tile, int64_t output, int64_t row,
            const machine::PeArray &pe) const {
    const int64_t before = output / outPerGroup * inPerGroup;
    const int64_t last =
        std::min(row + static_cast<int64_t>(pe.patternGroup), tile.rows);
    uint64_t used = 0;
    for (int64_t i = row; i < last; ++i) {
      const int64_t channel = tile.channel + i - before;
      if (channel < 0 || channel >= inPerGroup)
        continue;
      if (tile.layer >= 0 && channel / weights.blockSize() % 2 != tile.layer)
        continue;
      used += weights.isZero(output, tile.tap, channel) ? 0 : 1;
    }
    return used <= pe.patternKept;
  }

private:
  const WeightPattern &weights;
  int64_t inPerGroup, outPerGroup;
};

bool hasPattern(const ColumnTile &column, const StationaryTile &tile,
                const Cells &cells, const machine::PeArray &pe) {
  const auto group = static_cast<int64_t>(pe.patternGroup);
  for (int64_t lane = 0; lane < column.cols; ++lane)
    for (int64_t row = 0; row < tile.rows; row += group)
      if (!cells.fits(tile, column.firstOutput + lane, row, pe))
        return false;
  return true;
}

/// Results of a product as the array streams them: rows of neighbours.
struct Results {
  int64_t rows = 1, width = 1;

  explicit Results(Operation *op) {
    auto shape = shapeOf(op->getResult(0));
    // Channels are the second axis of a convolution, the last of a product of
    // matrices.
    const bool conv = isa<npu::PeConvOp>(op);
    for (auto [axis, extent] : llvm::enumerate(shape))
      if (conv ? axis != 1 : axis + 1 != shape.size())
        rows *= extent;
    width = conv ? shape.back() : shape[shape.size() - 2];
    rows /= std::max<int64_t>(width, 1);
    if (isPointwise(op))
      width *= std::exchange(rows, 1);
  }
};

} // namespace

bool isPointwise(Operation *op) {
  auto conv = dyn_cast<npu::PeConvOp>(op);
  return !conv ||
         (productShape(op).taps == 1 &&
          llvm::all_of(conv.getStrides(), [](int64_t s) { return s == 1; }) &&
          llvm::all_of(conv.getPads(), [](int64_t p) { return p == 0; }));
}

int64_t markPatterns(std::vector<ColumnTile> &columns, Operation *op,
                     const WeightPattern &weights,
                     const machine::Description &machine) {
  const ProductShape product = productShape(op);
  if (!machine.pe.hasPattern() || !hasStreamedWeights(op) ||
      product.weightsMove || product.recordsOnly)
    return 0;
  const Cells cells(product, weights);
  int64_t marked = 0;
  for (ColumnTile &column : columns) {
    for (StationaryTile &tile : column.tiles) {
      tile.pattern = hasPattern(column, tile, cells, machine.pe);
      marked += tile.pattern ? 1 : 0;
    }
    // The array waits where streams of more positions follow others.
    auto isWhole = [](const StationaryTile &tile) { return !tile.pattern; };
    std::vector<StationaryTile> whole;
    llvm::copy_if(column.tiles, std::back_inserter(whole), isWhole);
    llvm::erase_if(column.tiles, isWhole);
    llvm::append_range(column.tiles, whole);
  }
  return marked;
}

int64_t markChosenPatterns(std::vector<ColumnTile> &columns, Operation *op,
                           const WeightPattern &weights,
                           const machine::Description &machine) {
  const Lanes lanes =
      isa<npu::PeConvOp>(op) ? widthLanesOf(op->getOperand(0)) : Lanes();
  return usesPattern(op, lanes, machine)
             ? markPatterns(columns, op, weights, machine)
             : 0;
}

bool usesPattern(Operation *op, const Lanes &lanes,
                 const machine::Description &machine) {
  if (!machine.pe.hasPattern() || !npu::patternOf(op))
    return false;
  if (!lanes.folded())
    return true;
  // Places of a group and pixels that are left out would both move the reads.
  if (auto conv = dyn_cast<npu::PeConvOp>(op);
      conv && conv.getStrides().back() > 1)
    return false;
  if (lanes.pitch % static_cast<int64_t>(machine.pe.patternGroup) != 0)
    return false;
  // More results a step do not help where PSUM takes no more of them.
  const auto count = static_cast<uint64_t>(lanes.count);
  const auto pixels = static_cast<uint64_t>(
      llvm::divideCeilSigned(shapeOf(op->getResult(0)).back(), lanes.count));
  return machine::peStream(machine, machine::patternSteps(machine, 1, pixels),
                           1, count * machine.pe.patternPositions()) <
         machine::peStream(machine, pixels, 1, count);
}

int64_t tileCycles(llvm::ArrayRef<ColumnTile> columns, Operation *op,
                   const machine::Description &machine) {
  const StorageType x = activationStorage(op), w = weightStorage(op);
  const uint64_t passes =
      machine::pePasses(machine, x.digitBits(), w.digitBits());
  const Results results(op);
  // Loads are repeated for every group of positions that half of PSUM holds.
  const int64_t held =
      static_cast<int64_t>(std::max<uint64_t>(machine.psum.banks / 2, 1) *
                           machine.psum.entriesPerBank);
  const int64_t groups =
      llvm::divideCeilSigned(results.rows * results.width, held);
  const int64_t positions = machine.pe.patternPositions();
  const bool narrow = isNarrow(x, w, machine);
  auto streamOf = [&](bool pattern, bool twos) {
    const uint64_t side = machine::stepPositions(machine, pattern, twos);
    const uint64_t steps =
        results.rows * llvm::divideCeil(uint64_t(results.width), side);
    return machine::peStream(machine, llvm::divideCeil(steps, uint64_t(groups)),
                             passes, 1, 1, side);
  };
  auto cyclesOf = [&](const StationaryTile &tile) {
    uint64_t stream = streamOf(tile.pattern, false);
    if (narrow)
      stream = std::min(stream, streamOf(tile.pattern, true));
    const uint64_t load =
        machine::peLoad(machine, tile.rows, w.bytes(), tile.pattern).issue;
    return static_cast<int64_t>(machine::peTile(machine, stream, load));
  };
  int64_t cycles = 0;
  bool before = false;
  for (const ColumnTile &column : columns)
    for (const StationaryTile &tile : column.tiles) {
      cycles += cyclesOf(tile);
      if (tile.pattern && !before)
        cycles +=
            static_cast<int64_t>(machine::groupPause(machine, 1, positions));
      before = tile.pattern;
    }
  return cycles * groups;
}

} // namespace ashlar::analysis
