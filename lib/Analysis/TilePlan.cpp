// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The geometry of a tile plan: columns, waves, chunks, and the problem that an
// operation poses. TileCost.cpp chooses among plans.

#include "ashlar/Analysis/TilePlan.h"

#include "ashlar/Analysis/StorageType.h"
#include "ashlar/Isa/CoefficientStream.h"
#include "dialects/NPU/NPUDialect.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace ashlar::analysis {

/// Cuts columns into such of at most `width` results.
static std::vector<ColumnTile>
narrowColumns(const std::vector<ColumnTile> &columns, int64_t width) {
  std::vector<ColumnTile> narrow;
  for (const ColumnTile &column : columns)
    for (int64_t at = 0; at < column.cols; at += width) {
      ColumnTile part = column;
      part.firstOutput += at;
      part.cols = std::min(width, column.cols - at);
      narrow.push_back(std::move(part));
    }
  return narrow;
}

std::vector<ColumnTile> resultColumns(Operation *op,
                                      const ProductShape &product,
                                      const machine::Description &machine) {
  std::vector<ColumnTile> columns = planStationary(product, machine);
  auto width = op->getAttrOfType<IntegerAttr>(kColumnWidthAttr);
  return width && product.recordsOnly ? narrowColumns(columns, width.getInt())
                                      : columns;
}

ChannelRange channelsOf(const TileProblem &problem, size_t column) {
  const ColumnTile &tile = problem.columns[column];
  int64_t inPerGroup = problem.channels / problem.groups;
  int64_t outPerGroup = problem.outputs / problem.groups;
  int64_t first = tile.firstOutput / outPerGroup * inPerGroup;
  int64_t last =
      ((tile.firstOutput + tile.cols - 1) / outPerGroup + 1) * inPerGroup;
  return {first, last - first};
}

/// Coefficients of each column and channel of its range.
static void countEntries(TileProblem &problem, const EncodedWeights &weights) {
  int64_t inPerGroup = problem.channels / problem.groups;
  int64_t outPerGroup = problem.outputs / problem.groups;
  int64_t taps = problem.kernel[0] * problem.kernel[1];
  for (size_t i = 0; i < problem.columns.size(); ++i) {
    const ColumnTile &column = problem.columns[i];
    ChannelRange range = channelsOf(problem, i);
    std::vector<uint32_t> counts(range.count);
    for (int64_t lane = 0; lane < column.cols; ++lane) {
      int64_t output = column.firstOutput + lane;
      int64_t first = output / outPerGroup * inPerGroup;
      for (int64_t c = 0; c < inPerGroup; ++c)
        for (int64_t tap = 0; tap < taps; ++tap)
          counts[first + c - range.first] +=
              weights.mantissa(output, tap, c) != 0;
    }
    problem.entries.push_back(std::move(counts));
  }
}

template <typename Op>
static void setWindows(TileProblem &problem, Op op) {
  int64_t spatial = op.getStrides().size();
  for (int64_t i = 0; i < spatial; ++i) {
    int64_t axis = 2 - spatial + i;
    problem.kernel[axis] = shapeOf(op.getW())[2 + i];
    problem.stride[axis] = op.getStrides()[i];
    problem.dilation[axis] = op.getDilations()[i];
  }
}

TileProblem tileProblem(Operation *op, const EncodedWeights &weights,
                        llvm::ArrayRef<int64_t> extent,
                        const machine::Description &machine,
                        int64_t columnWidth) {
  TileProblem problem;
  if (auto conv = dyn_cast<npu::PeConvOp>(op))
    setWindows(problem, conv);
  else
    setWindows(problem, cast<npu::TcuConvOp>(op));
  problem.extent[0] = extent[0];
  for (size_t i = 1; i < extent.size(); ++i)
    problem.extent[3 - extent.size() + i] = extent[i];
  ProductShape product = productShape(op);
  product.recordsOnly = true;
  product.weightsMove = false; // that is a choice for the array
  StorageType x = storageOf(op->getOperand(0));
  problem.channels = product.channels;
  problem.outputs = product.outputs;
  problem.groups = product.groups;
  problem.elementBytes = x.bytes();
  problem.activationBits = x.format.mantissa;
  problem.weightBits = product.weightFormat.mantissa;
  // Blocks as long as the axis replicate one exponent: any plane will do.
  problem.cellBlock = std::min<int64_t>(
      x.format.block > 0 ? x.format.block : 64, machine.sb.partitions);
  problem.columns =
      columnWidth > 0
          ? narrowColumns(planStationary(product, machine), columnWidth)
          : resultColumns(op, product, machine);
  countEntries(problem, weights);
  addScatterOf(problem, op, weights);
  return problem;
}

