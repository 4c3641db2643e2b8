// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Drains that reduce windows: the vector unit takes the sums of whole rows of
// results from PSUM, so that the map between a convolution and its pool is
// never stored.

#include "ProductEmitter.h"

using namespace mlir;

namespace ashlar::codegen {

/// Drains of a window at most: more would start no earlier by much.
static constexpr int64_t kMostDrains = 4;

/// What of the epilogue of a drain holds for pooled entries.
static void setEntries(const isa::ActDrain &from, isa::VecDrain &drain) {
  drain.mode = from.mode;
  drain.shift = from.shift;
  drain.hasScale = from.hasScale, drain.hasBias = from.hasBias;
  drain.hasExp = from.hasExp, drain.alphaFromParam = from.alphaFromParam;
  drain.function = from.function;
  drain.alpha = from.alpha, drain.beta = from.beta;
}

static void setWindows(const PoolAxis &rows, const PoolAxis &columns,
                       isa::VecDrain &drain) {
  drain.inH = rows.in, drain.inW = columns.in;
  drain.outH = rows.out, drain.outW = columns.out;
  drain.kH = rows.kernel, drain.kW = columns.kernel;
  // One window has no step, one tap no dilation.
  drain.sH = rows.out > 1 ? rows.step : 1;
  drain.sW = columns.out > 1 ? columns.step : 1;
  drain.dH = rows.kernel > 1 ? rows.dilation : 1;
  drain.dW = columns.kernel > 1 ? columns.dilation : 1;
  drain.pH = rows.pad, drain.pW = columns.pad;
  drain.cloH = rows.countLow, drain.chiH = rows.countHigh;
  drain.cloW = columns.countLow, drain.chiW = columns.countHigh;
}

/// Rows of results are drained in a few parts, which follow the stream.
void ProductEmitter::emitPooled(const ColumnTile &column, const Window &window,
                                int64_t psum, const ChunkPlace &place) {
  const PooledMap &map = *geometry->pooled;
  isa::ActDrain epilogue{};
  setEpilogue(tile.op, epilogue);
  setSums(tile.op, geometry->x.type, /*hasExp=*/true, epilogue);
  isa::VecDrain drain{};
  setEntries(epilogue, drain);
  drain.kind = map.average ? isa::PoolKind::Avg : isa::PoolKind::Max;
  drain.cols = column.cols;
  drain.psumStride = static_cast<int32_t>(window.size[3]);
  drain.xrA = generator.scaleRegister(tile.op->getOperand(0));
  drain.paramOffset = place.parameters;
  drain.srcType = static_cast<isa::ElemType>(map.type.isaType());
  if (map.type.encoded) {
    drain.srcMantissa = map.type.format.mantissa;
    drain.srcBlock = map.type.format.block;
  }
  const View &target = geometry->y;
  drain.dstType = static_cast<isa::ElemType>(target.type.isaType());
  if (target.type.encoded) {
    drain.dstMantissa = target.type.format.mantissa;
    drain.dstBlock = target.type.format.block;
  }
  const int64_t position = target.part + column.firstOutput - firstOutput;
  const auto partitions = static_cast<int64_t>(machine.sb.partitions);
  drain.dstPart = position % partitions;
  drain.dstStrideH = static_cast<int32_t>(map.rows.resultStride);
  drain.dstStrideW = static_cast<int32_t>(map.columns.resultStride);
  const int64_t end = window.firstResult + window.results;
  const int64_t step = llvm::divideCeilSigned(window.results, kMostDrains);
  for (int64_t first = window.firstResult; first < end; first += step) {
    int64_t start = 0;
    const PoolAxis rows =
        map.rows.part(first, std::min(step, end - first), start);
    setWindows(rows, map.columns, drain);
    drain.psum = psum + (start - window.start[2]) * window.size[3];
    drain.dstOffset = target.base + position / partitions * target.tileStride +
                      window.start[0] * geometry->yStrides[0] +
                      first * map.rows.resultStride;
    if (target.type.encoded) {
      const EncodeRegisters registers = generator.resultScale(tile.op);
      drain.dstXr = registers.xr;
      drain.dstXrClear = registers.clear;
    }
    generator.builder.emit(drain);
  }
}

} // namespace ashlar::codegen
