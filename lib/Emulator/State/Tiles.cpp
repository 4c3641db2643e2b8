// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tile tables.

#include "Tiles.h"
#include "TensorView.h"
#include "ashlar/Isa/ElementBytes.h"
#include "ashlar/Isa/Tiles.h"
#include "ashlar/Machine/Cycles.h"
#include "ashlar/Partition/Binding.h"

using namespace ashlar;
using namespace ashlar::emulator;

/// What is left of [first, first + count) before `end`.
static uint32_t left(uint64_t first, uint64_t count, uint64_t end) {
  return first >= end ? 0 : static_cast<uint32_t>(std::min(count, end - first));
}

void emulator::writeTiles(const isa::TccTile &op, TileTable &table) {
  if (op.clear)
    std::fill(table.begin(), table.end(), TileEntry());
  uint64_t unit = op.unit;
  for (uint32_t g = 0; g < op.copies; ++g)
    for (uint32_t a = 0; a < op.gridN; ++a)
      for (uint32_t i = 0; i < op.gridH; ++i)
        for (uint32_t j = 0; j < op.gridW; ++j) {
          TileEntry entry;
          entry.group = g;
          entry.n = op.n0 + a * op.images;
          entry.y = op.y0 + i * op.tileH;
          entry.x = op.x0 + j * op.tileW;
          entry.images = left(entry.n, op.images, op.endN);
          entry.rows = left(entry.y, op.tileH, op.endH);
          entry.cols = left(entry.x, op.tileW, op.endW);
          table[unit++] = entry.results() == 0 ? TileEntry() : entry;
        }
}

void emulator::bindTiles(const isa::TccBind &op, TileTable &table) {
  for (uint32_t i = 0; i < op.count; ++i)
    table[op.unit + i].memory = op.memory + i;
}

uint64_t emulator::routedCycles(const machine::Description &machine,
                                const isa::TccRun &op, const TileTable &table,
                                uint64_t cycles) {
  partition::RouteLoad routes(
      static_cast<partition::Binding>(machine.sparse.binding), table.size());
  const machine::TileGeometry geometry = isa::geometryOf(op);
  for (uint64_t unit = 0; unit < table.size(); ++unit) {
    const TileEntry &entry = table[unit];
    if (entry.idle())
      continue;
    // A unit takes each channel of its tile once.
    routes.add(entry.memoryOf(unit), unit,
               geometry.loadedElements(entry.images, entry.rows, entry.cols) *
                   op.channels * storedBytes(op.type, op.mantissa));
  }
  return machine::routedRun(machine, cycles, routes.farthest(),
                            routes.busiest());
}

isa::ActDrain emulator::unitDrain(const isa::ActDrain &op,
                                  const TileEntry &entry) {
  return isa::narrow(op, entry.box());
}

std::vector<std::vector<uint64_t>>
emulator::drainedUnits(const isa::ActDrain &op, const TileTable &table) {
  std::vector<std::vector<uint64_t>> units(drainedGroups(op));
  for (uint64_t unit = 0; unit < table.size(); ++unit) {
    const uint64_t group = table[unit].group;
    if (!table[unit].idle() && group >= op.group &&
        group - op.group < units.size())
      units[group - op.group].push_back(unit);
  }
  return units;
}

uint64_t emulator::drainedResults(const isa::ActDrain &op,
                                  const TileTable &table) {
  uint64_t results = 0;
  for (const TileEntry &entry : table)
    if (!entry.idle() && entry.group == op.group)
      results += entry.results();
  return results;
}

uint64_t emulator::drainedSteps(const machine::Description &machine,
                                const isa::ActDrain &op,
                                const TileTable &table) {
  if (!op.sideBySide)
    return drainedResults(op, table);
  std::vector<uint64_t> results;
  for (const TileEntry &entry : table)
    if (!entry.idle() && entry.group == op.group)
      results.push_back(entry.results());
  return machine::resultsSideBySide(results,
                                    machine::tilesSideBySide(machine, op.cols));
}

