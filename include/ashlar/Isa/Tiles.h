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

} // namespace ashlar::isa

#endif // ASHLAR_ISA_TILES_H
