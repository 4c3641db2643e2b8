// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Packing of coefficient streams.

#include "TileProgram.h"

#include "ashlar/Analysis/Layout/StorageType.h"
#include "ashlar/Analysis/Sparse/KernelTurns.h"
#include "ashlar/Isa/CoefficientStream.h"
#include "ashlar/Machine/Cycles.h"
#include "ashlar/Numerics/Encode.h"
#include "ashlar/Support/Error.h"
#include "dialects/NPU/NPUDialect.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace ashlar::codegen {

using analysis::ChannelRange;
using analysis::Chunk;
using analysis::ColumnTile;
using analysis::ColumnWave;
using analysis::EncodedWeights;
using analysis::TileProblem;

namespace {

/// Orders the coefficients of a channel, which come kernel by kernel.
void alternate(std::vector<isa::Coefficient> &list,
               analysis::KernelTurns &turns) {
  llvm::SmallVector<analysis::KernelTurns::Share> shares;
  llvm::SmallVector<size_t> next;
  for (size_t i = 0; i < list.size(); ++i) {
    if (i == 0 || list[i].z != list[i - 1].z) {
      shares.push_back({list[i].z, 0});
      next.push_back(i);
    }
    ++shares.back().left;
  }
  std::vector<isa::Coefficient> ordered;
  ordered.reserve(list.size());
  turns.take(shares,
             [&](size_t share) { ordered.push_back(list[next[share]++]); });
  list = std::move(ordered);
}

/// Makes the streams of one convolution.
class StreamPacker {
public:
  StreamPacker(const TileProblem &problem, const analysis::TilePlan &plan,
               const EncodedWeights &weights, int range,
               const machine::Description &machine)
      : problem(problem), plan(plan), weights(weights), range(range),
        machine(machine), inPerGroup(problem.channels / problem.groups),
        outPerGroup(problem.outputs / problem.groups) {
    // Sums of one region follow each other too closely for the adder.
    interleaves = kernelsAlternate(problem, plan, machine);
    turn = plan.scatter ? problem.scatter->turn : 0;
  }

  llvm::Expected<WaveStreams> pack(const ColumnWave &wave) const;

  /// The sums of every output start from its bias.
  void startAt(std::vector<uint32_t> values) { bias = std::move(values); }

private:
  void appendInitial(size_t column, std::vector<uint8_t> &bytes) const;
  isa::StreamShape shapeOf(size_t column, const Chunk &chunk,
                           int64_t &firstRegion) const;
  llvm::Expected<std::vector<uint8_t>> stream(size_t column, const Chunk &chunk,
                                              ChunkStreams &streams) const;
  std::vector<isa::Coefficient> kernelsOf(size_t column, int64_t channel,
                                          int64_t firstRegion) const;
  analysis::KernelTurns turnsOf(uint64_t kernels) const;

