// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Dependents of the statements about sparsity-balanced tiles, and ten tests of
// their specification on the units that variants and cuts have in common; the
// names carry the numbers of docs/SparseTiles.md. The statements and T11 are
// tested on programs (test/Unit/Sparse/StatementTest.cpp), D3 to D5, D7 and T12
// on compiled ones (test/Integration/Sparse/Claims). Balance, thresholds and
// storage by themselves are tested in test/Unit/Partition.

#include "ScatterLayer.h"
#include "ashlar/Machine/Description.h"
#include "ashlar/Partition/Binding.h"
#include "ashlar/Partition/Compress.h"
#include "gtest/gtest.h"

#include <algorithm>
#include <random>

using namespace ashlar;
using namespace ashlar::emulator;
using namespace ashlar::partition;

namespace {

constexpr ScatterVariant kVariants[] = {ScatterVariant::A, ScatterVariant::B,
                                        ScatterVariant::C, ScatterVariant::D};
constexpr Algorithm kAlgorithms[] = {Algorithm::Uniform, Algorithm::P1,
                                     Algorithm::P2, Algorithm::Rows};
constexpr Binding kBindings[] = {Binding::Static, Binding::Switch,
                                 Binding::Mesh, Binding::Benes};

struct Source {
  std::mt19937 random;

  int64_t below(int64_t limit) { return int64_t(random() % uint64_t(limit)); }
  std::vector<int64_t> values(size_t count, double density) {
    std::vector<int64_t> result(count, 0);
    for (int64_t &value : result)
      if (double(random()) / 4294967296.0 < density)
        value = below(2) ? 1 + below(127) : -1 - below(127);
    return result;
  }
};

Axis axisOf(int64_t in, int64_t kernel, int64_t stride = 1,
            int64_t dilation = 1, int64_t padBefore = 0, int64_t padAfter = 0) {
  Axis axis{in, 0, kernel, stride, dilation, padBefore};
  axis.out =
      (in + padBefore + padAfter - (kernel - 1) * dilation - 1) / stride + 1;
  return axis;
}

ScatterLayer layerOf(Source &source, Axis y, Axis x, int64_t channels,
                     int64_t results, int64_t groups, double dataDensity,
                     double weightDensity) {
  ScatterLayer layer{{y, x}, channels, results, groups, {}, {}};
  layer.data = source.values(channels * y.in * x.in, dataDensity);
  layer.weights = source.values(
      results * (channels / groups) * y.kernel * x.kernel, weightDensity);
  return layer;
}

/// A random valid layer: strides, dilation, uneven padding and kernels,
/// groups.
ScatterLayer anyLayer(Source &source) {
  auto axis = [&] {
    int64_t kernel = 1 + source.below(4), dilation = 1 + source.below(2);
    int64_t extent = (kernel - 1) * dilation + 1;
    int64_t before = source.below(extent), after = source.below(extent);
    return axisOf(extent + source.below(9), kernel, 1 + source.below(3),
                  dilation, before, after);
  };
  int64_t groups = 1 + source.below(2);
  Axis y = axis(), x = axis();
  return layerOf(source, y, x, groups * (1 + source.below(2)),
                 groups * (1 + source.below(2)), groups,
                 double(source.below(11)) / 10, double(source.below(11)) / 10);
}

/// A layer with all its work in one corner of the feature map.
ScatterLayer cornerLayer(unsigned seed, int64_t size = 20) {
  Source source{std::mt19937(seed)};
  Axis axis = axisOf(size, 3, 1, 1, 1, 1);
  ScatterLayer layer = layerOf(source, axis, axis, 4, 3, 1, 0.1, 0.6);
  for (int64_t c = 0; c < 4; ++c)
    for (int64_t y = 0; y < size / 3; ++y)
      for (int64_t x = 0; x < size / 3; ++x)
        layer.data[(c * size + y) * size + x] = 1 + source.below(9);
  return layer;
}

ScatterPlan planOf(const ScatterLayer &layer, Algorithm algorithm,
                   int64_t units, Halo halo = Halo::Overlap,
                   ScatterVariant variant = ScatterVariant::D) {
  Options options;
  options.algorithm = algorithm;
  options.units = units;
  options.halo = halo;
  ScatterPlan plan;
  plan.unit = {variant, 6, 2, 0};
  plan.halo = halo;
  plan.tiles = llvm::cantFail(
      partition::partition(layer.counts(), layer.geometry, options));
  return plan;
}

ScatterResult run(const ScatterLayer &layer, const ScatterPlan &plan) {
  return llvm::cantFail(runScatter(layer, plan));
}

/// Non-zero data x non-zero weights over the units' operand boxes: what must
/// be issued, phases taken into account for strides.
uint64_t expectedIssues(const ScatterLayer &layer, const ScatterPlan &plan) {
  const Geometry &g = layer.geometry;
  int64_t cg = layer.channelsPerGroup(), zg = layer.results / layer.groups;
  auto samePhase = [](const Axis &axis, int64_t position, int64_t tap) {
    return (position + axis.padBefore - tap * axis.dilation) % axis.stride == 0;
  };
  uint64_t issues = 0;
  for (const Tile &tile : plan.tiles.tiles)
    for (int64_t c = 0; c < layer.channels; ++c)
      for (int64_t y = tile.input.y0; y < tile.input.y().end; ++y)
        for (int64_t x = tile.input.x0; x < tile.input.x().end; ++x) {
          if (!layer.data[(c * g.y.in + y) * g.x.in + x])
            continue;
          for (int64_t z = c / cg * zg; z < (c / cg + 1) * zg; ++z)
            for (int64_t ky = 0; ky < g.y.kernel; ++ky)
              for (int64_t kx = 0; kx < g.x.kernel; ++kx)
                issues += layer.weights[((z * cg + c % cg) * g.y.kernel + ky) *
                                            g.x.kernel +
                                        kx] &&
                          samePhase(g.y, y, ky) && samePhase(g.x, x, kx);
        }
  return issues;
}

} // namespace

