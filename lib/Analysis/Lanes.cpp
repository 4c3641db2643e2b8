// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shapes and regions of lane-folded maps.

#include "ashlar/Analysis/Lanes.h"

#include "dialects/NPU/NPUDialect.h"
#include "llvm/Support/MathExtras.h"

namespace ashlar::analysis {

Lanes lanesOf(mlir::Operation *op) {
  npu::LayoutAttr layout = npu::layoutAttrOf(op);
  return layout ? Lanes{layout.getLanes(), layout.getPitch()} : Lanes();
}

Lanes lanesOf(mlir::Value value) { return lanesOf(value.getDefiningOp()); }

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

Shape storedShape(llvm::ArrayRef<int64_t> shape, const Lanes &lanes) {
  Shape stored(shape.begin(), shape.end());
  if (lanes.folded()) {
    stored[1] = lanes.count * lanes.pitch;
    stored.back() = llvm::divideCeil(stored.back(), lanes.count);
  }
  return stored;
}

Region storedRegion(const Region &region, const Lanes &lanes) {
  Region stored{region.start, storedShape(region.size, lanes)};
  if (lanes.folded()) {
    stored.start[1] = 0;
    stored.start.back() /= lanes.count;
  }
  return stored;
}

} // namespace ashlar::analysis
