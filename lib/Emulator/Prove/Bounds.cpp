// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks of footprints: inside the memories, sources apart from destinations.

#include "Checks.h"
#include "FieldRules.h"
#include <fmt/format.h>

using namespace ashlar;
using namespace ashlar::emulator;
using isa::Access;
using isa::Space;
using machine::Description;

uint64_t emulator::linearAddress(Space space, uint64_t partition, uint64_t unit,
                                 const Description &machine) {
  switch (space) {
  case Space::Sb:
  case Space::Xm:
    return partition * machine.sb.bytesPerPartition + unit;
  case Space::Psum:
    return partition * machine.psum.entries() + unit;
  case Space::Fmu:
    return partition * machine.sparse.fmuBytes + unit;
  default:
    return unit;
  }
}

/// Partitions and units of a space.
static std::pair<uint64_t, uint64_t>
extentOf(Space space, const Description &machine, uint64_t dramBytes) {
  switch (space) {
  case Space::Sb:
    return {machine.sb.partitions, machine.sb.bytesPerPartition};
  case Space::Xm:
    return {(machine.sb.partitions + machine.xmGroup - 1) / machine.xmGroup,
            machine.sb.bytesPerPartition};
  case Space::Psum:
    return {machine.pe.columns, machine.psum.entries()};
  case Space::Xr:
    return {1, machine.xr.registers};
  case Space::Sr:
    return {1, machine.sr.registers};
  case Space::Dram:
    return {1, dramBytes};
  case Space::Fmu:
    return {machine.sparse.fmuSets, machine.sparse.fmuBytes};
  case Space::Wm:
    return {1, machine.sparse.wmBytes};
  case Space::Acc:
    return {1, machine.sparse.accumulatorEntries};
  case Space::Tiles:
    return {1, machine.sparse.tileTables};
  case Space::Counts:
    return {1, machine.sparse.countEntries};
  default:
    return {1, 1};
  }
}

Result emulator::checkBounds(llvm::ArrayRef<Access> accesses,
                             const Description &machine, uint64_t dramBytes) {
  for (const Access &access : accesses) {
    auto [partitions, units] = extentOf(access.space, machine, dramBytes);
    if (access.partEnd <= partitions && access.begin >= 0 &&
        access.end <= static_cast<int64_t>(units))
      continue;
    const uint64_t at =
        access.begin < 0 ? 0 : static_cast<uint64_t>(access.begin);
    return Finding{
        FaultKind::OutOfRange,
        fmt::format("{} but {} ends at [{})[{})", isa::describe(access),
                    isa::spaceName(access.space).str(), partitions, units),
        isa::spaceName(access.space).str(),
        linearAddress(access.space, access.partBegin, at, machine)};
  }
  return std::nullopt;
}

static bool sameElements(const Access &a, const Access &b) {
  return a.partBegin == b.partBegin && a.partEnd == b.partEnd &&
         a.base == b.base && a.runLength == b.runLength &&
         a.numDims == b.numDims &&
         std::equal(a.dims.begin(), a.dims.begin() + a.numDims, b.dims.begin());
}

Result emulator::checkOverlap(const isa::Instruction &inst,
                              llvm::ArrayRef<Access> accesses,
                              ProofWork &work) {
  const bool elementwise = std::holds_alternative<isa::VecMap>(inst) ||
                           std::holds_alternative<isa::ActDrain>(inst);
  for (const Access &write : accesses) {
    const bool memory = write.space == Space::Sb || write.space == Space::Xm ||
                        write.space == Space::Dram;
    if (!write.write || !memory)
      continue;
    uint64_t steps = accesses.size();
    for (const Access &read : accesses)
      if (!read.write && read.space == write.space &&
          isa::conflict(read, write, steps) &&
          !(elementwise && sameElements(read, write)))
        return bad("source and destination overlap: {}, {}",
                   isa::describe(read), isa::describe(write));
    if (!work.spend(steps))
      break;
  }
  return std::nullopt;
}
