// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Scatter mode in tile plans: kernel slices and expected cycles.

#include "ScatterPlan.h"

#include "ashlar/Analysis/Layout/StorageType.h"
#include "ashlar/Analysis/Sparse/CounterAllocation.h"
#include "ashlar/Isa/CoefficientStream.h"
#include "dialects/NPU/NPUDialect.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>
#include <cstdlib>
#include <map>
#include <numeric>

using namespace mlir;

namespace ashlar::analysis {

using partition::Box;

//===----------------------------------------------------------------------===//
// The problem
//===----------------------------------------------------------------------===//

namespace {
/// The way of the window over the weights of a kernel that meet one phase.
struct Way {
  uint32_t taps = 0, moves = 0;
  int64_t row = 0, col = 0; ///< of the last weight
};

/// Follows the windows of a unit over the taps of kernels.
class Windows {
public:
  Windows(const TileProblem &problem, const machine::TileGeometry &geometry,
          machine::ScatterVariant variant, uint32_t turn,
          const machine::Description &machine)
      : geometry(geometry), variant(variant), machine(machine) {
    order.kH = problem.kernel[0], order.kW = problem.kernel[1];
    order.turn = turn;
  }

  using Ways = std::map<std::pair<uint32_t, uint32_t>, Way>;

  /// The ways over the taps of a kernel that `isZero` has weights for, by
  /// their phases.
  Ways of(llvm::function_ref<bool(int64_t)> isZero) const {
    Ways ways;
    for (uint32_t place = 0; place < order.taps(); ++place) {
      const uint32_t tap = order.tapAt(place);
      if (isZero(tap))
        continue;
      const machine::AxisPhases::Tap &y = geometry.h.taps[tap / order.kW];
      const machine::AxisPhases::Tap &x = geometry.w.taps[tap % order.kW];
      Way &way = ways[{y.phase, x.phase}];
      const auto row = static_cast<int64_t>(y.shift);
      const auto col = static_cast<int64_t>(x.shift);
      if (way.taps++ > 0)
        way.moves += machine::windowMove(machine, variant,
                                         std::abs(row - way.row) +
                                             std::abs(col - way.col));
      way.row = row, way.col = col;
    }
    return ways;
  }

private:
  const machine::TileGeometry &geometry;
  const machine::ScatterVariant variant;
  const machine::Description &machine;
  isa::StreamShape order;
};
} // namespace

/// Slices of one channel of a column.
static std::vector<SliceCount> slicesOf(const TileProblem &problem,
                                        const Windows &windows,
                                        const WeightPattern &weights,
                                        size_t column, int64_t channel) {
  const ColumnTile &tile = problem.columns[column];
  int64_t inPerGroup = problem.channels / problem.groups;
  int64_t outPerGroup = problem.outputs / problem.groups;
  int64_t group = channel / inPerGroup;
  int64_t begin = std::max(group * outPerGroup, tile.firstOutput);
  int64_t end =
      std::min((group + 1) * outPerGroup, tile.firstOutput + tile.cols);
  int64_t taps = problem.kernel[0] * problem.kernel[1];
  // Kernels by (row phase, column phase, coefficients, moves).
  std::map<std::array<uint32_t, 4>, uint32_t> counted;
  uint32_t points = 0;
  for (int64_t place = begin; place < end; ++place) {
    int64_t output = problem.outputAt(place);
    for (const auto &[phase, way] : windows.of([&](int64_t tap) {
           return weights.isZero(output, tap, channel % inPerGroup);
         })) {
      points += way.taps;
      if (taps > 1)
        ++counted[{phase.first, phase.second, way.taps, way.moves}];
    }
  }
  if (taps == 1)
    return points > 0 ? std::vector<SliceCount>{{0, 0, points, 1, 0}}
                      : std::vector<SliceCount>();
  std::vector<SliceCount> slices;
  for (const auto &[key, kernels] : counted)
    slices.push_back({key[0], key[1], key[2], kernels, key[3]});
  return slices;
}

/// Cycles in which windows move on between the weights of all kernels.
static uint64_t movesOf(const TileProblem &problem, const Windows &windows,
                        const WeightPattern &weights) {
  uint64_t moves = 0;
  for (int64_t output = 0; output < problem.outputs; ++output)
    for (int64_t c = 0; c < problem.channels / problem.groups; ++c)
      for (const auto &[phase, way] : windows.of(
               [&](int64_t tap) { return weights.isZero(output, tap, c); }))
        moves += way.moves;
  return moves;
}

/// The turn of the order that is asked for. What its windows move alone decides
/// `auto`: the steps of the weights are the same in all orders, and what waits
/// in the queues of variants C and D follows from the data of a run.
static uint32_t turnOf(const TileProblem &problem,
                       const machine::TileGeometry &geometry,
                       const WeightPattern &weights, const CutOptions &cut,
                       const machine::Description &machine) {
  if (cut.order == WeightOrder::Ascending ||
      problem.kernel[0] * problem.kernel[1] == 1)
    return 0;
  // Rows of taps that meet the same rows of a feature map.
  const auto snake = static_cast<uint32_t>(
      problem.stride[0] / std::gcd(problem.stride[0], problem.dilation[0]));
  if (cut.order == WeightOrder::Snake)
    return snake;
  if (machine::windowMove(machine, cut.variant, INT64_MAX) == 0)
    return 0;
  auto moves = [&](uint32_t turn) {
    return movesOf(problem,
                   Windows(problem, geometry, cut.variant, turn, machine),
                   weights);
  };
  return moves(snake) < moves(0) ? snake : 0;
}

/// Both axes of the whole feature map of a convolution.
template <typename Op>
static partition::Geometry geometryOf(Op conv) {
  partition::Geometry geometry;
  auto x = shapeOf(conv.getX()), y = shapeOf(conv.getY()),
       w = shapeOf(conv.getW());
  int64_t spatial = static_cast<int64_t>(conv.getStrides().size());
  for (int64_t i = 0; i < spatial; ++i) {
    partition::Axis axis;
    axis.in = x[2 + i], axis.out = y[2 + i], axis.kernel = w[2 + i];
    axis.stride = conv.getStrides()[i];
    axis.dilation = conv.getDilations()[i];
    axis.padBefore = conv.getPads()[i];
    (i + 1 == spatial ? geometry.x : geometry.y) = axis;
  }
  return geometry;
}

/// The tiles of the state buffer that a problem is one of.
static std::vector<Box> partsOf(const partition::Geometry &map,
                                const TileProblem &problem) {
  std::vector<Box> parts;
  for (int64_t y = 0; y < map.y.out; y += problem.extent[1])
    for (int64_t x = 0; x < map.x.out; x += problem.extent[2])
      parts.push_back({y, x, std::min(problem.extent[1], map.y.out - y),
                       std::min(problem.extent[2], map.x.out - x)});
  return parts;
}

/// The full part whose non-zeros are closest to the mean of all full parts; the
/// first one if places are not known.
static Box typicalPart(const ScatterProblem &scatter) {
  const Box &first = scatter.parts.front();
  if (!scatter.sums || scatter.whole())
    return first;
  std::vector<std::pair<uint64_t, Box>> full;
  uint64_t all = 0;
  for (const Box &part : scatter.parts)
    if (part.rows == first.rows && part.cols == first.cols) {
      full.emplace_back(scatter.sums->sum(scatter.map.inputOf(part)), part);
      all += full.back().first;
    }
  const uint64_t mean = all / full.size();
  auto distance = [&](const std::pair<uint64_t, Box> &part) {
    return std::max(part.first, mean) - std::min(part.first, mean);
  };
  return llvm::min_element(full,
                           [&](const auto &a, const auto &b) {
                             return distance(a) < distance(b);
                           })
      ->second;
}

void addScatter(TileProblem &problem, Operation *op,
                const WeightPattern &weights, DataProfile data,
                const CutOptions &cut, const machine::Description &machine) {
  ScatterProblem scatter;
  scatter.data = std::move(data);
  scatter.cut = cut;
  scatter.drained = !countedResults(op->getOperand(0), machine).empty();
  scatter.map = llvm::isa<npu::PeConvOp>(op)
                    ? geometryOf(cast<npu::PeConvOp>(op))
                    : geometryOf(cast<npu::TcuConvOp>(op));
  if (static_cast<int64_t>(scatter.data.density.size()) != problem.channels)
    scatter.data.density = {scatter.data.mean()};
  // Places are those of two-dimensional feature maps.
  const partition::CountMap &counts = scatter.data.counts;
  if (counts.rows != scatter.map.y.in || counts.cols != scatter.map.x.in)
    scatter.data.counts = partition::CountMap();
  if (scatter.data.hasPlaces())
    scatter.sums = std::make_shared<partition::PrefixSums>(scatter.data.counts);
  scatter.parts = partsOf(scatter.map, problem);
  scatter.geometry = scatter.map.narrowedTo(typicalPart(scatter));
  const machine::TileGeometry geometry = TilePlan().geometry(problem);
  scatter.turn = turnOf(problem, geometry, weights, cut, machine);
  const Windows windows(problem, geometry, cut.variant, scatter.turn, machine);
  for (size_t i = 0; i < problem.columns.size(); ++i) {
    ChannelRange range = channelsOf(problem, i);
    std::vector<std::vector<SliceCount>> own;
    for (int64_t c = 0; c < range.count; ++c)
      own.push_back(slicesOf(problem, windows, weights, i, range.first + c));
    scatter.slices.push_back(std::move(own));
  }
  problem.scatter = std::move(scatter);
}

npu::ScatterAttr scatterAttr(const DataProfile &data, const CutOptions &cut,
                             MLIRContext *context) {
  auto text = [&](llvm::StringRef name) {
    return StringAttr::get(context, name);
  };
  return npu::ScatterAttr::get(
      context, static_cast<int64_t>(cut.variant),
      text(partition::name(cut.algorithm)), text(partition::name(cut.metric)),
      cut.threshold, text(partition::name(cut.time)),
      text(partition::name(cut.halo)), data.toAttr(context), cut.block[0],
      cut.block[1], cut.order == WeightOrder::Snake);
}

void addScatterOf(TileProblem &problem, Operation *op,
                  const WeightPattern &weights,
                  const machine::Description &machine) {
  auto conv = dyn_cast<npu::TcuConvOp>(op);
  npu::ScatterAttr attr = conv ? conv.getScatterAttr() : npu::ScatterAttr();
  if (!attr)
    return;
  // The names are those of enumerations: the attribute's verifier has read
  // them.
  CutOptions cut;
  cut.algorithm =
      llvm::cantFail(partition::parseAlgorithm(attr.getAlgorithm().getValue()));
  cut.metric =
      llvm::cantFail(partition::parseMetric(attr.getMetric().getValue()));
  cut.time = llvm::cantFail(partition::parseCutTime(attr.getTime().getValue()));
  cut.halo =
      llvm::cantFail(partition::parseHaloMode(attr.getHalo().getValue()));
  if (cut.metric == partition::Metric::Cycles)
    cut.metric = partition::Metric::Nnz;
  cut.variant = static_cast<machine::ScatterVariant>(attr.getVariant());
  cut.threshold = attr.getThreshold();
  cut.block = {attr.getBlockRows(), attr.getBlockCols()};
  cut.order = attr.getSnake() ? WeightOrder::Snake : WeightOrder::Ascending;
  addScatter(problem, op, weights, DataProfile::fromAttr(attr.getData()), cut,
             machine);
}

//===----------------------------------------------------------------------===//
// Tiles and their data
//===----------------------------------------------------------------------===//

namespace {
/// Work of the units, tile after tile, in rounds on one image.
class RoundTally {
public:
  explicit RoundTally(int64_t units) : units(units) {}

