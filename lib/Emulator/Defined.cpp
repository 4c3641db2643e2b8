// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bit planes of written memory.

#include "Defined.h"
#include "llvm/ADT/SmallVector.h"
#include <algorithm>

using namespace ashlar;
using namespace ashlar::emulator;
using isa::Access;
using isa::Space;

//===- Bit planes ---------------------------------------------------------===//

/// Lanes [begin, end) as a mask of word `word`.
static uint64_t laneMask(uint32_t begin, uint32_t end, uint64_t word) {
  uint64_t low = std::max<uint64_t>(begin, word * 64);
  uint64_t high = std::min<uint64_t>(end, word * 64 + 64);
  if (low >= high)
    return 0;
  uint64_t ones = ~uint64_t(0) >> (64 - (high - low));
  return ones << (low - word * 64);
}

bool BitPlane::allocate(uint64_t units, uint64_t lanes) {
  words = (lanes + 63) / 64;
  return bits.allocate(units * words * sizeof(uint64_t));
}

void BitPlane::set(uint64_t begin, uint64_t end, uint32_t laneBegin,
                   uint32_t laneEnd) {
  for (uint64_t w = laneBegin / 64; w * 64 < laneEnd; ++w) {
    uint64_t mask = laneMask(laneBegin, laneEnd, w);
    for (uint64_t u = begin; u < end; ++u)
      row(u)[w] |= mask;
  }
}

void BitPlane::clear(uint64_t begin, uint64_t end, uint32_t laneBegin,
                     uint32_t laneEnd) {
  for (uint64_t w = laneBegin / 64; w * 64 < laneEnd; ++w) {
    uint64_t mask = ~laneMask(laneBegin, laneEnd, w);
    for (uint64_t u = begin; u < end; ++u)
      row(u)[w] &= mask;
  }
}

std::optional<uint64_t> BitPlane::firstUnset(uint64_t begin, uint64_t end,
                                             uint32_t laneBegin,
                                             uint32_t laneEnd) const {
  for (uint64_t w = laneBegin / 64; w * 64 < laneEnd; ++w) {
    uint64_t mask = laneMask(laneBegin, laneEnd, w), all = mask;
    for (uint64_t u = begin; u < end; ++u)
      all &= row(u)[w];
    for (uint64_t u = begin; all != mask && u < end; ++u)
      if ((row(u)[w] & mask) != mask)
        return u;
  }
  return std::nullopt;
}

std::optional<uint64_t> BitPlane::firstSet(uint64_t begin, uint64_t end,
                                           uint32_t laneBegin,
                                           uint32_t laneEnd) const {
  for (uint64_t w = laneBegin / 64; w * 64 < laneEnd; ++w) {
    uint64_t mask = laneMask(laneBegin, laneEnd, w);
    for (uint64_t u = begin; u < end; ++u)
      if (row(u)[w] & mask)
        return u;
  }
  return std::nullopt;
}

bool BitLine::allocate(uint64_t units) {
  return bits.allocate((units / 64 + 1) * sizeof(uint64_t));
}

void BitLine::set(uint64_t begin, uint64_t end) {
  if (begin >= end) // an empty run has no word to mask
    return;
  auto *words = reinterpret_cast<uint64_t *>(bits.data());
  for (uint64_t w = begin / 64; w * 64 < end; ++w) {
    uint64_t low = std::max(begin, w * 64), high = std::min(end, w * 64 + 64);
    words[w] |= (~uint64_t(0) >> (64 - (high - low))) << (low - w * 64);
  }
}

std::optional<uint64_t> BitLine::firstUnset(uint64_t begin,
                                            uint64_t end) const {
  if (begin >= end)
    return std::nullopt;
  const auto *words = reinterpret_cast<const uint64_t *>(bits.data());
  for (uint64_t w = begin / 64; w * 64 < end; ++w) {
    uint64_t low = std::max(begin, w * 64), high = std::min(end, w * 64 + 64);
    uint64_t mask = (~uint64_t(0) >> (64 - (high - low))) << (low - w * 64);
    uint64_t missing = mask & ~words[w];
    if (missing)
      return w * 64 + static_cast<uint64_t>(__builtin_ctzll(missing));
  }
  return std::nullopt;
}

//===- Accesses -----------------------------------------------------------===//

