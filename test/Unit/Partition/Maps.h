// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Maps for partition tests. Drawn from raw generator bits: the standard
// distributions may differ between libraries.

#ifndef ASHLAR_TEST_UNIT_PARTITION_MAPS_H
#define ASHLAR_TEST_UNIT_PARTITION_MAPS_H

#include "ashlar/Partition/Map.h"

#include <cmath>
#include <random>

namespace ashlar::partition {

/// A feature map whose position (y, x) is non-zero with probability chance(y,
/// x).
template <typename Chance>
CountMap drawMap(int64_t rows, int64_t cols, unsigned seed, Chance chance) {
  std::mt19937 random(seed);
  CountMap map = CountMap::zeros(rows, cols);
  for (int64_t y = 0; y < rows; ++y)
    for (int64_t x = 0; x < cols; ++x)
      map.at(y, x) = double(random()) / 4294967296.0 < chance(y, x);
  return map;
}

inline CountMap evenMap(int64_t rows, int64_t cols, double density,
                        unsigned seed) {
  return drawMap(rows, cols, seed, [=](int64_t, int64_t) { return density; });
}

/// Density 20 % at the left edge, 80 % at the right.
inline CountMap rampMap(int64_t rows, int64_t cols, unsigned seed) {
  return drawMap(rows, cols, seed, [=](int64_t, int64_t x) {
    return 0.2 + 0.6 * (double(x) + 0.5) / double(cols);
  });
}

/// Centre of blobs as a share of the edges: between the middle of the feature
/// map and the middle of a tile of a 4 x 4 grid.
inline constexpr double kCentre = 0.46;

/// A Gaussian blob: `peak` at its centre, `sigma` as a share of the edges.
inline CountMap blobMap(int64_t rows, int64_t cols, double peak, double sigma,
                        unsigned seed) {
  return drawMap(rows, cols, seed, [=](int64_t y, int64_t x) {
    double dy = (double(y) + 0.5) / double(rows) - kCentre;
    double dx = (double(x) + 0.5) / double(cols) - kCentre;
    return peak * std::exp(-(dy * dy + dx * dx) / (2 * sigma * sigma));
  });
}

} // namespace ashlar::partition

#endif // ASHLAR_TEST_UNIT_PARTITION_MAPS_H