  void add(uint64_t work) {
    largest = std::max(largest, work);
    sum += work;
  }
  void endRound() {
    most += static_cast<double>(largest);
    mean += static_cast<double>(sum) / static_cast<double>(units);
    ++rounds;
    largest = sum = 0;
  }

  double most = 0, mean = 0; ///< Largest and mean work, summed over rounds.
  int64_t rounds = 0;

private:
  int64_t units;
  uint64_t largest = 0, sum = 0;
};
} // namespace

/// What the tiles along an axis read of the operand.
static std::vector<partition::Range> readsAlong(const partition::Axis &axis,
                                                const TilePlan &plan,
                                                int64_t extent, int64_t size) {
  std::vector<partition::Range> reads;
  for (int64_t begin = 0; begin < extent; begin += size) {
    const partition::Range own{begin, std::min(begin + size, extent)};
    reads.push_back(plan.disjoint ? own : axis.inputOf(own));
  }
  return reads;
}

/// Work of the units: non-zeros, or positions if places are not known.
static RoundTally workOf(const TileProblem &problem, const TilePlan &plan,
                         int64_t units) {
  const ScatterProblem &scatter = *problem.scatter;
  auto workIn = [&](const Box &input) {
    return scatter.sums ? scatter.sums->sum(input)
                        : static_cast<uint64_t>(input.area());
  };
  RoundTally tally(units);
  for (const TileFold &fold : plan.folds) {
    for (const Box &tile : fold.cuts)
      if (!tile.empty())
        tally.add(
            workIn(plan.disjoint ? tile : scatter.geometry.inputOf(tile)));
    tally.endRound();
  }
  if (!plan.folds.empty())
    return tally;
  int64_t tiles = 0;
  // Maps of many small tiles: the axes are cut once.
  const auto cols =
      readsAlong(scatter.geometry.x, plan, problem.extent[2], plan.cols);
  for (const partition::Range &row :
       readsAlong(scatter.geometry.y, plan, problem.extent[1], plan.rows))
    for (const partition::Range &col : cols) {
      tally.add(workIn(Box::of(row, col)));
      if (++tiles % units == 0)
        tally.endRound();
    }
  if (tiles % units != 0)
    tally.endRound();
  return tally;
}

double balanceOf(const TileProblem &problem, const TilePlan &plan,
                 int64_t units) {
  if (!problem.scatter || !problem.scatter->sums)
    return 1;
  const RoundTally tally = workOf(problem, plan, units);
  return tally.mean > 0 ? tally.most / tally.mean : 1;
}

/// Positions that a full tile reads along an axis.
static int64_t reach(const partition::Axis &axis, int64_t results) {
  return (results - 1) * axis.stride + (axis.kernel - 1) * axis.dilation + 1;
}

/// How uneven real maps after a relu are where nothing was measured: each
/// further unit adds this to the largest over the mean load of equal tiles, and
/// cuts by counts leave half of it (docs/SparseTiles.md 5, 7).
constexpr double kUnevenness = 1.0 / 45;

/// Data of the fullest tile over those of a tile of full size and mean density.
static double fullness(const TileProblem &problem, const TilePlan &plan,
                       int64_t units) {
  const ScatterProblem &scatter = *problem.scatter;
  if (scatter.sums && scatter.sums->total() == 0)
    return 1;
  const RoundTally tally = workOf(problem, plan, units);
  double most = tally.most / static_cast<double>(tally.rounds);
  double perPosition = 1;
  if (scatter.sums)
    perPosition = static_cast<double>(scatter.sums->total()) /
                  static_cast<double>(scatter.data.counts.rows *
                                      scatter.data.counts.cols);
  else
    most *= 1 + kUnevenness / (plan.cutAtRunTime ? 2 : 1) *
                    static_cast<double>(units - 1);
  return most / (perPosition *
                 static_cast<double>(reach(scatter.geometry.y, plan.rows) *
                                     reach(scatter.geometry.x, plan.cols)));
}

int64_t ScatterTimes::of(uint64_t lanes, uint32_t taps, uint64_t data) {
  std::vector<std::vector<int64_t>> &own = known[lanes];
  if (own.size() <= taps)
    own.resize(taps + 1);
  std::vector<int64_t> &row = own[taps];
  if (row.size() <= data)
    row.resize(data + 1, -1);
  if (row[data] < 0)
    row[data] = static_cast<int64_t>(machine::scatterCycles(
        variant, lanes, machine.sparse.coefficientsPerStep, data, taps));
  return row[data];
}

namespace {

/// The channels of a plan on units of one class.
class ClassTimes {
public:
  ClassTimes(const TileProblem &problem, const TilePlan &plan,
             const UnitClass &units, double full, ScatterTimes &times,
             const machine::Description &machine)
      : problem(problem), units(units), full(full), times(times),
        machine(machine), geometry(plan.geometry(problem)),
        stride(plan.images * plan.rows * plan.cols),
        passes(problem.passes(machine)), images(plan.images),
        scan(machine::scanCycles(
            machine, geometry.loadedElements(images, units.rows, units.cols))) {
  }

