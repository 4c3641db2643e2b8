// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Distances of the interconnects and the two assignments. The one-to-one
// assignment is solved exactly (Hungarian method with potentials, O(n^2 m)).

#include "ashlar/Partition/Binding.h"

#include "ashlar/Support/CheckedMath.h"
#include "ashlar/Support/Error.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace ashlar::partition {

/// Columns of the near-square mesh: the smallest square side that holds all.
static uint64_t meshColumns(uint64_t units) {
  uint64_t side = 1;
  while (side * side < units)
    ++side;
  return side;
}

BenesSize benesSize(uint64_t ports) {
  BenesSize size{1, 0, 0};
  uint64_t log = 0;
  while (size.ports < ports) {
    size.ports *= 2;
    ++log;
  }
  if (log) {
    size.stages = 2 * log - 1;
    size.switches = size.ports / 2 * size.stages;
  }
  return size;
}

std::optional<uint64_t> hops(Binding binding, uint64_t units, uint64_t from,
                             uint64_t to) {
  if (from >= units || to >= units)
    return std::nullopt;
  if (from == to)
    return 0;
  switch (binding) {
  case Binding::Static:
    return std::nullopt;
  case Binding::Switch:
    return to == from + 1 ? std::optional<uint64_t>(1) : std::nullopt;
  case Binding::Mesh: {
    uint64_t side = meshColumns(units);
    auto apart = [](uint64_t a, uint64_t b) { return a > b ? a - b : b - a; };
    return apart(from / side, to / side) + apart(from % side, to % side);
  }
  case Binding::Benes:
    return benesSize(units).stages;
  }
  llvm_unreachable("unknown binding");
}

void RouteLoad::carry(uint64_t from, uint64_t to, uint64_t bytes) {
  fullest = std::max(fullest, links[{from, to}] += bytes);
}

void RouteLoad::add(uint64_t from, uint64_t to, uint64_t bytes) {
  const std::optional<uint64_t> way = hops(binding, units, from, to);
  if (!way || *way == 0)
    return;
  most = std::max(most, *way);
  if (binding != Binding::Mesh)
    return carry(from, to, bytes);
  const uint64_t side = meshColumns(units);
  for (uint64_t at = from; at != to;) {
    const bool along = at % side != to % side;
    const bool forwards = along ? at % side < to % side : at < to;
    const uint64_t step = along ? 1 : side;
    const uint64_t next = forwards ? at + step : at - step;
    carry(at, next, bytes);
    at = next;
  }
}

static llvm::Error checkUnits(uint64_t units, llvm::ArrayRef<Waiting> tiles) {
  for (const Waiting &tile : tiles)
    if (tile.unit >= units)
      return makeError(ErrorClass::Usage,
                       "tile in memory unit {}, but there are {} units",
                       tile.unit, units);
  return llvm::Error::success();
}

llvm::Error checkRoutes(Binding binding, uint64_t units,
                        llvm::ArrayRef<Waiting> tiles,
                        llvm::ArrayRef<uint64_t> owner) {
  if (tiles.size() != owner.size())
    return makeError(ErrorClass::Usage, "{} tiles, but {} owners", tiles.size(),
                     owner.size());
  for (size_t i = 0; i < tiles.size(); ++i)
    if (!hops(binding, units, tiles[i].unit, owner[i]))
      return makeError(ErrorClass::Usage,
                       "no route from memory unit {} to compute unit {} in "
                       "binding '{}' of {} units",
                       tiles[i].unit, owner[i], name(binding).str(), units);
  return llvm::Error::success();
}

namespace {

/// Least-cost matching of n rows to m >= n columns.
class Matching {
public:
  /// Larger than any sum of real costs.
  static constexpr int64_t kNoRoute = int64_t(1) << 52;

  Matching(size_t rows, size_t columns,
           llvm::function_ref<int64_t(size_t, size_t)> cost)
      : m(columns), cost(cost), u(rows + 1), v(columns + 1), match(columns + 1),
        way(columns + 1) {
    for (size_t row = 1; row <= rows; ++row)
      insert(row);
  }

