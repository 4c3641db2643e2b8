// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Convolutions on the sparse cluster (docs/Machine.md, sparse cluster): rounds
// of output tiles, one for each unit or group of units; per wave of columns and
// round the chunks of input channels are loaded and their coefficients applied,
// then the sums drain. Loads, runs and drains of neighbours overlap: what
// orders them are the buffers they share.

#include "../Generator.h"
#include "../ProductGeometry.h"

#include "ashlar/Analysis/MovementQueues.h"
#include "ashlar/Isa/Tiles.h"
#include "dialects/NPU/NPUDialect.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace ashlar::codegen {

using analysis::Chunk;
using analysis::ColumnTile;
using analysis::ColumnWave;
using analysis::DrainColumn;
using analysis::storageOf;

namespace {

/// Part of the work: all chunks of one wave on one round of tiles.
struct Step {
  size_t wave = 0;
  int64_t round = 0;
  bool loads = true; ///< false: the tiles are still resident
};

class TileConvolutionEmitter {
public:
  TileConvolutionEmitter(Generator &generator, const TileContext &tile,
                         const ProductGeometry &geometry, TileProgram &program)
      : generator(generator), machine(generator.machine), tile(tile),
        geometry(geometry), program(program), plan(program.plan),
        x(storageOf(tile.op->getOperand(0))) {
    for (int d = 0; d < 2; ++d)
      grid[d + 1] =
          llvm::divideCeilSigned(geometry.extent[d + 2], tileExtent(d + 1));
    grid[0] = llvm::divideCeilSigned(geometry.extent[0], tileExtent(0));
    units = analysis::unitsOf(plan, machine);
    rounds = plan.folds.empty()
                 ? llvm::divideCeilSigned(grid[0] * grid[1] * grid[2], units)
                 : grid[0] * static_cast<int64_t>(plan.folds.size());
  }

  llvm::Error run();

private:
  static constexpr int64_t kMostGrid = 255; ///< tiles of a tcc.tile along axes
  int64_t tileExtent(int axis) const {
    return axis == 0 ? plan.images : axis == 1 ? plan.rows : plan.cols;
  }
  int64_t results() const { return plan.images * plan.rows * plan.cols; }
  std::vector<Step> steps() const;
  llvm::Error emitStep(const Step &step, unsigned table);
  unsigned tableOf(const Step &step);
  void emitTable(unsigned table, int64_t round, int64_t copies);
  template <typename Op>
  void emitCuts(unsigned table, int64_t round, int64_t copies);
  void emitCount();
  void emitPart(unsigned table, int64_t round, int64_t copies);
  void emitTiles(isa::TccTile op);
  void emitTiles(isa::TccOperand op);
  llvm::Error acquireWave(size_t wave);
  void releaseWave(size_t wave);
  template <typename Op>
  void setWindows(Op &op) const;
  template <typename Op>
  void setSource(Op &op, int64_t channel) const;
  template <typename Op>
  void setExtents(Op &op) const;
  template <typename Op>
  void setOperand(Op &op) const;
  template <typename Op>
  void setGeometry(Op &op) const;
  void emitLoads(const WaveStreams &wave, const Chunk &chunk, unsigned table,
                 unsigned set);
  void emitLoad(const WaveStreams &wave, const Chunk &chunk, const Chunk &piece,
                unsigned table, unsigned set);
  void emitRun(const WaveStreams &wave, const ChunkStreams &streams,
               const StreamPlace &place, unsigned table, unsigned set,
               int64_t sums);
  void emitDrain(const ColumnWave &wave, size_t index, unsigned table,
                 int64_t sums);
  int64_t firstChannel(const WaveStreams &wave) const {
    return channelsOf(program.problem, wave.wave.first).first;
  }
  /// Partition of a channel, and channels of its block before it.
  int64_t partitionOf(int64_t channel) const {
    return (geometry.x.part + channel) %
           static_cast<int64_t>(machine.sb.partitions);
  }
  int64_t phaseOf(int64_t channel) const {
    return partitionOf(channel) % cellBlock();
  }
  /// Channels that share a plane of cells; integers have none.
  int64_t cellBlock() const { return std::max<int64_t>(plan.cellBlock, 1); }
  int64_t slotBytes() const {
    return static_cast<int64_t>(plan.geometry(program.problem).slotElements()) *
           x.bytes();
  }
  int64_t cellsBase(const Chunk &chunk) const {
    return chunk.count * slotBytes();
  }

