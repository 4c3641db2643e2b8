// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What vec.drain and act.pool make of an entry before they reduce windows, as
// the drain of ACT that would do the same.

#ifndef ASHLAR_ISA_POOLEDDRAIN_H
#define ASHLAR_ISA_POOLEDDRAIN_H

#include "ashlar/Isa/ElementBytes.h"
#include "ashlar/Isa/Instruction.h"

namespace ashlar::isa {

/// What the drains of both kinds of pools have in common.
template <typename Op>
ActDrain pooledEntries(const Op &op) {
  ActDrain drain{};
  drain.psum = op.psum;
  drain.psumStride1 = op.psumStride;
  drain.psumStride2 = 1;
  drain.n1 = op.inH, drain.n2 = op.inW;
  drain.cols = op.cols;
  drain.mode = op.mode;
  drain.xrA = op.xrA, drain.xrS = op.xrS;
  drain.shift = op.shift;
  drain.paramPart = op.paramPart, drain.paramOffset = op.paramOffset;
  drain.hasScale = op.hasScale, drain.hasBias = op.hasBias;
  drain.hasExp = op.hasExp, drain.alphaFromParam = op.alphaFromParam;
  drain.function = op.function;
  drain.alpha = op.alpha, drain.beta = op.beta;
  drain.dstType = op.srcType;
  drain.dstMantissa = op.srcMantissa, drain.dstBlock = op.srcBlock;
  const auto bytes =
      static_cast<int32_t>(elementBytes(op.srcType, op.srcMantissa));
  drain.dstStride1 = bytes * static_cast<int32_t>(op.inW);
  drain.dstStride2 = bytes;
  return drain;
}

/// The drain of all entries of \p op as values of type srcType, row after row.
inline ActDrain entriesDrain(const VecDrain &op) { return pooledEntries(op); }

/// The same of the sparse cluster.
inline ActDrain entriesDrain(const ActPool &op) {
  ActDrain drain = pooledEntries(op);
  drain.fromTcu = true;
  drain.table = op.table;
  drain.group = op.group, drain.groupLanes = op.groupLanes;
  drain.mapped = op.mapped;
  drain.regionStride = op.regionStride;
  return drain;
}

} // namespace ashlar::isa

#endif // ASHLAR_ISA_POOLEDDRAIN_H
