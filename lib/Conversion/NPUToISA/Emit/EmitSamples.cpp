// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sampling of a tile for the scale policies that look at all values of a run
// (docs/Numerics.md 5): the elements of the tile among the first n of the
// tensor, counted with the block axis fastest.

#include "../Generator.h"

#include "ashlar/Analysis/Layout/Lanes.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace ashlar::codegen {

namespace {

/// Boxes that together are the first `count` elements of `shape` in row-major
/// order with axis `fastest` moved to the end.
llvm::SmallVector<Region, 8> prefixBoxes(llvm::ArrayRef<int64_t> shape,
                                         int64_t fastest, int64_t count) {
  llvm::SmallVector<int64_t, 8> order;
  for (int64_t i = 0; i < static_cast<int64_t>(shape.size()); ++i)
    if (i != fastest)
      order.push_back(i);
  if (fastest >= 0)
    order.push_back(fastest);
  llvm::SmallVector<Region, 8> boxes;
  Region box = Region::whole(shape);
  int64_t inside = box.elements();
  if (count >= inside)
    return {box};
  // Digit by digit: all that lies below the digit, then the digit itself.
  for (int64_t axis : order) {
    inside /= shape[axis];
    int64_t digit = count / inside;
    count %= inside;
    if (digit > 0) {
      Region below = box;
      below.size[axis] = digit;
      boxes.push_back(below);
    }
    box.start[axis] = digit;
    box.size[axis] = 1;
    if (count == 0)
      break;
  }
  return boxes;
}

/// `box` in the coordinates of `tile`; nothing if they have no element in
/// common.
std::optional<Region> within(const Region &box, const Region &tile) {
  Region result = box;
  for (size_t i = 0; i < box.start.size(); ++i) {
    int64_t low = std::max(box.start[i], tile.start[i]);
    int64_t high =
        std::min(box.start[i] + box.size[i], tile.start[i] + tile.size[i]);
    if (high <= low)
      return std::nullopt;
    result.start[i] = low - tile.start[i];
    result.size[i] = high - low;
  }
  return result;
}

class Sampler {
public:
  Sampler(Generator &generator, Operation *op, const StatefulScale &scale)
      : generator(generator), op(op), scale(scale) {}

  /// Samples every element of a plain view.
  void sample(const View &view);

private:
  Generator &generator;
  Operation *op;
  const StatefulScale &scale;
};

void Sampler::sample(const View &view) {
  forEachVectorLoop({{&view}}, view, generator.machine, /*maxDims=*/3,
                    [&](const VectorLoop &loop) {
                      const VectorAddress &address = loop.addresses[0];
                      isa::VecStat stat{};
                      stat.channels = loop.channels;
                      stat.n0 = loop.count[0], stat.n1 = loop.count[1],
                      stat.n2 = loop.count[2];
                      stat.type = scale.format.isUnsigned ? isa::ElemType::Ubfp
                                                          : isa::ElemType::Bfp;
                      stat.mantissa = scale.format.mantissa;
                      stat.part = address.part;
                      stat.offset = address.offset;
                      stat.tileStride = address.tileStride;
                      stat.stride0 = address.stride[0],
                      stat.stride1 = address.stride[1],
                      stat.stride2 = address.stride[2];
                      stat.sr = ScaleRegisters::sampleRegister;
                      stat.clear = generator.scales.beginsSamples(op);
                      generator.builder.emit(stat);
                    });
}

/// Lane `lane` of block `block` of a folded feature map as a plain one, and the
/// part of `region` that lies in it; nothing if no pixel does.
std::optional<View> laneOf(const View &stored, const analysis::Lanes &lanes,
                           int64_t block, int64_t lane, const Region &tile,
                           Region region, const machine::Description &machine) {
  View view = stored;
  view.shape = tile.size;
  const int64_t axis = lanes.spread() ? lanes.axis : view.rank() - 1;
  int64_t &width = view.shape[axis];
  width = llvm::divideCeilSigned(width - lane, lanes.count);
  const int64_t across = lanes.spread() ? lanes.across : 1;
  const int64_t channel = block * lanes.pitch;
  view.shape[across] = std::min(view.shape[across] - channel, lanes.pitch);
  const int64_t begin = std::max(region.start[across], channel);
  const int64_t end = std::min(region.start[across] + region.size[across],
                               channel + view.shape[across]);
  if (begin >= end)
    return std::nullopt;
  region.start[across] = begin - channel;
  region.size[across] = end - begin;
  const int64_t position = view.part + lanes.position(channel, lane);
  const auto partitions = static_cast<int64_t>(machine.sb.partitions);
  view.part = position % partitions;
  view.base += position / partitions * view.tileStride;
  int64_t &start = region.start[axis], &size = region.size[axis];
  int64_t first = llvm::divideCeilSigned(start - lane, lanes.count);
  int64_t last = llvm::divideCeilSigned(start + size - lane, lanes.count);
  first = std::max<int64_t>(first, 0);
  if (last <= first)
    return std::nullopt;
  start = first;
  size = last - first;
  return view.slice(region, machine);
}

} // namespace

llvm::Error emitSamples(Generator &generator, const TileContext &tile) {
  const StatefulScale *scale = generator.scales.stateOf(tile.op);
  if (!scale)
    return llvm::Error::success();
  if (!tile.result.inStateBuffer())
    return generator.unsupported(
        tile.op, "scale policy '" + numerics::toString(scale->policy) +
                     "' of a result that is written to DRAM at once");
  llvm::ArrayRef<int64_t> shape = tile.model->resultShape;
  Region whole = Region::whole(shape);
  int64_t count =
      scale->policy.samples ? scale->policy.samples : whole.elements();
  Sampler sampler(generator, tile.op, *scale);
  const analysis::Lanes &lanes = tile.model->lanes;
  for (const Region &box :
       prefixBoxes(shape, tile.result.type.blockAxis, count)) {
    std::optional<Region> region = within(box, tile.out);
    if (!region)
      continue;
    if (!lanes.folded()) {
      sampler.sample(tile.result.slice(*region, generator.machine));
      continue;
    }
    const int64_t blocks = lanes.spread() ? 1 : lanes.blocks(tile.out.size[1]);
    for (int64_t block = 0; block < blocks; ++block)
      for (int64_t lane = 0; lane < lanes.count; ++lane)
        if (auto view = laneOf(tile.result, lanes, block, lane, tile.out,
                               *region, generator.machine))
          sampler.sample(*view);
  }
  return llvm::Error::success();
}

} // namespace ashlar::codegen
