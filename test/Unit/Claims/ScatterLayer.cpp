// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Stride s splits a feature map into s x s phase planes, each a convolution of
// stride one with the taps of that phase; dilation spaces the taps out. Plane
// position p of a phase and tap shift t meet in result p - t, which is the
// index rule of scatter mode with the origin moved by the kernel's extent.

#include "ScatterLayer.h"

#include <algorithm>
#include <map>

namespace ashlar::emulator {

using partition::CountMap;
using partition::Geometry;

CountMap ScatterLayer::counts() const {
  CountMap map =
      CountMap::zeros(geometry.y.in, geometry.x.in, uint64_t(channels));
  for (size_t i = 0, area = map.counts.size(); i < data.size(); ++i)
    map.counts[i % area] += data[i] != 0;
  return map;
}

uint64_t ScatterResult::cycles() const {
  uint64_t most = 0;
  for (const ScatterCounters &unit : units)
    most = std::max(most, unit.cycles);
  return most;
}

double ScatterResult::imbalance() const {
  return total.cycles
             ? double(cycles()) * double(units.size()) / double(total.cycles)
             : 1.0;
}

namespace {

/// Residue and shift of a tap, or of a padded input position.
struct Place {
  int64_t phase = 0;
  int64_t shift = 0;
};

Place tapPlace(const partition::Axis &axis, int64_t tap) {
  return {tap * axis.dilation % axis.stride, tap * axis.dilation / axis.stride};
}

Place dataPlace(const partition::Axis &axis, int64_t position) {
  int64_t padded = position + axis.padBefore;
  return {padded % axis.stride, padded / axis.stride};
}

/// Largest shift + 1 over the taps: extent of a phase's kernel.
int32_t shiftExtent(const partition::Axis &axis) {
  return int32_t(tapPlace(axis, axis.kernel - 1).shift + 1);
}

class TileRun {
public:
  TileRun(const ScatterLayer &layer, const ScatterPlan &plan,
          const partition::Tile &tile, ScatterCounters &counters,
          ScatterResult &result)
      : layer(layer), plan(plan), tile(tile), counters(counters),
        result(result),
        kernel{shiftExtent(layer.geometry.y), shiftExtent(layer.geometry.x)} {}

  llvm::Error run() {
    for (int64_t c = 0; c < layer.channels; ++c) {
      std::map<Key, std::vector<ScatterItem>> blocks = blocksOf(c);
      int64_t perGroup = layer.results / layer.groups;
      int64_t group = c / layer.channelsPerGroup();
      for (int64_t z = group * perGroup; z < (group + 1) * perGroup; ++z)
        if (llvm::Error error = kernelSlice(c, z, blocks))
          return error;
    }
    return llvm::Error::success();
  }

private:
  /// Phases, then block position: blocks of a phase follow each other.
  struct Key {
    int64_t phaseY, phaseX, row, col;
    auto operator<=>(const Key &) const = default;
  };

  std::map<Key, std::vector<ScatterItem>> blocksOf(int64_t c) const {
    const Geometry &g = layer.geometry;
    int64_t rows = plan.blockRows ? plan.blockRows : kernel.rows;
    int64_t cols = plan.blockCols ? plan.blockCols : kernel.cols;
    std::map<Key, std::vector<ScatterItem>> blocks;
    const partition::Box &box = tile.input;
    for (int64_t y = box.y0; y < box.y().end; ++y)
      for (int64_t x = box.x0; x < box.x().end; ++x) {
        int64_t value = layer.data[(c * g.y.in + y) * g.x.in + x];
        if (!value)
          continue;
        Place py = dataPlace(g.y, y), px = dataPlace(g.x, x);
        blocks[{py.phase, px.phase, py.shift / rows, px.shift / cols}]
            .push_back({int32_t(py.shift), int32_t(px.shift), value});
      }
    return blocks;
  }

