// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Allocation of the non-zero counters for feature maps whose tiles are cut at
// run time (docs/SparseTiles.md 1.3). Either the drains that produce a feature
// map count its non-zeros, and the counters stay live until the last
// convolution that cuts it; or a separate counting pass precedes each such
// convolution.

#ifndef ASHLAR_ANALYSIS_SPARSE_COUNTERALLOCATION_H
#define ASHLAR_ANALYSIS_SPARSE_COUNTERALLOCATION_H

#include "ashlar/Machine/Description.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <optional>
#include <vector>

namespace ashlar::analysis {

/// The results whose drains together can count the non-zeros of `map` at each
/// position: the result of a convolution that encodes as it drains, or those of
/// several convolutions that are concatenated along channels. Empty if any
/// other value contributes to `map`.
llvm::SmallVector<mlir::Value>
countedResults(mlir::Value map, const machine::Description &machine);

/// A feature map that a convolution cuts at run time.
struct CountedMap {
  /// Its counters.
  struct Counters {
    int64_t first = 0;    ///< counter of position (0, 0); rows are contiguous
    bool drained = false; ///< counted by the drains of the producer
  };

  mlir::Operation *reader = nullptr;
  size_t at = 0; ///< position of the convolution in program order
  /// Positions in program order, ascending, and results of the operations whose
  /// drains can count.
  llvm::SmallVector<std::pair<size_t, mlir::Value>, 1> producers;

  /// The feature map that `reader` reads.
  static CountedMap of(mlir::Operation *reader,
                       llvm::function_ref<size_t(mlir::Operation *)> numberOf,
                       const machine::Description &machine);
};

/// Assigns counters to feature maps, and drains or counting passes to
/// counters.
class CounterAllocation {
public:
  /// The counters that the drains of a result update.
  struct Target {
    int64_t first = 0;
    bool clears = true; ///< the first producer of its feature map
  };

  CounterAllocation() = default;
  /// Places the counters of `maps`, which are in program order, in a memory of
  /// `entries` counters. Any single feature map fits.
  CounterAllocation(llvm::ArrayRef<CountedMap> maps, int64_t entries);

  CountedMap::Counters of(mlir::Operation *reader) const {
    return readers.lookup(reader);
  }
  /// The counters of a result's drains; nothing if they do not count.
  std::optional<Target> targetOf(mlir::Value result) const;

private:
  /// Counters [first, first + size), live from operation `begin` to `end`.
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

#endif // ASHLAR_ANALYSIS_SPARSE_COUNTERALLOCATION_H