  std::vector<uint64_t> columnsOfRows() const {
    std::vector<uint64_t> result(u.size() - 1);
    for (size_t column = 1; column <= m; ++column)
      if (match[column])
        result[match[column] - 1] = column - 1;
    return result;
  }

private:
  void insert(size_t row) {
    match[0] = row;
    size_t column = 0;
    std::vector<int64_t> least(m + 1, std::numeric_limits<int64_t>::max());
    std::vector<bool> used(m + 1, false);
    do {
      used[column] = true;
      size_t current = match[column], next = 0;
      int64_t delta = std::numeric_limits<int64_t>::max();
      for (size_t j = 1; j <= m; ++j) {
        if (used[j])
          continue;
        int64_t reduced = cost(current - 1, j - 1) - u[current] - v[j];
        if (reduced < least[j]) {
          least[j] = reduced;
          way[j] = column;
        }
        if (least[j] < delta) {
          delta = least[j];
          next = j;
        }
      }
      for (size_t j = 0; j <= m; ++j) {
        if (used[j]) {
          u[match[j]] += delta;
          v[j] -= delta;
        } else {
          least[j] -= delta;
        }
      }
      column = next;
    } while (match[column]);
    while (column) {
      match[column] = match[way[column]];
      column = way[column];
    }
  }

  size_t m;
  llvm::function_ref<int64_t(size_t, size_t)> cost;
  std::vector<int64_t> u, v;
  std::vector<size_t> match, way;
};

} // namespace

llvm::Expected<std::vector<uint64_t>> assign(Binding binding, uint64_t units,
                                             llvm::ArrayRef<Waiting> tiles) {
  if (llvm::Error error = checkUnits(units, tiles))
    return error;
  if (tiles.size() > units)
    return makeError(ErrorClass::Usage, "{} tiles for {} units", tiles.size(),
                     units);
  // Bytes of a tile fit a unit's memory and hops the machine: products stay
  // below 2^40, their sum below the mark of a missing route.
  auto cost = [&](size_t tile, size_t unit) -> int64_t {
    std::optional<uint64_t> way = hops(binding, units, tiles[tile].unit, unit);
    return way ? int64_t(std::min<uint64_t>(tiles[tile].bytes * *way,
                                            uint64_t(1) << 40))
               : Matching::kNoRoute;
  };
  std::vector<uint64_t> owner =
      Matching(tiles.size(), units, cost).columnsOfRows();
  if (llvm::Error error = checkRoutes(binding, units, tiles, owner))
    return error;
  return owner;
}

uint64_t busiest(uint64_t units, llvm::ArrayRef<Waiting> tiles,
                 llvm::ArrayRef<uint64_t> owner) {
  std::vector<uint64_t> load(units, 0);
  for (size_t i = 0; i < tiles.size(); ++i)
    load[owner[i]] += tiles[i].work;
  return units ? *std::max_element(load.begin(), load.end()) : 0;
}

llvm::Expected<std::vector<uint64_t>> redirect(Binding binding, uint64_t units,
                                               llvm::ArrayRef<Waiting> tiles) {
  if (llvm::Error error = checkUnits(units, tiles))
    return error;
  std::vector<size_t> order(tiles.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::pair(tiles[b].work, a) < std::pair(tiles[a].work, b);
  });
  std::vector<uint64_t> load(units, 0), owner(tiles.size()), stay;
  for (size_t tile : order) {
    uint64_t from = tiles[tile].unit, best = from;
    for (uint64_t to = 0; to < units; ++to) {
      std::optional<uint64_t> way = hops(binding, units, from, to);
      if (!way)
        continue;
      uint64_t least = *hops(binding, units, from, best);
      if (std::pair(load[to], *way) < std::pair(load[best], least))
        best = to;
    }
    owner[tile] = best;
    load[best] += tiles[tile].work;
  }
  for (const Waiting &tile : tiles)
    stay.push_back(tile.unit);
  // The greedy order has no promise under restricted routes.
  if (busiest(units, tiles, stay) <= busiest(units, tiles, owner))
    return stay;
  return owner;
}

static constexpr llvm::StringLiteral kBindings[] = {"static", "2x2", "mesh",
                                                    "benes"};

llvm::StringRef name(Binding binding) { return kBindings[unsigned(binding)]; }

} // namespace ashlar::partition