  const TileProblem &problem;
  const analysis::TilePlan &plan;
  const EncodedWeights &weights;
  int range;
  const machine::Description &machine;
  int64_t inPerGroup, outPerGroup;
  bool interleaves = false;
  uint32_t turn = 0; ///< of the snake that the taps of a kernel come in
  std::vector<uint32_t> bias; ///< by output; empty: sums start from zero
};

/// Groups whose results lie whole in the column appear as such in the stream;
/// everything else is one group that names each result.
isa::StreamShape StreamPacker::shapeOf(size_t column, const Chunk &chunk,
                                       int64_t &firstRegion) const {
  const ColumnTile &tile = problem.columns[column];
  int64_t first = channelsOf(problem, column).first + chunk.first;
  isa::StreamShape shape;
  shape.channels = chunk.count;
  shape.kH = problem.kernel[0], shape.kW = problem.kernel[1];
  shape.mantissaBits = problem.weightBits;
  shape.shiftBits = llvm::Log2_32_Ceil(range + 1);
  shape.turn = turn;
  bool whole = problem.groups > 1 && tile.firstOutput % outPerGroup == 0 &&
               tile.cols % outPerGroup == 0;
  shape.kernels = whole ? outPerGroup : tile.cols;
  shape.channelsPerGroup = whole ? inPerGroup : chunk.count;
  shape.firstInGroup = whole ? first % inPerGroup : 0;
  firstRegion = whole ? first / inPerGroup * outPerGroup - tile.firstOutput : 0;
  return shape;
}

/// Turns as the units take them that need most between two coefficients of a
/// kernel.
analysis::KernelTurns StreamPacker::turnsOf(uint64_t kernels) const {
  uint64_t gap = 1, width = 1;
  if (interleaves)
    for (const analysis::UnitClass &units : unitClasses(plan, machine)) {
      const machine::TileStep step =
          machine::tileStep(machine, units.lanes, plan.images * units.rows,
                            units.cols, plan.cols);
      const uint64_t own =
          machine::kernelGap(machine, step, problem.passes(machine));
      if (own > gap)
        gap = own, width = step.coefficients;
    }
  return {kernels, gap, width};
}

/// Coefficients of an input channel, result by result, in the order of the
/// taps.
std::vector<isa::Coefficient>
StreamPacker::kernelsOf(size_t column, int64_t channel,
                        int64_t firstRegion) const {
  const ColumnTile &tile = problem.columns[column];
  int64_t group = channel / inPerGroup;
  int64_t begin = std::max(group * outPerGroup, tile.firstOutput);
  int64_t end =
      std::min((group + 1) * outPerGroup, tile.firstOutput + tile.cols);
  isa::StreamShape order;
  order.kH = problem.kernel[0], order.kW = problem.kernel[1];
  order.turn = turn;
  std::vector<isa::Coefficient> list;
  for (int64_t place = begin; place < end; ++place)
    for (uint32_t i = 0; i < order.taps(); ++i) {
      const int64_t tap = order.tapAt(i);
      int64_t c = channel % inPerGroup, output = problem.outputAt(place);
      int16_t mantissa = weights.mantissa(output, tap, c);
      if (mantissa == 0 && !problem.issuesZeros)
        continue;
      isa::Coefficient entry;
      entry.z = place - tile.firstOutput - firstRegion;
      entry.ky = tap / problem.kernel[1], entry.kx = tap % problem.kernel[1];
      entry.mantissa = mantissa;
      if (mantissa == 0) {
        list.push_back(entry);
        continue;
      }
      // The cell is relative to the scale of the output: W - 2 - s.
      if (problem.cellBlock > 0) // integers have no scale
        entry.shift =
            range + weights.cell(output, tap, c) - (problem.weightBits - 2);
      list.push_back(entry);
    }
  return list;
}

llvm::Expected<std::vector<uint8_t>>
StreamPacker::stream(size_t column, const Chunk &chunk,
                     ChunkStreams &streams) const {
  isa::StreamShape shape = shapeOf(column, chunk, streams.firstRegion);
  analysis::KernelTurns turns = turnsOf(shape.regions());
  streams.regions = shape.regions();
  int64_t first = channelsOf(problem, column).first + chunk.first;
  std::vector<std::vector<isa::Coefficient>> channels;
  uint64_t kernels = 0, entries = 0;
  for (int64_t c = 0; c < chunk.count; ++c) {
    channels.push_back(kernelsOf(column, first + c, streams.firstRegion));
    llvm::SmallVector<bool> seen(shape.regions(), false);
    for (const isa::Coefficient &entry : channels.back()) {
      kernels += !seen[entry.z];
      seen[entry.z] = true;
    }
    entries += channels.back().size();
    if (interleaves)
      alternate(channels.back(), turns);
  }
  return isa::encodeStream(
      shape, channels,
      interleaves ? isa::StreamEncoding::List
                  : isa::smallestEncoding(shape, kernels, entries));
}

/// The first sums of a column's results, as tcc.init reads them.
void StreamPacker::appendInitial(size_t column,
                                 std::vector<uint8_t> &bytes) const {
  const ColumnTile &tile = problem.columns[column];
  for (int64_t lane = 0; lane < tile.cols; ++lane) {
    const uint32_t word = bias[problem.outputAt(tile.firstOutput + lane)];
    const int64_t value = static_cast<int32_t>(word);
    for (int64_t i = 0; i < analysis::kInitialSumBytes; ++i)
      bytes.push_back(static_cast<uint64_t>(value) >> (8 * i) & 0xff);
  }
}

llvm::Expected<WaveStreams> StreamPacker::pack(const ColumnWave &wave) const {
  WaveStreams result;
  result.wave = wave;
  result.inputs = plan.inputs(problem, wave);
  std::vector<bool> live = liveChannels(problem, result.inputs);
  std::vector<std::vector<std::vector<uint8_t>>> bytes;
  const analysis::WaveChunks chunks =
      waveChunks(problem, plan, wave, live, machine);
  for (size_t i = 0; i < chunks.chunks.size(); ++i) {
    ChunkStreams streams;
    streams.chunk = chunks.of(i, /*group=*/0);
    streams.turn = chunks.chunks[i].turn;
    streams.turns = chunks.chunks[i].turns;
    streams.offset = result.bytes;
    std::vector<std::vector<uint8_t>> groups;
    for (int64_t g = 0; g < wave.count; ++g) {
      auto own = stream(wave.first + g, chunks.of(i, g), streams);
      if (!own)
        return own.takeError();
      streams.bytes = std::max<int64_t>(streams.bytes, own->size());
      groups.push_back(std::move(*own));
    }
    streams.room = streams.bytes;
    if (!bias.empty() && result.chunks.empty()) {
      streams.initial =
          llvm::alignTo(streams.bytes, analysis::kInitialSumBytes);
      for (int64_t g = 0; g < wave.count; ++g) {
        groups[g].resize(streams.initial);
        appendInitial(wave.first + g, groups[g]);
      }
      streams.room = static_cast<int64_t>(groups.front().size());
    }
    result.bytes += llvm::alignTo(streams.room, 64);
    result.chunks.push_back(streams);
    bytes.push_back(std::move(groups));
  }
  result.data.resize(result.bytes * wave.count);
  for (auto [groups, streams] : llvm::zip(bytes, result.chunks))
    for (auto [g, own] : llvm::enumerate(groups))
      llvm::copy(own, result.data.begin() +
                          static_cast<int64_t>(g) * result.bytes +
                          streams.offset);
  return result;
}

} // namespace

