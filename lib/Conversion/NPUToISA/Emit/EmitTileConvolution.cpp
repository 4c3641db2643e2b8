// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Convolutions on the sparse cluster (docs/Machine.md, sparse cluster): rounds
// of output tiles, one for each unit or group of units; per wave of columns and
// round the chunks of input channels are loaded and their coefficients applied,
// then the sums drain. Loads, runs and drains of neighbours overlap: what
// orders them are the buffers they share.

#include "../Generator.h"
#include "../ProductGeometry.h"
#include "KeptTiles.h"
#include "PooledDrains.h"
#include "TileTables.h"

#include "dialects/NPU/NPUDialect.h"
#include "llvm/Support/MathExtras.h"

#include <memory>
#include <tuple>

using namespace mlir;

namespace ashlar::codegen {

using analysis::Chunk;
using analysis::ColumnTile;
using analysis::ColumnWave;
using analysis::DrainColumn;
using analysis::storageOf;

namespace {

/// Results that the same taps along the depth reach: planes of a map with
/// depth, which stand in for its images. Otherwise all results.
struct Part {
  Part(Generator &generator, const TileContext &tile, ProductGeometry of,
       const TileProgram &program)
      : geometry(std::move(of)),
        map{tile, geometry, program.problem, generator.machine},
        tables(std::make_unique<TileTables>(generator, map, program)),
        lastTap(program.problem.depth.taps) {}
  Part(const Part &) = delete;

  ProductGeometry geometry;
  const LoadedMap map;
  std::unique_ptr<TileTables> tables;
  int64_t firstTap = 0, lastTap; ///< taps that meet the feature map
  /// Bytes from the view's first plane to that of tap 0, which may lie before
  /// the map, and from tap to tap.
  int64_t planeOffset = 0, planeStep = 0;
};

/// Part of the work: all chunks of one wave on one round of tiles.
struct Step {
  size_t wave = 0;
  size_t part = 0;
  int64_t round = 0;
  bool loads = true; ///< false: the tiles are still resident
};

class TileConvolutionEmitter {
public:
  TileConvolutionEmitter(Generator &generator, const TileContext &tile,
                         const ProductGeometry &geometry, TileProgram &program)
      : generator(generator), machine(generator.machine), tile(tile),
        whole(geometry), program(program), plan(program.plan),
        x(storageOf(tile.op->getOperand(0))) {
    if (program.problem.depth.width > 0)
      cutDepth();
    else if (geometry.pooled)
      cutBands();
    else
      parts.push_back(
          std::make_unique<Part>(generator, tile, geometry, program));
    part = parts.front().get();
  }

