// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Cuts: coverage, the worked example with its corrected reading, balance on
// the four maps of the simulation table, thresholds that cannot be reached.

#include "Maps.h"
#include "Results.h"

#include "ashlar/Partition/Partition.h"
#include "gtest/gtest.h"

#include <cmath>
#include <cstdio>

using namespace ashlar;
using namespace ashlar::partition;

namespace {

Partition cut(const CountMap &map, const Options &options) {
  return llvm::cantFail(partition::partition(map, options));
}

Options of(Algorithm algorithm, int64_t units) {
  Options options;
  options.algorithm = algorithm;
  options.units = units;
  return options;
}

/// Every position of rows x cols lies in the core of exactly one tile.
void expectCovers(const Partition &partition, int64_t rows, int64_t cols) {
  std::vector<int> seen(rows * cols, 0);
  for (const Tile &tile : partition.tiles) {
    if (tile.core.empty()) {
      EXPECT_EQ(tile.work, 0u);
      continue;
    }
    ASSERT_GE(tile.core.y0, 0);
    ASSERT_GE(tile.core.x0, 0);
    ASSERT_LE(tile.core.y().end, rows);
    ASSERT_LE(tile.core.x().end, cols);
    for (int64_t y = tile.core.y0; y < tile.core.y().end; ++y)
      for (int64_t x = tile.core.x0; x < tile.core.x().end; ++x)
        ++seen[y * cols + x];
  }
  for (int count : seen)
    ASSERT_EQ(count, 1);
}

constexpr Algorithm kAll[] = {Algorithm::Uniform, Algorithm::P1, Algorithm::P2,
                              Algorithm::Rows};

/// A feature map of two cells side by side as in the worked example: 32 x 32
/// each, given non-zeros spread evenly by columns.
CountMap twoCells(double left, double right) {
  CountMap map = CountMap::zeros(32, 64);
  for (int64_t x = 0; x < 64; ++x) {
    int64_t k = x % 32;
    double density = x < 32 ? left : right;
    int64_t filled = int64_t(std::llround(32 * density * double(k + 1))) -
                     int64_t(std::llround(32 * density * double(k)));
    for (int64_t y = 0; y < filled; ++y)
      map.at((y + 5 * x) % 32, x) = 1;
  }
  return map;
}

} // namespace

TEST(Partition, InitialPiecesOfTheWorkedExample) {
  // 16 cells of 32 x 32 tile 128 x 128, not the 512 x 512 of the source.
  CountMap map = evenMap(128, 128, 0.4, 1);
  Partition result = cut(map, of(Algorithm::Uniform, 16));
  ASSERT_EQ(result.tiles.size(), 16u);
  EXPECT_EQ(result.tiles[0].core, (Box{0, 0, 32, 32}));
  EXPECT_EQ(result.tiles[1].core, (Box{0, 32, 32, 32}));
  EXPECT_EQ(result.tiles[4].core, (Box{32, 0, 32, 32}));
  Partition large = cut(evenMap(512, 512, 0.4, 1), of(Algorithm::Uniform, 16));
  EXPECT_EQ(large.tiles[5].core, (Box{128, 128, 128, 128}));
}

TEST(Partition, WorkedExampleBalancesCountsNotDensities) {
  // 40 % and 60 % of 1024: columns move left until the counts, taken relative
  // to the nominal 1024, differ by at most 3 %; relative to their own new
  // areas they cannot.
  CountMap map = twoCells(0.4, 0.6);
  Options options = of(Algorithm::P1, 2);
  Partition result = cut(map, options);
  EXPECT_TRUE(result.met);
  EXPECT_EQ(result.tiles[0].core.rows, 32);
  EXPECT_GT(result.tiles[0].core.cols, 34);
  EXPECT_NEAR(double(result.tiles[0].work) / 1024, 0.5, 0.02);
  options.metric = Metric::Density;
  EXPECT_GT(spreadOf(result.tiles, map, Geometry::identity(32, 64), options),
            0.10);
}

TEST(Partition, ThreeColumnsGiveTheCorrectedPercentages) {
  // The source's cut: 35 and 29 columns. Were all 96 moved cells non-zero,
  // counts would be 505.6 and 518.4 of 1024: 1.25 % apart; own densities
  // 45.1 % and 55.9 %.
  double left = 0.4 * 1024 + 96, right = 0.6 * 1024 - 96;
  EXPECT_NEAR((right - left) / 1024, 0.0125, 1e-12);
  EXPECT_NEAR(right / (29 * 32) - left / (35 * 32), 0.107, 5e-4);
}

