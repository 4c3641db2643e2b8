// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Cut positions of bands and of the columns inside each band, and the work of
// the cells between them. Positions count alignment units, so every algorithm
// keeps pooling alignment without thinking of it.

#ifndef ASHLAR_LIB_PARTITION_CUTS_H
#define ASHLAR_LIB_PARTITION_CUTS_H

#include "ashlar/Partition/Partition.h"

namespace ashlar::partition {

/// Band i spans rows [rows[i], rows[i+1]) and has cols[i].size() - 1 cells.
struct Cuts {
  std::vector<int64_t> rows;
  std::vector<std::vector<int64_t>> cols;

  size_t bands() const { return cols.size(); }
  size_t cells(size_t band) const { return cols[band].size() - 1; }
};

/// The feature map seen through options: cells in alignment units to work.
class WorkModel {
public:
  WorkModel(const CountMap &map, const Geometry &geometry,
            const Options &options);

  int64_t rowUnits() const { return unitsY; }
  int64_t colUnits() const { return unitsX; }
  /// Largest parts, in alignment units.
  int64_t rowLimit() const { return limitY; }
  int64_t colLimit() const { return limitX; }
  /// The cell of unit ranges as a tile, work not filled in.
  Tile tile(Range y, Range x) const;
  /// Non-zeros (or zeros, or cycles) of the cell: the quantity to balance.
  /// Never decreases when the cell grows.
  uint64_t work(Range y, Range x) const;
  /// The value compared with the threshold.
  double metric(const Tile &tile) const;
  uint64_t workOfInput(const Box &input) const;
  void setTiles(int64_t count) { tiles = count; }
  /// What the units of each band's cells can do; all 1 if they do not differ.
  std::vector<std::vector<int64_t>> shares(llvm::ArrayRef<int64_t> bands) const;

  mutable uint64_t probes = 0;

private:
  const CountMap &map;
  const Geometry &geometry;
  const Options &options;
  PrefixSums sums;
  int64_t height = 0, width = 0; ///< Of the space that is cut.
  int64_t unitsY = 0, unitsX = 0;
  int64_t limitY = 0, limitX = 0;
  int64_t tiles = 1;
};

/// Cells per band for `units` tiles on a feature map of `rows` x `cols` units,
/// for every number of bands that can keep to the model's limits; first the one
/// whose tiles have the least circumference.
std::vector<std::vector<int64_t>> possibleBands(const WorkModel &model,
                                                int64_t units);

/// Near-equal areas, or as the capacities of the units are.
Cuts uniformCuts(const WorkModel &model, llvm::ArrayRef<int64_t> bands);
/// P2: equal shares of work, or as the capacities are, by running sums.
Cuts guillotineCuts(const WorkModel &model, llvm::ArrayRef<int64_t> bands);
/// The cuts with the least largest work among all guillotine cuts with these
/// bands; `start` is an upper bound.
Cuts leastMaximumCuts(const WorkModel &model, llvm::ArrayRef<int64_t> bands,
                      const Cuts &start);
/// P1 from `cuts`; returns the rounds taken.
unsigned transferLines(const WorkModel &model, const Options &options,
                       Cuts &cuts);

} // namespace ashlar::partition

#endif // ASHLAR_LIB_PARTITION_CUTS_H
