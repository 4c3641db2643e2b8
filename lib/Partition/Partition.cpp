// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Options, work model and the shared frame of all algorithms: choose bands,
// cut, fill the tiles, judge.

#include "Cuts.h"

#include "ashlar/Support/Error.h"

#include <algorithm>

namespace ashlar::partition {

uint64_t Partition::maxWork() const {
  uint64_t most = 0;
  for (const Tile &tile : tiles)
    most = std::max(most, tile.work);
  return most;
}

double Partition::imbalance() const {
  uint64_t sum = 0;
  for (const Tile &tile : tiles)
    sum += tile.work;
  return sum ? double(maxWork()) * double(tiles.size()) / double(sum) : 1.0;
}

WorkModel::WorkModel(const CountMap &map, const Geometry &geometry,
                     const Options &options)
    : map(map), geometry(geometry), options(options), sums(map) {
  bool overlap = options.halo == Halo::Overlap;
  height = overlap ? geometry.y.out : geometry.y.in;
  width = overlap ? geometry.x.out : geometry.x.in;
  // Pooling alignment is about results; disjoint tiles are of the operand and
  // are joined before any pooling.
  unitsY =
      overlap ? (height + options.alignRows - 1) / options.alignRows : height;
  unitsX =
      overlap ? (width + options.alignCols - 1) / options.alignCols : width;
  // Whole alignment units, unless one part may be everything.
  limitY = options.maxRows >= height
               ? unitsY
               : options.maxRows / (overlap ? options.alignRows : 1);
  limitX = options.maxCols >= width
               ? unitsX
               : options.maxCols / (overlap ? options.alignCols : 1);
}

Tile WorkModel::tile(Range y, Range x) const {
  bool overlap = options.halo == Halo::Overlap;
  auto scaled = [](Range range, int64_t align, int64_t limit) {
    return Range{range.begin * align, std::min(range.end * align, limit)};
  };
  Tile tile;
  tile.core = Box::of(scaled(y, overlap ? options.alignRows : 1, height),
                      scaled(x, overlap ? options.alignCols : 1, width));
  tile.input = overlap ? geometry.inputOf(tile.core) : tile.core;
  tile.output = overlap ? tile.core : geometry.outputOf(tile.core);
  return tile;
}

uint64_t WorkModel::workOfInput(const Box &input) const {
  if (options.metric == Metric::Cycles)
    return options.cycles(input);
  uint64_t nonZeros = sums.sum(input);
  return options.metric == Metric::Zeros
             ? uint64_t(input.area()) * map.capacity - nonZeros
             : nonZeros;
}

uint64_t WorkModel::work(Range y, Range x) const {
  ++probes;
  return workOfInput(tile(y, x).input);
}

std::vector<std::vector<int64_t>>
WorkModel::shares(llvm::ArrayRef<int64_t> bands) const {
  std::vector<std::vector<int64_t>> shares;
  size_t next = 0;
  for (int64_t cells : bands) {
    shares.emplace_back();
    for (int64_t i = 0; i < cells; ++i, ++next)
      shares.back().push_back(
          options.capacity.empty() ? 1 : options.capacity[next]);
  }
  return shares;
}

double WorkModel::metric(const Tile &tile) const {
  double work = double(workOfInput(tile.input));
  double values = double(map.rows) * double(map.cols) * double(map.capacity);
  switch (options.metric) {
  case Metric::Density:
    return tile.input.empty()
               ? 0
               : work / (double(tile.input.area()) * double(map.capacity));
  case Metric::Nnz:
  case Metric::Zeros:
    return work * double(tiles) / values;
  case Metric::Cycles:
    return work; // spreadOf() divides by the mean.
  }
  llvm_unreachable("unknown metric");
}

/// `tiles` distributed over `count` bands as evenly as possible.
static std::vector<int64_t> dealBands(int64_t tiles, int64_t count) {
  std::vector<int64_t> bands;
  for (int64_t i = 0; i < count; ++i)
    bands.push_back(tiles * (i + 1) / count - tiles * i / count);
  return bands;
}

std::vector<std::vector<int64_t>> possibleBands(const WorkModel &model,
                                                int64_t units) {
  // More units than cells: the rest stays idle. Products of sizes and units
  // stay far below 64 bits for every valid description.
  const int64_t rows = model.rowUnits(), cols = model.colUnits();
  const int64_t tiles = std::min(units, rows * cols);
  std::vector<std::vector<int64_t>> shapes;
  size_t best = 0;
  auto circumference = [&](int64_t b) { return rows * tiles + cols * b * b; };
  for (int64_t b = 1; b <= std::min(tiles, rows); ++b) {
    // Most and fewest cells of a band.
    if ((tiles + b - 1) / b > cols || tiles / b * model.colLimit() < cols ||
        b * model.rowLimit() < rows)
      continue;
    shapes.push_back(dealBands(tiles, b));
    // rows / b + cols * b / tiles, compared without dividing.
    int64_t least = int64_t(shapes[best].size());
    if (circumference(b) * least < circumference(least) * b)
      best = shapes.size() - 1;
  }
  if (!shapes.empty())
    std::rotate(shapes.begin(), shapes.begin() + int64_t(best),
                shapes.begin() + int64_t(best) + 1);
  return shapes;
}

static double capacityOf(const Options &options, size_t unit) {
  return options.capacity.empty() ? 1 : double(options.capacity[unit]);
}

double spreadOf(llvm::ArrayRef<Tile> tiles, const CountMap &map,
                const Geometry &geometry, const Options &options) {
  WorkModel model(map, geometry, options);
  std::vector<double> values;
  double capacity = 0;
  for (size_t i = 0; i < tiles.size(); ++i)
    if (!tiles[i].core.empty()) {
      values.push_back(0);
      capacity += capacityOf(options, i);
    }
  model.setTiles(int64_t(values.size()));
  size_t used = 0;
  double sum = 0;
  for (size_t i = 0; i < tiles.size(); ++i)
    if (!tiles[i].core.empty())
      // What a unit has to do, relative to what it can.
      sum += values[used++] = model.metric(tiles[i]) * capacity /
                              (double(values.size()) * capacityOf(options, i));
  if (values.empty() || sum == 0)
    return 0;
  auto [least, most] = std::minmax_element(values.begin(), values.end());
  double spread = *most - *least;
  return options.metric == Metric::Cycles ? spread * double(values.size()) / sum
                                          : spread;
}

int64_t operandLimit(const Axis &axis, int64_t results) {
  if (results >= axis.out)
    return INT64_MAX;
  return results * axis.stride - (axis.kernel - 1) * axis.dilation;
}

static llvm::Error check(const CountMap &map, const Geometry &geometry,
                         const Options &options) {
  if (options.units < 1 || options.alignRows < 1 || options.alignCols < 1 ||
      options.maxRows < 1 || options.maxCols < 1)
    return makeError(ErrorClass::Usage,
                     "a partition needs units, alignment and largest tiles of "
                     "at least one, found {} units, alignment {} x {}, tiles "
                     "of {} x {}",
                     options.units, options.alignRows, options.alignCols,
                     options.maxRows, options.maxCols);
  if (map.rows < 1 || map.cols < 1 || geometry.y.out < 1 || geometry.x.out < 1)
    return makeError(ErrorClass::Usage, "cannot cut an empty map of {} x {}",
                     map.rows, map.cols);
  if (map.rows != geometry.y.in || map.cols != geometry.x.in ||
      map.counts.size() != size_t(map.rows * map.cols))
    return makeError(
        ErrorClass::Usage, "map of {} x {} with {} counts, expected {} x {}",
        map.rows, map.cols, map.counts.size(), geometry.y.in, geometry.x.in);
  if (!options.capacity.empty() &&
      (static_cast<int64_t>(options.capacity.size()) != options.units ||
       *std::min_element(options.capacity.begin(), options.capacity.end()) < 1))
    return makeError(ErrorClass::Usage,
                     "{} capacities for {} units, expected one of at least one "
                     "for each",
                     options.capacity.size(), options.units);
  if (options.metric == Metric::Cycles && !options.cycles)
    return makeError(ErrorClass::Usage,
                     "the cycles metric needs a function of a tile's cycles");
  return llvm::Error::success();
}

/// Largest work of any cell.
static uint64_t largest(const WorkModel &model, const Cuts &cuts) {
  uint64_t most = 0;
  for (size_t b = 0; b < cuts.bands(); ++b)
    for (size_t c = 0; c < cuts.cells(b); ++c)
      most = std::max(most, model.work({cuts.rows[b], cuts.rows[b + 1]},
                                       {cuts.cols[b][c], cuts.cols[b][c + 1]}));
  return most;
}

static Cuts cut(const WorkModel &model, const Options &options,
                llvm::ArrayRef<std::vector<int64_t>> shapes,
                unsigned &iterations) {
  if (!options.capacity.empty())
    return options.algorithm == Algorithm::Uniform
               ? uniformCuts(model, shapes.front())
               : guillotineCuts(model, shapes.front());
  if (options.algorithm == Algorithm::Rows)
    return guillotineCuts(model, shapes.front());
  if (options.algorithm != Algorithm::P2) {
    Cuts cuts = uniformCuts(model, shapes.front());
    if (options.algorithm == Algorithm::P1)
      iterations = transferLines(model, options, cuts);
    return cuts;
  }
  Cuts cuts = guillotineCuts(model, shapes.front());
  if (!options.refine) {
    Options moves = options;
    moves.maxIterations = options.moveRounds;
    if (options.moveRounds > 0)
      iterations = transferLines(model, moves, cuts);
    return cuts;
  }
  uint64_t least = largest(model, cuts);
  for (const std::vector<int64_t> &shape : shapes) {
    Cuts refined = leastMaximumCuts(model, shape, guillotineCuts(model, shape));
    if (uint64_t most = largest(model, refined); most < least) {
      least = most;
      cuts = refined;
    }
  }
  return cuts;
}

/// Ways to deal the tiles to bands that keep to the largest tile.
static std::vector<std::vector<int64_t>> shapesOf(const WorkModel &model,
                                                  const Options &options) {
  if (options.algorithm != Algorithm::Rows)
    return possibleBands(model, options.units);
  const int64_t bands = std::min(options.units, model.rowUnits());
  if (model.colLimit() < model.colUnits() ||
      bands * model.rowLimit() < model.rowUnits())
    return {};
  return {std::vector<int64_t>(size_t(bands), 1)};
}

llvm::Expected<Partition> partition(const CountMap &map,
                                    const Geometry &geometry,
                                    const Options &options) {
  if (llvm::Error error = check(map, geometry, options))
    return error;
  WorkModel model(map, geometry, options);
  int64_t cells = model.rowUnits() *
                  (options.algorithm == Algorithm::Rows ? 1 : model.colUnits());
  model.setTiles(std::min(options.units, cells));
  const std::vector<std::vector<int64_t>> shapes = shapesOf(model, options);
  if (shapes.empty())
    return makeError(ErrorClass::Capacity,
                     "no way to cut {} x {} units into {} tiles of at most "
                     "{} x {}",
                     model.rowUnits(), model.colUnits(), options.units,
                     options.maxRows, options.maxCols);
  Partition result;
  Cuts cuts = cut(model, options, shapes, result.iterations);
  for (size_t b = 0; b < cuts.bands(); ++b)
    for (size_t c = 0; c < cuts.cells(b); ++c) {
      Tile tile = model.tile({cuts.rows[b], cuts.rows[b + 1]},
                             {cuts.cols[b][c], cuts.cols[b][c + 1]});
      tile.work = model.workOfInput(tile.input);
      result.tiles.push_back(tile);
    }
  result.tiles.resize(options.units);
  result.probes = model.probes;
  result.spread = spreadOf(result.tiles, map, geometry, options);
  result.met = result.spread <= options.threshold;
  return result;
}

llvm::Expected<Partition> partition(const CountMap &map,
                                    const Options &options) {
  return partition(map, Geometry::identity(map.rows, map.cols), options);
}

static constexpr llvm::StringLiteral kAlgorithms[] = {"uniform", "p1", "p2",
                                                      "rows"};
static constexpr llvm::StringLiteral kMetrics[] = {"nnz", "density", "zeros",
                                                   "cycles"};

static constexpr llvm::StringLiteral kTimes[] = {"auto", "profile", "runtime",
                                                 "always", "always-profile"};

static constexpr llvm::StringLiteral kHaloModes[] = {"overlap", "disjoint",
                                                     "auto"};

llvm::StringRef name(HaloMode mode) { return kHaloModes[unsigned(mode)]; }
llvm::StringRef name(CutTime time) { return kTimes[unsigned(time)]; }

llvm::StringRef name(Algorithm algorithm) {
  return kAlgorithms[unsigned(algorithm)];
}
llvm::StringRef name(Metric metric) { return kMetrics[unsigned(metric)]; }

llvm::Expected<Algorithm> parseAlgorithm(llvm::StringRef text) {
  for (unsigned i = 0; i < std::size(kAlgorithms); ++i)
    if (text == kAlgorithms[i])
      return Algorithm(i);
  return makeError(ErrorClass::Usage,
                   "unknown partition '{}', expected uniform, p1, p2 or rows",
                   text.str());
}

llvm::Expected<Metric> parseMetric(llvm::StringRef text) {
  for (unsigned i = 0; i < std::size(kMetrics); ++i)
    if (text == kMetrics[i])
      return Metric(i);
  return makeError(ErrorClass::Usage,
                   "unknown metric '{}', expected nnz, density, zeros or "
                   "cycles",
                   text.str());
}

llvm::Expected<CutTime> parseCutTime(llvm::StringRef text) {
  for (unsigned i = 0; i < std::size(kTimes); ++i)
    if (text == kTimes[i])
      return CutTime(i);
  return makeError(
      ErrorClass::Usage,
      "unknown time of cuts '{}', expected auto, profile, runtime, "
      "always or always-profile",
      text.str());
}

llvm::Expected<HaloMode> parseHaloMode(llvm::StringRef text) {
  for (unsigned i = 0; i < std::size(kHaloModes); ++i)
    if (text == kHaloModes[i])
      return HaloMode(i);
  return makeError(ErrorClass::Usage,
                   "unknown halo '{}', expected overlap, disjoint or auto",
                   text.str());
}

} // namespace ashlar::partition
