// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Scatter mode on resident tiles: what each unit does, and how long.

#include "../Cost/ScatterTime.h"
#include "../State/RunTimeCuts.h"
#include "../State/TensorView.h"
#include "Engine.h"

using namespace ashlar;
using namespace ashlar::emulator;

void Engine::addWork(const isa::TccRun &op, uint64_t unit, uint64_t cycles,
                     uint64_t products) {
  const TileEntry &entry = tables[op.table][unit];
  const int64_t node = current < nodes.size() ? int64_t(nodes[current]) : -1;
  const auto [found, added] =
      unitIndex.try_emplace({node, int64_t(unit), entry.group, entry.n, entry.y,
                             entry.x, entry.rows, entry.cols},
                            units.size());
  if (added)
    units.push_back({current,
                     static_cast<uint32_t>(unit),
                     entry.group,
                     entry.n,
                     {entry.y, entry.x, entry.rows, entry.cols},
                     0,
                     0});
  units[found->second].cycles += cycles;
  units[found->second].products += products;
}

void Engine::measureScatter(const isa::TccRun &op) {
  const unsigned bytes = storedBytes(op.type, op.mantissa);
  const uint64_t slotBytes = isa::geometryOf(op).slotElements() * bytes;
  const uint32_t mask = valueBits(op.type, op.mantissa);
  measured[current] = scatterCost(
      *machine, op, tables[op.table], scattered,
      [&](uint32_t group) {
        return llvm::ArrayRef<uint8_t>(
            memory.wm(op.wm + uint64_t(group) * op.wmStep), op.bytes);
      },
      [&](uint64_t unit, uint64_t channel, uint64_t element) {
        const uint8_t *at =
            memory.fmu(tables[op.table][unit].memoryOf(unit), op.set,
                       op.mantissas + channel * slotBytes + element * bytes);
        return ((at[0] | (bytes > 1 ? at[1] << 8 : 0)) & mask) == 0;
      },
      [&](uint64_t unit, uint64_t cycles, uint64_t products) {
        addWork(op, unit, cycles, products);
      });
}