TEST(Partition, ChainDriftIsJudgedOverAllPairs) {
  // Neighbours within 3 % of each other, the ends further apart: not met.
  CountMap map = rampMap(128, 128, 3);
  Options options = of(Algorithm::Uniform, 16);
  Partition result = cut(map, options);
  EXPECT_GT(result.spread, 0.03);
  EXPECT_FALSE(result.met);
}

TEST(Partition, SimulationTable) {
  struct Row {
    const char *name;
    CountMap (*map)(unsigned seed);
    double reach; ///< Of P2's max / mean.
  } table[] = {
      {"even 40 %", [](unsigned s) { return evenMap(128, 128, 0.4, s); }, 1.04},
      {"ramp 20..80 %", [](unsigned s) { return rampMap(128, 128, s); }, 1.05},
      {"blob 25 %", [](unsigned s) { return blobMap(128, 128, 1.0, 0.2, s); },
       1.06},
      {"blob 4 %", [](unsigned s) { return blobMap(128, 128, 1.0, 0.08, s); },
       1.12},
  };
  constexpr unsigned kSeeds = 10;
  for (const Row &row : table) {
    SCOPED_TRACE(row.name);
    double uniform = 0, columns = 0, p1 = 0, sums = 0, p2 = 0;
    for (unsigned seed = 1; seed <= kSeeds; ++seed) {
      CountMap map = row.map(seed);
      uniform += cut(map, of(Algorithm::Uniform, 16)).imbalance() / kSeeds;
      p1 += cut(map, of(Algorithm::P1, 16)).imbalance() / kSeeds;
      p2 += cut(map, of(Algorithm::P2, 16)).imbalance() / kSeeds;
      Options options = of(Algorithm::P1, 16);
      options.moveBands = false;
      columns += cut(map, options).imbalance() / kSeeds;
      options = of(Algorithm::P2, 16);
      options.refine = false;
      sums += cut(map, options).imbalance() / kSeeds;
    }
    printf("%-13s | uniform %.3f | P1 columns %.3f | P1 %.3f | P2 running sums "
           "%.3f | P2 %.3f\n",
           row.name, uniform, columns, p1, sums, p2);
    EXPECT_LE(p2, row.reach);
    EXPECT_LE(sums, row.reach);
    EXPECT_LE(p2, sums);
    EXPECT_LE(p2, p1);
    EXPECT_LE(p1, uniform);
    EXPECT_LE(columns, uniform);
  }
}

/// Even, rising and clustered non-zeros of 64 channels.
static CountMap runTimeMap(int kind, int64_t n) {
  std::mt19937 random(7);
  CountMap map = CountMap::zeros(n, n, 64);
  for (int64_t y = 0; y < n; ++y)
    for (int64_t x = 0; x < n; ++x) {
      const double dx = double(x) / double(n) - 0.4;
      const double dy = double(y) / double(n) - 0.6;
      const double density = kind == 0 ? 0.5
                             : kind == 1
                                 ? 0.9 * double(x + 1) / double(n)
                                 : 0.9 * std::exp(-(dx * dx + dy * dy) / 0.08);
      for (int c = 0; c < 64; ++c)
        map.at(y, x) += random() % 1000 < 1000 * density;
    }
  return map;
}

