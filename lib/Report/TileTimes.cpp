// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Unit times of a layer on given tiles, in both modes of the sparse cluster.

#include "ashlar/Machine/Cycles.h"
#include "ashlar/Report/Tiles.h"

#include <algorithm>

using namespace ashlar;
using namespace ashlar::report;
using partition::Box;
using partition::CountMap;
using partition::PrefixSums;
using partition::Tile;

namespace {

/// Non-zeros of a channel on the positions that stride and padding give one
/// residue: with a stride a tap meets only those of its own.
class Phases {
public:
  Phases(const MapLayer &layer, int64_t channel) : layer(layer) {
    const partition::Axis &y = layer.geometry.y, &x = layer.geometry.x;
    for (int64_t py = 0; py < y.stride; ++py)
      for (int64_t px = 0; px < x.stride; ++px) {
        CountMap map = CountMap::zeros(y.in, x.in);
        const int16_t *values = layer.mantissas.data() + channel * y.in * x.in;
        for (int64_t r = 0; r < y.in; ++r)
          for (int64_t c = 0; c < x.in; ++c)
            map.at(r, c) = values[r * x.in + c] != 0 &&
                           (r + y.padBefore) % y.stride == py &&
                           (c + x.padBefore) % x.stride == px;
        sums.emplace_back(map);
      }
  }

  uint64_t count(int64_t py, int64_t px, const Box &box) const {
    return sums[py * layer.geometry.x.stride + px].sum(box);
  }

private:
  const MapLayer &layer;
  std::vector<PrefixSums> sums;
};

/// Taps of a kernel per phase: how a slice's weights divide, at least nearly,
/// when only their number is known.
uint64_t tapsOf(const partition::Axis &axis, int64_t phase) {
  uint64_t taps = 0;
  for (int64_t k = 0; k < axis.kernel; ++k)
    taps += k * axis.dilation % axis.stride == phase;
  return taps;
}

/// One channel's weights by group: their number, and how many kernel slices
/// have n of them.
struct ChannelWeights {
  uint64_t all = 0;
  std::vector<uint64_t> slices;
};

class Timing {
public:
  Timing(const machine::Description &machine, machine::ScatterVariant variant,
         const MapLayer &layer, const partition::Partition &tiles,
         uint64_t groups)
      : machine(machine), variant(variant), layer(layer), tiles(tiles.tiles),
        groups(groups),
        taps(uint64_t(layer.geometry.y.kernel * layer.geometry.x.kernel)) {
    for (const Tile &tile : this->tiles)
      pitch = std::max(pitch, uint64_t(tile.core.cols));
  }

  TileTimes run();

private:
  std::vector<ChannelWeights> weightsOf(int64_t channel) const;
  void scatter(const Phases &phases, const Tile &tile,
               const ChannelWeights &weights, size_t unit);
  uint64_t tileMode(const Tile &tile, uint64_t weights, size_t unit) const;
  /// Multipliers of a unit; a study may have more units than the machine.
  uint64_t lanes(size_t unit) const {
    return unit < machine.sparse.tcus ? machine.sparse.lanesOf(unit)
                                      : machine.sparse.lanes;
  }

  const machine::Description &machine;
  machine::ScatterVariant variant;
  const MapLayer &layer;
  llvm::ArrayRef<Tile> tiles;
  uint64_t groups, taps, pitch = 1;
  TileTimes times;
};

} // namespace

double TileTimes::imbalance() const {
  uint64_t most = 0, sum = 0;
  for (uint64_t count : issues) {
    most = std::max(most, count);
    sum += count;
  }
  return sum ? double(most) * double(issues.size()) / double(sum) : 1.0;
}

std::vector<ChannelWeights> Timing::weightsOf(int64_t channel) const {
  std::vector<ChannelWeights> byGroup(groups);
  for (ChannelWeights &weights : byGroup)
    weights.slices.assign(taps + 1, 0);
  const int64_t perGroup = layer.channels / layer.groups;
  const int64_t results = layer.results / layer.groups;
  const int64_t first = channel / perGroup * results;
  for (int64_t z = first; z < first + results; ++z) {
    const uint64_t n = layer.weights[z * perGroup + channel % perGroup];
    ChannelWeights &own =
        byGroup[uint64_t(z) * groups / uint64_t(layer.results)];
    own.all += n;
    ++own.slices[n];
  }
  return byGroup;
}

void Timing::scatter(const Phases &phases, const Tile &tile,
                     const ChannelWeights &weights, size_t unit) {
  const partition::Axis &y = layer.geometry.y, &x = layer.geometry.x;
  for (int64_t py = 0; py < y.stride; ++py)
    for (int64_t px = 0; px < x.stride; ++px) {
      const uint64_t q = phases.count(py, px, tile.input);
      const uint64_t own = tapsOf(y, py) * tapsOf(x, px);
      for (uint64_t n = 1; q && n <= taps; ++n) {
        const uint64_t part = (n * own + taps - 1) / taps;
        times.issues[unit] += weights.slices[n] * q * part;
        const auto results = uint64_t(tile.core.area());
        const auto positions = std::max<uint64_t>(
            uint64_t(tile.input.area()) / uint64_t(y.stride * x.stride), 1);
        times.scatter[unit] +=
            weights.slices[n] *
            machine::scatterSlice(
                machine, variant,
                machine::scatterCycles(variant, lanes(unit),
                                       machine.sparse.coefficientsPerStep, q,
                                       part),
                machine::expectedBankSums(machine, q * results / positions,
                                          results, part),
                results);
      }
    }
}

uint64_t Timing::tileMode(const Tile &tile, uint64_t weights,
                          size_t unit) const {
  const machine::TileStep step =
      machine::tileStep(machine, lanes(unit), uint64_t(tile.core.rows),
                        uint64_t(tile.core.cols), pitch);
  return (weights + step.coefficients - 1) / step.coefficients *
         machine::tilePeriod(machine, step, 1);
}

TileTimes Timing::run() {
  const size_t units = tiles.size() * groups;
  times.issues.assign(units, 0);
  times.scatter.assign(units, 0);
  std::vector<uint64_t> dense(units, 0), broadcast(groups, 0);
  for (int64_t c = 0; c < layer.channels; ++c) {
    const Phases phases(layer, c);
    const std::vector<ChannelWeights> weights = weightsOf(c);
    for (uint64_t g = 0; g < groups; ++g) {
      broadcast[g] += weights[g].all;
      for (size_t i = 0; i < tiles.size(); ++i) {
        if (tiles[i].core.empty())
          continue;
        scatter(phases, tiles[i], weights[g], i * groups + g);
        dense[i * groups + g] +=
            tileMode(tiles[i], weights[g].all, i * groups + g);
      }
    }
  }
  auto most = [](llvm::ArrayRef<uint64_t> values) {
    return *std::max_element(values.begin(), values.end());
  };
  const uint64_t decode = machine::tileDecode(machine, most(broadcast));
  times.scatterCycles = std::max(decode, most(times.scatter));
  times.tileCycles = std::max(decode, most(dense));
  return std::move(times);
}

TileTimes report::timeTiles(const machine::Description &machine,
                            machine::ScatterVariant variant,
                            const MapLayer &layer,
                            const partition::Partition &tiles,
                            uint64_t groups) {
  return Timing(machine, variant, layer, tiles, groups).run();
}
