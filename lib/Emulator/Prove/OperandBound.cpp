// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How large an operand of a multiplier can be, from its storage width and zero
// point alone, and which zero points there are.

#include "../State/Words.h"
#include "Checks.h"

#include <algorithm>

using namespace ashlar;
using namespace ashlar::emulator;
using isa::ElemType;
using isa::OperandMode;

double emulator::operandBound(OperandMode mode, ElemType type,
                              unsigned mantissa, unsigned range, int zero) {
  auto power = [](unsigned exponent) {
    return static_cast<double>(uint64_t(1) << exponent);
  };
  if (mode == OperandMode::Bfp)
    return power(mantissa - 1 + range);
  if (holdsWords(mode))
    return 0;
  if (zero != 0) // the larger end of i8 or u8, seen from its zero point
    return type == ElemType::U8 ? std::max(zero, 255 - zero)
                                : std::max(zero + 128, 127 - zero);
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

std::optional<Finding> emulator::checkZero(OperandMode mode, ElemType type,
                                           int zero) {
  if (zero == 0)
    return std::nullopt;
  if (mode != OperandMode::Int ||
      (type != ElemType::I8 && type != ElemType::U8))
    return Finding{FaultKind::BadField,
                   fmt::format("zero point {} of elements of type {} in mode "
                               "{}, expected i8 or u8 in mode int",
                               zero, isa::name(type).str(),
                               isa::name(mode).str())};
  const int least = type == ElemType::I8 ? -128 : 0;
  if (zero < least || zero > least + 255)
    return Finding{
        FaultKind::BadField,
        fmt::format("zero point {} of elements of type {}, expected {} to {}",
                    zero, isa::name(type).str(), least, least + 255)};
  return std::nullopt;
}