/// What a cut at run time gets for the boxes that it looks up.
TEST(Partition, RunTimeCuts) {
  struct Way {
    const char *name;
    Algorithm algorithm;
    bool refine;
    unsigned rounds;
  };
  const Way ways[] = {{"uniform", Algorithm::Uniform, false, 0},
                      {"rows", Algorithm::Rows, false, 0},
                      {"p1", Algorithm::P1, false, 0},
                      {"p2, running sums", Algorithm::P2, false, 0},
                      {"p2, 8 rounds", Algorithm::P2, false, 8},
                      {"p2, least maximum", Algorithm::P2, true, 0}};
  for (int64_t n : {14, 28, 56, 112}) {
    double imbalance[std::size(ways)] = {};
    uint64_t probes[std::size(ways)] = {};
    for (int kind = 0; kind < 3; ++kind) {
      const CountMap map = runTimeMap(kind, n);
      Geometry geometry = Geometry::identity(n, n);
      geometry.y.kernel = geometry.x.kernel = 3;
      geometry.y.padBefore = geometry.x.padBefore = 1;
      for (size_t i = 0; i < std::size(ways); ++i) {
        Options options;
        options.units = 16;
        options.algorithm = ways[i].algorithm;
        options.refine = ways[i].refine;
        options.moveRounds = ways[i].rounds;
        const auto cut =
            llvm::cantFail(partition::partition(map, geometry, options));
        imbalance[i] += cut.imbalance() / 3;
        probes[i] += cut.probes / 3;
      }
    }
    for (size_t i = 0; i < std::size(ways); ++i)
      std::printf("%lld x %lld, %s: %.3f, %llu boxes\n", (long long)n,
                  (long long)n, ways[i].name, imbalance[i],
                  (unsigned long long)probes[i]);
    // Rounds of P1 help running sums for few hundred boxes.
    EXPECT_LT(imbalance[4], imbalance[3]);
    EXPECT_LT(probes[4], 700u);
    EXPECT_LT(imbalance[4], imbalance[0]);
  }
}

TEST(Partition, AnyMapAnyNumberOfUnitsCoversExactlyOnce) {
  std::mt19937 random(5);
  for (int trial = 0; trial < 300; ++trial) {
    int64_t rows = 1 + int64_t(random() % 40),
            cols = 1 + int64_t(random() % 40);
    CountMap map =
        evenMap(rows, cols, double(random() % 11) / 10, unsigned(random()));
    for (Algorithm algorithm : kAll) {
      Options options = of(algorithm, 1 + int64_t(random() % 23));
      options.refine = random() % 2;
      options.metric = Metric(random() % 3);
      options.halo = Halo(random() % 2);
      Partition result = cut(map, options);
      ASSERT_EQ(int64_t(result.tiles.size()), options.units);
      expectCovers(result, rows, cols);
      EXPECT_EQ(result.met,
                spreadOf(result.tiles, map, Geometry::identity(rows, cols),
                         options) <= options.threshold);
    }
  }
}

TEST(Partition, PoolingAlignmentHoldsAtEveryCut) {
  CountMap map = blobMap(37, 53, 1.0, 0.2, 7);
  for (Algorithm algorithm : kAll) {
    Options options = of(algorithm, 7);
    options.alignRows = 2;
    options.alignCols = 3;
    Partition result = cut(map, options);
    expectCovers(result, 37, 53);
    for (const Tile &tile : result.tiles) {
      EXPECT_EQ(tile.core.y0 % 2, 0);
      EXPECT_EQ(tile.core.x0 % 3, 0);
    }
  }
}

TEST(Partition, HaloCountsInTheMetric) {
  CountMap map = evenMap(32, 32, 0.5, 9);
  Geometry geometry = Geometry::identity(32, 32);
  geometry.y.kernel = geometry.x.kernel = 3;
  geometry.y.padBefore = geometry.x.padBefore = 1;
  Options options = of(Algorithm::P2, 4);
  Partition overlap =
      llvm::cantFail(partition::partition(map, geometry, options));
  PrefixSums sums(map);
  uint64_t total = 0;
  for (const Tile &tile : overlap.tiles) {
    EXPECT_EQ(tile.work, sums.sum(tile.input));
    EXPECT_EQ(tile.output, tile.core);
    EXPECT_EQ(tile.input, geometry.inputOf(tile.core));
    total += tile.work;
  }
  EXPECT_GT(total, sums.total());
  options.halo = Halo::None;
  Partition disjoint =
      llvm::cantFail(partition::partition(map, geometry, options));
  total = 0;
  for (const Tile &tile : disjoint.tiles) {
    EXPECT_EQ(tile.input, tile.core);
    EXPECT_EQ(tile.output, geometry.outputOf(tile.core));
    total += tile.work;
  }
  EXPECT_EQ(total, sums.total());
}