  /// Cycles to expect of the channel `channel` under `slices`.
  int64_t channel(llvm::ArrayRef<SliceCount> slices, int64_t channel) {
    if (slices.empty())
      return 0;
    uint64_t products = 0, latency = 0;
    for (const SliceCount &slice : slices) {
      const SliceTime &time = timeOf(slice, problem.scatter->data.of(channel));
      products += time.products;
      latency = std::max(latency, time.latency);
    }
    return static_cast<int64_t>(
        std::max({products * images * passes, latency, scan}));
  }

private:
  /// Blocks of one size, `count` of them.
  struct Blocks {
    uint64_t rows, cols, count;
  };

  /// The blocks of `rows` x `cols` data: whole ones, then the rest.
  llvm::SmallVector<Blocks, 4> blocksOf(uint64_t rows, uint64_t cols) const {
    auto [height, width] = problem.scatter->cut.block;
    auto along = [](uint64_t extent, int64_t size) {
      // Units with few multipliers may have no rows or columns at all.
      const uint64_t own = std::max<uint64_t>(
          size == 0 ? extent : static_cast<uint64_t>(size), 1);
      return std::array<std::pair<uint64_t, uint64_t>, 2>{
          {{own, extent / own}, {extent % own, extent % own != 0}}};
    };
    llvm::SmallVector<Blocks, 4> blocks;
    for (auto [blockRows, down] : along(rows, height))
      for (auto [blockCols, across] : along(cols, width))
        if (down * across > 0)
          blocks.push_back({blockRows, blockCols, down * across});
    return blocks;
  }

