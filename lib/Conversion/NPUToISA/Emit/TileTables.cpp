// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tables of the sparse cluster's tiles: grids of equal tiles, cuts of the
// compiler, and cuts by the machine with the counts that they need.

#include "TileTables.h"

#include "ashlar/Analysis/Layout/StorageType.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace ashlar::codegen {

/// Tiles of a tcc.tile along an axis at most.
static constexpr int64_t kMostGrid = 255;

TileTables::TileTables(Generator &generator, const LoadedMap &map,
                       const TileProgram &program)
    : generator(generator), machine(generator.machine), map(map),
      tile(map.tile), geometry(map.geometry), program(program),
      plan(program.plan), folds(foldsOfTile()),
      units(analysis::unitsOf(plan, machine)) {
  const int64_t tileExtent[3] = {plan.images, plan.rows, plan.cols};
  grid[0] = llvm::divideCeilSigned(geometry.extent[0], tileExtent[0]);
  for (int d = 1; d < 3; ++d)
    grid[d] = llvm::divideCeilSigned(geometry.extent[d + 1], tileExtent[d]);
}

/// The folds of the tile of the state buffer.
llvm::ArrayRef<analysis::TileFold> TileTables::foldsOfTile() const {
  const analysis::Shape &start = tile.out.start;
  const size_t rank = start.size();
  const auto own =
      program.folds.find({rank > 3 ? start[rank - 2] : 0, start[rank - 1]});
  return own == program.folds.end() ? plan.folds : own->second;
}

int64_t TileTables::rounds() const {
  return folds.empty()
             ? llvm::divideCeilSigned(grid[0] * grid[1] * grid[2], units)
             : grid[0] * static_cast<int64_t>(folds.size());
}

std::pair<unsigned, bool> TileTables::take(Use use, int64_t round,
                                           int64_t copies) {
  auto [entry, inserted] = tables.insert({{use, round, copies}, 0});
  auto available = static_cast<unsigned>(machine.sparse.tileTables);
  const bool kept = !inserted && tables.size() * 2 <= available;
  if (!kept)
    entry->second = generator.tiles.table++ % available;
  return {entry->second, !kept};
}

unsigned TileTables::of(int64_t round, int64_t copies) {
  auto [table, isNew] = take(Use::Runs, round, copies);
  if (!isNew)
    return table;
  if (folds.empty())
    emitTable(table, round, copies, copies);
  else if (plan.cutAtRunTime)
    emitPart(table, round, copies);
  else if (plan.disjoint)
    emitCuts<isa::TccOperand>(table, round, copies);
  else
    emitCuts<isa::TccTile>(table, round, copies);
  return table;
}

unsigned TileTables::loads(int64_t round, int64_t copies, int64_t parts) {
  auto [table, isNew] = take(Use::Loads, round, copies);
  if (isNew)
    emitTable(table, round, copies, parts);
  return table;
}

unsigned TileTables::handedOn(int64_t round, int64_t copies, int64_t turn) {
  // The turns of a step share a table.
  if (turn == 1) {
    auto [table, isNew] = take(Use::Turns, round, copies);
    if (isNew)
      emitTable(table, round, copies, copies);
  }
  isa::TccBind bind{};
  bind.table = tables.at({Use::Turns, round, copies});
  auto emit = [&](int64_t unit, int64_t memory, int64_t count) {
    bind.unit = unit, bind.memory = memory, bind.count = count;
    generator.builder.emit(bind);
  };
  int64_t unit = 0;
  for (const Rectangle &tiles : rectanglesOf(round)) {
    const int64_t further = turn * tiles.tiles();
    const int64_t kept = copies * tiles.tiles() - further;
    emit(unit, unit + further, kept);
    emit(unit + kept, unit, further);
    unit += copies * tiles.tiles();
  }
  return bind.table;
}

/// The tiles of a round: rectangles of the rows of tiles.
std::vector<TileTables::Rectangle>
TileTables::rectanglesOf(int64_t round) const {
  std::vector<Rectangle> rectangles;
  int64_t first = round * units;
  int64_t end = std::min(first + units, grid[0] * grid[1] * grid[2]);
  for (int64_t at = first; at < end; at += rectangles.back().tiles()) {
    int64_t column = at % grid[2], row = at / grid[2] % grid[1];
    int64_t wide = std::min({grid[2] - column, end - at, kMostGrid}), high = 1;
    if (column == 0 && wide == grid[2])
      high = std::min({grid[1] - row, (end - at) / wide, kMostGrid});
    rectangles.push_back({at, high, wide});
  }
  return rectangles;
}

/// Groups are numbered anew every `parts` groups.
void TileTables::emitTable(unsigned table, int64_t round, int64_t copies,
                           int64_t parts) {
  int64_t unit = 0;
  for (const Rectangle &tiles : rectanglesOf(round)) {
    int64_t column = tiles.first % grid[2];
    int64_t row = tiles.first / grid[2] % grid[1];
    int64_t image = tiles.first / (grid[1] * grid[2]);
    isa::TccTile op{};
    op.table = table;
    op.copies = parts;
    op.gridN = 1, op.gridH = tiles.high, op.gridW = tiles.wide;
    op.images = plan.images;
    op.n0 = image * plan.images;
    op.y0 = row * plan.rows;
    op.x0 = column * plan.cols;
    op.tileH = plan.rows, op.tileW = plan.cols;
    for (int64_t group = 0; group < copies; group += parts) {
      op.clear = unit == 0;
      op.unit = unit;
      emitTiles(op);
      unit += parts * tiles.tiles();
    }
  }
}

