// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Counters of non-zeros for the maps whose tiles are cut at run time
// (docs/SparseTiles.md 1.3). A map is counted by the drains that make it, from
// its producer to the last convolution that cuts it, or by a pass of its own
// before each such convolution.

#ifndef ASHLAR_LIB_CONVERSION_NPUTOISA_COUNTERPLAN_H
#define ASHLAR_LIB_CONVERSION_NPUTOISA_COUNTERPLAN_H

#include "ashlar/Isa/Instruction.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/DenseMap.h"

#include <optional>
#include <vector>

namespace ashlar::codegen {

struct TileContext;

/// The input of a convolution that cuts it at run time.
struct CountedMap {
  /// Where its counters are.
  struct Counters {
    int64_t first = 0;    ///< of position (0, 0); rows lie one after the other
    bool drained = false; ///< the producer's drains count
  };

  mlir::Operation *reader = nullptr;
  size_t at = 0; ///< node of the convolution
  /// Nodes whose drains can count, in order, and their results.
  llvm::SmallVector<std::pair<size_t, mlir::Value>, 1> producers;
};

/// Positions of a drain's steps in the tile of its operation.
struct CountedSteps {
  int64_t row = 0, col = 0; ///< of the first step
  int64_t colStep = 1;
};

class CounterPlan {
public:
  CounterPlan() = default;
  /// Places the counters of all maps in a memory of `entries`, each of which is
  /// large enough for any one map.
  CounterPlan(llvm::ArrayRef<CountedMap> maps, int64_t entries);

  CountedMap::Counters of(mlir::Operation *reader) const {
    return readers.lookup(reader);
  }

  /// Lets a drain of `tile` count where that is planned. Its steps are images,
  /// rows and columns. `first`: no other drain has counted these positions.
  void count(const TileContext &tile, const CountedSteps &steps, bool first,
             isa::ActDrain &drain) const;

private:
  /// Counters [first, first + size) in use from one node to another.
  struct Span {
    int64_t first, size;
    size_t begin, end;
  };
  std::optional<int64_t> findRoom(llvm::ArrayRef<Span> spans, const Span &span,
                                  int64_t entries) const;

  llvm::DenseMap<mlir::Operation *, CountedMap::Counters> readers;
  /// Where the drains of a result count.
  struct Target {
    int64_t first = 0;
    bool clears = true; ///< no producer of the map comes before
  };
  llvm::DenseMap<mlir::Value, Target> results;
};

} // namespace ashlar::codegen

#endif // ASHLAR_LIB_CONVERSION_NPUTOISA_COUNTERPLAN_H