/// Cuts each tile of the state buffer by its own non-zeros.
static llvm::Error cutParts(TileProgram &program,
                            const machine::Description &machine) {
  if (!program.plan.byWork || program.problem.scatter->whole())
    return llvm::Error::success();
  for (const partition::Box &part : program.problem.scatter->parts) {
    auto folds =
        analysis::foldsOf(program.problem, program.plan, part, machine);
    if (!folds)
      return makeError(ErrorClass::Internal,
                       "the results {},{},{},{} cannot be cut into tiles of at "
                       "most {} x {}",
                       part.y0, part.x0, part.rows, part.cols,
                       program.plan.rows, program.plan.cols);
    program.folds[{part.y0, part.x0}] = std::move(*folds);
  }
  return llvm::Error::success();
}

llvm::Expected<std::unique_ptr<TileProgram>>
buildTileProgram(Operation *op, llvm::ArrayRef<int64_t> extent,
                 const machine::Description &machine) {
  if (!machine.sparse.exists())
    return makeError(ErrorClass::Unsupported,
                     "the operation is for the sparse cluster, machine {} has "
                     "none (sparse.tcus is 0)",
                     machine.name);
  const EncodedWeights weights = analysis::tileWeights(op, machine);
  auto program = std::make_unique<TileProgram>();
  program->problem =
      tileProblem(op, analysis::WeightPattern(weights), extent, machine);
  auto plan = analysis::TilePlans(program->problem, machine).best();
  if (!plan)
    return makeError(ErrorClass::Capacity,
                     "no tile of the result fits the feature-map units of {} "
                     "bytes and the {} accumulators of machine {}",
                     machine.sparse.fmuBytes, machine.sparse.accumulatorEntries,
                     machine.name);
  program->plan = *plan;
  int range = analysis::productShape(op).weightFormat.range;
  StreamPacker packer(program->problem, *plan, weights, range, machine);
  if (program->problem.biasInSums)
    packer.startAt(analysis::constantWords(cast<npu::TcuConvOp>(op).getBias()));
  if (llvm::Error error = cutParts(*program, machine))
    return error;
  int64_t units = analysis::unitsOf(*plan, machine);
  // Planes at the borders of a map with depth run by themselves.
  program->resident =
      plan->tiles(program->problem) > units ||
      program->problem.depth.width > 0 ||
      (program->problem.pooled.exist() && program->problem.extent[0] > 1);
  for (const ColumnWave &wave :
       columnWaves(program->problem, plan->groups, machine)) {
    auto streams = packer.pack(wave);
    if (!streams)
      return streams.takeError();
    int64_t room = analysis::groupRoom(wave.count, machine);
    program->resident &= streams->bytes <= room;
    for (const ChunkStreams &chunk : streams->chunks)
      if (chunk.room > room)
        return makeError(ErrorClass::Capacity,
                         "a coefficient stream takes {} bytes of weight "
                         "memory, machine {} has {} for each of {} groups",
                         chunk.room, machine.name, room, wave.count);
    program->waves.push_back(std::move(*streams));
  }
  return program;
}

//===----------------------------------------------------------------------===//
// StreamLoader
//===----------------------------------------------------------------------===//

/// Cells of weight memory at most: what a search looks at.
static constexpr int64_t kMostCells = 8192;

StreamLoader::StreamLoader(ProgramBuilder &builder)
    : builder(builder),
      cell(std::max<int64_t>(
          64, llvm::divideCeilSigned(
                  static_cast<int64_t>(builder.machine.sparse.wmBytes),
                  kMostCells))),
      used(builder.machine.sparse.wmBytes / cell) {}

void StreamLoader::replay() {
  recording = false;
  nextUse = nextToLoad = 0;
  live.clear();
  used.assign(used.size(), false);
  head = 0;
}

