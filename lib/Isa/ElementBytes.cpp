// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Widths of elements in memories and in the array.

#include "ashlar/Isa/ElementBytes.h"
#include "ashlar/Support/ElementType.h"

namespace ashlar::isa {

unsigned elementBytes(ElemType type, unsigned mantissa) {
  switch (type) {
  case ElemType::I8:
  case ElemType::U8:
  case ElemType::Bool:
    return 1;
  case ElemType::F16:
  case ElemType::Bf16:
  case ElemType::I16:
  case ElemType::U16:
    return 2;
  case ElemType::F32:
  case ElemType::I32:
  case ElemType::U32:
    return 4;
  case ElemType::I64:
  case ElemType::U64:
  case ElemType::F64:
    return 8;
  case ElemType::Bfp:
    return mantissa <= 8 ? 1 : 2;
  case ElemType::Ubfp:
    return 1;
  }
  return 8;
}

unsigned operandBits(OperandMode mode, ElemType type, unsigned mantissa) {
  switch (mode) {
  case OperandMode::Select:
    return 1;
  case OperandMode::Bfp:
    return type == ElemType::Ubfp ? mantissa - 1 : mantissa;
  case OperandMode::Float:
    return support::significandBits(static_cast<support::ElementType>(type));
  case OperandMode::Int:
    return 8 * elementBytes(type, mantissa);
  }
  return 0;
}

unsigned multipliedBits(OperandMode mode, ElemType type, unsigned mantissa) {
  return mode == OperandMode::Bfp ? mantissa - 1
                                  : operandBits(mode, type, mantissa);
}

} // namespace ashlar::isa
