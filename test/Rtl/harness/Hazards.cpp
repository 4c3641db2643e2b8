// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads after writes of one copy queue, byte by byte, next to what footprints
// say of them.

#include "Programs.h"
#include "ashlar/Isa/Footprint.h"
#include <set>
#include <utility>

using namespace ashlar;
using namespace ashlar::rtl;

namespace {
using Bytes = std::set<std::pair<isa::Memory, uint64_t>>;
}

/// Adds the bytes of five loops.
template <typename Op>
static void addBytes(const Op &op, isa::Memory memory, uint64_t base,
                     const int64_t (&stride)[5], Bytes &bytes) {
  const uint32_t n[5] = {op.n0, op.n1, op.n2, op.n3, op.n4};
  uint32_t at[5] = {};
  for (;;) {
    int64_t address = static_cast<int64_t>(base);
    for (int d = 0; d < 5; ++d)
      address += stride[d] * at[d];
    for (uint32_t b = 0; b < op.elemBytes; ++b)
      bytes.insert({memory, static_cast<uint64_t>(address) + b});
    int d = 4;
    while (d >= 0 && ++at[d] == n[d])
      at[d--] = 0;
    if (d < 0)
      return;
  }
}

template <typename Op>
static void addWritten(const Op &op, isa::Memory memory, Bytes &bytes) {
  const int64_t stride[5] = {op.dstStride0, op.dstStride1, op.dstStride2,
                             op.dstStride3, op.dstStride4};
  addBytes(op, memory, op.dstBase, stride, bytes);
}

static Bytes written(const isa::Instruction &inst) {
  Bytes bytes;
  if (const auto *copy = std::get_if<isa::DmaCopy>(&inst))
    addWritten(*copy, copy->dstMem, bytes);
  if (const auto *fill = std::get_if<isa::DmaFill>(&inst))
    addWritten(*fill, fill->dstMem, bytes);
  if (const auto *unpack = std::get_if<isa::DmaUnpack>(&inst))
    addWritten(*unpack,
               unpack->form == isa::CodeForm::Exponents ? isa::Memory::Xm
                                                        : isa::Memory::Sb,
               bytes);
  return bytes;
}

/// What a copy reads, byte by byte; nothing of other instructions.
static Bytes read(const isa::Instruction &inst) {
  Bytes bytes;
  const auto *copy = std::get_if<isa::DmaCopy>(&inst);
  if (!copy)
    return bytes;
  const int64_t stride[5] = {copy->srcStride0, copy->srcStride1,
                             copy->srcStride2, copy->srcStride3,
                             copy->srcStride4};
  addBytes(*copy, copy->srcMem, copy->srcBase, stride, bytes);
  return bytes;
}

static bool mayDepend(const isa::Instruction &next,
                      const isa::Instruction &older,
                      const machine::Description &machine) {
  llvm::SmallVector<isa::Access, 8> reads, writes;
  isa::footprints(next, machine, reads);
  isa::footprints(older, machine, writes);
  for (const isa::Access &r : reads)
    for (const isa::Access &w : writes)
      if (!r.write && w.write && isa::conflict(r, w))
        return true;
  return false;
}

bool rtl::waitsForNothing(const Draft &draft, const isa::Instruction &next) {
  const Bytes source = read(next);
  if (source.empty())
    return false;
  for (const isa::Instruction &older : draft.operations) {
    if (isa::queueOf(older) != isa::queueOf(next) ||
        !mayDepend(next, older, draft.machine))
      continue;
    bool shares = false;
    for (const auto &byte : written(older))
      shares |= source.count(byte) > 0;
    if (!shares)
      return true;
  }
  return false;
}