TEST(Partition, InputAndOutputBoxesFollowTheIndexRule) {
  std::mt19937 random(17);
  for (int trial = 0; trial < 500; ++trial) {
    Axis axis;
    axis.kernel = 1 + random() % 5;
    axis.stride = 1 + random() % 3;
    axis.dilation = 1 + random() % 2;
    axis.padBefore = random() % 3;
    axis.in = 1 + random() % 20;
    axis.out = 1 + random() % 20;
    int64_t begin = random() % axis.out;
    Range result{begin,
                 begin + 1 + int64_t(random() % unsigned(axis.out - begin))};
    Range operand = axis.inputOf(result);
    for (int64_t o = 0; o < axis.out; ++o)
      for (int64_t k = 0; k < axis.kernel; ++k) {
        int64_t i = o * axis.stride - axis.padBefore + k * axis.dilation;
        if (i < 0 || i >= axis.in)
          continue;
        if (o >= result.begin && o < result.end) {
          EXPECT_TRUE(i >= operand.begin && i < operand.end);
        }
        Range touched = axis.outputOf({i, i + 1});
        EXPECT_TRUE(o >= touched.begin && o < touched.end);
      }
  }
}

TEST(Partition, PartsReadWhatTheirResultsReadOfTheWholeMap) {
  std::mt19937 random(19);
  auto below = [&](int64_t limit) {
    return int64_t(random() % unsigned(limit));
  };
  auto within = [&](Range all) {
    const int64_t begin = all.begin + below(all.size());
    return Range{begin, begin + 1 + below(all.end - begin)};
  };
  for (int trial = 0; trial < 500; ++trial) {
    Geometry map;
    for (Axis *axis : {&map.y, &map.x}) {
      axis->kernel = 1 + below(5);
      axis->stride = 1 + below(3);
      axis->dilation = 1 + below(2);
      axis->padBefore = below(3);
      axis->in = 1 + below(20);
      axis->out = 1 + below(20);
    }
    const Box part = Box::of(within({0, map.y.out}), within({0, map.x.out}));
    const Geometry own = map.narrowedTo(part);
    EXPECT_EQ(own.y.out, part.rows);
    EXPECT_EQ(own.x.out, part.cols);
    const Box inside = Box::of(within({0, part.rows}), within({0, part.cols}));
    const Box whole{part.y0 + inside.y0, part.x0 + inside.x0, inside.rows,
                    inside.cols};
    EXPECT_EQ(own.inputOf(inside), map.inputOf(whole));
  }
}

TEST(Partition, UnreachableThresholdEndsAsBestEffort) {
  // One dense column; a feature map of one row; a threshold of zero and below.
  CountMap column = CountMap::zeros(64, 64);
  for (int64_t y = 0; y < 64; ++y)
    column.at(y, 20) = 1;
  CountMap row = evenMap(1, 50, 0.3, 2);
  for (const CountMap *map : {&column, &row})
    for (Algorithm algorithm : kAll)
      for (double threshold : {-1.0, 0.0, 0.001}) {
        Options options = of(algorithm, 5);
        options.threshold = threshold;
        Partition result = cut(*map, options);
        expectCovers(result, map->rows, map->cols);
        if (threshold < 0 || algorithm != Algorithm::Rows) {
          EXPECT_FALSE(result.met);
        }
        EXPECT_LE(result.iterations, options.maxIterations);
      }
  Options wide = of(Algorithm::P1, 5);
  wide.threshold = 1e9;
  EXPECT_TRUE(cut(column, wide).met);
}

TEST(Partition, EmptyFullAndTinyMaps) {
  for (Algorithm algorithm : kAll) {
    Partition zero = cut(CountMap::zeros(12, 12), of(algorithm, 4));
    EXPECT_TRUE(zero.met);
    EXPECT_EQ(zero.imbalance(), 1.0);
    CountMap full = evenMap(32, 32, 2.0, 1);
    Partition even = cut(full, of(algorithm, 16));
    EXPECT_EQ(even.imbalance(), 1.0);
    // More units than positions: the rest idles.
    Partition tiny = cut(evenMap(2, 3, 2.0, 1), of(algorithm, 16));
    expectCovers(tiny, 2, 3);
    EXPECT_TRUE(tiny.tiles.back().core.empty());
  }
}

