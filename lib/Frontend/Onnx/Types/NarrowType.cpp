// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The table of narrow types and their codes. Numbers of data types are written
// out: the package's enumeration is older than they are.

#include "NarrowType.h"

#include <cmath>
#include <limits>

using namespace ashlar;
using namespace ashlar::frontend;
using support::ElementType;

static constexpr ElementType kHalf = ElementType::F16, kCode = ElementType::U8;

static constexpr NarrowType kTypes[] = {
    {17, "float8e4m3fn", 8, NarrowKind::Finite, 3, -6, 448, kHalf, kCode},
    {18, "float8e4m3fnuz", 8, NarrowKind::NoZero, 3, -7, 240, kHalf, kCode},
    {19, "float8e5m2", 8, NarrowKind::Ieee, 2, -14, 57344, kHalf, kCode},
    {20, "float8e5m2fnuz", 8, NarrowKind::NoZero, 2, -15, 57344, kHalf, kCode},
    {21, "uint4", 4, NarrowKind::Unsigned, 0, 0, 15, kCode, kCode},
    {22, "int4", 4, NarrowKind::Signed, 0, 0, 7, ElementType::I8,
     ElementType::I8},
    {23, "float4e2m1", 4, NarrowKind::Plain, 1, 0, 6, kHalf, kCode},
    {24, "float8e8m0", 8, NarrowKind::Scale, 0, -127, 0x1p127, ElementType::F32,
     kCode},
    {25, "uint2", 2, NarrowKind::Unsigned, 0, 0, 3, kCode, kCode},
    {26, "int2", 2, NarrowKind::Signed, 0, 0, 1, ElementType::I8,
     ElementType::I8},
};

const NarrowType *ashlar::frontend::findNarrow(int32_t onnxType) {
  for (const NarrowType &type : kTypes)
    if (type.onnx == onnxType)
      return &type;
  return nullptr;
}

const NarrowType *ashlar::frontend::findNarrow(llvm::StringRef name) {
  for (const NarrowType &type : kTypes)
    if (name == type.name)
      return &type;
  return nullptr;
}

static bool isNaNCode(const NarrowType &type, unsigned code) {
  const unsigned sign = 1u << (type.bits - 1), magnitude = code & (sign - 1);
  switch (type.kind) {
  case NarrowKind::Ieee:
    return magnitude > (sign - 1) - ((1u << type.fraction) - 1);
  case NarrowKind::Finite:
    return magnitude == sign - 1;
  case NarrowKind::NoZero:
    return code == sign;
  case NarrowKind::Scale:
    return code == (1u << type.bits) - 1;
  default:
    return false;
  }
}

double ashlar::frontend::decode(const NarrowType &type, unsigned code) {
  code &= (1u << type.bits) - 1;
  const unsigned sign = 1u << (type.bits - 1), magnitude = code & (sign - 1);
  if (type.kind == NarrowKind::Unsigned)
    return code;
  if (type.kind == NarrowKind::Signed)
    return static_cast<double>(magnitude) - (code & sign);
  if (isNaNCode(type, code))
    return std::numeric_limits<double>::quiet_NaN();
  if (type.kind == NarrowKind::Scale)
    return std::ldexp(1.0, static_cast<int>(code) + type.leastExponent);
  const auto exponent = static_cast<int>(magnitude >> type.fraction);
  unsigned digits = magnitude & ((1u << type.fraction) - 1);
  double value = std::numeric_limits<double>::infinity();
  const bool infinite =
      type.kind == NarrowKind::Ieee &&
      magnitude >> type.fraction == (sign - 1) >> type.fraction;
  if (!infinite) {
    if (exponent > 0)
      digits += 1u << type.fraction;
    value = std::ldexp(digits, type.leastExponent -
                                   static_cast<int>(type.fraction) +
                                   (exponent > 0 ? exponent - 1 : 0));
  }
  return code & sign ? -value : value;
}
