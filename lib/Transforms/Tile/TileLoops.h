// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lists of tiles as loops: what repeats at places that advance by constant
// steps is written once. Nothing is assumed of why tiles are equal, so that
// borders, padding and clipped parts of any operation fall out by themselves.

#ifndef ASHLAR_LIB_TRANSFORMS_TILE_TILELOOPS_H
#define ASHLAR_LIB_TRANSFORMS_TILE_TILELOOPS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <map>
#include <vector>

namespace ashlar::tile {

/// Steps that follow each other: their patterns, and the numbers of all of them
/// one after the other.
struct Run {
  llvm::SmallVector<int64_t, 2> patterns;
  llvm::SmallVector<int64_t, 16> numbers;

  void append(const Run &other) {
    patterns.append(other.patterns);
    numbers.append(other.numbers);
  }
};

/// The patterns of one list of tiles. A pattern is a leaf, which the user of
/// the class knows by its kind, or a loop over patterns.
class TileLoops {
public:
  struct Pattern {
    int64_t leaf = -1;  ///< kind of a leaf; -1: a loop
    int64_t count = 1;  ///< iterations
    size_t numbers = 0; ///< of a leaf, or of one iteration
    Run body;           ///< patterns of one iteration, and the steps of
                        ///< their numbers between two iterations
  };

  /// A step of kind `leaf` at the places `numbers`.
  Run leaf(int64_t kind, llvm::ArrayRef<int64_t> numbers);
  /// The runs one after the other; those that repeat become loops.
  Run fold(std::vector<Run> runs);

  const Pattern &pattern(int64_t index) const { return patterns[index]; }

private:
  int64_t intern(Pattern pattern);

  std::vector<Pattern> patterns;
  std::map<std::vector<int64_t>, int64_t> known;
};

} // namespace ashlar::tile

#endif // ASHLAR_LIB_TRANSFORMS_TILE_TILELOOPS_H
