// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tile dialect: what happens in which buffer, tile by tile.

#ifndef ASHLAR_DIALECTS_TILE_TILEDIALECT_TD
#define ASHLAR_DIALECTS_TILE_TILEDIALECT_TD

include "mlir/IR/OpBase.td"

def Tile_Dialect : Dialect {
  let name = "tile";
  let cppNamespace = "::ashlar::tile";
  let summary = "Tiles of planned operations on buffers of the state buffer";
  let description = [{
    A `tile.sequence` says how the result of one planned `npu` operation is
    made: buffers are allocated, parts of operands are loaded into them, tiles
    of the result are computed and stored, buffers are freed. Loops stand for
    tiles that differ only in their place, so that a sequence of ten thousand
    tiles is a page. All regions are in the index space of the tensors of the
    `npu` operation; all addresses are bytes of every partition.
  }];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
}

#endif // ASHLAR_DIALECTS_TILE_TILEDIALECT_TD