//===- Dependents ---------------------------------------------------------===//

TEST(SparseTiles, D2_MemoryUnitIServesComputeUnitI) {
  for (uint64_t i = 0; i < 16; ++i)
    for (uint64_t j = 0; j < 16; ++j)
      EXPECT_EQ(hops(Binding::Static, 16, i, j).has_value(), i == j);
}

TEST(SparseTiles, D6_ValuesTravelWithTheirIndices) {
  Plane plane{4, 4, 1, 0, std::vector<int32_t>(16, 0)};
  plane.values[6] = 9;
  std::vector<uint8_t> bytes = llvm::cantFail(compress(plane, Format::Coo));
  // Row 1, column 2, value 9 in 2 + 2 + 8 bits.
  EXPECT_EQ(bytes.size(), kHeaderBytes + 2);
  EXPECT_EQ(bytes[kHeaderBytes], 1 | 2 << 2 | (9 & 15) << 4);
}

TEST(SparseTiles, D8_InitialPartitionsFollowFromTheNumberOfUnits) {
  ScatterLayer layer = cornerLayer(5);
  for (int64_t units : {1, 2, 5, 16})
    EXPECT_EQ(
        int64_t(planOf(layer, Algorithm::Uniform, units).tiles.tiles.size()),
        units);
}

TEST(SparseTiles, D9_ReorganisationMovesRowsAndColumnsOfNeighbours) {
  ScatterLayer layer = cornerLayer(6, 24);
  Partition before = planOf(layer, Algorithm::Uniform, 4).tiles;
  Partition after = planOf(layer, Algorithm::P1, 4).tiles;
  EXPECT_NE(before.tiles[0].core.rows, after.tiles[0].core.rows);
  EXPECT_NE(before.tiles[0].core.cols, after.tiles[0].core.cols);
  EXPECT_LT(after.maxWork(), before.maxWork());
}

//===- Tests --------------------------------------------------------------===//