  Generator &generator;
  const machine::Description &machine;
  const TileContext &tile;
  const ProductGeometry &geometry;
  TileProgram &program;
  const analysis::TilePlan &plan;
  analysis::StorageType x;
  int64_t grid[3], units = 1, rounds = 1;
  unsigned loadedSet = 0;             ///< of tiles that stay for several waves
  bool counted = false;               ///< the input, for cuts at run time
  bool drained = false;               ///< some of the results
  std::map<int64_t, unsigned> tables; ///< by (round, copies)
  std::map<size_t, ChunkPlace> records;                    ///< by drain
  std::map<size_t, std::pair<size_t, StreamPlace>> places; ///< by wave
};

std::vector<Step> TileConvolutionEmitter::steps() const {
  std::vector<Step> steps;
  size_t waves = program.waves.size();
  if (plan.tilesOutside) {
    for (int64_t round = 0; round < rounds; ++round)
      for (size_t wave = 0; wave < waves; ++wave)
        steps.push_back({wave, round, wave == 0});
    return steps;
  }
  for (size_t wave = 0; wave < waves; ++wave)
    for (int64_t round = 0; round < rounds; ++round)
      steps.push_back({wave, round, true});
  return steps;
}

llvm::Error TileConvolutionEmitter::acquireWave(size_t index) {
  const WaveStreams &wave = program.waves[index];
  size_t product = generator.streamedProduct(tile.op);
  for (int64_t d = 0; d < wave.wave.drains; ++d) {
    auto place = generator.acquireWeights(product, wave.wave.firstDrain + d);
    if (!place)
      return place.takeError();
    records[wave.wave.firstDrain + d] = *place;
  }
  if (!program.resident || wave.chunks.empty())
    return llvm::Error::success();
  auto place =
      generator.streams.acquire({&program, index, 0, wave.chunks.size()});
  if (!place)
    return place.takeError();
  places[index] = *place;
  return llvm::Error::success();
}

void TileConvolutionEmitter::releaseWave(size_t index) {
  const WaveStreams &wave = program.waves[index];
  size_t product = generator.streamedProduct(tile.op);
  for (int64_t d = 0; d < wave.wave.drains; ++d)
    generator.weights.release(product, wave.wave.firstDrain + d);
  if (auto place = places.find(index); place != places.end())
    generator.streams.release(place->second.first);
}

/// The table of a step's tiles; written when it is first requested. Few rounds
/// keep their tables, many take them in turn.
unsigned TileConvolutionEmitter::tableOf(const Step &step) {
  int64_t copies = program.waves[step.wave].wave.count;
  auto [entry, inserted] = tables.insert({step.round * 64 + copies, 0});
  auto available = static_cast<unsigned>(machine.sparse.tileTables);
  if (!inserted && tables.size() * 2 <= available)
    return entry->second;
  entry->second = generator.tiles.table++ % available;
  if (plan.folds.empty())
    emitTable(entry->second, step.round, copies);
  else if (plan.cutAtRunTime)
    emitPart(entry->second, step.round, copies);
  else if (plan.disjoint)
    emitCuts<isa::TccOperand>(entry->second, step.round, copies);
  else
    emitCuts<isa::TccTile>(entry->second, step.round, copies);
  return entry->second;
}

/// Tiles [first, first + units) of the grid: rectangles of the rows of tiles.
void TileConvolutionEmitter::emitTable(unsigned table, int64_t round,
                                       int64_t copies) {
  int64_t first = round * units;
  int64_t end = std::min(first + units, grid[0] * grid[1] * grid[2]);
  int64_t unit = 0;
  for (int64_t at = first; at < end;) {
    int64_t column = at % grid[2], row = at / grid[2] % grid[1];
    int64_t image = at / (grid[1] * grid[2]);
    int64_t wide = std::min({grid[2] - column, end - at, kMostGrid}), high = 1;
    if (column == 0 && wide == grid[2])
      high = std::min({grid[1] - row, (end - at) / wide, kMostGrid});
    isa::TccTile op{};
    op.table = table;
    op.clear = unit == 0;
    op.unit = unit;
    op.copies = copies;
    op.gridN = 1, op.gridH = high, op.gridW = wide;
    op.images = plan.images;
    op.n0 = image * plan.images;
    op.y0 = row * plan.rows;
    op.x0 = column * plan.cols;
    op.tileH = plan.rows, op.tileW = plan.cols;
    emitTiles(op);
    unit += copies * high * wide;
    at += high * wide;
  }
}

void TileConvolutionEmitter::emitTiles(isa::TccTile op) {
  op.endN = geometry.extent[0];
  op.endH = geometry.extent[2];
  op.endW = geometry.extent[3];
  generator.builder.emit(op);
}

/// A tile of the whole operand, as far as it is loaded.
void TileConvolutionEmitter::emitTiles(isa::TccOperand op) {
  setOperand(op);
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
void TileConvolutionEmitter::emitCuts(unsigned table, int64_t round,
                                      int64_t copies) {
  int64_t unit = 0, folds = static_cast<int64_t>(plan.folds.size());
  auto add = [&](const partition::Box &tile) {
    Op op{};
    op.table = table;
    op.clear = unit == 0;
    op.unit = unit;
    op.copies = copies;
    op.gridN = op.gridH = op.gridW = 1;
    op.images = plan.images;
    op.n0 = round / folds * plan.images;
    op.y0 = tile.y0, op.x0 = tile.x0;
    op.tileH = tile.rows, op.tileW = tile.cols;
    emitTiles(op);
    unit += copies;
  };
  for (const partition::Box &tile : plan.folds[round % folds].cuts)
    if (!tile.empty())
      add(tile);
  if (unit == 0) // no result meets the operand, but all of them are drained
    add({geometry.held[1], geometry.held[2], 1, 1});
}

/// Counts the input, if its producer did not.
void TileConvolutionEmitter::emitCount() {
  counted = true;
  analysis::CountedMap::Counters counters = generator.counters.of(tile.op);
  if (counters.drained)
    return;
  isa::TccNnz count{};
  setSource(count, 0);
  count.type = isa::ElemType::Bfp;
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
void TileConvolutionEmitter::emitPart(unsigned table, int64_t round,
                                      int64_t copies) {
  if (!counted)
    emitCount();
  analysis::CountedMap::Counters counters = generator.counters.of(tile.op);
  const analysis::ScatterProblem &scatter = *program.problem.scatter;
  auto folds = static_cast<int64_t>(plan.folds.size());
  const partition::Box &region = plan.folds[round % folds].region;
  isa::TccPart part{};
  part.table = table;
  part.copies = copies;
  part.units = units;
  part.gridN = 1;
  part.images = plan.images;
  part.n0 = round / folds * plan.images;
  part.endN = geometry.extent[0];
  part.y0 = region.y0, part.x0 = region.x0;
  part.endH = region.y0 + region.rows, part.endW = region.x0 + region.cols;
  part.tileH = plan.rows, part.tileW = plan.cols;
  setOperand(part);
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

template <typename Op>
void TileConvolutionEmitter::setWindows(Op &op) const {
  const analysis::TileProblem &problem = program.problem;
  op.kH = problem.kernel[0], op.kW = problem.kernel[1];
  op.sH = problem.stride[0], op.sW = problem.stride[1];
  op.dH = problem.dilation[0], op.dW = problem.dilation[1];
}

/// Rows and columns that are loaded or counted.
template <typename Op>
void TileConvolutionEmitter::setExtents(Op &op) const {
  int64_t rank = geometry.x.rank();
  op.inH = rank > 3 ? geometry.x.shape[rank - 2] : 1;
  op.inW = geometry.x.shape[rank - 1];
}

/// Where taps meet what is loaded.
template <typename Op>
void TileConvolutionEmitter::setOperand(Op &op) const {
  setWindows(op);
  setExtents(op);
  op.pH = static_cast<int32_t>(geometry.held[1] - geometry.origin[1]);
  op.pW = static_cast<int32_t>(geometry.held[2] - geometry.origin[2]);
}

/// The feature map that is loaded or counted, from `channel` on.
template <typename Op>
void TileConvolutionEmitter::setSource(Op &op, int64_t channel) const {
  const View &view = geometry.x;
  int64_t position = view.part + channel;
  auto partitions = static_cast<int64_t>(machine.sb.partitions);
  op.part = position % partitions;
  op.offset = view.base + position / partitions * view.tileStride;
  op.inN = geometry.extent[0];
  setExtents(op);
  op.srcStrideN = static_cast<int32_t>(geometry.xStrides[0]);
  op.srcStrideH = static_cast<int32_t>(geometry.xStrides[2]);
  op.srcStrideW = static_cast<int32_t>(geometry.xStrides[3]);
  op.srcTileStride = static_cast<int32_t>(view.tileStride);
}

template <typename Op>
void TileConvolutionEmitter::setGeometry(Op &op) const {
  op.type = static_cast<isa::ElemType>(x.isaType());
  op.mantissa = x.encoded ? x.format.mantissa : 0;
  op.block = plan.cellBlock;
  setWindows(op);
  op.images = plan.images;
  op.tileH = plan.rows, op.tileW = plan.cols;
}

/// Loads the channels of a chunk, whole blocks on each of the queues.
void TileConvolutionEmitter::emitLoads(const WaveStreams &wave,
                                       const Chunk &chunk, unsigned table,
                                       unsigned set) {
  if (wave.wave.crosses)
    return emitLoad(wave, chunk, chunk, table, set);
  auto partitions = static_cast<int64_t>(machine.sb.partitions);
  int64_t block = cellBlock();
  int64_t queues = analysis::movementQueues(machine);
  int64_t share =
      llvm::alignTo(llvm::divideCeilSigned(chunk.count, queues), block);
  int64_t end = chunk.first + chunk.count, base = firstChannel(wave);
  for (int64_t c = chunk.first; c < end;) {
    Chunk piece{c, std::min({share - phaseOf(base + c),
                             partitions - partitionOf(base + c), end - c})};
    emitLoad(wave, chunk, piece, table, set);
    c += piece.count;
  }
}

void TileConvolutionEmitter::emitLoad(const WaveStreams &wave,
                                      const Chunk &chunk, const Chunk &piece,
                                      unsigned table, unsigned set) {
  int64_t base = firstChannel(wave);
  int64_t elements = plan.geometry(program.problem).slotElements();
  isa::DmaTile load{};
  setGeometry(load);
  setOperand(load);
  load.queue = generator.builder.nextMovementQueue();
  load.table = table;
  load.set = set;
  load.channels = piece.count;
  setSource(load, base + piece.first);
  load.groups = wave.wave.count;
  load.groupStep = wave.wave.groupStep;
  int64_t slot = piece.first - chunk.first;
  int64_t plane = (phaseOf(base + chunk.first) + slot) / cellBlock();
  load.mantissas = slot * slotBytes();
  load.exponents = x.encoded ? cellsBase(chunk) + plane * elements : 0;
  generator.builder.emit(load);
}

void TileConvolutionEmitter::emitRun(const WaveStreams &wave,
                                     const ChunkStreams &streams,
                                     const StreamPlace &place, unsigned table,
                                     unsigned set, int64_t sums) {
  isa::TccRun run{};
  setGeometry(run);
  run.table = table;
  run.set = set;
  run.channels = streams.chunk.count;
  run.mode = x.encoded ? isa::OperandMode::Bfp : isa::OperandMode::Int;
  run.range = x.encoded ? x.format.range : 0;
  run.issueZeros = program.problem.issuesZeros;
  if (plan.scatter) {
    run.scatter = true;
    run.variant = static_cast<uint32_t>(program.problem.scatter->cut.variant);
  }
  run.xr = generator.scaleRegister(tile.op->getOperand(0));
  run.phase = phaseOf(firstChannel(wave) + streams.chunk.first);
  run.groups = wave.wave.count;
  run.regions = streams.regions;
  run.regionStride = results();
  run.mantissas = 0;
  run.exponents = x.encoded ? cellsBase(streams.chunk) : 0;
  run.acc = sums + streams.firstRegion * results();
  run.bytes = streams.bytes;
  run.wm = place.base + streams.offset;
  run.wmStep = wave.wave.count > 1 ? place.wmStep : 0;
  generator.builder.emit(run);
}

void TileConvolutionEmitter::emitDrain(const ColumnWave &wave, size_t index,
                                       unsigned table, int64_t sums) {
  const DrainColumn &column = program.problem.drains[index];
  const ColumnTile &outputs = program.problem.columns[column.first];
  isa::ActDrain drain{};
  setEpilogue(tile.op, drain);
  drain.fromTcu = true;
  drain.table = table;
  drain.group = column.first - wave.first;
  drain.groupLanes = column.columns > 1 ? outputs.cols : 0;
  drain.mapped = !program.problem.order.empty();
  drain.psum = sums;
  drain.regionStride = results();
  drain.cols = column.cols;
  drain.n0 = geometry.extent[0], drain.n1 = geometry.extent[2],
  drain.n2 = geometry.extent[3];
  drain.psumStride0 = static_cast<int32_t>(plan.rows * plan.cols);
  drain.psumStride1 = static_cast<int32_t>(plan.cols);
  drain.psumStride2 = 1;
  drain.xrA = generator.scaleRegister(tile.op->getOperand(0));
  drain.xrS = 0;
  setSums(tile.op, x, true, drain);
  drain.paramPart = 0;
  drain.paramOffset = records[index].parameters;
  auto place = [&](const View &view, uint32_t &part, uint32_t &offset) {
    int64_t position = view.part + outputs.firstOutput;
    auto partitions = static_cast<int64_t>(machine.sb.partitions);
    part = position % partitions;
    offset = view.base + position / partitions * view.tileStride;
  };
  if (drain.resMode) {
    const View &residual = geometry.residual;
    setResidualType(residual.type, drain);
    place(residual, drain.resPart, drain.resOffset);
    drain.resStride0 = geometry.residualStrides[0];
    drain.resStride1 = geometry.residualStrides[2];
    drain.resStride2 = geometry.residualStrides[3];
  }
  const View &target = geometry.y;
  place(target, drain.dstPart, drain.dstOffset);
  drain.dstStride0 = geometry.yStrides[0];
  drain.dstStride1 = geometry.yStrides[2];
  drain.dstStride2 = geometry.yStrides[3];
  setResultType(generator, tile.op, target.type, drain);
  countDrained(generator.counters, tile, CountedSteps(), !drained, drain);
  drained = true;
  generator.builder.emit(drain);
}

llvm::Error TileConvolutionEmitter::emitStep(const Step &step, unsigned table) {
  const WaveStreams &wave = program.waves[step.wave];
  int64_t regions = program.problem.columns[wave.wave.first].cols;
  int64_t sums = 0;
  if (plan.twoSums)
    sums = generator.tiles.sums++ % 2 *
           (analysis::accumulatorEntries(machine) / 2);
  isa::TccInit init{};
  init.acc = sums;
  init.regions = regions;
  init.regionStride = init.count = results();
  init.groups = 1;
  generator.builder.emit(init);
  for (size_t c = 0; c < wave.chunks.size(); ++c) {
    const ChunkStreams &streams = wave.chunks[c];
    if (step.loads) {
      loadedSet =
          generator.tiles.set++ % static_cast<unsigned>(machine.sparse.fmuSets);
      emitLoads(wave, streams.chunk, table, loadedSet);
    }
    std::pair<size_t, StreamPlace> place = places[step.wave];
    if (!program.resident) {
      auto own = generator.streams.acquire({&program, step.wave, c, 1});
      if (!own)
        return own.takeError();
      place = *own;
    }
    emitRun(wave, streams, place.second, table, loadedSet, sums);
    if (!program.resident)
      generator.streams.release(place.first);
  }
  for (int64_t d = 0; d < wave.wave.drains; ++d)
    emitDrain(wave.wave, wave.wave.firstDrain + d, table, sums);
  return llvm::Error::success();
}

llvm::Error TileConvolutionEmitter::run() {
  if (geometry.x.part % cellBlock() != 0)
    return generator.unsupported(
        tile.op, "an input of the sparse cluster that starts inside a block");
  std::vector<Step> work = steps();
  if (plan.tilesOutside)
    for (size_t wave = 0; wave < program.waves.size(); ++wave)
      if (llvm::Error error = acquireWave(wave))
        return error;
  // Tables are written ahead of the runs before them, so that loads need not
  // wait for those; a machine with one table has no choice.
  bool ahead = machine.sparse.tileTables > 1;
  unsigned next = ahead && !work.empty() ? tableOf(work.front()) : 0;
  for (size_t i = 0; i < work.size(); ++i) {
    const Step &step = work[i];
    unsigned table = ahead ? next : tableOf(step);
    if (ahead && i + 1 < work.size())
      next = tableOf(work[i + 1]);
    if (!plan.tilesOutside && step.round == 0)
      if (llvm::Error error = acquireWave(step.wave))
        return error;
    if (llvm::Error error = emitStep(step, table))
      return error;
    if (!plan.tilesOutside && step.round + 1 == rounds)
      releaseWave(step.wave);
  }
  if (plan.tilesOutside)
    for (size_t wave = 0; wave < program.waves.size(); ++wave)
      releaseWave(wave);
  encodeScratch(generator, tile);
  return llvm::Error::success();
}

} // namespace

llvm::Error emitTileConvolution(Generator &generator, const TileContext &tile) {
  auto program = generator.tileProgram(tile.op);
  if (!program)
    return program.takeError();
  auto geometry = ProductGeometry::of(generator, tile);
  if (!geometry)
    return geometry.takeError();
  return TileConvolutionEmitter(generator, tile, *geometry, **program).run();
}

} // namespace ashlar::codegen
