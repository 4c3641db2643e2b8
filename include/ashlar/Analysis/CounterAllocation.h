// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Counters of non-zeros for the feature maps whose tiles are cut at run time
// (docs/SparseTiles.md 1.3). A feature map is counted by the drains that make
// it, from its producer to the last convolution that cuts it, or by a pass of
// its own before each such convolution.

#ifndef ASHLAR_ANALYSIS_COUNTERROOMS_H
#define ASHLAR_ANALYSIS_COUNTERROOMS_H

#include "ashlar/Machine/Description.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <optional>
#include <vector>

namespace ashlar::analysis {

/// The results whose drains can together count the non-zeros of `map` by
/// position: those of a convolution that encodes its results as it drains them,
/// or of several that are only concatenated along channels. Nothing if
/// other values take part.
llvm::SmallVector<mlir::Value>
countedResults(mlir::Value map, const machine::Description &machine);

/// The input of a convolution that cuts it at run time.
struct CountedMap {
  /// Where its counters are.
  struct Counters {
    int64_t first = 0;    ///< of position (0, 0); rows lie one after the other
    bool drained = false; ///< the producer's drains count
  };

  mlir::Operation *reader = nullptr;
  size_t at = 0; ///< number of the convolution in program order
  /// Numbers of the operations whose drains can count, in order, and their
  /// results.
  llvm::SmallVector<std::pair<size_t, mlir::Value>, 1> producers;

  /// The feature map that `reader` reads.
  static CountedMap of(mlir::Operation *reader,
                       llvm::function_ref<size_t(mlir::Operation *)> numberOf,
                       const machine::Description &machine);
};

/// Who counts which map, and where.
class CounterAllocation {
public:
  /// Where the drains of a result count.
  struct Target {
    int64_t first = 0;
    bool clears = true; ///< no producer of the feature map comes before
  };

  CounterAllocation() = default;
  /// Places the counters of all feature maps, given in program order, in a
  /// memory of `entries`, each of which is large enough for any one feature
  /// map.
  CounterAllocation(llvm::ArrayRef<CountedMap> maps, int64_t entries);

  CountedMap::Counters of(mlir::Operation *reader) const {
    return readers.lookup(reader);
  }
  /// Nothing if the drains of a result count nothing.
  std::optional<Target> targetOf(mlir::Value result) const;

private:
  /// Counters [first, first + size) in use from one operation to another.
  struct Span {
    int64_t first, size;
    size_t begin, end;
  };
  std::optional<int64_t> findRoom(llvm::ArrayRef<Span> spans, const Span &span,
                                  int64_t entries) const;

  llvm::DenseMap<mlir::Operation *, CountedMap::Counters> readers;
  llvm::DenseMap<mlir::Value, Target> results;
};

} // namespace ashlar::analysis

#endif // ASHLAR_ANALYSIS_COUNTERROOMS_H