  llvm::Error
  kernelSlice(int64_t c, int64_t z,
              const std::map<Key, std::vector<ScatterItem>> &blocks) {
    std::map<std::pair<int64_t, int64_t>, std::vector<ScatterItem>> byPhase;
    const Geometry &g = layer.geometry;
    int64_t cg = layer.channelsPerGroup();
    for (int64_t ky = 0; ky < g.y.kernel; ++ky)
      for (int64_t kx = 0; kx < g.x.kernel; ++kx) {
        size_t at = ((z * cg + c % cg) * g.y.kernel + ky) * g.x.kernel + kx;
        if (!layer.weights[at])
          continue;
        Place y = tapPlace(g.y, ky), x = tapPlace(g.x, kx);
        byPhase[{y.phase, x.phase}].push_back(
            {int32_t(y.shift), int32_t(x.shift), layer.weights[at]});
      }
    for (auto &[phase, weights] : byPhase)
      orderWeights(weights, plan.order);
    for (const auto &[key, data] : blocks) {
      auto found = byPhase.find({key.phaseY, key.phaseX});
      if (found == byPhase.end())
        continue;
      if (llvm::Error error = scatterBlock(
              plan.unit, data, found->second, kernel,
              [&](int32_t row, int32_t col, int64_t value) {
                add(z, row - (kernel.rows - 1), col - (kernel.cols - 1), value);
              },
              counters))
        return error;
    }
    return llvm::Error::success();
  }

  /// Adds to the result if it is the unit's own; planes of disjoint operand
  /// tiles are added where they overlap.
  void add(int64_t z, int64_t y, int64_t x, int64_t value) {
    auto inside = [](int64_t v, partition::Range range) {
      return v >= range.begin && v < range.end;
    };
    if (!inside(y, tile.output.y()) || !inside(x, tile.output.x())) {
      ++counters.dropped;
      return;
    }
    const Geometry &g = layer.geometry;
    result.sums[(z * g.y.out + y) * g.x.out + x] += value;
  }

  const ScatterLayer &layer;
  const ScatterPlan &plan;
  const partition::Tile &tile;
  ScatterCounters &counters;
  ScatterResult &result;
  ScatterKernel kernel;
};

/// Results that more than one tile writes, beyond the first writer: what the
/// combination of partial planes moves.
uint64_t combinedResults(const ScatterLayer &layer,
                         const partition::Partition &tiles) {
  CountMap writers =
      CountMap::zeros(layer.geometry.y.out, layer.geometry.x.out);
  for (const partition::Tile &tile : tiles.tiles)
    for (int64_t y = tile.output.y0; y < tile.output.y().end; ++y)
      for (int64_t x = tile.output.x0; x < tile.output.x().end; ++x)
        ++writers.at(y, x);
  uint64_t extra = 0;
  for (uint32_t count : writers.counts)
    extra += count > 1 ? count - 1 : 0;
  return extra * uint64_t(layer.results);
}

} // namespace

llvm::Expected<ScatterResult> runScatter(const ScatterLayer &layer,
                                         const ScatterPlan &plan) {
  ScatterResult result;
  result.sums.assign(
      layer.results * layer.geometry.y.out * layer.geometry.x.out, 0);
  result.units.resize(plan.tiles.tiles.size());
  for (size_t i = 0; i < plan.tiles.tiles.size(); ++i) {
    const partition::Tile &tile = plan.tiles.tiles[i];
    size_t unit = plan.owner.empty() ? i : plan.owner[i];
    if (tile.core.empty())
      continue;
    if (llvm::Error error =
            TileRun(layer, plan, tile, result.units[unit], result).run())
      return error;
  }
  for (const ScatterCounters &unit : result.units)
    result.total.add(unit);
  if (plan.halo == partition::Halo::None)
    result.total.combined = combinedResults(layer, plan.tiles);
  return result;
}

std::vector<int64_t> directSums(const ScatterLayer &layer) {
  const Geometry &g = layer.geometry;
  int64_t cg = layer.channelsPerGroup(), zg = layer.results / layer.groups;
  std::vector<int64_t> sums;
  for (int64_t z = 0; z < layer.results; ++z)
    for (int64_t y = 0; y < g.y.out; ++y)
      for (int64_t x = 0; x < g.x.out; ++x) {
        int64_t sum = 0;
        for (int64_t c = 0; c < cg; ++c)
          for (int64_t ky = 0; ky < g.y.kernel; ++ky)
            for (int64_t kx = 0; kx < g.x.kernel; ++kx) {
              int64_t iy = y * g.y.stride - g.y.padBefore + ky * g.y.dilation;
              int64_t ix = x * g.x.stride - g.x.padBefore + kx * g.x.dilation;
              if (iy < 0 || iy >= g.y.in || ix < 0 || ix >= g.x.in)
                continue;
              sum +=
                  layer.data[((z / zg * cg + c) * g.y.in + iy) * g.x.in + ix] *
                  layer.weights[((z * cg + c) * g.y.kernel + ky) * g.x.kernel +
                                kx];
            }
        sums.push_back(sum);
      }
  return sums;
}

} // namespace ashlar::emulator