StreamLoader::Extent StreamLoader::extentOf(const StreamBlock &block) const {
  const WaveStreams &wave = block.program->waves[block.wave];
  Extent extent;
  for (size_t c = 0; c < block.chunks; ++c)
    extent.bytes += llvm::alignTo(wave.chunks[block.firstChunk + c].room, 64);
  extent.groups = wave.wave.count;
  extent.step = analysis::groupRoom(extent.groups, builder.machine);
  return extent;
}

/// Marks the cells that a block touches.
void StreamLoader::mark(int64_t base, const Extent &extent, bool taken) {
  for (int64_t g = 0; g < extent.groups; ++g) {
    int64_t begin = base + g * extent.step, end = begin + extent.bytes;
    for (int64_t at = begin / cell; at * cell < end; ++at)
      used[at] = taken;
  }
}

/// A free place for a block, the first one after the last block.
std::optional<int64_t> StreamLoader::reserve(const Extent &extent) const {
  int64_t last = extent.step - extent.bytes;
  auto cells = static_cast<int64_t>(used.size());
  // Cells after the start of a block that are all free in every group.
  auto blockedAt = [&](int64_t base) -> int64_t {
    for (int64_t g = 0; g < extent.groups; ++g) {
      int64_t begin = base + g * extent.step, end = begin + extent.bytes;
      for (int64_t at = llvm::divideCeilSigned(end, cell) - 1;
           at * cell + cell > begin && at >= 0; --at)
        if (at >= cells || used[at])
          return at * cell + cell - g * extent.step;
    }
    return base;
  };
  int64_t start = head <= last ? llvm::alignTo(head, cell) : 0;
  for (auto [from, to] : {std::pair(start, last), std::pair(int64_t(0), start)})
    for (int64_t base = from; base <= std::min(to, last);) {
      int64_t next = blockedAt(base);
      if (next == base)
        return base;
      base = std::max<int64_t>(llvm::alignTo(std::max<int64_t>(next, 0), cell),
                               base + cell);
    }
  return std::nullopt;
}

bool StreamLoader::loadNext() {
  if (nextToLoad >= order.size())
    return false;
  const StreamBlock &block = order[nextToLoad];
  Extent extent = extentOf(block);
  std::optional<int64_t> base = reserve(extent);
  if (!base)
    return false;
  live.push_back({nextToLoad, *base, extent});
  mark(*base, extent, true);
  head = *base + extent.bytes;
  load(block, *base, extent);
  ++nextToLoad;
  return true;
}

void StreamLoader::pump() {
  while (!recording && loadNext())
    ;
}

void StreamLoader::load(const StreamBlock &block, int64_t base,
                        const Extent &extent) {
  WaveStreams &wave = block.program->waves[block.wave];
  StreamPlace place;
  place.wmStep = extent.step;
  if (block.chunks > 0) {
    int64_t offset = wave.chunks[block.firstChunk].offset;
    const ChunkStreams &last = wave.chunks[block.firstChunk + block.chunks - 1];
    int64_t bytes = last.offset + last.room - offset;
    place.base = base - offset;
    if (wave.address < 0)
      wave.address = builder.addConstant(wave.data, &NodeStorage::coefficients,
                                         block.program->node);
    uint32_t savedNode = builder.node;
    builder.node = block.program->node;
    isa::DmaCopy copy{};
    copy.queue = builder.weightQueue();
    copy.elemBytes = 1;
    copy.srcMem = isa::Memory::Dram;
    copy.dstMem = isa::Memory::Wm;
    copy.srcBase = wave.address + offset;
    copy.dstBase = base;
    copy.n0 = copy.n1 = copy.n2 = 1;
    copy.n3 = wave.wave.count, copy.n4 = bytes;
    copy.srcStride3 = wave.bytes, copy.srcStride4 = 1;
    copy.dstStride3 = extent.step, copy.dstStride4 = 1;
    builder.emitWeights(copy);
    builder.node = savedNode;
  }
  places[nextToLoad] = place;
}

llvm::Expected<std::pair<size_t, StreamPlace>>
StreamLoader::acquire(const StreamBlock &block) {
  if (recording) {
    order.push_back(block);
    return std::pair(order.size() - 1, StreamPlace());
  }
  size_t number = nextUse++;
  order[number] = block;
  while (nextToLoad <= number)
    if (!loadNext())
      return makeError(ErrorClass::Capacity,
                       "coefficient streams of {} bytes do not fit into "
                       "weight memory of {} bytes",
                       extentOf(block).bytes, builder.machine.sparse.wmBytes);
  pump();
  return std::pair(number, places[number]);
}

void StreamLoader::release(size_t number) {
  auto block = llvm::find_if(
      live, [=](const Live &other) { return other.number == number; });
  if (block != live.end()) {
    mark(block->base, block->extent, false);
    live.erase(block);
  }
  pump();
}

} // namespace ashlar::codegen
