// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Buffers as values: what lies in them, and how.

#ifndef ASHLAR_DIALECTS_TILE_TILETYPES_TD
#define ASHLAR_DIALECTS_TILE_TILETYPES_TD

include "dialects/Tile/TileDialect.td"
include "mlir/IR/AttrTypeBase.td"

def Tile_FoldAttr : AttrDef<Tile_Dialect, "Fold"> {
  let mnemonic = "fold";
  let summary = "Neighbours along an axis that lie side by side in partitions";
  let description = [{
    `count` neighbours along `axis` (-1: the last one) lie in as many groups of
    `pitch` partitions next to the axis `across` (analysis::Lanes). `repeated`
    (0 or 1): there is one index along `axis`, and every group holds it.

    Example: `#tile.fold<count = 4, pitch = 32, axis = 2>`
  }];
  let parameters = (ins "int64_t":$count, "int64_t":$pitch,
                        DefaultValuedParameter<"int64_t", "-1">:$axis,
                        DefaultValuedParameter<"int64_t", "1">:$across,
                        DefaultValuedParameter<"int64_t", "0">:$repeated);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Tile_BufferType : TypeDef<Tile_Dialect, "Buffer"> {
  let mnemonic = "buffer";
  let summary = "Elements in the state buffer";
  let description = [{
    A rectangular part of a tensor in the state buffer: its extents and
    storage, the axis that is mapped to partitions (-1: one partition holds all
    of it), and a fold if there is one.

    Constraints:
    - buffer_c1: the elements have a storage; `axis` is one of the tensor's.
    - buffer_c2: the axes of a fold are axes of the tensor.

    Example: `!tile.buffer<tensor<1x64x8x8xf32>, axis = 1>`
  }];
  let parameters = (ins "::mlir::RankedTensorType":$tensor, "int64_t":$axis,
                        OptionalParameter<"::ashlar::tile::FoldAttr">:$fold);
  let assemblyFormat =
      "`<` $tensor `,` `axis` `=` $axis (`,` `fold` `=` $fold^)? `>`";
  let genVerifyDecl = 1;
}

#endif // ASHLAR_DIALECTS_TILE_TILETYPES_TD