  /// What the kernels of a slice take over an image.
  struct SliceTime {
    uint64_t products = 0, latency = 0;
  };

  /// Most channels of all columns have few densities and slices between them.
  const SliceTime &timeOf(const SliceCount &slice, int32_t density) {
    auto pair = [](uint64_t high, uint32_t low) { return high << 32 | low; };
    auto [entry, isNew] = known.try_emplace(
        {pair(slice.rowPhase, slice.colPhase), pair(slice.taps, slice.moves),
         pair(slice.kernels, static_cast<uint32_t>(density))});
    if (isNew)
      entry->second.products = of(slice, density, entry->second.latency);
    return entry->second;
  }

  uint64_t of(const SliceCount &slice, int32_t density,
              uint64_t &latency) const {
    const uint64_t rows = units.rows + geometry.h.phases[slice.rowPhase].halo;
    const uint64_t cols = units.cols + geometry.w.phases[slice.colPhase].halo;
    const double share = std::min(full * density / 1000.0, 1.0);
    const bool whole = problem.scatter->cut.block == std::array<int64_t, 2>();
    double cycles = 0;
    for (const Blocks &own : blocksOf(rows, cols)) {
      const auto positions = static_cast<double>(own.rows * own.cols);
      double data = positions * share, filled = 1;
      // Of small blocks some have no data at all, and the others more.
      if (!whole && share > 0) {
        filled = 1 - std::pow(1 - share, positions);
        data /= filled;
      }
      if (const auto q = static_cast<uint64_t>(data + 0.5); q > 0)
        cycles +=
            static_cast<double>(own.count) * filled *
            static_cast<double>(block(slice, own, q, rows * cols, latency));
    }
    return static_cast<uint64_t>(cycles + 0.5);
  }

