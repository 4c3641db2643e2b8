// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// DMA of the naive machine, byte by byte.

#include "NaiveMachine.h"
#include <cstring>

using namespace ashlar;
using namespace ashlar::test;
using isa::ElemType;

void NaiveMachine::run(const isa::DmaCopy &op) {
  for (uint64_t a = 0; a < op.n0; ++a)
    for (uint64_t b = 0; b < op.n1; ++b)
      for (uint64_t c = 0; c < op.n2; ++c)
        for (uint64_t d = 0; d < op.n3; ++d)
          for (uint64_t e = 0; e < op.n4; ++e)
            for (uint64_t i = 0; i < op.elemBytes; ++i)
              setByte(op.dstMem,
                      op.dstBase + a * op.dstStride0 + b * op.dstStride1 +
                          c * op.dstStride2 + d * op.dstStride3 +
                          e * op.dstStride4 + i,
                      byteOf(op.srcMem,
                             op.srcBase + a * op.srcStride0 +
                                 b * op.srcStride1 + c * op.srcStride2 +
                                 d * op.srcStride3 + e * op.srcStride4 + i));
}

void NaiveMachine::run(const isa::DmaFill &op) {
  for (uint64_t a = 0; a < op.n0; ++a)
    for (uint64_t b = 0; b < op.n1; ++b)
      for (uint64_t c = 0; c < op.n2; ++c)
        for (uint64_t d = 0; d < op.n3; ++d)
          for (uint64_t e = 0; e < op.n4; ++e)
            for (uint64_t i = 0; i < op.elemBytes; ++i)
              setByte(op.dstMem,
                      op.dstBase + a * op.dstStride0 + b * op.dstStride1 +
                          c * op.dstStride2 + d * op.dstStride3 +
                          e * op.dstStride4 + i,
                      static_cast<uint8_t>(op.value >> (8 * i)));
}

/// All codes of a stream of any form, from bits read one by one.
std::vector<int64_t> NaiveMachine::codesOf(const isa::DmaUnpack &op) const {
  uint64_t bit = 8 * op.srcBase;
  auto take = [&](unsigned bits) {
    uint64_t value = 0;
    for (unsigned i = 0; i < bits; ++i, ++bit)
      value |= uint64_t(dram[bit / 8] >> bit % 8 & 1) << i;
    return value;
  };
  auto code = [&] {
    auto value = static_cast<int64_t>(take(op.mantissa));
    return value >= int64_t(1) << (op.mantissa - 1)
               ? value - (int64_t(1) << op.mantissa)
               : value;
  };
  const uint64_t count = uint64_t(op.n0) * op.n1 * op.n2 * op.n3 * op.n4;
  std::vector<int64_t> codes(count, op.zero);
  if (op.form == isa::CodeForm::Dense)
    for (int64_t &value : codes)
      value = code();
  if (op.form == isa::CodeForm::Bitmap) {
    std::vector<bool> flags(count / op.unit);
    for (auto flag : flags)
      flag = take(1);
    for (uint64_t i = 0; i < count; ++i)
      if (flags[i / op.unit])
        codes[i] = code();
  }
  if (op.form == isa::CodeForm::Runs)
    for (uint64_t i = 0, at = 0; i < op.stored; ++i) {
      at += take(op.unit);
      codes[at++] = code();
    }
  if (op.form == isa::CodeForm::Exponents) {
    const uint64_t rows = op.unit == 2 ? op.n2 : op.unit == 1 ? op.n3 : 1;
    const uint64_t share = op.unit == 2 ? op.n4 : 1;
    const uint64_t row = op.unit == 2   ? op.n3 * op.n4
                         : op.unit == 1 ? op.n4
                                        : count;
    for (uint64_t first = 0; first < count; first += rows * row)
      for (uint64_t i = 0; i < row; i += share) {
        const auto below = static_cast<int64_t>(take(op.mantissa));
        const int64_t zeros = (int64_t(1) << op.mantissa) - 1;
        for (uint64_t r = 0; r < rows; ++r)
          for (uint64_t s = 0; s < share; ++s)
            codes[first + r * row + i + s] =
                below == zeros ? -128 : op.zero - below;
      }
  }
  return codes;
}

void NaiveMachine::run(const isa::DmaUnpack &op) {
  const std::vector<int64_t> codes = codesOf(op);
  uint64_t k = 0;
  for (uint64_t a = 0; a < op.n0; ++a)
    for (uint64_t b = 0; b < op.n1; ++b)
      for (uint64_t c = 0; c < op.n2; ++c)
        for (uint64_t d = 0; d < op.n3; ++d)
          for (uint64_t e = 0; e < op.n4; ++e) {
            const auto code = static_cast<uint64_t>(codes[k++]);
            for (uint64_t i = 0; i < op.elemBytes; ++i)
              setByte(op.form == isa::CodeForm::Exponents ? isa::Memory::Xm
                                                          : isa::Memory::Sb,
                      op.dstBase + a * op.dstStride0 + b * op.dstStride1 +
                          c * op.dstStride2 + d * op.dstStride3 +
                          e * op.dstStride4 + i,
                      static_cast<uint8_t>(code >> (8 * i)));
          }
}

void NaiveMachine::run(const isa::DmaGather &op) {
  for (uint64_t a = 0; a < op.n0; ++a)
    for (uint64_t b = 0; b < op.n1; ++b)
      for (uint64_t c = 0; c < op.n2; ++c)
        for (uint64_t d = 0; d < op.n3; ++d)
          for (uint64_t e = 0; e < op.n4; ++e) {
            const uint64_t at = op.indexBase + a * op.indexStride0 +
                                b * op.indexStride1 + c * op.indexStride2 +
                                d * op.indexStride3 + e * op.indexStride4;
            int64_t index = 0;
            if (op.indexType == ElemType::I32)
              index = int32_t(sb[at] | sb[at + 1] << 8 | sb[at + 2] << 16 |
                              uint32_t(sb[at + 3]) << 24);
            else
              std::memcpy(&index, &sb[at], 8);
            index += index < 0 ? int64_t(op.size) : 0;
            for (uint64_t i = 0; i < op.elemBytes; ++i)
              sb[op.dstBase + a * op.dstStride0 + b * op.dstStride1 +
                 c * op.dstStride2 + d * op.dstStride3 + e * op.dstStride4 +
                 i] =
                  dram[op.srcBase + index * op.axisStride + a * op.srcStride0 +
                       b * op.srcStride1 + c * op.srcStride2 +
                       d * op.srcStride3 + e * op.srcStride4 + i];
          }
}

void NaiveMachine::run(const isa::DmaPut &op) {
  int64_t place = 0;
  for (unsigned i = 0; i < (op.indexType == ElemType::I32 ? 4 : 8); ++i)
    place |= int64_t(dram[op.indexBase + i]) << 8 * i;
  for (uint64_t a = 0; a < op.n0; ++a)
    for (uint64_t b = 0; b < op.n1; ++b)
      for (uint64_t c = 0; c < op.n2; ++c)
        for (uint64_t d = 0; d < op.n3; ++d)
          for (uint64_t e = 0; e < op.n4; ++e)
            for (uint64_t i = 0; i < op.elemBytes; ++i)
              dram[op.dstBase + place * op.axisStride + a * op.dstStride0 +
                   b * op.dstStride1 + c * op.dstStride2 + d * op.dstStride3 +
                   e * op.dstStride4 + i] =
                  byteOf(op.srcMem, op.srcBase + a * op.srcStride0 +
                                        b * op.srcStride1 + c * op.srcStride2 +
                                        d * op.srcStride3 + e * op.srcStride4 +
                                        i);
}
