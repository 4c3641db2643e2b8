// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From instruction fields to the partition algorithms and back to tables.

#include "RunTimeCuts.h"
#include "TensorView.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/MathExtras.h"
#include <fmt/format.h>
#include <memory>

using namespace ashlar;
using namespace ashlar::emulator;
using partition::Geometry;

/// Axes with the operand that both instructions describe alike; results from
/// (y0, x0) on.
template <typename Op>
static Geometry geometryFrom(const Op &op, int64_t y0, int64_t x0, int64_t endH,
                             int64_t endW) {
  Geometry geometry;
  geometry.y = {op.inH, endH - y0, op.kH, op.sH, op.dH, op.pH - y0 * op.sH};
  geometry.x = {op.inW, endW - x0, op.kW, op.sW, op.dW, op.pW - x0 * op.sW};
  return geometry;
}

Geometry emulator::cutGeometry(const isa::TccPart &op) {
  return geometryFrom(op, op.y0, op.x0, op.endH, op.endW);
}

Geometry emulator::cutGeometry(const isa::TccOperand &op) {
  return geometryFrom(op, 0, 0, op.outH, op.outW);
}

static partition::Options optionsOf(const isa::TccPart &op,
                                    const Geometry &geometry) {
  partition::Options options;
  options.units = op.units;
  options.algorithm = static_cast<partition::Algorithm>(op.algorithm);
  options.metric = static_cast<partition::Metric>(op.metric);
  options.halo = op.disjoint ? partition::Halo::None : partition::Halo::Overlap;
  options.threshold = op.threshold / 10000.0;
  options.maxIterations = options.moveRounds = op.rounds;
  options.alignRows = op.alignH;
  options.alignCols = op.alignW;
  options.maxRows =
      op.disjoint ? operandLimit(geometry.y, op.tileH) : int64_t(op.tileH);
  options.maxCols =
      op.disjoint ? operandLimit(geometry.x, op.tileW) : int64_t(op.tileW);
  options.moveBands = op.moveBands;
  options.refine = op.refine;
  return options;
}

/// Multipliers that each tile can count on: the fewest of the units that have
/// it. Empty if all units have as many.
static std::vector<int64_t> capacitiesOf(const machine::Description &machine,
                                         const isa::TccPart &op) {
  std::vector<int64_t> capacities;
  if (machine.sparse.narrowTcus == 0)
    return capacities;
  // Wide units come first: the last unit of a tile has the fewest.
  const uint64_t last =
      op.unit + (uint64_t(op.copies) * op.gridN - 1) * op.units;
  for (uint64_t i = 0; i < op.units; ++i)
    capacities.push_back(
        static_cast<int64_t>(machine.sparse.lanesOf(last + i)));
  return capacities;
}

llvm::Expected<partition::Partition>
emulator::cutMap(const machine::Description &machine, const isa::TccPart &op,
                 std::vector<uint32_t> counts) {
  partition::CountMap map;
  map.rows = op.inH;
  map.cols = op.inW;
  map.capacity = op.capacity;
  map.counts = std::move(counts);
  const Geometry geometry = cutGeometry(op);
  partition::Options options = optionsOf(op, geometry);
  options.capacity = capacitiesOf(machine, op);
  if (options.metric == partition::Metric::Cycles)
    options.cycles = [sums = std::make_shared<partition::PrefixSums>(map),
                      lanes = op.multipliers](const partition::Box &box) {
      return llvm::divideCeil(sums->sum(box), uint64_t(lanes));
    };
  return partition::partition(map, geometry, options);
}

