// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Fields of drains that encode exact sums.

#include "FieldRules.h"
#include <cmath>

using namespace ashlar;
using namespace ashlar::emulator;

Result emulator::checkBlockFields(const isa::ActDrain &op) {
  if (!isa::isBlock(op.dstType) || op.dstBlock == 0)
    return bad("drain mode block needs an encoded result with a block length");
  if (op.hasScale || op.alphaFromParam || (op.hasBias && !op.biasAligned) ||
      (op.resMode && !isa::isBlock(op.resType)))
    return bad("drain mode block adds an aligned bias and an encoded residual, "
               "and takes nothing else per lane");
  if (op.function == isa::Function::Clip
          ? std::isnan(op.alpha) || std::isnan(op.beta)
          : op.function != isa::Function::Copy &&
                op.function != isa::Function::Relu)
    return bad("drain mode block has the function {}, expected copy, relu, or "
               "clip between numbers",
               isa::name(op.function).str());
  return op.resMode ? checkFormat("residual", op.resType, op.resMantissa)
                    : std::nullopt;
}
