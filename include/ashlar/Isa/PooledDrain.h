// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What vec.drain makes of an entry before it reduces windows, as the drain of
// ACT that would do the same.

#ifndef ASHLAR_ISA_POOLEDDRAIN_H
#define ASHLAR_ISA_POOLEDDRAIN_H

#include "ashlar/Isa/ElementBytes.h"
#include "ashlar/Isa/Instruction.h"

namespace ashlar::isa {

/// The drain of all entries of \p op as values of type srcType, row after row.
inline ActDrain entriesDrain(const VecDrain &op) {
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

} // namespace ashlar::isa

#endif // ASHLAR_ISA_POOLEDDRAIN_H
