// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Movement ops as index maps: for every output element the linear index of its
// source element, or `fill`. One map serves values of any width, so constants
// are moved as raw bits and none of any type changes (docs/Numerics.md 7).

#ifndef ASHLAR_REFERENCE_MOVEMENT_H
#define ASHLAR_REFERENCE_MOVEMENT_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/ArrayRef.h"
#include <algorithm>
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
    const std::optional<size_t> runs = sourceRuns();
    if (runs && *runs + 1 < tables.size()) {
      applyTiled(Tiled<T>{source, result, fillValue, *runs}, 0, 0, 0);
      return;
    }
    visit(0, 0, [&](int64_t index) {
      *result++ = index == fill ? fillValue : source[index];
    });
  }

private:
  template <typename T>
  struct Tiled {
    const T *source;
    T *result;
    T fillValue;
    size_t runs; ///< The dimension along which the source has its runs.
  };

  /// The output dimension along which the source is read one element after the
  /// other; nothing if there is none.
  std::optional<size_t> sourceRuns() const {
    for (size_t dim = tables.size(); dim-- > 0;) {
      const Table &table = tables[dim];
      bool follows = table.size() > 1 && table[0] != fill;
      for (size_t i = 1; follows && i < table.size(); ++i)
        follows = table[i] == table[i - 1] + 1;
      if (follows)
        return dim;
    }
    return std::nullopt;
  }

  /// All of a transpose but in squares of the two dimensions that source and
  /// result run along: one element at a time would touch a cache line for each.
  template <typename T>
  void applyTiled(const Tiled<T> &to, size_t dim, int64_t base,
                  int64_t at) const {
    const size_t last = tables.size() - 1;
    const auto width = static_cast<int64_t>(tables[last].size());
    if (dim == to.runs)
      return applyTiled(to, dim + 1, base, at * extentOf(dim));
    if (dim < last) {
      for (size_t i = 0; i < tables[dim].size(); ++i) {
        const int64_t term = tables[dim][i];
        applyTiled(to, dim + 1,
                   base == fill || term == fill ? fill : base + term,
                   at * extentOf(dim) + static_cast<int64_t>(i));
      }
      return;
    }
    int64_t pitch = width;
    for (size_t d = to.runs + 1; d < last; ++d)
      pitch *= extentOf(d);
    copySquares(to, base, to.result + at * width, pitch);
  }

  template <typename T>
  void copySquares(const Tiled<T> &to, int64_t base, T *result,
                   int64_t pitch) const {
    constexpr int64_t side = 32;
    const Table &rows = tables[to.runs], &columns = tables.back();
    const auto height = static_cast<int64_t>(rows.size());
    const auto width = static_cast<int64_t>(columns.size());
    for (int64_t top = 0; top < height; top += side)
      for (int64_t left = 0; left < width; left += side)
        for (int64_t j = left; j < std::min(left + side, width); ++j) {
          const bool filled = base == fill || columns[j] == fill;
          const T *from =
              filled ? nullptr : to.source + base + columns[j] + rows[0];
          for (int64_t i = top; i < std::min(top + side, height); ++i)
            result[i * pitch + j] = filled ? to.fillValue : from[i];
        }
  }

  int64_t extentOf(size_t dim) const {
    return static_cast<int64_t>(tables[dim].size());
  }

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
