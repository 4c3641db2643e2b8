// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Elements of weights by their place in a stationary tile.

#ifndef ASHLAR_LIB_CONVERSION_NPUTOISA_TILEREADER_H
#define ASHLAR_LIB_CONVERSION_NPUTOISA_TILEREADER_H

#include "WeightStream.h"
#include "ashlar/Analysis/Array/EncodedWeights.h"

#include <algorithm>
#include <optional>

namespace ashlar::codegen {

/// Address arithmetic of one weight element in a tile.
class TileReader {
public:
  TileReader(const StreamedProduct &product, const analysis::ColumnTile &column,
             const analysis::EncodedWeights &weights)
      : product(product.shape), column(column), weights(weights),
        channels(product.shape.channels / product.shape.groups) {}

  /// Calls fn(row, mantissa) for the rows of a column that are not zero weights
  /// of another group or layer.
  template <typename Fn>
  void forMantissas(const analysis::StationaryTile &tile, int64_t rows,
                    int64_t col, Fn fn) const {
    for (const analysis::WeightPlace &place :
         analysis::weightPlaces(product, column, tile, col)) {
      const int64_t end = std::min(rows, place.row + channels);
      for (int64_t row = std::max<int64_t>(place.row, 0); row < end; ++row)
        if (isOf(tile, row - place.row))
          fn(row, weights.mantissa(place.output, place.tap, row - place.row));
    }
  }
  /// Cell of rows [row, row + count): that of the one block they hold, if they
  /// hold any.
  std::optional<int8_t> cell(const analysis::StationaryTile &tile, int64_t row,
                             int64_t count, int64_t col) const {
    const int64_t end = std::min(row + count, tile.rows);
    for (const analysis::WeightPlace &place :
         analysis::weightPlaces(product, column, tile, col))
      for (int64_t i = std::max(row, place.row);
           i < std::min(end, place.row + channels); ++i)
        if (isOf(tile, i - place.row))
          return weights.cell(place.output, place.tap, i - place.row);
    return std::nullopt;
  }

private:
  /// True if the layer of the tile has this channel of a group.
  bool isOf(const analysis::StationaryTile &tile, int64_t channel) const {
    return tile.layer < 0 || channel / weights.blockSize() % 2 == tile.layer;
  }

  const analysis::ProductShape &product;
  const analysis::ColumnTile &column;
  const analysis::EncodedWeights &weights;
  int64_t channels; ///< of a group
};

} // namespace ashlar::codegen

#endif // ASHLAR_LIB_CONVERSION_NPUTOISA_TILEREADER_H
