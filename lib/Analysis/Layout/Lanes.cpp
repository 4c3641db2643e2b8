// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shapes and regions of lane-folded feature maps.

#include "ashlar/Analysis/Layout/Lanes.h"

#include "ashlar/Analysis/Array/StationaryPlan.h"
#include "dialects/NPU/NPUDialect.h"
#include "llvm/Support/MathExtras.h"

namespace ashlar::analysis {

/// The fold that `layout` has besides `spread`.
static Lanes lanesOf(npu::LayoutAttr layout, npu::SpreadAttr spread) {
  if (spread)
    return {spread.getCount(), spread.getPitch(), spread.getAxis(),
            layout.getAxis()};
  return {layout.getLanes(), layout.getPitch()};
}

int64_t Lanes::blocks(int64_t channels) const {
  return folded() ? std::max<int64_t>(llvm::divideCeil(channels, pitch), 1) : 1;
}

int64_t Lanes::position(int64_t channel, int64_t lane) const {
  if (!folded())
    return channel;
  return (channel / pitch * count + lane) * pitch + channel % pitch;
}

Lanes lanesOf(mlir::Operation *op) {
  npu::LayoutAttr layout = npu::layoutAttrOf(op);
  return layout ? lanesOf(layout, layout.getSpread()) : Lanes();
}

Lanes workLanesOf(mlir::Operation *op) {
  npu::LayoutAttr layout = npu::layoutAttrOf(op);
  return layout ? lanesOf(layout, layout.getWorkSpread()) : Lanes();
}

Lanes lanesOf(mlir::Value value) { return lanesOf(value.getDefiningOp()); }

Lanes widthLanesOf(mlir::Value value) {
  Lanes lanes = lanesOf(value);
  return lanes.spread() ? Lanes() : lanes;
}

Lanes lanesApart(npu::PeConvOp conv, int64_t rows) {
  const auto shape = shapeOf(conv.getX());
  return {rows, shape[1], static_cast<int64_t>(shape.size()) - 2};
}

Lanes readLanesOf(mlir::Operation *conv) {
  auto dense = mlir::dyn_cast<npu::PeConvOp>(conv);
  if (dense && dense.getRowsApart())
    return lanesApart(dense, static_cast<int64_t>(dense.getPackedRows()));
  return widthLanesOf(conv->getOperand(0));
}

int64_t sourcePitch(llvm::ArrayRef<int64_t> pitches, int64_t channels,
                    int64_t tolerance) {
  auto fill = [&](int64_t pitch) -> int64_t {
    return llvm::alignTo(channels, pitch) - channels;
  };
  const int64_t least = fill(*std::min_element(
      pitches.begin(), pitches.end(),
      [&](int64_t a, int64_t b) { return fill(a) < fill(b); }));
  int64_t best = 0;
  for (int64_t pitch : pitches)
    if (fill(pitch) <= least + tolerance)
      best = std::max(best, pitch);
  return best;
}

int64_t foldedBlock(const numerics::BlockFormat &format, const Lanes &lanes) {
  if (!lanes.folded())
    return format.block;
  return format.block > 0 ? std::min<int64_t>(format.block, lanes.pitch)
                          : lanes.pitch;
}

void setBlocks(ProductShape &product, const Lanes &operand,
               const Lanes &drained) {
  auto blockOf = [](const Lanes &lanes, int64_t channels) {
    return lanes.blocks(channels) > 1 ? lanes.pitch : 0;
  };
  product.channelBlock = blockOf(operand, product.channels);
  product.outputBlock = blockOf(drained, product.outputs);
}

/// The axis whose neighbours lie side by side.
static int64_t laneAxis(size_t rank, const Lanes &lanes) {
  return lanes.axis == Lanes::kLast ? static_cast<int64_t>(rank) - 1
                                    : lanes.axis;
}

Shape storedShape(llvm::ArrayRef<int64_t> shape, const Lanes &lanes) {
  Shape stored(shape.begin(), shape.end());
  if (!lanes.folded())
    return stored;
  stored[lanes.across] =
      lanes.blocks(stored[lanes.across]) * lanes.count * lanes.pitch;
  if (!lanes.repeated) {
    int64_t &extent = stored[laneAxis(shape.size(), lanes)];
    extent = llvm::divideCeil(extent, lanes.count);
  }
  return stored;
}

Region storedRegion(const Region &region, const Lanes &lanes) {
  Region stored{region.start, storedShape(region.size, lanes)};
  if (!lanes.folded())
    return stored;
  stored.start[lanes.across] = 0;
  if (!lanes.repeated)
    stored.start[laneAxis(region.size.size(), lanes)] /= lanes.count;
  return stored;
}

Region wholeGroups(Region region, const Lanes &lanes) {
  if (!lanes.spread())
    return region;
  int64_t &start = region.start[lanes.axis], &size = region.size[lanes.axis];
  const int64_t end = start + size;
  start -= start % lanes.count;
  size = static_cast<int64_t>(llvm::alignTo(end - start, lanes.count));
  return region;
}

bool mayWriteLanes(npu::DmaMoveOp move) {
  const StorageType result = storageOf(move.getY());
  return !move.getPatterns().empty() &&
         llvm::all_of(move.getInputs(), [&](mlir::Value input) {
           const StorageType type = storageOf(input);
           return result.isByte() ? type == result : !type.encoded;
         });
}

} // namespace ashlar::analysis