TEST(SparseTiles, T1_IndexRuleOnRandomLayers) {
  Source source{std::mt19937(10)};
  for (int trial = 0; trial < 300; ++trial) {
    ScatterLayer layer = anyLayer(source);
    ASSERT_EQ(run(layer, planOf(layer, Algorithm::Uniform, 1)).sums,
              directSums(layer));
  }
}

TEST(SparseTiles, T2_GoldensAreInScatterTest) {
  // Figures 11, 18, 19, 20 and the cycle goldens: suite Scatter. Here: a unit
  // of a layer counts the same cycles as its blocks.
  Source source{std::mt19937(11)};
  Axis axis = axisOf(2, 2);
  ScatterLayer layer = layerOf(source, axis, axis, 1, 1, 1, 1.0, 1.0);
  ScatterPlan plan = planOf(layer, Algorithm::Uniform, 1);
  plan.unit.multipliers = 3;
  EXPECT_EQ(run(layer, plan).cycles(), 6u);
  plan.unit.variant = ScatterVariant::B;
  EXPECT_EQ(run(layer, plan).cycles(), 8u);
}

TEST(SparseTiles, T3_SameBitsForVariantHaloAlgorithmBindingAndUnits) {
  Source source{std::mt19937(12)};
  for (int trial = 0; trial < 6; ++trial) {
    ScatterLayer layer = trial ? anyLayer(source) : cornerLayer(7, 12);
    std::vector<int64_t> dense = directSums(layer);
    for (ScatterVariant variant : kVariants)
      for (Halo halo : {Halo::Overlap, Halo::None})
        for (Algorithm algorithm : kAlgorithms)
          for (int64_t units : {1, 2, 5, 16}) {
            ScatterPlan plan = planOf(layer, algorithm, units, halo, variant);
            uint64_t m = uint64_t(units);
            std::vector<Waiting> waiting;
            for (uint64_t i = 0; i < m; ++i)
              waiting.push_back({i, 8, plan.tiles.tiles[i].work});
            for (Binding binding : kBindings) {
              plan.owner = llvm::cantFail(redirect(binding, m, waiting));
              ASSERT_EQ(run(layer, plan).sums, dense);
            }
          }
  }
}

TEST(SparseTiles, T4_IssuesAreNonZeroDataTimesNonZeroWeights) {
  Source source{std::mt19937(13)};
  for (int trial = 0; trial < 60; ++trial) {
    ScatterLayer layer = anyLayer(source);
    for (ScatterVariant variant : kVariants)
      for (Halo halo : {Halo::Overlap, Halo::None}) {
        ScatterPlan plan = planOf(layer, Algorithm::P2, 3, halo, variant);
        ScatterResult result = run(layer, plan);
        ASSERT_EQ(result.total.issues, expectedIssues(layer, plan));
        if (halo == Halo::None)
          EXPECT_GE(result.total.issues, result.total.dropped);
      }
  }
}

TEST(SparseTiles, T5_MoreZerosNeverCostCycles) {
  Source source{std::mt19937(14)};
  ScatterLayer layer = cornerLayer(8, 9);
  for (ScatterVariant variant : kVariants) {
    ScatterPlan plan =
        planOf(layer, Algorithm::Uniform, 2, Halo::Overlap, variant);
    ScatterLayer thinner = layer;
    uint64_t before = run(layer, plan).cycles();
    for (int step = 0; step < 60; ++step) {
      std::vector<int64_t> &values = step % 2 ? thinner.data : thinner.weights;
      values[source.below(int64_t(values.size()))] = 0;
      ScatterResult now = run(thinner, plan);
      // Provable for A and B; C and D keep the bound.
      if (variant <= ScatterVariant::B)
        EXPECT_LE(now.cycles(), before);
      before = now.cycles();
      for (const ScatterCounters &unit : now.units)
        EXPECT_GE(unit.cycles, (unit.issues + 5) / 6);
      EXPECT_EQ(now.sums, directSums(thinner));
    }
  }
}

