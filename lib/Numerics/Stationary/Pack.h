// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From stored weights to pairs of rows (GemmPack.h) in one pass: what an
// aligned copy and the packing of it would make. Lanes supplies the columns
// that one instruction set takes at a time.

#ifndef ASHLAR_LIB_NUMERICS_STATIONARY_PACK_H
#define ASHLAR_LIB_NUMERICS_STATIONARY_PACK_H

#include "../GemmPack.h"

namespace ashlar::numerics {

// Internal linkage, as in RowKernels.h.
namespace { // NOLINT(misc-anonymous-namespace-in-header)
/// Where a column group of a block lies, and its bounds.
struct StationaryGroup {
  int32_t *to;
  GroupBounds *bounds;
  size_t pairs;
};

/// Some columns of a stored matrix, row by row.
template <typename Lanes>
class StationaryRows {
public:
  StationaryRows(const StoredMatrix &values, size_t column, size_t count,
                 size_t row)
      : pitch(values.pitch), cellPitch(values.cellPitch),
        groupRows(values.groupRows), row(row), lanes(values, count) {
    const size_t group =
        row < values.firstRows ? 0 : 1 + (row - values.firstRows) / groupRows;
    nextGroup = values.firstRows + group * groupRows;
    mant = values.mant + static_cast<ptrdiff_t>(row) * pitch + column;
    cells = values.cells + static_cast<ptrdiff_t>(group) * cellPitch + column;
    lanes.start(cells);
  }

  /// The next row as aligned integers; columns that are missing are zero.
  typename Lanes::Vec next() {
    if (row == nextGroup) {
      nextGroup += groupRows;
      cells += cellPitch;
      lanes.start(cells);
    }
    const typename Lanes::Vec values = lanes.align(mant);
    mant += pitch;
    ++row;
    return values;
  }

private:
  const ptrdiff_t pitch, cellPitch;
  const size_t groupRows;
  size_t row, nextGroup;
  const int8_t *mant, *cells;
  Lanes lanes;
};
} // namespace

/// The zero bits below all values of a group whose bits are in the halves of
/// `used`; the bounds of the group.
static inline uint32_t boundGroup(const StationaryGroup &group, uint32_t norm,
                                  uint32_t used) {
  const uint32_t all = (used | used >> 16) & 0xffff;
  const uint32_t shift =
      all == 0 ? 0 : static_cast<uint32_t>(__builtin_ctz(all));
  *group.bounds = {norm >> shift, shift};
  return shift;
}

/// The columns of one Lanes from `column` on, of a row block.
template <typename Lanes>
static void packStoredColumns(const StoredMatrix &values,
                              const PairLayout &layout, size_t block,
                              size_t column, size_t cols) {
  const size_t pairs = least(kBlockPairs, layout.pairs - block);
  const size_t first = column / Lanes::kGroup;
  const size_t groups =
      least(Lanes::kColumns / Lanes::kGroup, layout.groups - first);
  const size_t pitch = pairs * Lanes::kGroup; // from group to group
  int32_t *to = layout.group(block, 0) + first * pitch;
  StationaryRows<Lanes> rows(values, column, cols - column, 2 * block);
  typename Lanes::Sums sums;
  for (size_t k = 0; k < pairs; ++k) {
    const typename Lanes::Vec a = rows.next();
    const typename Lanes::Vec b =
        2 * (block + k) + 1 < layout.rows ? rows.next() : Lanes::zero();
    sums.store(a, b, to + k * Lanes::kGroup, pitch, groups);
  }
  for (size_t g = 0; g < groups; ++g)
    sums.finish(g,
                {to + g * pitch, layout.bounds(block, 0) + first + g, pairs});
}

/// Whether elements may saturate.
template <typename Lanes>
static bool anyCellAbove(const StoredMatrix &values, size_t rows, size_t cols) {
  const int offset = values.alignment.scale + values.alignment.mantissa - 2;
  const int8_t *cells = values.cells;
  for (size_t row = 0; row < rows; cells += values.cellPitch) {
    if (Lanes::anyAbove(cells, cols, offset))
      return true;
    row += row == 0 ? values.firstRows : values.groupRows;
  }
  return false;
}

/// KernelTable::packStoredStationary.
template <typename Lanes>
static bool packStoredMatrix(const StoredMatrix &values, size_t rows,
                             size_t cols, PackedStationary &out) {
  if (anyCellAbove<Lanes>(values, rows, cols))
    return false;
  out.rows = rows;
  out.cols = cols;
  out.width = OperandWidth::Int16;
  out.planes = 1;
  out.inBlocks = false;
  out.reserve(PairLayout(out, Lanes::kGroup).size());
  const PairLayout layout(out, Lanes::kGroup);
  for (size_t block = 0; block < layout.pairs; block += kBlockPairs)
    for (size_t column = 0; column < cols; column += Lanes::kColumns)
      packStoredColumns<Lanes>(values, layout, block, column, cols);
  return true;
}

} // namespace ashlar::numerics

#endif // ASHLAR_LIB_NUMERICS_STATIONARY_PACK_H
