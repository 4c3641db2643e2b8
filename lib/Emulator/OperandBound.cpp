// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How large an operand of a multiplier can be, from its storage width alone.

#include "Checks.h"
#include "WordArray.h"

using namespace ashlar;
using namespace ashlar::emulator;
using isa::ElemType;
using isa::OperandMode;

double emulator::operandBound(OperandMode mode, ElemType type,
                              unsigned mantissa, unsigned range) {
  auto power = [](unsigned exponent) {
    return static_cast<double>(uint64_t(1) << exponent);
  };
  if (mode == OperandMode::Bfp)
    return power(mantissa - 1 + range);
  if (holdsWords(mode))
    return 0;
  switch (type) {
  case ElemType::I8:
    return power(7);
  case ElemType::I16:
    return power(15);
  case ElemType::U16:
    return power(16);
  default:
    return power(8);
  }
}
