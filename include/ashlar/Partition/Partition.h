// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Cuts a layer into tiles of equal work, one per compute unit
// (docs/SparseTiles.md). All algorithms end, cover the feature map exactly once
// with rectangles, and say whether the threshold was met; equal inputs give
// equal cuts on every host, at compile time and in the PART instruction.

#ifndef ASHLAR_PARTITION_PARTITION_H
#define ASHLAR_PARTITION_PARTITION_H

#include "ashlar/Partition/Map.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace ashlar::partition {

enum class Algorithm : uint8_t {
  Uniform, ///< near-equal grid
  P1,      ///< rows and columns handed to neighbours
  P2,      ///< guillotine: row cuts, then column cuts per band
  Rows,    ///< bands of full width
};

/// What is to be equal.
enum class Metric : uint8_t {
  Nnz, ///< non-zeros, relative to the equal share of the feature map's values
  Density, ///< non-zeros relative to the tile's own values
  Zeros,   ///< zeros, relative to the equal share of the feature map's values
  Cycles,  ///< Options::cycles, relative to the mean
};

enum class Halo : uint8_t {
  Overlap, ///< tiles of the result; each repeats the operand it needs
  None,    ///< disjoint tiles of the operand; results of neighbours are added
};

/// When tiles of equal work are cut.
enum class CutTime : uint8_t {
  Auto,          ///< as Profile where places are known, else as RunTime
  Profile,       ///< by the compiler, from the places of a profile
  RunTime,       ///< by the machine, where that is predicted to pay
  Always,        ///< by the machine, wherever it can
  AlwaysProfile, ///< by the compiler, wherever it can
};

/// What tiles are of, as an option.
enum class HaloMode : uint8_t {
  Overlap,  ///< Halo::Overlap
  Disjoint, ///< Halo::None, wherever that can be done
  Auto,     ///< whichever is predicted to take fewer cycles
};

/// True if tiles of equal size are the last resort, whatever they cost.
inline bool isForced(CutTime time) { return time >= CutTime::Always; }

struct Options {
  int64_t units = 1; ///< M: tiles to make, one per compute unit.
  Algorithm algorithm = Algorithm::P2;
  Metric metric = Metric::Nnz;
  Halo halo = Halo::Overlap;
  double threshold = 0.03;      ///< Largest difference of any two tiles.
  unsigned maxIterations = 256; ///< Of P1.
  int64_t alignRows = 1; ///< Cuts at multiples, for pooling after the layer.
  int64_t alignCols = 1;
  int64_t maxRows = INT64_MAX; ///< Largest core that memories are sized for.
  int64_t maxCols = INT64_MAX;
  bool moveBands = true; ///< P1 may move whole bands, not only columns.
  /// P2 without refine: most rounds of P1 after the cuts by running sums. They
  /// make up for the halo and for lines that are too coarse for the shares.
  unsigned moveRounds = 0;
  bool refine =
      true; ///< P2: of its cuts and those of least maximum the better.
  /// What each unit can do, relative to the others, if they differ: the shares
  /// of the running sums, or of the area where nothing is counted. Then P1 and
  /// the refinement of P2 leave the cuts by running sums as they are.
  std::vector<int64_t> capacity;
  /// Work of an operand box for Metric::Cycles; never less for a larger box.
  std::function<uint64_t(const Box &)> cycles;
};

/// One unit's share. Idle units have empty boxes.
struct Tile {
  Box core;          ///< Result tile (Overlap) or operand tile (None).
  Box input;         ///< Operand positions held by the unit, halo included.
  Box output;        ///< Result positions written; disjoint only with Overlap.
  uint64_t work = 0; ///< Non-zeros in `input`, or Options::cycles of it.
};

struct Partition {
  std::vector<Tile> tiles; ///< Options::units of them, row-major, idle last.
  double spread = 0;       ///< Largest difference of two tiles' metric.
  bool met = false;        ///< MET (spread <= threshold), else BEST_EFFORT.
  unsigned iterations = 0; ///< Rounds of P1.
  /// Boxes whose work was looked up: what the search costs at run time.
  uint64_t probes = 0;

  uint64_t maxWork() const;
  /// max / mean over all units, 1.0 = perfect; 1.0 without work.
  double imbalance() const;
};

/// Cuts the layer. No core exceeds maxRows x maxCols. Usage errors: units,
/// alignment, map sizes or largest cores below one, a feature map that does not
/// match the geometry, Metric::Cycles without a function. Capacity error: no
/// way to cut into cores that small.
llvm::Expected<Partition> partition(const CountMap &map,
                                    const Geometry &geometry,
                                    const Options &options);

/// Cuts a feature map by itself: identity geometry.
llvm::Expected<Partition> partition(const CountMap &map,
                                    const Options &options);

/// Most operand positions in a row of which at most `results` results need
/// any, for tiles of Halo::None; below one if a single position is too many.
int64_t operandLimit(const Axis &axis, int64_t results);

/// The metric's spread of given tiles: how the flag is checked.
double spreadOf(llvm::ArrayRef<Tile> tiles, const CountMap &map,
                const Geometry &geometry, const Options &options);

/// Parses "uniform", "p1", "p2", "rows"; Usage error otherwise.
llvm::Expected<Algorithm> parseAlgorithm(llvm::StringRef text);
/// Parses "nnz", "density", "zeros", "cycles"; Usage error otherwise.
llvm::Expected<Metric> parseMetric(llvm::StringRef text);
/// Parses "auto", "profile", "runtime", "always"; Usage error otherwise.
llvm::Expected<CutTime> parseCutTime(llvm::StringRef text);
/// Parses "overlap", "disjoint", "auto"; Usage error otherwise.
llvm::Expected<HaloMode> parseHaloMode(llvm::StringRef text);
llvm::StringRef name(Algorithm algorithm);
llvm::StringRef name(Metric metric);
llvm::StringRef name(CutTime time);
llvm::StringRef name(HaloMode mode);

} // namespace ashlar::partition

#endif // ASHLAR_PARTITION_PARTITION_H