  llvm::Error run();

private:
  int64_t results() const { return plan.images * plan.rows * plan.cols; }
  std::vector<Step> steps() const;
  unsigned loadsOf(const std::vector<Step> &work) const;
  void cutDepth();
  void cutBands();
  void addPlanes(int64_t image, int64_t first, int64_t count,
                 std::pair<int64_t, int64_t> taps);
  std::pair<int64_t, int64_t> tapsOf(int64_t plane) const;
  /// Groups of units that have the tiles of a step.
  int64_t copiesOf(const Step &step) const {
    return program.waves[step.wave].wave.count;
  }
  llvm::Error emitStep(const Step &step, unsigned table);
  unsigned tableOf(const Step &step);
  llvm::Error emitSteps(const std::vector<Step> &work);
  llvm::Error acquireWave(size_t wave);
  void releaseWave(size_t wave);
  template <typename Op>
  void setGeometry(Op &op) const;
  void emitLoads(const WaveStreams &wave, const ChunkStreams &streams,
                 unsigned table, unsigned set);
  void emitLoad(const WaveStreams &wave, const ChunkStreams &streams,
                const Chunk &piece, unsigned table, unsigned set);
  void emitRun(const WaveStreams &wave, const ChunkStreams &streams,
               const StreamPlace &place, unsigned table, unsigned set,
               int64_t sums);
  void emitInit(const WaveStreams &wave, const StreamPlace &place,
                unsigned table, int64_t sums);
  llvm::Expected<std::pair<size_t, StreamPlace>> placeOf(const Step &step,
                                                         size_t chunk);
  void emitDrain(const WaveStreams &streams, size_t index, unsigned table,
                 int64_t sums);
  void emitPool(const WaveStreams &streams, size_t index, unsigned table,
                int64_t sums);
  int64_t firstChannel(const WaveStreams &wave) const {
    return channelsOf(program.problem, wave.wave.first).first;
  }
  /// Partition of a channel, and channels of its block before it.
  int64_t partitionOf(int64_t channel) const {
    return (whole.x.part + program.problem.depth.channelOf(channel)) %
           static_cast<int64_t>(machine.sb.partitions);
  }
  int64_t phaseOf(int64_t channel) const {
    return partitionOf(channel) % cellBlock();
  }
  /// Channels that share a plane of cells; integers have none.
  int64_t cellBlock() const { return std::max<int64_t>(plan.cellBlock, 1); }
  /// Partition and offset of a channel of a view.
  std::pair<uint32_t, uint32_t> placeOf(const View &view,
                                        int64_t channel) const {
    const int64_t position = view.part + channel;
    const auto partitions = static_cast<int64_t>(machine.sb.partitions);
    return {position % partitions,
            view.base + position / partitions * view.tileStride};
  }
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
  const ProductGeometry &whole;
  TileProgram &program;
  const analysis::TilePlan &plan;
  std::vector<std::unique_ptr<Part>> parts;
  const Part *part = nullptr;              ///< of the step that is emitted
  std::pair<size_t, size_t> entered{0, 0}; ///< wave and part of the last table
  analysis::StorageType x;
  unsigned loadedSet = 0; ///< of tiles that stay for several waves
  unsigned leftSet = 0;   ///< that the results go to, with problem.leaves
  bool drained = false;   ///< some of the results
  std::map<unsigned, unsigned> loadTables; ///< by the table of the step
  std::map<size_t, ChunkPlace> records;    ///< by drain
  std::map<size_t, std::pair<size_t, StreamPlace>> places; ///< by wave
};

/// The taps along the depth that result plane `plane` of the tile meets.
std::pair<int64_t, int64_t>
TileConvolutionEmitter::tapsOf(int64_t plane) const {
  const int64_t first = whole.origin[0] + plane * whole.stride[0];
  const int64_t step = whole.dilation[0], taps = program.problem.depth.taps;
  const int64_t low = first >= 0 ? 0 : llvm::divideCeilSigned(-first, step);
  const int64_t high = llvm::divideCeilSigned(whole.input[0] - first, step);
  return {std::min(low, taps), std::clamp(high, std::min(low, taps), taps)};
}

/// Result planes of one image as images of a convolution of two dimensions.
void TileConvolutionEmitter::addPlanes(int64_t image, int64_t first,
                                       int64_t count,
                                       std::pair<int64_t, int64_t> taps) {
  ProductGeometry planes = whole;
  planes.extent[0] = count;
  planes.extent[1] = 1;
  auto move = [&](View &view, DimStrides &strides, int64_t step) {
    view.base += image * strides[0] + first * strides[1] * step;
    strides[0] = strides[1] * step;
  };
  planes.x.base += image * whole.xStrides[0];
  planes.xStrides[0] = whole.stride[0] * whole.xStrides[1];
  move(planes.y, planes.yStrides, 1);
  move(planes.residual, planes.residualStrides, 1);
  auto next =
      std::make_unique<Part>(generator, tile, std::move(planes), program);
  std::tie(next->firstTap, next->lastTap) = taps;
  next->planeStep = whole.dilation[0] * whole.xStrides[1];
  next->planeOffset =
      (whole.origin[0] + first * whole.stride[0] - whole.held[0]) *
      whole.xStrides[1];
  parts.push_back(std::move(next));
}

/// Planes that the same taps meet run together: at the borders some taps meet
/// nothing but padding.
void TileConvolutionEmitter::cutDepth() {
  for (int64_t image = 0; image < whole.extent[0]; ++image)
    for (int64_t first = 0, end = 0; first < whole.extent[1]; first = end) {
      while (end < whole.extent[1] && tapsOf(end) == tapsOf(first))
        ++end;
      addPlanes(image, first, end - first, tapsOf(first));
    }
}

/// The entries that a drain pools at a time.
void TileConvolutionEmitter::cutBands() {
  for (ProductGeometry &band : whole.pooledBands(program.problem.pooled.rows))
    parts.push_back(
        std::make_unique<Part>(generator, tile, std::move(band), program));
}

std::vector<Step> TileConvolutionEmitter::steps() const {
  std::vector<Step> steps;
  const size_t waves = program.waves.size();
  auto forRounds = [&](auto fn) {
    for (size_t part = 0; part < parts.size(); ++part)
      for (int64_t round = 0; round < parts[part]->tables->rounds(); ++round)
        fn(part, round);
  };
  if (plan.tilesOutside) {
    forRounds([&](size_t part, int64_t round) {
      for (size_t wave = 0; wave < waves; ++wave)
        steps.push_back({wave, part, round, wave == 0});
    });
    return steps;
  }
  for (size_t wave = 0; wave < waves; ++wave)
    forRounds([&](size_t part, int64_t round) {
      steps.push_back({wave, part, round, true});
    });
  return steps;
}

/// Buffer sets that the loads of some steps take, one after the other.
unsigned TileConvolutionEmitter::loadsOf(const std::vector<Step> &work) const {
  unsigned loads = 0;
  for (const Step &step : work)
    if (step.loads && !program.problem.kept)
      for (const ChunkStreams &streams : program.waves[step.wave].chunks)
        loads += streams.turn == 0;
  return loads;
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

template <typename Op>
void TileConvolutionEmitter::setGeometry(Op &op) const {
  op.type = static_cast<isa::ElemType>(x.isaType());
  op.mantissa = x.encoded ? x.format.mantissa : 0;
  op.block = plan.cellBlock;
  part->map.setWindows(op);
  op.images = plan.images;
  op.tileH = plan.rows, op.tileW = plan.cols;
}

/// Loads the channels of a chunk.
void TileConvolutionEmitter::emitLoads(const WaveStreams &wave,
                                       const ChunkStreams &streams,
                                       unsigned table, unsigned set) {
  for (const Chunk &piece :
       analysis::loadPieces(program.problem, plan, wave.wave, streams.chunk,
                            streams.turns, whole.x.part, machine))
    emitLoad(wave, streams, piece, table, set);
}

void TileConvolutionEmitter::emitLoad(const WaveStreams &wave,
                                      const ChunkStreams &streams,
                                      const Chunk &piece, unsigned table,
                                      unsigned set) {
  const Chunk &chunk = streams.chunk;
  int64_t base = firstChannel(wave);
  int64_t elements = plan.geometry(program.problem).slotElements();
  isa::DmaTile load{};
  setGeometry(load);
  part->map.setOperand(load);
  load.queue = generator.builder.nextMovementQueue();
  load.table = table;
  load.set = set;
  load.channels = piece.count;
  const analysis::DepthTaps &depth = program.problem.depth;
  part->map.setSource(load, depth.channelOf(base + piece.first));
  load.offset = static_cast<int64_t>(load.offset) + part->planeOffset +
                depth.tapOf(base + piece.first) * part->planeStep;
  load.groups = streams.turns > 1 ? streams.turns : wave.wave.count;
  load.groupStep = streams.turns > 1 ? chunk.count : wave.wave.groupStep;
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
    const analysis::CutOptions &cut = program.problem.scatter->cut;
    run.variant = static_cast<uint32_t>(cut.variant);
    run.blockH = cut.block[0], run.blockW = cut.block[1];
    run.turn = program.problem.scatter->turn;
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

/// Starts the sums of a wave, from zero or from the bias of each result.
void TileConvolutionEmitter::emitInit(const WaveStreams &wave,
                                      const StreamPlace &place, unsigned table,
                                      int64_t sums) {
  isa::TccInit init{};
  init.acc = sums;
  init.regions = program.problem.columns[wave.wave.first].cols;
  init.regionStride = init.count = results();
  init.groups = 1;
  if (wave.startsAtBias()) {
    const ChunkStreams &first = wave.chunks.front();
    init.fromMemory = true;
    init.table = table;
    init.groups = wave.wave.count;
    init.wm = place.base + first.offset + first.initial;
    init.wmStep = wave.wave.count > 1 ? place.wmStep : 0;
  }
  generator.builder.emit(init);
}

void TileConvolutionEmitter::emitDrain(const WaveStreams &streams, size_t index,
                                       unsigned table, int64_t sums) {
  const ColumnWave &wave = streams.wave;
  const DrainColumn &column = program.problem.drains[index];
  const ColumnTile &outputs = program.problem.columns[column.first];
  const ProductGeometry &geometry = part->geometry;
  if (geometry.pooled)
    return emitPool(streams, index, table, sums);
  isa::ActDrain drain{};
  setEpilogue(tile.op, drain);
  if (streams.startsAtBias())
    drain.hasBias = false;
  drain.fromTcu = true;
  drain.table = table;
  drain.group = column.first - wave.first;
  drain.groupLanes = column.columns > 1 ? outputs.cols : 0;
  drain.mapped = !program.problem.order.empty();
  drain.sideBySide =
      analysis::tilesSideBySide(program.problem, plan, column, machine) > 1;
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
  if (drain.resMode) {
    const View &residual = geometry.residual;
    setResidualType(residual.type, drain);
    std::tie(drain.resPart, drain.resOffset) =
        placeOf(residual, outputs.firstOutput);
    drain.resStride0 = geometry.residualStrides[0];
    drain.resStride1 = geometry.residualStrides[2];
    drain.resStride2 = geometry.residualStrides[3];
  }
  const View &target = geometry.y;
  std::tie(drain.dstPart, drain.dstOffset) =
      placeOf(target, outputs.firstOutput);
  drain.dstStride0 = geometry.yStrides[0];
  drain.dstStride1 = geometry.yStrides[2];
  drain.dstStride2 = geometry.yStrides[3];
  setResultType(generator, tile.op, target.type, drain);
  if (program.problem.leaves)
    keepDrained(tile.op, leftSet, outputs.firstOutput, drain);
  countDrained(generator.counters, tile, CountedSteps(), !drained, drain);
  drained = true;
  generator.builder.emit(drain);
}

/// The drain of a column that keeps the maxima of windows.
void TileConvolutionEmitter::emitPool(const WaveStreams &streams, size_t index,
                                      unsigned table, int64_t sums) {
  const DrainColumn &column = program.problem.drains[index];
  const ColumnTile &outputs = program.problem.columns[column.first];
  isa::ActPool pool{};
  setPooledEntries(generator, tile, part->geometry, /*hasExp=*/true, pool);
  setResultRegister(generator, tile, part->geometry.y, pool);
  if (streams.startsAtBias())
    pool.hasBias = false;
  pool.table = table;
  pool.group = column.first - streams.wave.first;
  pool.groupLanes = column.columns > 1 ? outputs.cols : 0;
  pool.mapped = !program.problem.order.empty();
  pool.psum = sums;
  pool.regionStride = results();
  pool.psumStride = static_cast<int32_t>(plan.cols);
  pool.cols = column.cols;
  pool.paramOffset = records[index].parameters;
  std::tie(pool.dstPart, pool.dstOffset) =
      placeOf(part->geometry.y, outputs.firstOutput);
  generator.builder.emit(pool);
}

/// Where the streams of a chunk are: with its wave, or fetched for it.
llvm::Expected<std::pair<size_t, StreamPlace>>
TileConvolutionEmitter::placeOf(const Step &step, size_t chunk) {
  if (program.resident)
    return places[step.wave];
  return generator.streams.acquire({&program, step.wave, chunk, 1});
}

/// The table of a step. If only some of its groups have channels of their own,
/// their loads have another one.
unsigned TileConvolutionEmitter::tableOf(const Step &step) {
  const int64_t copies = copiesOf(step);
  Part &of = *parts[step.part];
  // The tables of another part have taken the place of earlier ones.
  if (const std::pair key(step.wave, step.part); key != entered) {
    entered = key;
    if (parts.size() > 1)
      of.tables = std::make_unique<TileTables>(generator, of.map, program);
  }
  TileTables &tables = *of.tables;
  const unsigned table = tables.of(step.round, copies);
  if (!step.loads)
    return table;
  const bool parts = llvm::any_of(
      program.waves[step.wave].chunks, [&](const ChunkStreams &streams) {
        return streams.turns > 1 && streams.turns < copies;
      });
  loadTables[table] =
      parts ? tables.loads(step.round, copies, plan.turns) : table;
  return table;
}

llvm::Error TileConvolutionEmitter::emitStep(const Step &step, unsigned table) {
  const WaveStreams &wave = program.waves[step.wave];
  part = parts[step.part].get();
  int64_t sums = 0;
  if (plan.twoSums)
    sums = generator.tiles.sums++ % 2 *
           (analysis::accumulatorEntries(machine) / 2);
  if (!wave.startsAtBias())
    emitInit(wave, StreamPlace(), table, sums);
  for (size_t c = 0; c < wave.chunks.size(); ++c) {
    const ChunkStreams &streams = wave.chunks[c];
    const int64_t turn = streams.turn;
    const int64_t tap = program.problem.depth.tapOf(streams.chunk.first);
    if (tap < part->firstTap || tap >= part->lastTap)
      continue;
    if (step.loads && turn == 0 && program.problem.kept) {
      loadedSet = generator.tiles.kept;
    } else if (step.loads && turn == 0) {
      loadedSet =
          generator.tiles.set++ % static_cast<unsigned>(machine.sparse.fmuSets);
      emitLoads(wave, streams, streams.turns > 1 ? loadTables[table] : table,
                loadedSet);
    }
    auto place = placeOf(step, c);
    if (!place)
      return place.takeError();
    if (c == 0 && wave.startsAtBias())
      emitInit(wave, place->second, table, sums);
    const unsigned taken =
        turn == 0 ? table
                  : part->tables->handedOn(step.round, copiesOf(step), turn);
    emitRun(wave, streams, place->second, taken, loadedSet, sums);
    if (!program.resident)
      generator.streams.release(place->first);
  }
  for (int64_t d = 0; d < wave.wave.drains; ++d)
    emitDrain(wave, wave.wave.firstDrain + d, table, sums);
  return llvm::Error::success();
}

llvm::Error TileConvolutionEmitter::run() {
  if (whole.x.part % cellBlock() != 0)
    return generator.unsupported(
        tile.op, "an input of the sparse cluster that starts inside a block");
  if (plan.turns > 1 && whole.x.part != 0)
    return generator.unsupported(
        tile.op, "tiles handed on of an input that starts inside a channel "
                 "tile (--sparse-bind=off)");
  std::vector<Step> work = steps();
  if (program.problem.leaves) {
    leftSet = (generator.tiles.set + loadsOf(work)) %
              static_cast<unsigned>(machine.sparse.fmuSets);
    if (llvm::Error error = openKeptTiles(generator, tile.op, leftSet))
      return error;
  }
  if (plan.tilesOutside)
    for (size_t wave = 0; wave < program.waves.size(); ++wave)
      if (llvm::Error error = acquireWave(wave))
        return error;
  if (llvm::Error error = emitSteps(work))
    return error;
  if (plan.tilesOutside)
    for (size_t wave = 0; wave < program.waves.size(); ++wave)
      releaseWave(wave);
  if (program.problem.leaves) {
    generator.tiles.kept = leftSet;
    generator.tiles.set = leftSet + 1;
  }
  encodeScratch(generator, tile);
  return llvm::Error::success();
}

llvm::Error TileConvolutionEmitter::emitSteps(const std::vector<Step> &work) {
  // Tables are written ahead of the runs before them, so that loads need not
  // wait for those; a machine with one table has no choice.
  bool ahead = machine.sparse.tileTables > 1;
  unsigned next = ahead && !work.empty() ? tableOf(work.front()) : 0;
  for (size_t i = 0; i < work.size(); ++i) {
    const Step &step = work[i];
    unsigned table = ahead ? next : tableOf(step);
    if (ahead && i + 1 < work.size())
      next = tableOf(work[i + 1]);
    const bool begins = i == 0 || work[i - 1].wave != step.wave;
    if (!plan.tilesOutside && begins)
      if (llvm::Error error = acquireWave(step.wave))
        return error;
    if (llvm::Error error = emitStep(step, table))
      return error;
    const bool ends = i + 1 == work.size() || work[i + 1].wave != step.wave;
    if (!plan.tilesOutside && ends)
      releaseWave(step.wave);
  }
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
  // The layer before may have planned it for its drains.
  (*program)->node = generator.builder.node;
  return TileConvolutionEmitter(generator, tile, *geometry, **program).run();
}

} // namespace ashlar::codegen
