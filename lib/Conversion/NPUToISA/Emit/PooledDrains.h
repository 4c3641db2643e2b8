// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What drains that reduce windows say of their entries, windows and results,
// whichever engine reduces them.

#ifndef ASHLAR_LIB_CONVERSION_NPUTOISA_EMIT_POOLEDDRAINS_H
#define ASHLAR_LIB_CONVERSION_NPUTOISA_EMIT_POOLEDDRAINS_H

#include "../Generator.h"
#include "../ProductGeometry.h"

namespace ashlar::codegen {

/// The extents of a drain's entries and windows.
template <typename Op>
void setWindows(const PoolAxis &rows, const PoolAxis &columns, Op &drain) {
  drain.inH = rows.in, drain.inW = columns.in;
  drain.outH = rows.out, drain.outW = columns.out;
  drain.kH = rows.kernel, drain.kW = columns.kernel;
  // One window has no step.
  drain.sH = rows.out > 1 ? rows.step : std::max(rows.step, rows.kernel);
  drain.sW =
      columns.out > 1 ? columns.step : std::max(columns.step, columns.kernel);
  drain.pH = rows.pad, drain.pW = columns.pad;
}

/// The epilogue of the entries, their type and that of the results, and all of
/// the windows of \p geometry.
template <typename Op>
void setPooledEntries(Generator &generator, const TileContext &tile,
                      const ProductGeometry &geometry, bool hasExp, Op &drain) {
  isa::ActDrain entries{};
  setEpilogue(tile.op, entries);
  setSums(tile.op, geometry.x.type, hasExp, entries);
  drain.mode = entries.mode;
  drain.shift = entries.shift;
  drain.hasScale = entries.hasScale, drain.hasBias = entries.hasBias;
  drain.hasExp = entries.hasExp;
  drain.alphaFromParam = entries.alphaFromParam;
  drain.function = entries.function;
  drain.alpha = entries.alpha, drain.beta = entries.beta;
  drain.xrA = generator.scaleRegister(tile.op->getOperand(0));
  const PooledMap &map = *geometry.pooled;
  drain.srcType = static_cast<isa::ElemType>(map.type.isaType());
  if (map.type.encoded) {
    drain.srcMantissa = map.type.format.mantissa;
    drain.srcBlock = map.type.format.block;
  }
  const View &target = geometry.y;
  drain.dstType = static_cast<isa::ElemType>(target.type.isaType());
  if (target.type.encoded) {
    drain.dstMantissa = target.type.format.mantissa;
    drain.dstBlock = target.type.format.block;
  }
  drain.dstStrideH = static_cast<int32_t>(map.rows.resultStride);
  drain.dstStrideW = static_cast<int32_t>(map.columns.resultStride);
  setWindows(map.rows, map.columns, drain);
}

/// The register that the exponents of a drain's results merge into.
template <typename Op>
void setResultRegister(Generator &generator, const TileContext &tile,
                       const View &target, Op &drain) {
  if (!target.type.encoded)
    return;
  const EncodeRegisters registers = generator.resultScale(tile.op);
  drain.dstXr = registers.xr;
  drain.dstXrClear = registers.clear;
}

} // namespace ashlar::codegen

#endif // ASHLAR_LIB_CONVERSION_NPUTOISA_EMIT_POOLEDDRAINS_H