/// Calls fn(begin, end) for the runs of an access; stops when it gives true.
template <typename Fn>
static bool anyRun(const Access &access, Fn fn) {
  // Inner dimensions that continue the run are part of it.
  uint64_t run = access.runLength;
  llvm::SmallVector<isa::AccessDim, Access::maxDims> dims(
      access.dims.begin(), access.dims.begin() + access.numDims);
  while (!dims.empty() && (dims.back().count == 1 ||
                           dims.back().stride == static_cast<int64_t>(run))) {
    if (dims.back().count != 1)
      run *= dims.back().count;
    dims.pop_back();
  }
  llvm::SmallVector<uint64_t, Access::maxDims> index(dims.size(), 0);
  int64_t at = access.base;
  for (;;) {
    if (fn(static_cast<uint64_t>(at), static_cast<uint64_t>(at) + run))
      return true;
    size_t d = dims.size();
    for (; d-- > 0;) {
      at += dims[d].stride;
      if (++index[d] < dims[d].count)
        break;
      at -= dims[d].stride * static_cast<int64_t>(dims[d].count);
      index[d] = 0;
    }
    if (d == ~size_t(0))
      return false;
  }
}

bool DefinedState::allocate(const machine::Description &machine,
                            uint64_t dramBytes) {
  const uint64_t rows =
      (machine.sb.partitions + machine.xmGroup - 1) / machine.xmGroup;
  xr.assign(machine.xr.registers, 0);
  sr.assign(machine.sr.registers, 0);
  bounds.assign(machine.psum.entries(), 0);
  columns = static_cast<uint32_t>(machine.pe.columns);
  return sb.allocate(machine.sb.bytesPerPartition, machine.sb.partitions) &&
         xm.allocate(machine.sb.bytesPerPartition, rows) &&
         psum.allocate(machine.psum.entries(), machine.pe.columns) &&
         dirty.allocate(machine.psum.entries(), machine.pe.columns) &&
         dram.allocate(dramBytes);
}

std::optional<uint64_t> DefinedState::undefined(const Access &access) const {
  std::optional<uint64_t> found;
  anyRun(access, [&](uint64_t begin, uint64_t end) {
    const uint32_t p0 = access.partBegin, p1 = access.partEnd;
    switch (access.space) {
    case Space::Sb:
      found = sb.firstUnset(begin, end, p0, p1);
      break;
    case Space::Xm:
      found = xm.firstUnset(begin, end, p0, p1);
      break;
    case Space::Psum:
      found = psum.firstUnset(begin, end, p0, p1);
      break;
    case Space::Dram:
      found = dram.firstUnset(begin, end);
      break;
    case Space::Xr:
    case Space::Sr: {
      const std::vector<uint8_t> &known = access.space == Space::Xr ? xr : sr;
      for (uint64_t i = begin; i < end && !found; ++i)
        if (!known[i])
          found = i;
      break;
    }
    default:
      break;
    }
    return found.has_value();
  });
  return found;
}

void DefinedState::define(const Access &access) {
  // Of a superset nobody knows which units were written.
  if (!access.exact)
    return;
  anyRun(access, [&](uint64_t begin, uint64_t end) {
    const uint32_t p0 = access.partBegin, p1 = access.partEnd;
    switch (access.space) {
    case Space::Sb:
      sb.set(begin, end, p0, p1);
      break;
    case Space::Xm:
      xm.set(begin, end, p0, p1);
      break;
    case Space::Psum:
      psum.set(begin, end, p0, p1);
      break;
    case Space::Dram:
      dram.set(begin, end);
      break;
    case Space::Xr:
    case Space::Sr:
      for (uint64_t i = begin; i < end; ++i)
        (access.space == Space::Xr ? xr : sr)[i] = 1;
      break;
    default:
      break;
    }
    return false;
  });
}

std::optional<uint64_t> DefinedState::restart(const Access &access) {
  std::optional<uint64_t> found;
  anyRun(access, [&](uint64_t begin, uint64_t end) {
    found = dirty.firstSet(begin, end, 0, columns);
    psum.clear(begin, end, 0, columns);
    return found.has_value();
  });
  return found;
}

void DefinedState::markAccumulated(const Access &access) {
  anyRun(access, [&](uint64_t begin, uint64_t end) {
    dirty.set(begin, end, access.partBegin, access.partEnd);
    return false;
  });
}

void DefinedState::markDrained(const Access &access) {
  anyRun(access, [&](uint64_t begin, uint64_t end) {
    dirty.clear(begin, end, access.partBegin, access.partEnd);
    return false;
  });
}

std::optional<uint64_t> DefinedState::addBound(const Access &access,
                                               double bound, bool replace,
                                               double limit) {
  std::optional<uint64_t> found;
  anyRun(access, [&](uint64_t begin, uint64_t end) {
    for (uint64_t i = begin; i < end; ++i) {
      bounds[i] = replace ? bound : bounds[i] + bound;
      if (bounds[i] > limit)
        found = i;
    }
    return found.has_value();
  });
  return found;
}
