// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Elements of tensors, gathered and scattered.

#include "TensorView.h"
#include "ashlar/Support/ElementType.h"
#include <cstring>

using namespace ashlar;
using namespace ashlar::emulator;
using isa::ElemType;

unsigned emulator::storedBytes(ElemType type, unsigned mantissa) {
  if (isa::isBlock(type))
    return isa::elementBytes(type, mantissa);
  return support::byteSize(static_cast<ElementType>(type));
}

bool emulator::isInteger(ElemType type) {
  return type >= ElemType::I8 && type <= ElemType::U64;
}

Pattern emulator::patternOf(const isa::Operand &operand) {
  Pattern pattern;
  size_t dim = 3 - operand.loops.size();
  for (const isa::AccessDim &loop : operand.loops) {
    pattern.count[dim] = loop.count;
    pattern.stride[dim++] = loop.stride;
  }
  return pattern;
}

TensorView emulator::viewOf(const isa::TensorOperand &operand) {
  return {operand.type,
          operand.mantissa,
          operand.part,
          operand.offset,
          operand.tileStride,
          operand.broadcastPart,
          patternOf(operand).merged()};
}

//===- Movement -----------------------------------------------------------===//

template <typename T>
static void gatherLoop(const uint8_t *src, int64_t stride, uint64_t n,
                       uint8_t *out) {
  for (uint64_t i = 0; i < n; ++i)
    std::memcpy(out + i * sizeof(T), src + static_cast<int64_t>(i) * stride,
                sizeof(T));
}

/// One element again and again, as operands that are broadcast along the free
/// dimensions have.
template <typename T>
static void repeat(const uint8_t *src, uint64_t n, uint8_t *out) {
  T element;
  std::memcpy(&element, src, sizeof(T));
  for (uint64_t i = 0; i < n; ++i)
    std::memcpy(out + i * sizeof(T), &element, sizeof(T));
}

template <typename T>
static void scatterLoop(uint8_t *dst, int64_t stride, uint64_t n,
                        const uint8_t *in) {
  for (uint64_t i = 0; i < n; ++i)
    std::memcpy(dst + static_cast<int64_t>(i) * stride, in + i * sizeof(T),
                sizeof(T));
}

void emulator::gatherElements(const numerics::KernelTable &kernels,
                              const uint8_t *base, const Pattern &pattern,
                              unsigned bytes, uint64_t k0, uint64_t k1,
                              void *out) {
  const int64_t stride = pattern.stride[2];
  uint8_t *to = static_cast<uint8_t *>(out);
  pattern.forRuns(k0, k1, [&](uint64_t, int64_t offset, uint64_t n) {
    const uint8_t *src = base + offset;
    if (stride == bytes || n == 1)
      std::memcpy(to, src, n * bytes);
    else if (stride == 0 && bytes == 4)
      repeat<uint32_t>(src, n, to);
    else if (bytes == 1)
      kernels.gather8(src, stride, n, to);
    else if (bytes == 2)
      kernels.gather16(src, stride, n, to);
    else if (bytes == 4)
      kernels.gather32(src, stride, n, to);
    else
      gatherLoop<uint64_t>(src, stride, n, to);
    to += n * bytes;
  });
}

void emulator::scatterElements(uint8_t *base, const Pattern &pattern,
                               unsigned bytes, uint64_t k0, uint64_t k1,
                               const void *in) {
  const int64_t stride = pattern.stride[2];
  const uint8_t *from = static_cast<const uint8_t *>(in);
  pattern.forRuns(k0, k1, [&](uint64_t, int64_t offset, uint64_t n) {
    uint8_t *dst = base + offset;
    if (stride == bytes || n == 1)
      std::memcpy(dst, from, n * bytes);
    else if (bytes == 1)
      scatterLoop<uint8_t>(dst, stride, n, from);
    else if (bytes == 2)
      scatterLoop<uint16_t>(dst, stride, n, from);
    else if (bytes == 4)
      scatterLoop<uint32_t>(dst, stride, n, from);
    else
      scatterLoop<uint64_t>(dst, stride, n, from);
    from += n * bytes;
  });
}
