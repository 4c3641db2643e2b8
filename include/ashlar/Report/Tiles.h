// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where the non-zeros of a network's maps lie, how its layers would be cut into
// tiles, and what the units would do: studies of dumped tensors and their
// pictures (docs/SparseTiles.md).

#ifndef ASHLAR_REPORT_TILES_H
#define ASHLAR_REPORT_TILES_H

#include "ashlar/Machine/Description.h"
#include "ashlar/Machine/ScatterCycles.h"
#include "ashlar/Partition/Partition.h"
#include "ashlar/Report/Statistics.h"
#include "llvm/ADT/StringMap.h"

#include <string>

namespace ashlar::report {

/// A convolution of a numeric plan with the mantissas it read.
struct MapLayer {
  std::string name;
  partition::Geometry geometry;
  int64_t channels = 1;
  int64_t results = 1;
  int64_t groups = 1;
  std::vector<int16_t> mantissas; ///< [channels][rows][cols]
  /// Weights that are not zero per (result, channel of the group), row-major.
  std::vector<uint32_t> weights;

  partition::CountMap counts() const {
    return partition::CountMap::ofValues(mantissas, channels, geometry.y.in,
                                         geometry.x.in);
  }
};

/// Reads the convolutions of a folder that ashlar-run --dump-tensors wrote.
/// With \p constants, a folder of ashlarc --dump-plan, weights that are zero
/// count as such. Only image 0 is looked at. Malformed errors name the file.
llvm::Expected<std::vector<MapLayer>> readMapLayers(llvm::StringRef folder,
                                                    llvm::StringRef constants);

/// What the units do on given tiles. A block is a unit's whole tile. With
/// groups, each tile is held by one unit per group, and the results are split
/// over the groups: unit tile * groups + group.
struct TileTimes {
  std::vector<uint64_t> issues;  ///< Products per unit in scatter mode.
  std::vector<uint64_t> scatter; ///< Cycles per unit in scatter mode.
  uint64_t scatterCycles = 0; ///< Slowest unit, at least the weight broadcast.
  uint64_t tileCycles = 0;    ///< Tile mode on the same units: the slowest.

  /// Largest over mean products of a unit, 1.0 without any.
  double imbalance() const;
};
TileTimes timeTiles(const machine::Description &machine,
                    machine::ScatterVariant variant, const MapLayer &layer,
                    const partition::Partition &tiles, uint64_t groups = 1);

/// What the units did for a node in a run.
struct UnitRun {
  uint64_t cycles = 0; ///< Of the node.
  std::vector<UnitStatistics> work;

  /// Largest over mean busy cycles of `units` units, of those that ran together
  /// and then summed up; 1.0 without any.
  double imbalance(uint64_t units) const;
  /// Cycles by unit.
  std::vector<uint64_t> busy() const;
  /// Result tiles of the first image and group.
  std::vector<partition::Box> tiles() const;
};

/// The nodes in scatter mode of a report (ashlar-run --report). Malformed
/// errors name the file.
llvm::Expected<llvm::StringMap<UnitRun>> readUnitRuns(llvm::StringRef path);

/// A feature map, its cuts and its units.
struct TilePicture {
  std::string title;
  partition::CountMap counts;
  std::vector<partition::Box>
      tiles;                  ///< Boxes on the feature map, halo included.
  std::vector<uint64_t> busy; ///< Of each unit: cycles or work.
};

/// The picture as SVG: a heat map of non-zeros, the tiles on it, a bar of busy
/// time per unit. The same picture gives the same bytes.
std::string drawTiles(const TilePicture &picture);

/// Runs ashlar-tiles; returns its exit code.
int runTilesTool(llvm::ArrayRef<std::string> args);

} // namespace ashlar::report

#endif // ASHLAR_REPORT_TILES_H