  /// The kernels of a slice over a block with `q` data, one of those that
  /// `positions` data of a tile consist of.
  uint64_t block(const SliceCount &slice, const Blocks &own, uint64_t q,
                 uint64_t positions, uint64_t &latency) const {
    using machine::ScatterVariant;
    ScatterVariant variant = problem.scatter->cut.variant;
    if (problem.kernel[0] * problem.kernel[1] == 1) {
      variant = ScatterVariant::B; // all variants add by address
      latency = std::max(latency, machine::scatterLatency(machine, variant, 1));
      return machine::scatterSlice(
          machine, variant,
          machine::scatterPointCycles(units.lanes, q, slice.taps),
          machine::expectedPointSums(machine, q, own.rows * own.cols,
                                     slice.taps, stride),
          0);
    }
    latency = std::max(latency,
                       machine::scatterLatency(machine, variant, slice.taps));
    auto reached = [](int64_t results, uint64_t data, uint64_t halo) {
      return std::min(static_cast<uint64_t>(results), data + halo);
    };
    const uint64_t window =
        reached(units.rows, own.rows, geometry.h.phases[slice.rowPhase].halo) *
        reached(units.cols, own.cols, geometry.w.phases[slice.colPhase].halo);
    // Products outside the results are dropped before they reach a bank.
    const uint64_t results = units.rows * units.cols;
    return slice.kernels *
           machine::scatterSlice(
               machine, variant,
               times.of(units.lanes, slice.taps, q) + slice.moves,
               machine::expectedBankSums(machine, q * results / positions,
                                         window, slice.taps),
               window);
  }