std::string emulator::checkCut(const isa::TccPart &op,
                               const partition::Partition &cut) {
  const Geometry geometry = cutGeometry(op);
  const int64_t height = op.disjoint ? geometry.y.in : geometry.y.out;
  const int64_t width = op.disjoint ? geometry.x.in : geometry.x.out;
  std::vector<bool> covered(static_cast<uint64_t>(height * width));
  int64_t area = 0;
  for (const partition::Tile &tile : cut.tiles) {
    const partition::Box &core = tile.core;
    if (core.empty())
      continue;
    const partition::Box results = op.disjoint ? geometry.outputOf(core) : core;
    if (core.y0 < 0 || core.x0 < 0 || core.y0 + core.rows > height ||
        core.x0 + core.cols > width || results.rows > op.tileH ||
        results.cols > op.tileW)
      return fmt::format("a tile of {}x{} results at ({}, {}), the instruction "
                         "allows {}x{} in {}x{}",
                         results.rows, results.cols, core.y0, core.x0, op.tileH,
                         op.tileW, height, width);
    area += core.area();
    for (int64_t y = core.y0; y < core.y0 + core.rows; ++y)
      std::fill_n(covered.begin() + y * width + core.x0, core.cols, true);
  }
  if (cut.tiles.size() == op.units && area == height * width &&
      !llvm::is_contained(covered, false))
    return "";
  return fmt::format("{} tiles that do not cover {}x{} once", cut.tiles.size(),
                     height, width);
}

/// Images of chunk \p a of the units.
template <typename Op>
static TileEntry chunkOf(const Op &op, uint32_t group, uint32_t a) {
  TileEntry entry;
  entry.group = group;
  entry.n = op.n0 + a * op.images;
  entry.images =
      entry.n >= op.endN ? 0 : std::min(op.images, op.endN - entry.n);
  return entry;
}

/// A tile of the operand and the results that it takes part in; of one that
/// reaches none the images are left, whose results the drain starts.
static TileEntry operandTile(TileEntry entry, const Geometry &geometry,
                             const partition::Box &operand) {
  const partition::Box results = geometry.outputOf(operand);
  entry.operand.partial = true;
  if (results.empty())
    return entry;
  entry.y = static_cast<uint32_t>(results.y0);
  entry.x = static_cast<uint32_t>(results.x0);
  entry.rows = static_cast<uint32_t>(results.rows);
  entry.cols = static_cast<uint32_t>(results.cols);
  entry.operand = {true, operand.y0, operand.x0, operand.rows, operand.cols};
  return entry;
}

void emulator::writeTiles(const isa::TccPart &op,
                          const partition::Partition &cut, TileTable &table) {
  std::fill(table.begin(), table.end(), TileEntry());
  const Geometry geometry = cutGeometry(op);
  uint64_t unit = op.unit;
  for (uint32_t g = 0; g < op.copies; ++g)
    for (uint32_t a = 0; a < op.gridN; ++a)
      for (const partition::Tile &tile : cut.tiles) {
        TileEntry entry = chunkOf(op, g, a);
        TileEntry &place = table[unit++];
        if (entry.images == 0)
          continue;
        if (op.disjoint) {
          place = operandTile(entry, geometry, tile.core);
          continue;
        }
        if (tile.core.empty())
          continue;
        entry.y = op.y0 + static_cast<uint32_t>(tile.core.y0);
        entry.x = op.x0 + static_cast<uint32_t>(tile.core.x0);
        entry.rows = static_cast<uint32_t>(tile.core.rows);
        entry.cols = static_cast<uint32_t>(tile.core.cols);
        place = entry;
      }
}

void emulator::writeTiles(const isa::TccOperand &op, TileTable &table) {
  if (op.clear)
    std::fill(table.begin(), table.end(), TileEntry());
  const Geometry geometry = cutGeometry(op);
  uint64_t unit = op.unit;
  for (uint32_t g = 0; g < op.copies; ++g)
    for (uint32_t a = 0; a < op.gridN; ++a)
      for (uint32_t i = 0; i < op.gridH; ++i)
        for (uint32_t j = 0; j < op.gridW; ++j) {
          const int64_t y = op.y0 + int64_t(i) * op.tileH;
          const int64_t x = op.x0 + int64_t(j) * op.tileW;
          const partition::Box operand =
              partition::Box::of({y, std::min<int64_t>(y + op.tileH, op.inH)},
                                 {x, std::min<int64_t>(x + op.tileW, op.inW)});
          const TileEntry entry = chunkOf(op, g, a);
          table[unit++] = entry.images == 0
                              ? TileEntry()
                              : operandTile(entry, geometry, operand);
        }
}

