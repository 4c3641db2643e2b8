// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Movement ops as index maps: for every output element the linear index of its
// source element, or `fill`. One map serves values of any width, so constants
// are moved as raw bits and none of any type changes (docs/Numerics.md 7).

#ifndef ASHLAR_REFERENCE_MOVEMENT_H
#define ASHLAR_REFERENCE_MOVEMENT_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/ArrayRef.h"
#include <cstdint>
#include <optional>
#include <vector>

namespace ashlar::reference {

/// Marks an output element that has no source (padding).
inline constexpr int64_t fill = -1;

/// A separable map: the source index of an output element is the sum of one
/// term per output dimension, and a `fill` in any dimension fills the element.
/// Its size is that of the shape, not of the tensor.
class IndexMap {
public:
  /// Terms of one output dimension.
  using Table = std::vector<int64_t>;

  explicit IndexMap(std::vector<Table> tables) : tables(std::move(tables)) {}

  /// Number of output elements.
  int64_t size() const;
  /// Every source index in row-major order of the output.
  std::vector<int64_t> flatten() const;

  /// Writes size() elements to `result`.
  template <typename T>
  void apply(const T *source, T *result, T fillValue) const {
    visit(0, 0, [&](int64_t index) {
      *result++ = index == fill ? fillValue : source[index];
    });
  }

private:
  template <typename Fn>
  void visit(size_t dim, int64_t base, Fn &&fn) const {
    if (dim == tables.size())
      return fn(base);
    bool last = dim + 1 == tables.size();
    for (int64_t term : tables[dim]) {
      int64_t index = base == fill || term == fill ? fill : base + term;
      if (last)
        fn(index);
      else
        visit(dim + 1, index, fn);
    }
  }

  std::vector<Table> tables;
};

enum class PadMode { Constant, Reflect, Edge, Wrap };

/// `inShape` is the shape of the source throughout; shapes are trusted.
IndexMap transposeMap(llvm::ArrayRef<int64_t> inShape,
                      llvm::ArrayRef<int64_t> perm);
IndexMap broadcastMap(llvm::ArrayRef<int64_t> inShape,
                      llvm::ArrayRef<int64_t> outShape);
/// Steps may be negative.
IndexMap sliceMap(llvm::ArrayRef<int64_t> inShape,
                  llvm::ArrayRef<int64_t> outShape,
                  llvm::ArrayRef<int64_t> starts,
                  llvm::ArrayRef<int64_t> steps);
/// Indices lie in [0, inShape[axis]).
IndexMap gatherMap(llvm::ArrayRef<int64_t> inShape, int64_t axis,
                   llvm::ArrayRef<int64_t> indices);
/// Negative `low` and `high` cut, before the other modes mirror; interior
/// fills sit between elements.
IndexMap padMap(llvm::ArrayRef<int64_t> inShape, PadMode mode,
                llvm::ArrayRef<int64_t> low, llvm::ArrayRef<int64_t> high,
                llvm::ArrayRef<int64_t> interior);

/// The map of an `nn` data movement op with one source: transpose, broadcast,
/// slice, gather, pad. Nothing for other ops (reshape moves nothing).
std::optional<IndexMap> movementMap(mlir::Operation *op);

} // namespace ashlar::reference

#endif // ASHLAR_REFERENCE_MOVEMENT_H