void TileTables::emitTiles(isa::TccTile op) {
  op.endN = geometry.extent[0];
  op.endH = geometry.extent[2];
  op.endW = geometry.extent[3];
  generator.builder.emit(op);
}

/// A tile of the whole operand, as far as it is loaded.
void TileTables::emitTiles(isa::TccOperand op) {
  map.setOperand(op);
  int64_t y0 = std::max<int64_t>(op.y0 - geometry.held[1], 0);
  int64_t x0 = std::max<int64_t>(op.x0 - geometry.held[2], 0);
  op.tileH = op.y0 + op.tileH - geometry.held[1] - y0;
  op.tileW = op.x0 + op.tileW - geometry.held[2] - x0;
  op.y0 = y0, op.x0 = x0;
  op.endN = geometry.extent[0];
  op.outH = geometry.extent[2];
  op.outW = geometry.extent[3];
  generator.builder.emit(op);
}

/// Unequal tiles, entry by entry: `Op` is tcc.tile or tcc.operand.
template <typename Op>
void TileTables::emitCuts(unsigned table, int64_t round, int64_t copies) {
  int64_t unit = 0;
  const auto count = static_cast<int64_t>(folds.size());
  auto add = [&](const partition::Box &tile) {
    Op op{};
    op.table = table;
    op.clear = unit == 0;
    op.unit = unit;
    op.copies = copies;
    op.gridN = op.gridH = op.gridW = 1;
    op.images = plan.images;
    op.n0 = round / count * plan.images;
    op.y0 = tile.y0, op.x0 = tile.x0;
    op.tileH = tile.rows, op.tileW = tile.cols;
    emitTiles(op);
    unit += copies;
  };
  for (const partition::Box &tile : folds[round % count].cuts)
    if (!tile.empty())
      add(tile);
  if (unit == 0) // no result meets the operand, but all of them are drained
    add({geometry.held[1], geometry.held[2], 1, 1});
}

/// Counts the input, if its producer did not.
void TileTables::emitCount() {
  counted = true;
  analysis::CountedMap::Counters counters = generator.counters.of(tile.op);
  if (counters.drained)
    return;
  const analysis::StorageType x = analysis::storageOf(tile.op->getOperand(0));
  isa::TccNnz count{};
  map.setSource(count, 0);
  count.type = static_cast<isa::ElemType>(x.isaType());
  count.mantissa = x.format.mantissa;
  count.channels = program.problem.channels;
  count.clear = true;
  count.counts = counters.first;
  count.pitch = count.inW;
  // Band by band, so that the first are counted while the last are made.
  int64_t rows = count.inH, pixels = int64_t(count.inN) * count.inW;
  int64_t step =
      analysis::countedRows(pixels * count.channels * x.bytes(), machine);
  for (int64_t row = 0; row < rows; row += step) {
    count.inH = std::min(step, rows - row);
    generator.builder.emit(count);
    count.offset += step * count.srcStrideH;
    count.counts += step * count.pitch;
  }
}

/// Tiles that the machine cuts to equal work.
void TileTables::emitPart(unsigned table, int64_t round, int64_t copies) {
  if (!counted)
    emitCount();
  analysis::CountedMap::Counters counters = generator.counters.of(tile.op);
  const analysis::ScatterProblem &scatter = *program.problem.scatter;
  const auto count = static_cast<int64_t>(folds.size());
  const partition::Box &region = folds[round % count].region;
  isa::TccPart part{};
  part.table = table;
  part.copies = copies;
  part.units = units;
  part.gridN = 1;
  part.images = plan.images;
  part.n0 = round / count * plan.images;
  part.endN = geometry.extent[0];
  part.y0 = region.y0, part.x0 = region.x0;
  part.endH = region.y0 + region.rows, part.endW = region.x0 + region.cols;
  part.tileH = plan.rows, part.tileW = plan.cols;
  map.setOperand(part);
  part.disjoint = plan.disjoint;
  // The producer counted the whole feature map, a pass what is loaded.
  part.counts = counters.first;
  part.pitch = counters.drained ? geometry.input[2] : int64_t(part.inW);
  if (counters.drained)
    part.counts += geometry.held[1] * part.pitch + geometry.held[2];
  // Only what the region reads is passed over; tiles of the operand are of what
  // is loaded.
  partition::Axis axis{
      part.inH, region.y0 + region.rows, part.kH, part.sH, part.dH, part.pH};
  partition::Range rows = axis.inputOf({region.y0, axis.out});
  if (!plan.disjoint) {
    int64_t first = std::min<int64_t>(rows.begin, part.inH - 1);
    part.inH = std::max<int64_t>(rows.end - first, 1);
    part.counts += first * part.pitch;
    part.pH += first;
  }
  part.capacity = program.problem.channels *
                  analysis::shapeOf(tile.op->getOperand(0)).front();
  part.algorithm = static_cast<isa::Cut>(scatter.cut.algorithm);
  part.metric = static_cast<isa::CutMetric>(scatter.cut.metric);
  part.threshold = scatter.cut.threshold;
  part.rounds = plan.moveRounds;
  part.moveBands = true;
  part.alignH = part.alignW = 1;
  part.multipliers = 1;
  generator.builder.emit(part);
}

} // namespace ashlar::codegen