void emulator::writeLargestTiles(const isa::TccPart &op, TileTable &table) {
  std::fill(table.begin(), table.end(), TileEntry());
  const Geometry geometry = cutGeometry(op);
  uint64_t unit = op.unit;
  for (uint32_t g = 0; g < op.copies; ++g)
    for (uint32_t a = 0; a < op.gridN; ++a)
      for (uint32_t t = 0; t < op.units; ++t) {
        TileEntry entry = chunkOf(op, g, a);
        TileEntry &place = table[unit++];
        if (entry.images == 0)
          continue;
        entry.y = t;
        entry.rows = std::min(op.tileH, static_cast<uint32_t>(geometry.y.out));
        entry.cols = std::min(op.tileW, static_cast<uint32_t>(geometry.x.out));
        place = entry;
      }
}

TileTable emulator::wholeRegions(const isa::TccPart &op) {
  TileTable regions;
  for (uint32_t g = 0; g < op.copies; ++g)
    for (uint32_t a = 0; a < op.gridN; ++a) {
      TileEntry entry = chunkOf(op, g, a);
      if (entry.images == 0)
        continue;
      entry.y = op.y0;
      entry.x = op.x0;
      entry.rows = op.endH - op.y0;
      entry.cols = op.endW - op.x0;
      regions.push_back(entry);
    }
  return regions;
}

uint64_t emulator::probeBound(const isa::TccPart &op) {
  const Geometry geometry = cutGeometry(op);
  const uint64_t size = static_cast<uint64_t>(
      std::max({geometry.y.out, geometry.x.out, geometry.y.in, geometry.x.in}));
  // Look-ups of one bisection, and lines that are cut at most.
  const uint64_t steps = llvm::Log2_64_Ceil(size + 1) + 3;
  const uint64_t lines = 2 * uint64_t(op.units) + 1;
  const uint64_t sums = lines * steps;
  const uint64_t moves =
      (op.rounds + uint64_t(1)) * lines * (4 + 2 * op.units * steps);
  switch (op.algorithm) {
  case isa::Cut::Uniform:
    return 0;
  case isa::Cut::P1:
    return moves;
  case isa::Cut::P2:
    // Every number of bands, a bisection of the largest work, and in each step
    // one of rows over one of columns.
    return op.refine ? 64 * op.units * sums * steps * op.units : sums + moves;
  case isa::Cut::Rows:
    return sums;
  }
  llvm_unreachable("unknown way to cut");
}

//===- Counters -----------------------------------------------------------===//

uint32_t emulator::valueBits(isa::ElemType type, unsigned mantissa) {
  const unsigned bits = isa::operandBits(
      isa::isBlock(type) ? isa::OperandMode::Bfp : isa::OperandMode::Int, type,
      mantissa);
  return static_cast<uint32_t>((uint64_t(1) << bits) - 1);
}

void emulator::Count::add(const uint8_t *elements, uint32_t *counters) const {
  for (uint64_t i = 0; i < count[0]; ++i)
    for (uint64_t j = 0; j < count[1]; ++j) {
      const uint8_t *from = elements + static_cast<int64_t>(i) * source[0] +
                            static_cast<int64_t>(j) * source[1];
      uint32_t *to = counters + i * counter[0] + j * counter[1];
      for (uint64_t k = 0; k < count[2]; ++k) {
        const uint8_t *at = from + static_cast<int64_t>(k) * source[2];
        const uint32_t word = at[0] | (bytes > 1 ? at[1] << 8 : 0);
        uint32_t &sum = to[k * counter[2]];
        // Saturates.
        sum += (word & mask) != 0 && sum != UINT32_MAX;
      }
    }
}

void emulator::Count::clear(uint32_t *counters) const {
  for (uint64_t i = 0; i < count[0]; ++i)
    for (uint64_t j = 0; j < count[1]; ++j)
      for (uint64_t k = 0; k < count[2]; ++k)
        counters[i * counter[0] + j * counter[1] + k * counter[2]] = 0;
}
