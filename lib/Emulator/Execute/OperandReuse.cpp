// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which matmuls share a moving operand, and the packed operands of a run.

#include "OperandReuse.h"
#include "WordArray.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <optional>

using namespace ashlar;
using namespace ashlar::emulator;
using isa::Access;
using isa::Space;

/// Operands followed at once. One layer rarely has more row tiles and step
/// tiles than this; the limit bounds the loader's work per instruction.
static constexpr size_t maxLive = 128;

/// Packed operands kept at once, in bytes: more would leave the host's caches,
/// and reading them back would cost what packing them again does.
static constexpr uint64_t cacheBytes = 3u << 20;
static constexpr size_t maxSlots = 128;

/// The place of a space that operands are read from among hulls.
static std::optional<unsigned> hullOf(Space space) {
  switch (space) {
  case Space::Sb:
    return 0;
  case Space::Xm:
    return 1;
  case Space::Xr:
    return 2;
  default:
    return std::nullopt;
  }
}

/// Whether a write changes what is read; the boxes settle most cases without
/// looking at the patterns.
static bool overwrites(llvm::ArrayRef<Access> reads, const Access &access,
                       uint64_t &steps) {
  return llvm::any_of(reads, [&](const Access &read) {
    return read.space == access.space && read.begin < access.end &&
           access.begin < read.end && read.partBegin < access.partEnd &&
           access.partBegin < read.partEnd &&
           isa::conflict(read, access, steps);
  });
}

OperandReuse::Key OperandReuse::keyOf(const isa::PeMatmul &op) {
  auto of = [](auto value) { return static_cast<int64_t>(value); };
  return {of(op.part),     of(op.rows),    of(op.offset), of(op.type),
          of(op.mantissa), of(op.range),   of(op.xr),     of(op.mode),
          of(op.n0),       of(op.n1),      of(op.n2),     of(op.stride0),
          of(op.stride1),  of(op.stride2), of(op.lo0),    of(op.hi0),
          of(op.lo1),      of(op.hi1),     of(op.lo2),    of(op.hi2),
          of(op.groups),   of(op.shift),   of(op.validW), of(op.orientation),
          of(op.zero),     of(op.skip)};
}

void OperandReuse::step(uint32_t index, const isa::Instruction &inst,
                        llvm::ArrayRef<Access> accesses, ProofWork &work) {
  if (const auto *op = std::get_if<isa::PeMatmul>(&inst))
    use(index, *op, accesses);
  for (const Access &access : accesses)
    if (access.write)
      written(access, work);
}

void OperandReuse::use(uint32_t index, const isa::PeMatmul &op,
                       llvm::ArrayRef<Access> accesses) {
  if (holdsWords(op.mode))
    return;
  operands.resize(index + 1, noOperand);
  const Key key = keyOf(op);
  auto found = llvm::find_if(live, [&](const Live &x) { return x.key == key; });
  if (found != live.end()) {
    found->lastUse = index;
    operands[index] = found->operand;
    ++uses[found->operand];
    return;
  }
  if (live.size() < maxLive) {
    found = live.insert(live.end(), Live());
    hulls.emplace_back();
  } else {
    found = llvm::min_element(live, [](const Live &a, const Live &b) {
      return a.lastUse < b.lastUse;
    });
  }
  *found = {key, static_cast<uint32_t>(uses.size()), index, {}};
  for (const Access &access : accesses)
    if (hullOf(access.space))
      found->reads.push_back(access);
  hulls[found - live.begin()] = hullsOf(*found);
  operands[index] = found->operand;
  uses.push_back(1);
}

OperandReuse::Hulls OperandReuse::hullsOf(const Live &live) {
  Hulls result;
  for (const Access &read : live.reads) {
    Hull &hull = result[*hullOf(read.space)];
    const bool isFirst = hull.begin == hull.end;
    hull.begin = isFirst ? read.begin : std::min(hull.begin, read.begin);
    hull.end = isFirst ? read.end : std::max(hull.end, read.end);
    hull.partBegin =
        isFirst ? read.partBegin : std::min(hull.partBegin, read.partBegin);
    hull.partEnd =
        isFirst ? read.partEnd : std::max(hull.partEnd, read.partEnd);
  }
  return result;
}

void OperandReuse::written(const Access &access, ProofWork &work) {
  const std::optional<unsigned> space = hullOf(access.space);
  if (!space)
    return;
  uint64_t steps = live.size();
  for (size_t i = 0; i < live.size();) {
    const Hull &hull = hulls[i][*space];
    const bool meets = hull.begin < access.end && access.begin < hull.end &&
                       hull.partBegin < access.partEnd &&
                       access.partBegin < hull.partEnd;
    if (!meets || !overwrites(live[i].reads, access, steps)) {
      ++i;
      continue;
    }
    live.erase(live.begin() + static_cast<ptrdiff_t>(i));
    hulls.erase(hulls.begin() + static_cast<ptrdiff_t>(i));
  }
  work.spend(steps);
}

OperandCache::Slot *OperandCache::find(uint32_t operand) {
  for (Slot &slot : slots)
    if (slot.operand == operand) {
      slot.lastUse = ++clock;
      return &slot;
    }
  return nullptr;
}

bool OperandCache::isFull(uint64_t bytes) const {
  size_t used = 0;
  for (const Slot &slot : slots) {
    bytes += slot.bytes;
    used += slot.operand != noOperand;
  }
  return bytes > cacheBytes || used == maxSlots;
}

OperandCache::Slot &OperandCache::insert(uint32_t operand, uint32_t uses,
                                         uint64_t bytes) {
  uint64_t total = bytes;
  for (const Slot &slot : slots)
    total += slot.bytes;
  // An empty slot first, then the one that has waited longest; a full cache
  // gives up slots until the new operand fits.
  Slot *chosen = nullptr;
  while (true) {
    Slot *oldest = nullptr;
    for (Slot &slot : slots) {
      if (slot.operand == noOperand)
        chosen = &slot;
      else if (!oldest || slot.lastUse < oldest->lastUse)
        oldest = &slot;
    }
    if (!oldest || (total <= cacheBytes && (chosen || slots.size() < maxSlots)))
      break;
    total -= oldest->bytes;
    oldest->operand = noOperand;
    oldest->bytes = 0;
  }
  if (!chosen)
    chosen = &slots.emplace_back();
  chosen->operand = operand;
  chosen->usesLeft = uses;
  chosen->bytes = bytes;
  chosen->saturated = 0;
  chosen->lastUse = ++clock;
  return *chosen;
}

void OperandCache::release(Slot &slot) {
  if (--slot.usesLeft != 0)
    return;
  slot.operand = noOperand;
  slot.bytes = 0;
}