TEST(Partition, LeastMaximumIsNeverBeatenByAnyGuillotine) {
  // Against plain recursion over all cuts of all deals of five tiles.
  std::mt19937 random(23);
  for (int trial = 0; trial < 40; ++trial) {
    CountMap map = evenMap(7, 6, 0.4, unsigned(random()));
    for (uint32_t &count : map.counts)
      count *= random() % 9;
    PrefixSums sums(map);
    std::function<uint64_t(Range, int64_t, int64_t)> band =
        [&](Range y, int64_t x, int64_t parts) {
          if (parts == 1)
            return sums.sum(Box::of(y, {x, 6}));
          uint64_t least = UINT64_MAX;
          for (int64_t cut = x + 1; cut <= 7 - parts; ++cut)
            least = std::min(least, std::max(sums.sum(Box::of(y, {x, cut})),
                                             band(y, cut, parts - 1)));
          return least;
        };
    std::function<uint64_t(int64_t, llvm::ArrayRef<int64_t>)> rows =
        [&](int64_t y, llvm::ArrayRef<int64_t> bands) {
          if (bands.size() == 1)
            return band({y, 7}, 0, bands[0]);
          uint64_t least = UINT64_MAX;
          for (int64_t cut = y + 1; cut <= 8 - int64_t(bands.size()); ++cut)
            least = std::min(least, std::max(band({y, cut}, 0, bands[0]),
                                             rows(cut, bands.drop_front())));
          return least;
        };
    uint64_t best = UINT64_MAX;
    for (std::vector<int64_t> bands : std::vector<std::vector<int64_t>>{
             {5}, {2, 3}, {1, 2, 2}, {1, 1, 1, 2}, {1, 1, 1, 1, 1}})
      best = std::min(best, rows(0, bands));
    EXPECT_EQ(cut(map, of(Algorithm::P2, 5)).maxWork(), best);
  }
}

TEST(Partition, LargestTilesAreAHardLimit) {
  std::mt19937 random(29);
  for (int trial = 0; trial < 200; ++trial) {
    CountMap map = blobMap(24, 30, 1.0, 0.1, unsigned(random()));
    for (Algorithm algorithm : kAll) {
      Options options = of(algorithm, 2 + int64_t(random() % 15));
      options.maxRows = 1 + int64_t(random() % 24);
      options.maxCols =
          algorithm == Algorithm::Rows ? 30 : 1 + int64_t(random() % 30);
      options.refine = random() % 2;
      llvm::Expected<Partition> result = partition::partition(map, options);
      if (!result) {
        llvm::consumeError(result.takeError());
        continue;
      }
      expectCovers(*result, 24, 30);
      for (const Tile &tile : result->tiles) {
        EXPECT_LE(tile.core.rows, options.maxRows);
        EXPECT_LE(tile.core.cols, options.maxCols);
      }
    }
  }
  // Half again as large as the equal share is enough for every algorithm.
  Options options = of(Algorithm::P2, 16);
  options.maxRows = options.maxCols = 12;
  EXPECT_FALSE(
      fails(partition::partition(blobMap(32, 32, 1, 0.1, 1), options)));
  options.maxRows = 1;
  EXPECT_TRUE(fails(partition::partition(blobMap(32, 32, 1, 0.1, 1), options)));
}

TEST(Partition, CyclesMetricUsesTheGivenFunction) {
  CountMap map = rampMap(40, 40, 3);
  PrefixSums sums(map);
  Options options = of(Algorithm::P2, 4);
  options.metric = Metric::Cycles;
  EXPECT_TRUE(fails(partition::partition(map, options)));
  options.cycles = [&](const Box &box) { return (sums.sum(box) + 15) / 16; };
  Partition result = cut(map, options);
  for (const Tile &tile : result.tiles)
    EXPECT_EQ(tile.work, (sums.sum(tile.core) + 15) / 16);
  EXPECT_LE(result.imbalance(), 1.1);
}

TEST(Partition, UserErrors) {
  CountMap map = evenMap(4, 4, 0.5, 1);
  EXPECT_TRUE(fails(partition::partition(map, of(Algorithm::P2, 0))));
  EXPECT_TRUE(
      fails(partition::partition(map, Geometry::identity(5, 4), Options())));
  EXPECT_TRUE(fails(parseAlgorithm("p3")));
  EXPECT_EQ(llvm::cantFail(parseAlgorithm("rows")), (Algorithm::Rows));
  EXPECT_EQ(llvm::cantFail(parseMetric("zeros")), (Metric::Zeros));
  EXPECT_TRUE(fails(parseHaloMode("none")));
  for (HaloMode mode : {HaloMode::Overlap, HaloMode::Disjoint, HaloMode::Auto})
    EXPECT_EQ(llvm::cantFail(parseHaloMode(name(mode))), mode);
}