TEST(SparseTiles, T6_BalanceOrdersTheAlgorithms) {
  for (unsigned seed = 20; seed < 26; ++seed) {
    ScatterLayer layer = cornerLayer(seed, 40);
    auto most = [&](Algorithm algorithm) {
      return planOf(layer, algorithm, 16).tiles.maxWork();
    };
    EXPECT_LE(most(Algorithm::P2), most(Algorithm::P1));
    EXPECT_LE(most(Algorithm::P1), most(Algorithm::Uniform));
    ScatterResult balanced = run(layer, planOf(layer, Algorithm::P2, 16));
    ScatterResult uniform = run(layer, planOf(layer, Algorithm::Uniform, 16));
    EXPECT_LT(balanced.cycles(), uniform.cycles());
  }
}

TEST(SparseTiles, T7_UnreachableThresholdStillComputes) {
  Source source{std::mt19937(15)};
  ScatterLayer layer =
      layerOf(source, axisOf(1, 1), axisOf(30, 3), 2, 2, 1, 0.0, 1.0);
  for (int64_t i = 0; i < 60; i += 30)
    layer.data[i + 11] = 5;
  for (Algorithm algorithm : kAlgorithms) {
    ScatterPlan plan = planOf(layer, algorithm, 5);
    EXPECT_EQ(plan.tiles.met, algorithm == Algorithm::Rows);
    EXPECT_EQ(run(layer, plan).sums, directSums(layer));
  }
}

TEST(SparseTiles, T8_StaleCutsChangeOnlyCycles) {
  ScatterLayer now = cornerLayer(16, 30), then = now;
  std::reverse(then.data.begin(), then.data.end());
  ScatterPlan fresh = planOf(now, Algorithm::P2, 8);
  ScatterPlan stale = fresh;
  stale.tiles = planOf(then, Algorithm::P2, 8).tiles;
  ScatterResult a = run(now, fresh), b = run(now, stale);
  EXPECT_EQ(a.sums, b.sums);
  EXPECT_LT(a.cycles(), b.cycles());
}

TEST(SparseTiles, T9_CutsFromTheCompressedForm) {
  // Counts read from compressed planes cut as counts of the values.
  ScatterLayer layer = cornerLayer(17, 24);
  CountMap counts = CountMap::zeros(24, 24, 4);
  for (int64_t c = 0; c < 4; ++c) {
    Plane plane{24, 24, 2, 0, {}};
    for (int64_t i = 0; i < 24 * 24; ++i)
      plane.values.push_back(int32_t(layer.data[c * 24 * 24 + i]));
    CountMap one =
        llvm::cantFail(countsOf(llvm::cantFail(compressSmallest(plane))));
    for (size_t i = 0; i < one.counts.size(); ++i)
      counts.counts[i] += one.counts[i];
  }
  EXPECT_EQ(counts.counts, layer.counts().counts);
}

TEST(SparseTiles, T10_TimeFoldsGiveTheSameSums) {
  // Pieces of at most 11 x 9 results, each partitioned on its own.
  ScatterLayer layer = cornerLayer(18, 30);
  const Geometry &g = layer.geometry;
  ScatterPlan plan;
  plan.unit = {ScatterVariant::D, 6, 2, 0};
  for (const Box &fold : timeFolds(g.y.out, g.x.out, 11, 9)) {
    // A fold is a layer of its own part of the feature map: shift the padding.
    Geometry part = g;
    part.y.out = fold.rows;
    part.x.out = fold.cols;
    part.y.padBefore = g.y.padBefore - fold.y0;
    part.x.padBefore = g.x.padBefore - fold.x0;
    Options options;
    options.units = 4;
    Partition tiles =
        llvm::cantFail(partition::partition(layer.counts(), part, options));
    for (Tile tile : tiles.tiles) {
      tile.core.y0 += fold.y0;
      tile.core.x0 += fold.x0;
      tile.output = tile.core;
      EXPECT_EQ(tile.input, g.inputOf(tile.core));
      plan.tiles.tiles.push_back(tile);
    }
  }
  EXPECT_EQ(plan.tiles.tiles.size(), 48u);
  EXPECT_EQ(run(layer, plan).sums, directSums(layer));
}
