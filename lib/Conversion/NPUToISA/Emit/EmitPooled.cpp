// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Drains that reduce windows: the vector unit takes the sums of whole rows of
// results from PSUM, so that the map between a convolution and its pool is
// never stored.

#include "PooledDrains.h"
#include "ProductEmitter.h"

using namespace mlir;

namespace ashlar::codegen {

/// Drains of a window at most: more would start no earlier by much.
static constexpr int64_t kMostDrains = 4;

/// Rows of results are drained in a few parts, which follow the stream.
void ProductEmitter::emitPooled(const ColumnTile &column, const Window &window,
                                int64_t psum, const ChunkPlace &place) {
  const PooledMap &map = *geometry->pooled;
  isa::VecDrain drain{};
  setPooledEntries(generator, tile, *geometry, /*hasExp=*/true, drain);
  drain.kind = map.average ? isa::PoolKind::Avg : isa::PoolKind::Max;
  drain.cols = column.cols;
  drain.psumStride = static_cast<int32_t>(window.size[3]);
  drain.paramOffset = place.parameters;
  const View &target = geometry->y;
  const int64_t position = target.part + column.firstOutput - firstOutput;
  const auto partitions = static_cast<int64_t>(machine.sb.partitions);
  drain.dstPart = position % partitions;
  const int64_t end = window.firstResult + window.results;
  const int64_t step = llvm::divideCeilSigned(window.results, kMostDrains);
  for (int64_t first = window.firstResult; first < end; first += step) {
    int64_t start = 0;
    const PoolAxis rows =
        map.rows.part(first, std::min(step, end - first), start);
    setWindows(rows, map.columns, drain);
    // One window has no step, one tap no dilation.
    drain.sH = rows.out > 1 ? rows.step : 1;
    drain.sW = map.columns.out > 1 ? map.columns.step : 1;
    drain.dH = rows.kernel > 1 ? rows.dilation : 1;
    drain.dW = map.columns.kernel > 1 ? map.columns.dilation : 1;
    drain.cloH = rows.countLow, drain.chiH = rows.countHigh;
    drain.cloW = map.columns.countLow, drain.chiW = map.columns.countHigh;
    drain.psum = psum + (start - window.start[2]) * window.size[3];
    drain.dstOffset = target.base + position / partitions * target.tileStride +
                      window.start[0] * geometry->yStrides[0] +
                      first * map.rows.resultStride;
    setResultRegister(generator, tile, target, drain);
    generator.builder.emit(drain);
  }
}

} // namespace ashlar::codegen
