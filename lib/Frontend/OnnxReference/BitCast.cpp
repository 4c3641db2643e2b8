// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The same bits as another type.

#include "Narrow.h"
#include "Registry.h"
#include "Walk.h"
#include "lib/Frontend/Onnx/Tensors.h"

#include "ashlar/Support/Half.h"

#include <bit>
#include <cmath>

using namespace ashlar;
using namespace ashlar::onnxref;

namespace {

/// The bits of a float, from bit 0; a NaN is the quiet one.
uint64_t bitsOf(double x, ElementType type) {
  const auto single =
      std::bit_cast<uint32_t>(std::isnan(x) ? std::bit_cast<float>(0x7fc00000u)
                                            : static_cast<float>(x));
  switch (type) {
  case ElementType::F64:
    return std::isnan(x) ? 0x7ff8000000000000u : std::bit_cast<uint64_t>(x);
  case ElementType::F16:
    return support::floatToHalf(std::bit_cast<float>(single));
  case ElementType::BF16:
    return single >> 16;
  default:
    return single;
  }
}

double floatOf(uint64_t bits, ElementType type) {
  switch (type) {
  case ElementType::F64:
    return std::bit_cast<double>(bits);
  case ElementType::F16:
    return support::halfToFloat(static_cast<uint16_t>(bits));
  case ElementType::BF16:
    return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
  default:
    return std::bit_cast<float>(static_cast<uint32_t>(bits));
  }
}

void bitCast(Call &call) {
  const auto to = static_cast<int32_t>(call.getInt("to", 0));
  const frontend::NarrowType *target = frontend::findNarrow(to);
  auto type = target ? llvm::Expected<ElementType>(target->storage)
                     : frontend::elementTypeOf(to, "the result");
  if (!type) {
    call.fail("{}", llvm::toString(type.takeError()));
    return;
  }
  Tensor x = call.operand(0);
  if (const frontend::NarrowType *from = call.narrowOperand(0))
    x = codesOf(x, *from);
  Tensor codes(target ? target->outside : *type, x.shape);
  for (int64_t i = 0, e = x.size(); i < e; ++i) {
    const uint64_t bits = x.isFloat() ? bitsOf(x.floats[i], x.type)
                                      : static_cast<uint64_t>(x.ints[i]);
    if (codes.isFloat())
      codes.floats[i] = floatOf(bits, *type);
    else if (codes.type == ElementType::Bool)
      codes.ints[i] = bits != 0;
    else
      codes.ints[i] = static_cast<int64_t>(bits);
  }
  if (!codes.isFloat())
    reference::roundToType(codes, codes.type);
  call.setResult(0, target ? valuesOf(codes, *target) : std::move(codes));
}

} // namespace

std::vector<EvaluatorRow> onnxref::bitCastEvaluators() {
  return {{"BitCast", {26}, 1, bitCast, Continuity::Steps}};
}
