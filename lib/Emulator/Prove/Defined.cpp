// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What instructions define and read, run by run.

#include "Defined.h"
#include "llvm/ADT/SmallVector.h"
#include <algorithm>

using namespace ashlar;
using namespace ashlar::emulator;
using isa::Access;
using isa::Space;

/// Steps that a run costs before it looks at anything: in DRAM runs lie far
/// apart and miss the caches of the host.
static uint64_t stepsOfRun(Space space) { return space == Space::Dram ? 8 : 2; }

template <typename Fn>
void DefinedState::anyRun(const Access &access, Fn fn) {
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
    uint64_t steps = stepsOfRun(access.space);
    if (fn(static_cast<uint64_t>(at), static_cast<uint64_t>(at) + run, steps))
      return;
    if (!work.spend(steps))
      return;
    size_t d = dims.size();
    for (; d-- > 0;) {
      at += dims[d].stride;
      if (++index[d] < dims[d].count)
        break;
      at -= dims[d].stride * static_cast<int64_t>(dims[d].count);
      index[d] = 0;
    }
    if (d == ~size_t(0))
      return;
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

uint64_t DefinedState::bytesFor(const machine::Description &machine,
                                uint64_t dramBytes) {
  const uint64_t sb =
      uint64_t(machine.sb.bytesPerPartition) * machine.sb.partitions;
  const uint64_t psum = uint64_t(machine.psum.entries()) * machine.pe.columns;
  return (sb + sb / machine.xmGroup + 2 * psum + dramBytes) / 8;
}

void DefinedState::defineDram(uint64_t begin, uint64_t end) {
  uint64_t steps = 0;
  dram.set(begin, end, steps);
  work.spend(steps);
}

std::optional<uint64_t> DefinedState::undefinedDram(uint64_t begin,
                                                    uint64_t end) {
  uint64_t steps = 0;
  std::optional<uint64_t> found = dram.firstUnset(begin, end, steps);
  work.spend(steps);
  return found;
}

std::optional<uint64_t> DefinedState::undefinedRun(const Access &access,
                                                   uint64_t begin, uint64_t end,
                                                   uint64_t &steps) {
  const uint32_t p0 = access.partBegin, p1 = access.partEnd;
  switch (access.space) {
  case Space::Sb:
    return sb.firstUnset(begin, end, p0, p1, steps);
  case Space::Xm:
    return xm.firstUnset(begin, end, p0, p1, steps);
  case Space::Psum:
    return psum.firstUnset(begin, end, p0, p1, steps);
  case Space::Dram:
    return dram.firstUnset(begin, end, steps);
  case Space::Xr:
  case Space::Sr: {
    const std::vector<uint8_t> &known = access.space == Space::Xr ? xr : sr;
    for (uint64_t i = begin; i < end; ++i, ++steps)
      if (!known[i])
        return i;
    return std::nullopt;
  }
  default:
    return std::nullopt;
  }
}

std::optional<uint64_t> DefinedState::undefined(const Access &access) {
  // Mostly there is no gap in what is read from.
  uint64_t steps = 0;
  if (access.numDims > 0) {
    const bool whole =
        !undefinedRun(access, static_cast<uint64_t>(access.begin),
                      static_cast<uint64_t>(access.end), steps);
    work.spend(steps);
    if (whole)
      return std::nullopt;
  }
  std::optional<uint64_t> found;
  anyRun(access, [&](uint64_t begin, uint64_t end, uint64_t &runSteps) {
    found = undefinedRun(access, begin, end, runSteps);
    return found.has_value();
  });
  return found;
}

void DefinedState::define(const Access &access) {
  // Of a superset it is not known which units were written.
  if (!access.exact)
    return;
  anyRun(access, [&](uint64_t begin, uint64_t end, uint64_t &steps) {
    const uint32_t p0 = access.partBegin, p1 = access.partEnd;
    switch (access.space) {
    case Space::Sb:
      sb.set(begin, end, p0, p1, steps);
      break;
    case Space::Xm:
      xm.set(begin, end, p0, p1, steps);
      break;
    case Space::Psum:
      psum.set(begin, end, p0, p1, steps);
      break;
    case Space::Dram:
      dram.set(begin, end, steps);
      break;
    case Space::Xr:
    case Space::Sr:
      for (uint64_t i = begin; i < end; ++i)
        (access.space == Space::Xr ? xr : sr)[i] = 1;
      break;
    default:
      return true; // nothing is kept of the others
    }
    return false;
  });
}

std::optional<uint64_t> DefinedState::restart(const Access &access) {
  std::optional<uint64_t> found;
  anyRun(access, [&](uint64_t begin, uint64_t end, uint64_t &steps) {
    found = dirty.firstSet(begin, end, 0, columns, steps);
    psum.clear(begin, end, 0, columns, steps);
    return found.has_value();
  });
  return found;
}

void DefinedState::markAccumulated(const Access &access) {
  anyRun(access, [&](uint64_t begin, uint64_t end, uint64_t &steps) {
    dirty.set(begin, end, access.partBegin, access.partEnd, steps);
    return false;
  });
}

void DefinedState::markDrained(const Access &access) {
  anyRun(access, [&](uint64_t begin, uint64_t end, uint64_t &steps) {
    dirty.clear(begin, end, access.partBegin, access.partEnd, steps);
    return false;
  });
}

std::optional<uint64_t> DefinedState::addBound(const Access &access,
                                               double bound, bool replace,
                                               double limit) {
  std::optional<uint64_t> found;
  anyRun(access, [&](uint64_t begin, uint64_t end, uint64_t &steps) {
    steps += end - begin;
    for (uint64_t i = begin; i < end; ++i) {
      bounds[i] = replace ? bound : bounds[i] + bound;
      if (bounds[i] > limit)
        found = i;
    }
    return found.has_value();
  });
  return found;
}