uint32_t emulator::firstImage(const isa::ActDrain &op, const TileTable &table) {
  uint32_t first = UINT32_MAX;
  for (const TileEntry &entry : table)
    if (entry.images > 0 && entry.group == op.group)
      first = std::min(first, entry.n);
  return first == UINT32_MAX ? 0 : first;
}

isa::ActDrain emulator::partialDrain(const isa::ActDrain &op,
                                     const TileTable &table) {
  TileEntry all;
  uint32_t end = 0;
  for (const TileEntry &entry : table)
    if (entry.images > 0 && entry.group == op.group)
      end = std::max(end, entry.n + entry.images);
  all.n = firstImage(op, table);
  all.images = end - all.n;
  all.rows = op.n1;
  all.cols = op.n2;
  return unitDrain(op, all);
}

uint64_t emulator::unreachedResults(const isa::ActDrain &op,
                                    const TileTable &table) {
  const isa::ActDrain whole = partialDrain(op, table);
  const uint64_t plane = uint64_t(whole.n1) * whole.n2;
  const uint32_t first = firstImage(op, table);
  std::vector<bool> reached(plane * whole.n0);
  for (const TileEntry &entry : table) {
    if (entry.idle() || entry.group != op.group)
      continue;
    for (uint64_t n = 0; n < entry.images; ++n)
      for (uint64_t y = 0; y < entry.rows; ++y) {
        const auto row = static_cast<ptrdiff_t>(
            (entry.n - first + n) * plane + (entry.y + y) * whole.n2 + entry.x);
        std::fill_n(reached.begin() + row, entry.cols, true);
      }
  }
  return static_cast<uint64_t>(
      std::count(reached.begin(), reached.end(), false));
}

uint64_t emulator::loadedPlanes(const isa::DmaTile &op) {
  if (!isa::isBlock(op.type))
    return 0;
  return machine::cellPlanes(op.part % op.block, op.channels, op.block);
}

/// Elements of a channel in an entry's tile.
static uint64_t tileElements(const TileEntry &entry,
                             const machine::TileGeometry &geometry) {
  const uint64_t elements =
      geometry.loadedElements(entry.images, entry.rows, entry.cols);
  if (!entry.operand.partial)
    return elements;
  return std::min(elements,
                  entry.images * static_cast<uint64_t>(entry.operand.rows *
                                                       entry.operand.cols));
}

TileTraffic emulator::loadedTiles(const isa::DmaTile &op,
                                  const TileTable &table) {
  const machine::TileGeometry geometry = isa::geometryOf(op);
  const uint64_t elementBytes = storedBytes(op.type, op.mantissa);
  const uint64_t planes = loadedPlanes(op);
  const bool apart = op.srcStrideW != static_cast<int64_t>(elementBytes);
  TileTraffic traffic;
  for (size_t i = 0; i < table.size(); ++i) {
    const TileEntry &entry = table[i];
    const bool heard = std::any_of(
        table.begin(), table.begin() + static_cast<ptrdiff_t>(i),
        [&](const TileEntry &other) { return sameData(op, other, entry); });
    if (entry.idle())
      continue;
    const uint64_t elements = tileElements(entry, geometry);
    const uint64_t bytes = elements * (op.channels * elementBytes + planes);
    traffic.written += bytes;
    traffic.most = std::max(traffic.most, bytes);
    if (heard)
      continue;
    traffic.bytes += bytes;
    traffic.runs +=
        std::min(elements, geometry.loadedRuns(entry.images, entry.rows,
                                               entry.cols, apart)) *
        (op.channels + planes);
  }
  return traffic;
}

uint64_t emulator::operandBytes(const isa::TccRun &op) {
  return storedBytes(op.type, op.mantissa) + (isa::isBlock(op.type) ? 1 : 0);
}
