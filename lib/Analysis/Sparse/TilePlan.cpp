// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The geometry of a tile plan: columns, waves, chunks, and the problem that an
// operation poses. TileCost.cpp chooses among plans.

#include "ChannelCounts.h"
#include "PooledBands.h"
#include "ashlar/Analysis/Sparse/KeptMaps.h"

#include "ashlar/Analysis/Cost/DenseCycles.h"
#include "ashlar/Analysis/Layout/StorageType.h"
#include "ashlar/Isa/CoefficientStream.h"
#include "ashlar/Machine/Cycles.h"
#include "dialects/NPU/NPUDialect.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/Support/MathExtras.h"

#include <numeric>

using namespace mlir;

namespace ashlar::analysis {

ChannelRange channelsOf(const TileProblem &problem, size_t column) {
  const ColumnTile &tile = problem.columns[column];
  int64_t inPerGroup = problem.channels / problem.groups;
  int64_t outPerGroup = problem.outputs / problem.groups;
  int64_t first = tile.firstOutput / outPerGroup * inPerGroup;
  int64_t last =
      ((tile.firstOutput + tile.cols - 1) / outPerGroup + 1) * inPerGroup;
  return {first, last - first};
}

/// Whether groups of units can take columns of `width` results side by side
/// from `column` on: their channels begin at blocks and lie in one channel
/// tile.
static bool mayPart(const TileProblem &problem, const ColumnTile &column,
                    int64_t width, const machine::Description &machine) {
  if (column.cols % width != 0)
    return false;
  int64_t inPerGroup = problem.channels / problem.groups;
  int64_t outPerGroup = problem.outputs / problem.groups;
  int64_t first = column.firstOutput, last = first + column.cols - 1;
  if (first / outPerGroup == last / outPerGroup)
    return true;
  int64_t begin = (problem.part + first / outPerGroup * inPerGroup) %
                  static_cast<int64_t>(machine.sb.partitions);
  int64_t end = begin + column.cols / outPerGroup * inPerGroup;
  return first % outPerGroup == 0 && width % outPerGroup == 0 &&
         width / outPerGroup * inPerGroup %
                 std::max<int64_t>(problem.cellBlock, 1) ==
             0 &&
         end <= static_cast<int64_t>(machine.sb.partitions);
}

/// Columns that `parts` groups of units can take of a drain.
static int64_t partsOf(const TileProblem &problem, const ColumnTile &column,
                       int64_t parts, const machine::Description &machine) {
  int64_t count = std::max<int64_t>(parts, 1);
  while (count > 1 && (column.cols % count != 0 ||
                       !mayPart(problem, column, column.cols / count, machine)))
    count /= 2;
  return count;
}

/// Halves the planes of cells until columns as narrow as `parts` of them are
/// begin with a plane; as they were where no plane is narrow enough.
static void narrowPlanes(TileProblem &problem,
                         const std::vector<ColumnTile> &drained, int64_t parts,
                         const machine::Description &machine) {
  const int64_t widest = problem.cellBlock;
  auto splits = [&] {
    return llvm::any_of(drained, [&](const ColumnTile &column) {
      return partsOf(problem, column, parts, machine) == parts;
    });
  };
  while (!splits()) {
    problem.cellBlock /= 2;
    if (isCellPlane(problem.cellBlock, machine))
      continue;
    problem.cellBlock = widest;
    return;
  }
}

/// Splits the results of each drain into `parts` columns, or as many as can be.
static void splitColumns(TileProblem &problem,
                         const std::vector<ColumnTile> &drained, int64_t parts,
                         const machine::Description &machine) {
  if (parts > 1)
    narrowPlanes(problem, drained, parts, machine);
  for (const ColumnTile &column : drained) {
    const int64_t count = partsOf(problem, column, parts, machine);
    problem.drains.push_back({problem.columns.size(), count, column.cols});
    for (int64_t i = 0; i < count; ++i) {
      ColumnTile part = column;
      part.cols = column.cols / count;
      part.firstOutput += i * part.cols;
      problem.columns.push_back(std::move(part));
    }
  }
}

/// The results [first, first + columns * width) of a drain, column by column,
/// so that none has many more coefficients than the others, which would wait
/// for it: those with the most first, each to the column with the fewest so
/// far. As they come where that is no better.
static std::vector<int64_t> sharedOut(llvm::ArrayRef<int64_t> counts,
                                      int64_t first, int64_t columns,
                                      int64_t width) {
  std::vector<int64_t> plain(columns * width);
  std::iota(plain.begin(), plain.end(), first);
  std::vector<int64_t> heaviest = plain, plainLoads(columns), loads(columns);
  llvm::sort(heaviest, [&](int64_t a, int64_t b) {
    return std::pair(-counts[a], a) < std::pair(-counts[b], b);
  });
  std::vector<std::vector<int64_t>> shares(columns);
  for (int64_t output : heaviest) {
    plainLoads[(output - first) / width] += counts[output];
    int64_t least = -1;
    for (int64_t i = 0; i < columns; ++i)
      if (static_cast<int64_t>(shares[i].size()) < width &&
          (least < 0 || loads[i] < loads[least]))
        least = i;
    shares[least].push_back(output);
    loads[least] += counts[output];
  }
  if (*llvm::max_element(loads) >= *llvm::max_element(plainLoads))
    return plain;
  std::vector<int64_t> order;
  for (std::vector<int64_t> &share : shares) {
    llvm::sort(share);
    llvm::append_range(order, share);
  }
  return order;
}

/// Chooses the order of the results of all drains.
static void balanceColumns(TileProblem &problem, const WeightPattern &weights) {
  if (problem.groups != 1 || mostParts(problem) == 1)
    return;
  std::vector<int64_t> counts(problem.outputs);
  for (int64_t output = 0; output < problem.outputs; ++output)
    for (uint32_t count : weights.nonZeros(output))
      counts[output] += count;
  for (const DrainColumn &drain : problem.drains)
    llvm::append_range(problem.order,
                       sharedOut(counts,
                                 problem.columns[drain.first].firstOutput,
                                 drain.columns, drain.cols / drain.columns));
  if (llvm::is_sorted(problem.order))
    problem.order.clear();
}

std::vector<int64_t> sourceLanes(const TileProblem &problem) {
  std::vector<int64_t> sources(problem.order.size());
  if (problem.order.empty())
    return sources;
  for (const DrainColumn &drain : problem.drains) {
    int64_t first = problem.columns[drain.first].firstOutput;
    for (int64_t lane = 0; lane < drain.cols; ++lane)
      sources[problem.order[first + lane]] = lane;
  }
  return sources;
}

template <typename Op>
static void setWindows(TileProblem &problem, Op op) {
  if (Value residual = op.getResidual())
    problem.residualBytes = storageOf(residual).bytes();
  int64_t spatial = op.getStrides().size();
  for (int64_t i = spatial == 3 ? 1 : 0; i < spatial; ++i) {
    int64_t axis = 2 - spatial + i;
    problem.kernel[axis] = shapeOf(op.getW())[2 + i];
    problem.stride[axis] = op.getStrides()[i];
    problem.dilation[axis] = op.getDilations()[i];
  }
}

bool biasFitsSums(Operation *op) {
  auto fits = [](auto conv) {
    // Sums of planes along a depth may begin with any chunk of their stream.
    return conv.getStrides().size() < 3 && conv.getBias() &&
           !storageOf(conv.getX()).encoded &&
           getElementTypeOrSelf(conv.getBias()).isInteger(32);
  };
  if (auto conv = dyn_cast<npu::PeConvOp>(op))
    return fits(conv);
  auto conv = dyn_cast<npu::TcuConvOp>(op);
  return conv && fits(conv);
}

bool isCellPlane(int64_t channels, const machine::Description &machine) {
  return llvm::is_contained({64, 32, 16, 8}, channels) &&
         channels % static_cast<int64_t>(machine.xmGroup) == 0 &&
         static_cast<int64_t>(machine.sb.partitions) % channels == 0;
}

int64_t cellPlane(const numerics::BlockFormat &format,
                  const machine::Description &machine) {
  for (int64_t plane : {64, 32, 16, 8})
    if ((format.block <= 0 || format.block % plane == 0) &&
        isCellPlane(plane, machine))
      return plane;
  return 0;
}

DepthTaps depthTaps(Operation *op, const machine::Description &machine) {
  llvm::ArrayRef<int64_t> kernel = shapeOf(op->getOperand(1)).drop_front(2);
  if (kernel.size() < 3)
    return {};
  // Taps begin where blocks and planes of cells do.
  const StorageType x = storageOf(op->getOperand(0));
  const ProductShape product = productShape(op);
  int64_t granule = std::max<int64_t>(product.weightFormat.block, 1);
  if (x.encoded)
    granule = std::max<int64_t>(
        {granule, cellPlane(x.format, machine), x.format.block});
  return {kernel.front(),
          static_cast<int64_t>(llvm::alignTo(product.channels, granule))};
}

EncodedWeights tileWeights(Operation *op, const machine::Description &machine) {
  EncodedWeights weights(op);
  if (const DepthTaps depth = depthTaps(op, machine); depth.width > 0)
    weights.unfoldDepth(depth.taps, depth.width);
  return weights;
}

WeightPattern tilePattern(Operation *op, const machine::Description &machine) {
  return depthTaps(op, machine).width > 0
             ? WeightPattern(tileWeights(op, machine))
             : WeightPattern(op);
}

TileProblem tileProblem(Operation *op, const WeightPattern &weights,
                        llvm::ArrayRef<int64_t> extent,
                        const machine::Description &machine, int64_t parts,
                        bool issuesZeros) {
  TileProblem problem;
  if (auto conv = dyn_cast<npu::PeConvOp>(op))
    setWindows(problem, conv);
  else
    setWindows(problem, cast<npu::TcuConvOp>(op));
  problem.depth = depthTaps(op, machine);
  problem.extent[0] = extent[0];
  if (problem.depth.width > 0) {
    problem.extent[0] *= extent[1];
    extent = extent.drop_front();
  }
  for (size_t i = 1; i < extent.size(); ++i)
    problem.extent[3 - extent.size() + i] = extent[i];
  if (npu::poolingOf(op))
    setBands(problem, op, machine);
  ProductShape product = productShape(op);
  product.recordsOnly = true;
  product.weightsMove = false; // that is a choice for the array
  StorageType x = storageOf(op->getOperand(0));
  problem.channels = problem.depth.width > 0
                         ? problem.depth.taps * problem.depth.width
                         : product.channels;
  problem.outputs = product.outputs;
  problem.groups = product.groups;
  problem.function = drainFunction(op);
  problem.elementBytes = x.bytes();
  problem.resultBytes = storageOf(op->getResult(0)).bytes();
  // Coefficients of integers have no zero point, whatever the array stores.
  const StorageType w =
      x.encoded ? weightStorage(op) : storageOf(op->getOperand(1));
  problem.weightBits = w.storedBits();
  problem.activationDigits = x.digitBits();
  problem.weightDigits = w.digitBits();
  problem.cellBlock = x.encoded ? cellPlane(x.format, machine) : 0;
  // Integers stay in one tile each: no one adds what units have.
  problem.unitsAdd =
      x.encoded &&
      numerics::provesAccumulator(
          x.format.mantissa, x.format.range, product.weightFormat.mantissa,
          product.weightFormat.range,
          machine.sparse.tcus * static_cast<uint64_t>(problem.channels) *
              static_cast<uint64_t>(problem.kernel[0] * problem.kernel[1]));
  if (auto conv = dyn_cast<npu::TcuConvOp>(op);
      conv && conv.getColumnPartsAttr() && parts == 0)
    parts = std::clamp<int64_t>(static_cast<int64_t>(conv.getColumnParts()), 1,
                                std::max<int64_t>(machine.sparse.tcus, 1));
  splitColumns(problem, planStationary(product, machine), parts, machine);
  auto cluster = dyn_cast<npu::TcuConvOp>(op);
  problem.issuesZeros = issuesZeros || (cluster && cluster.getIssueZeros());
  problem.biasInSums = cluster && cluster.getBiasInSums();
  problem.kept = cluster && cluster.getKeptAttr();
  problem.leaves = cluster && keptReader(op);
  if (cluster && npu::tilingOf(op))
    problem.recordRoom = recordRoom(op, machine);
  problem.handOver =
      handOverOf(op, cluster ? cluster.getBinding() : "auto", machine);
  // Records say where a lane's sums are or what its slope is.
  if (!problem.issuesZeros && !hasSlopes(op))
    balanceColumns(problem, weights);
  countEntries(problem, weights, machine);
  addScatterOf(problem, op, weights, machine);
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

int64_t TilePlan::tilesOfRound(const TileProblem &problem,
                               int64_t units) const {
  const auto [n, h, w] = grid(problem);
  return problem.pooled.exist() ? h * w : units;
}

int64_t TilePlan::rounds(const TileProblem &problem, int64_t units) const {
  if (folds.empty())
    return llvm::divideCeilSigned(tiles(problem), tilesOfRound(problem, units));
  return grid(problem)[0] * static_cast<int64_t>(folds.size());
}

ColumnWave TilePlan::inputs(const TileProblem &problem,
                            const ColumnWave &wave) const {
  if (!tilesOutside)
    return wave;
  ColumnWave all;
  all.count = static_cast<int64_t>(problem.columns.size());
  all.drains = static_cast<int64_t>(problem.drains.size());
  return all;
}

int64_t tilesSideBySide(const TileProblem &problem, const TilePlan &plan,
                        const DrainColumn &column,
                        const machine::Description &machine) {
  if (plan.disjoint || plan.tiles(problem) < 2 || problem.pooled.exist())
    return 1;
  return static_cast<int64_t>(machine::tilesSideBySide(machine, column.cols));
}

int64_t mostParts(const TileProblem &problem) {
  int64_t most = 1;
  for (const DrainColumn &drain : problem.drains)
    most = std::max(most, drain.columns);
  return most;
}

/// Adds the next column to a wave if it can run in parallel with the others.
static bool addColumn(const TileProblem &problem, ColumnWave &wave,
                      const machine::Description &machine) {
  if (wave.count == 0) {
    wave.count = 1;
    return true;
  }
  int64_t partitions = machine.sb.partitions;
  size_t next = wave.first + static_cast<size_t>(wave.count);
  ChannelRange range = channelsOf(problem, wave.first);
  ChannelRange other = channelsOf(problem, next);
  int64_t start = (problem.part + range.first) % partitions;
  int64_t step = other.first - channelsOf(problem, next - 1).first;
  bool crosses =
      step > 0 && start + other.first + other.count - range.first > partitions;
  if (problem.columns[next].cols != problem.columns[wave.first].cols ||
      other.count != range.count ||
      (wave.count > 1 && step != wave.groupStep) ||
      (crosses && (start != 0 || problem.part != 0)) ||
      (problem.cellBlock > 0 && step % problem.cellBlock != 0))
    return false;
  wave.groupStep = step;
  wave.crosses |= crosses;
  ++wave.count;
  return true;
}

std::vector<ColumnWave> columnWaves(const TileProblem &problem, int64_t groups,
                                    const machine::Description &machine) {
  std::vector<ColumnWave> waves;
  for (size_t at = 0; at < problem.drains.size();) {
    ColumnWave wave;
    wave.first = problem.drains[at].first;
    wave.firstDrain = at;
    wave.count = 0;
    while (at < problem.drains.size()) {
      ColumnWave grown = wave;
      bool fits = true;
      for (int64_t i = 0; i < problem.drains[at].columns && fits; ++i)
        fits = addColumn(problem, grown, machine);
      // The columns of one drain always run side by side.
      if (wave.drains > 0 && (!fits || grown.count > groups))
        break;
      wave = grown;
      ++wave.drains;
      ++at;
    }
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

/// Dead channels of integers that end a chunk: loads and runs of their own take
/// about as long as the data of so many.
constexpr int64_t kLeastGap = 8;

std::vector<Chunk> chunksOf(const TileProblem &problem, const ColumnWave &wave,
                            const std::vector<bool> &live, int64_t slots) {
  auto end = static_cast<int64_t>(live.size());
  int64_t first = 0;
  std::vector<Chunk> chunks;
  if (wave.crosses || problem.kept) {
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
    // They end earlier at as many dead channels as share a plane of cells: less
    // would load the plane a second time.
    int64_t next = std::min((first / slots + 1) * slots, end);
    if (const int64_t width = problem.depth.width; width > 0)
      next = std::min(next, (first / width + 1) * width);
    int64_t last = first + 1;
    int64_t gap = problem.cellBlock > 0 ? problem.cellBlock : kLeastGap;
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

int64_t chunkBytes(const TileProblem &problem, const TilePlan &plan,
                   const ColumnWave &wave, const Chunk &chunk,
                   int64_t slotElements) {
  int64_t planes = 0;
  if (plan.cellBlock > 0)
    planes = static_cast<int64_t>(machine::cellPlanes(
        (problem.part + channelsOf(problem, wave.first).first + chunk.first) %
            plan.cellBlock,
        chunk.count, plan.cellBlock));
  return slotElements * (chunk.count * problem.elementBytes + planes);
}

int64_t accumulatorEntries(const machine::Description &machine) {
  constexpr int64_t mostNamed = int64_t(1) << 20; // by a drain
  return std::min(static_cast<int64_t>(machine.sparse.accumulatorEntries),
                  mostNamed);
}

int64_t mostGroups(const machine::Description &machine) {
  return std::min<int64_t>(static_cast<int64_t>(machine.sparse.tcus), 64);
}

int64_t unitsOf(const TilePlan &plan, const machine::Description &machine) {
  const machine::Sparse &sparse = machine.sparse;
  return static_cast<int64_t>(plan.wideOnly ? sparse.wideTcus() : sparse.tcus) /
         plan.groups;
}

std::vector<int64_t> tileLanes(const machine::Description &machine,
                               int64_t tiles, int64_t groups,
                               bool cutAtRunTime) {
  std::vector<int64_t> lanes;
  for (int64_t i = 0; i < tiles; ++i) {
    // Wide units come first: the last unit of a tile has the fewest.
    int64_t last =
        cutAtRunTime ? (groups - 1) * tiles + i : i * groups + groups - 1;
    lanes.push_back(static_cast<int64_t>(machine.sparse.lanesOf(last)));
  }
  return lanes;
}

/// Makes a class large enough for a tile.
static void grow(UnitClass &units, int64_t rows, int64_t cols) {
  units.rows = std::max(units.rows, rows);
  units.cols = std::max(units.cols, cols);
}

std::vector<UnitClass> unitClasses(const TilePlan &plan,
                                   const machine::Description &machine) {
  const machine::Sparse &sparse = machine.sparse;
  int64_t used = unitsOf(plan, machine) * plan.groups;
  std::vector<UnitClass> classes{{sparse.lanes, plan.rows, plan.cols}};
  if (used <= static_cast<int64_t>(sparse.wideTcus()))
    return classes;
  classes.push_back({sparse.narrowLanes, plan.rows, plan.cols});
  if (sparse.wideTcus() == 0)
    classes.erase(classes.begin());
  // Tiles that the compiler cuts are known one by one.
  if (plan.folds.empty() || plan.cutAtRunTime || plan.disjoint)
    return classes;
  for (UnitClass &units : classes)
    units.rows = units.cols = 0;
  for (const TileFold &fold : plan.folds)
    for (auto [lanes, tile] : llvm::zip(
             tileLanes(machine, unitsOf(plan, machine), plan.groups, false),
             fold.cuts))
      grow(lanes == static_cast<int64_t>(classes.front().lanes)
               ? classes.front()
               : classes.back(),
           tile.rows, tile.cols);
  return classes;
}

bool kernelsAlternate(const TileProblem &problem, const TilePlan &plan,
                      const machine::Description &machine) {
  // Dense streams have an order of their own.
  if (machine.sparse.accumulateLatency <= 1 || plan.scatter ||
      problem.issuesZeros)
    return false;
  uint64_t passes = problem.passes(machine);
  return llvm::any_of(unitClasses(plan, machine), [&](const UnitClass &units) {
    return machine::kernelsAlternate(machine,
                                     machine::tileStep(machine, units.lanes,
                                                       plan.images * units.rows,
                                                       units.cols, plan.cols),
                                     passes);
  });
}

int64_t leastTileCycles(npu::PeConvOp conv, const WeightPattern &weights,
                        const machine::Description &machine) {
  auto out = mlir::cast<RankedTensorType>(conv.getY().getType()).getShape();
  int64_t entries = 0;
  for (int64_t output = 0; output < out[1]; ++output)
    for (uint32_t count : weights.nonZeros(output))
      entries += count;
  int64_t positions = out[0];
  for (int64_t extent : out.drop_front(2))
    positions *= extent;
  const auto passes = static_cast<int64_t>(
      machine::pePasses(machine, activationStorage(conv).digitBits(),
                        weightStorage(conv).digitBits()));
  return llvm::divideCeilSigned(
      entries * positions * passes,
      static_cast<int64_t>(machine.sparse.multipliers()));
}

int64_t groupRoom(int64_t groups, const machine::Description &machine) {
  auto bytes = static_cast<int64_t>(machine.sparse.wmBytes);
  auto banks = static_cast<int64_t>(machine.sparse.wmBanks);
  return groups > 1 ? banks / groups * (bytes / banks) : bytes;
}

int64_t streamBytes(const TileProblem &problem, int64_t channels,
                    int64_t regions, int64_t entries, bool alternate) {
  isa::StreamShape shape;
  shape.channels = channels;
  shape.kernels = regions;
  shape.channelsPerGroup = channels;
  shape.kH = problem.kernel[0], shape.kW = problem.kernel[1];
  shape.mantissaBits = problem.weightBits;
  shape.shiftBits = 4;
  // Each coefficient in a kernel of its own is the most there can be.
  auto kernels = static_cast<uint64_t>(
      alternate ? entries : std::min(entries, channels * regions));
  // Only lists name a kernel again.
  isa::StreamEncoding encoding =
      alternate ? isa::StreamEncoding::List
                : isa::smallestEncoding(shape, kernels, entries);
  return static_cast<int64_t>(
      llvm::alignTo(isa::streamBytes(shape, encoding, kernels, entries), 64));
}

} // namespace ashlar::analysis