machine::TileGeometry TilePlan::geometry(const TileProblem &problem) const {
  machine::TileGeometry geometry;
  geometry.h = machine::AxisPhases(problem.kernel[0], problem.stride[0],
                                   problem.dilation[0]);
  geometry.w = machine::AxisPhases(problem.kernel[1], problem.stride[1],
                                   problem.dilation[1]);
  geometry.images = images;
  geometry.rows = rows;
  geometry.cols = cols;
  return geometry;
}

std::array<int64_t, 3> TilePlan::grid(const TileProblem &problem) const {
  return {llvm::divideCeilSigned(problem.extent[0], images),
          llvm::divideCeilSigned(problem.extent[1], rows),
          llvm::divideCeilSigned(problem.extent[2], cols)};
}

int64_t TilePlan::tiles(const TileProblem &problem) const {
  auto [n, h, w] = grid(problem);
  return n * h * w;
}

int64_t TilePlan::rounds(const TileProblem &problem, int64_t units) const {
  if (folds.empty())
    return llvm::divideCeilSigned(tiles(problem), units);
  return grid(problem)[0] * static_cast<int64_t>(folds.size());
}

ColumnWave TilePlan::inputs(const TileProblem &problem,
                            const ColumnWave &wave) const {
  if (!tilesOutside)
    return wave;
  ColumnWave all;
  all.count = static_cast<int64_t>(problem.columns.size());
  return all;
}

std::vector<ColumnWave> columnWaves(const TileProblem &problem, int64_t groups,
                                    const machine::Description &machine) {
  int64_t partitions = machine.sb.partitions;
  std::vector<ColumnWave> waves;
  for (size_t at = 0; at < problem.columns.size();) {
    ColumnWave wave;
    wave.first = at;
    ChannelRange range = channelsOf(problem, at);
    int64_t start = (problem.part + range.first) % partitions;
    for (size_t next = at + 1;
         next < problem.columns.size() && wave.count < groups; ++next) {
      ChannelRange other = channelsOf(problem, next);
      int64_t step = other.first - channelsOf(problem, next - 1).first;
      bool crosses =
          step > 0 &&
          start + other.first + other.count - range.first > partitions;
      if (problem.columns[next].cols != problem.columns[at].cols ||
          other.count != range.count ||
          (wave.count > 1 && step != wave.groupStep) ||
          (crosses && (start != 0 || problem.part != 0)) ||
          (problem.cellBlock > 0 && step % problem.cellBlock != 0))
        break;
      wave.groupStep = step;
      wave.crosses |= crosses;
      ++wave.count;
    }
    at += wave.count;
    waves.push_back(wave);
  }
  return waves;
}

std::vector<bool> liveChannels(const TileProblem &problem,
                               const ColumnWave &wave) {
  std::vector<bool> live(channelsOf(problem, wave.first).count);
  for (int64_t g = 0; g < wave.count; ++g)
    for (auto [c, entries] : llvm::enumerate(problem.entries[wave.first + g]))
      if (entries > 0)
        live[c] = true;
  return live;
}

std::vector<Chunk> chunksOf(const TileProblem &problem, const ColumnWave &wave,
                            const std::vector<bool> &live, int64_t slots) {
  auto end = static_cast<int64_t>(live.size());
  int64_t first = 0;
  std::vector<Chunk> chunks;
  if (wave.crosses) {
    if (llvm::is_contained(live, true))
      chunks.push_back({0, end});
    return chunks;
  }
  while (first < end) {
    if (!live[first]) {
      ++first;
      continue;
    }
    // Chunks end where those without dead channels would: blocks stay whole.
    // They end earlier at as many dead channels as share a plane of cells.
    int64_t next = std::min((first / slots + 1) * slots, end);
    int64_t last = first + 1, gap = std::max<int64_t>(problem.cellBlock, 1);
    for (int64_t c = last; c < next && c - last < gap; ++c)
      if (live[c])
        last = c + 1;
    if (next - last >= gap)
      next = last;
    chunks.push_back({first, last - first});
    first = next;
  }
  return chunks;
}

int64_t groupRoom(int64_t groups, const machine::Description &machine) {
  auto bytes = static_cast<int64_t>(machine.sparse.wmBytes);
  auto banks = static_cast<int64_t>(machine.sparse.wmBanks);
  return groups > 1 ? banks / groups * (bytes / banks) : bytes;
}

int64_t streamBytes(const TileProblem &problem, int64_t channels,
                    int64_t regions, int64_t entries) {
  isa::StreamShape shape;
  shape.channels = channels;
  shape.kernels = regions;
  shape.channelsPerGroup = channels;
  shape.kH = problem.kernel[0], shape.kW = problem.kernel[1];
  shape.mantissaBits = problem.weightBits;
  shape.shiftBits = 4;
  // Each coefficient in a kernel of its own is the most there can be.
  auto kernels = static_cast<uint64_t>(std::min(entries, channels * regions));
  return static_cast<int64_t>(llvm::alignTo(
      isa::streamBytes(shape, isa::smallestEncoding(shape, kernels, entries),
                       kernels, entries),
      64));
}

} // namespace ashlar::analysis