TEST(Partition, OperandLimitIsTheLongestPartThatNeedsNoMoreResults) {
  for (int64_t kernel = 1; kernel <= 5; ++kernel)
    for (int64_t stride = 1; stride <= 3; ++stride)
      for (int64_t results = 1; results < 20; ++results) {
        const Axis axis{200, 66, kernel, stride, 2, 1};
        const int64_t limit = operandLimit(axis, results);
        int64_t most = 0, mostBeyond = 0;
        for (int64_t at = 40; at < 40 + stride; ++at) {
          most = std::max(most, axis.outputOf({at, at + limit}).size());
          mostBeyond = std::max(
              mostBeyond,
              axis.outputOf({at, at + std::max<int64_t>(limit, 0) + 1}).size());
        }
        EXPECT_LE(most, results);
        EXPECT_GT(mostBeyond, results);
      }
  EXPECT_EQ(operandLimit({200, 66, 3, 3, 1, 0}, 66), INT64_MAX);
}

TEST(Partition, TimeFoldsByCapacity) {
  // 2048 x 2048 under a limit of 1024: four folds of 1024.
  std::vector<Box> folds = timeFolds(2048, 2048, 1024, 1024);
  ASSERT_EQ(folds.size(), 4u);
  EXPECT_EQ(folds[3], (Box{1024, 1024, 1024, 1024}));
  EXPECT_EQ(timeFolds(1024, 1024, 1024, 1024).size(), 1u);
  int64_t area = 0;
  for (const Box &fold : timeFolds(1000, 37, 300, 20)) {
    EXPECT_LE(fold.rows, 300);
    EXPECT_LE(fold.cols, 20);
    area += fold.area();
  }
  EXPECT_EQ(area, 37000);
}

TEST(Partition, AMapCountsOverChannels) {
  std::vector<int16_t> values{0, 1, 2, 0, 0, 0, 5, 0, -1, 0, 0, 7};
  CountMap map = CountMap::ofValues(values, 2, 2, 3);
  EXPECT_EQ(map.counts, (std::vector<uint32_t>{1, 1, 2, 0, 0, 1}));
}

/// Units that can do less get less.
TEST(Partition, SharesFollowTheCapacityOfTheUnits) {
  Options options;
  options.units = 4;
  options.capacity = {2, 2, 1, 1};
  auto rowsOf = [&](const CountMap &map) {
    const Partition cut = llvm::cantFail(partition::partition(map, options));
    std::vector<int64_t> rows;
    int64_t area = 0;
    for (const Tile &tile : cut.tiles) {
      rows.push_back(tile.core.rows);
      area += tile.core.area();
    }
    EXPECT_EQ(area, map.rows * map.cols);
    return rows;
  };
  const std::vector<int64_t> fair{4, 4, 2, 2};
  options.algorithm = Algorithm::Rows;
  EXPECT_EQ(rowsOf(CountMap::zeros(12, 5)), fair);
  // A third of the work is in the last quarter of the rows.
  CountMap map = CountMap::zeros(16, 4, 4);
  for (int64_t y = 0; y < 16; ++y)
    for (int64_t x = 0; x < 4; ++x)
      map.at(y, x) = y < 12 ? 2 : 3;
  EXPECT_EQ(rowsOf(map), (std::vector<int64_t>{6, 6, 2, 2}));
  // The spread is that of the work relative to what a unit can do.
  EXPECT_EQ(llvm::cantFail(partition::partition(map, options)).spread, 0);
  for (Algorithm algorithm :
       {Algorithm::Uniform, Algorithm::P1, Algorithm::P2}) {
    options.algorithm = algorithm;
    const Partition cut = llvm::cantFail(partition::partition(map, options));
    EXPECT_GT(cut.tiles[0].work, cut.tiles[3].work);
    EXPECT_LT(cut.spread, 0.5);
  }
  options.capacity = {1, 1, 1, 1};
  options.algorithm = Algorithm::Rows;
  EXPECT_EQ(rowsOf(CountMap::zeros(12, 5)), (std::vector<int64_t>{3, 3, 3, 3}));
  options.capacity = {1, 1, 0, 1};
  auto refused = partition::partition(map, options);
  ASSERT_FALSE(!!refused);
  EXPECT_NE(
      llvm::toString(refused.takeError()).find("4 capacities for 4 units"),
      std::string::npos);
}