  const TileProblem &problem;
  const UnitClass &units;
  double full;
  ScatterTimes &times;
  const machine::Description &machine;
  machine::TileGeometry geometry;
  uint64_t stride, passes, images;
  uint64_t scan; ///< cycles that the data of a channel take
  llvm::DenseMap<std::tuple<uint64_t, uint64_t, uint64_t>, SliceTime> known;
};

} // namespace

ScatterSums scatterSums(const TileProblem &problem, const TilePlan &plan,
                        int64_t units, ScatterTimes &times,
                        const machine::Description &machine) {
  const ScatterProblem &scatter = *problem.scatter;
  const double full = fullness(problem, plan, units);
  std::vector<UnitClass> classes = unitClasses(plan, machine);
  std::vector<ClassTimes> byClass;
  for (const UnitClass &own : classes)
    byClass.emplace_back(problem, plan, own, full, times, machine);
  std::vector<std::vector<int64_t>> sums;
  for (size_t i = 0; i < scatter.slices.size(); ++i) {
    int64_t first = channelsOf(problem, i).first;
    // Dense columns of one size differ in nothing.
    if (i > 0 && first == channelsOf(problem, i - 1).first &&
        scatter.slices[i] == scatter.slices[i - 1]) {
      sums.push_back(sums.back());
      continue;
    }
    std::vector<int64_t> own{0};
    for (size_t c = 0; c < scatter.slices[i].size(); ++c) {
      int64_t cycles = 0;
      for (ClassTimes &units : byClass)
        cycles =
            std::max(cycles, units.channel(scatter.slices[i][c],
                                           first + static_cast<int64_t>(c)));
      own.push_back(own.back() + cycles);
    }
    sums.push_back(std::move(own));
  }
  return sums;
}

} // namespace ashlar::analysis
