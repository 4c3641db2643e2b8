// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The geometry that instructions of the sparse cluster state in their fields.

#ifndef ASHLAR_ISA_TILES_H
#define ASHLAR_ISA_TILES_H

#include "ashlar/Isa/Instruction.h"
#include "ashlar/Machine/TileGeometry.h"

namespace ashlar::isa {

/// Slots and regions of dma.tile and tcc.run: their largest tile.
template <typename Op>
machine::TileGeometry geometryOf(const Op &op) {
  machine::TileGeometry geometry;
  geometry.h = machine::AxisPhases(op.kH, op.sH, op.dH);
  geometry.w = machine::AxisPhases(op.kW, op.sW, op.dW);
  geometry.images = op.images;
  geometry.rows = op.tileH;
  geometry.cols = op.tileW;
  return geometry;
}

/// Images [n, n + images), rows [y, y + rows) and columns [x, x + cols) of a
/// map.
struct MapBox {
  int64_t n = 0, y = 0, x = 0;
  int64_t images = 0, rows = 0, cols = 0;

  bool empty() const { return images <= 0 || rows <= 0 || cols <= 0; }
  /// Grows until it holds \p other too.
  void include(const MapBox &other);
};

/// All results in the tiles that a tcc.tile writes.
MapBox resultsOf(const TccTile &op);

/// The drain of the results in a box alone: the steps are theirs, the places of
/// result and residual those of the first one.
ActDrain narrow(ActDrain op, const MapBox &results);

/// The input that results need under the kernel, as far as it exists.
MapBox inputOf(const DmaTile &op, const MapBox &results);

/// A load for which a box of the input is the whole source.
DmaTile narrow(DmaTile op, const MapBox &input);

} // namespace ashlar::isa

#endif // ASHLAR_ISA_TILES_H
