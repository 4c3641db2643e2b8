// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operations on tiles; README.md has an example of a whole sequence.

#ifndef ASHLAR_DIALECTS_TILE_TILEOPS_TD
#define ASHLAR_DIALECTS_TILE_TILEOPS_TD

include "dialects/Tile/TileTypes.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/RegionKindInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

/// The memories that tile operations touch.
def Tile_StateBuffer : Resource<"::ashlar::tile::StateBuffer">;
def Tile_Tensors : Resource<"::ashlar::tile::Tensors">;
def Tile_WeightRing : Resource<"::ashlar::tile::WeightRing">;

class Tile_Op<string mnemonic, list<Trait> traits = []>
    : Op<Tile_Dialect, mnemonic, traits>;
/// An operation of a sequence.
class Tile_Step<string mnemonic, list<Trait> traits = []>
    : Tile_Op<mnemonic, traits>;
/// One whose result has a name when it is printed.
class Tile_NamedStep<string mnemonic, list<Trait> traits = []>
    : Tile_Step<mnemonic, !listconcat(traits, [
        DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>])>;

/// A region: first indices, affine in the indices of the loops around, and
/// extents.
defvar Tile_Region = (ins Variadic<Index>:$indices, AffineMapAttr:$start,
                          DenseI64ArrayAttr:$sizes);

def Tile_SequenceOp : Tile_Op<"sequence", [
    NoTerminator, SingleBlock, IsolatedFromAbove, RecursiveMemoryEffects]> {
  let summary = "how the result of an npu operation is made, tile by tile";
  let description = [{
    Every planned `npu` operation has one sequence. The order of the sequences
    in `main` is the order of the program. One without operations belongs to a
    result that takes no instruction of its own (`npu::isAliased`).

    Constraints:
    - sequence_c1: `node` is the result of an `npu` operation.

    Example:
    ```mlir
    tile.sequence %1 : tensor<1x64x32xf32> {
      tile.for %i < 4 {
        %x = tile.alloc [%i mod 2 * 4096 + 8192] bytes 2048 : !tile.buffer<tensor<1x64x8xf32>, axis = 1>
        tile.load operand 0 [0, 0, %i * 8] sizes [1, 64, 8] into %x : !tile.buffer<tensor<1x64x8xf32>, axis = 1>
        %y = tile.view result [0, 0, %i * 8] sizes [1, 64, 8] : !tile.buffer<tensor<1x64x8xf32>, axis = 1>
        tile.compute [0, 0, %i * 8] sizes [1, 64, 8] reads [0] (%x : !tile.buffer<tensor<1x64x8xf32>, axis = 1>) into %y : !tile.buffer<tensor<1x64x8xf32>, axis = 1>
        tile.free %x : !tile.buffer<tensor<1x64x8xf32>, axis = 1>
      }
    }
    ```
  }];
  let arguments = (ins AnyRankedTensor:$node);
  let regions = (region MaxSizedRegion<1>:$body);
  let assemblyFormat = "$node `:` type($node) attr-dict-with-keyword $body";
  let hasVerifier = 1;
  let skipDefaultBuilders = 1;
  let builders = [OpBuilder<(ins "::mlir::Value":$node)>];
}

def Tile_ForOp : Tile_Step<"for", [
    NoTerminator, SingleBlock, RecursiveMemoryEffects,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>]> {
  let summary = "the same operations again at other places";
  let description = [{
    The body takes place `count` times; its argument is the index.

    Constraints:
    - for_c1: `count` is from 1 to 2^24; the body has one index.
    - for_c2: a loop is in a sequence or in a loop.
  }];
  let arguments = (ins I64Attr:$count);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let skipDefaultBuilders = 1;
  let builders = [OpBuilder<(ins "int64_t":$count)>];
  let extraClassDeclaration = [{
    /// The index of the iteration.
    ::mlir::BlockArgument getIndex() { return getBody().front().getArgument(0); }
  }];
}

def Tile_AllocOp : Tile_NamedStep<"alloc"> {
  let summary = "a buffer in the scratch memory of the operation";
  let description = [{
    Until `tile.free`, the `bytes` of every partition from the address on belong
    to the buffer. The address is affine in the indices of loops: slots take
    turns by `mod`.

    Constraints:
    - alloc_c1: one address, with positive constants in `mod`, `floordiv` and
      `ceildiv`; `bytes` is not negative.
    - alloc_c2: the address is a multiple of 8, the buffer within one slot of
      the plan, apart from all that are alive, and large enough for its type
      (`ashlar-tile-verify`).
  }];
  let arguments = (ins Variadic<Index>:$indices, AffineMapAttr:$address,
                       I64Attr:$bytes);
  let results = (outs Res<Tile_BufferType, "",
                          [MemAlloc<Tile_StateBuffer>]>:$buffer);
  let assemblyFormat = [{
    custom<Affine>($indices, $address) `bytes` $bytes attr-dict `:`
    type($buffer)
  }];
  let hasVerifier = 1;
}

def Tile_FreeOp : Tile_Step<"free"> {
  let summary = "the end of the life of buffers";
  let description = [{
    Constraints:
    - free_c1: the buffers are alive (`ashlar-tile-verify`).
  }];
  let arguments = (ins Arg<Variadic<Tile_BufferType>, "",
                           [MemFree<Tile_StateBuffer>]>:$buffers);
  let assemblyFormat = "$buffers attr-dict `:` type($buffers)";
}

def Tile_LoadOp
    : Tile_Step<"load", [MemoryEffects<[MemRead<Tile_Tensors>]>]> {
  let summary = "a part of an operand into a buffer";
  let description = [{
    Copies the region of operand `operand` of the node. With `padded` the region
    may reach beyond the operand; what lies outside is zero.

    Constraints:
    - load_c1: the extents are those of the buffer; one first index for each.
    - load_c2: the buffer has the storage, the partition axis and the fold in
      which the operation reads the operand; the region is inside the operand,
      or the operation reads it with zeros around it (`ashlar-tile-verify`).
  }];
  let arguments = !con((ins I64Attr:$operand), Tile_Region,
      (ins UnitAttr:$padded,
           Arg<Tile_BufferType, "", [MemWrite<Tile_StateBuffer>]>:$buffer));
  let assemblyFormat = [{
    `operand` $operand custom<Affine>($indices, $start) `sizes` $sizes
    (`padded` $padded^)? `into` $buffer attr-dict `:` type($buffer)
  }];
  let hasVerifier = 1;
}

def Tile_FillOp : Tile_Step<"fill"> {
  let summary = "a part of an operand whose elements are all equal";
  let description = [{
    The same as a load of a constant of one value, without reading it.

    Constraints:
    - fill_c1: as load_c1.
    - fill_c2: as load_c2; `bits` are those of every element of the operand
      (`ashlar-tile-verify`).
  }];
  let arguments = !con((ins I64Attr:$operand), Tile_Region,
      (ins I64Attr:$bits,
           Arg<Tile_BufferType, "", [MemWrite<Tile_StateBuffer>]>:$buffer));
  let assemblyFormat = [{
    `operand` $operand custom<Affine>($indices, $start) `sizes` $sizes
    `bits` $bits `into` $buffer attr-dict `:` type($buffer)
  }];
  let hasVerifier = 1;
}

def Tile_ViewOp : Tile_NamedStep<"view", [NoMemoryEffect]> {
  let summary = "a part of an operand or of the result where it lies";
  let description = [{
    The region of a tensor that the plan keeps in the state buffer, in the form
    in which the operation takes it: no copy.

    Constraints:
    - view_c1: as load_c1 for the type of the view.
    - view_c2: the tensor lies in the state buffer across that axis and in that
      fold; the region is inside the tensor (`ashlar-tile-verify`).
  }];
  let arguments = !con((ins OptionalAttr<I64Attr>:$operand), Tile_Region);
  let results = (outs Tile_BufferType:$view);
  let assemblyFormat = [{
    (`operand` $operand^) : (`result`)? custom<Affine>($indices, $start)
    `sizes` $sizes attr-dict `:` type($view)
  }];
  let hasVerifier = 1;
}

def Tile_TensorOp : Tile_NamedStep<"tensor", [NoMemoryEffect]> {
  let summary = "an operand or the result, whole, wherever it lies";
  let description = [{
    What copy queues and the host read and write themselves.

    Constraints:
    - tensor_c1: the type is that of the operand or result, and the operation
      takes it so (`ashlar-tile-verify`).
  }];
  let arguments = (ins OptionalAttr<I64Attr>:$operand);
  let results = (outs AnyRankedTensor:$tensor);
  let assemblyFormat = [{
    (`operand` $operand^) : (`result`)? attr-dict `:` type($tensor)
  }];
}

/// A buffer, or a whole tensor.
def Tile_Place : AnyTypeOf<[Tile_BufferType, AnyRankedTensor]>;

def Tile_ComputeOp : Tile_Step<"compute", [
    AttrSizedOperandSegments,
    MemoryEffects<[MemRead<Tile_Tensors>, MemWrite<Tile_Tensors>]>]> {
  let summary = "one tile of the result";
  let description = [{
    Does the work of the node for a region of its result. `reads` numbers the
    operands of the node that `inputs` hold: all but those that are streamed
    (weights and parameters of products). `scratch` is memory that the
    operation needs besides. With `measures` nothing is stored: the largest
    exponent of a tensor with one exponent is found, which a second pass over
    the tiles encodes under.

    Constraints:
    - compute_c1: one extent for each first index; as many inputs as `reads`.
    - compute_c2: inputs, place of the result and scratch are what the tiling
      model of the node asks for with this region; the region is a tile of the
      plan; every one is computed once, and measured once where the node
      measures (`ashlar-tile-verify`).
  }];
  let arguments = !con(Tile_Region, (ins
      UnitAttr:$measures, DenseI64ArrayAttr:$reads,
      Arg<Variadic<Tile_Place>, "", [MemRead<Tile_StateBuffer>]>:$inputs,
      Arg<Tile_Place, "", [MemWrite<Tile_StateBuffer>]>:$target,
      Arg<Variadic<Tile_BufferType>, "",
          [MemRead<Tile_StateBuffer>, MemWrite<Tile_StateBuffer>]>:$scratch));
  let assemblyFormat = [{
    custom<Affine>($indices, $start) `sizes` $sizes (`measures` $measures^)?
    `reads` $reads (`(` $inputs^ `:` type($inputs) `)`)? `into` $target `:`
    type($target) (`scratch` `(` $scratch^ `:` type($scratch) `)`)? attr-dict
  }];
  let hasVerifier = 1;
}

def Tile_StoreOp
    : Tile_Step<"store", [MemoryEffects<[MemWrite<Tile_Tensors>]>]> {
  let summary = "a tile of the result from its buffer to its place";
  let description = [{
    Constraints:
    - store_c1: as load_c1.
    - store_c2: the buffer holds exactly this region of the result, computed
      before (`ashlar-tile-verify`).
  }];
  let arguments = !con((ins Arg<Tile_BufferType, "",
                                [MemRead<Tile_StateBuffer>]>:$buffer),
                       Tile_Region);
  let assemblyFormat = [{
    $buffer `to` custom<Affine>($indices, $start) `sizes` $sizes attr-dict `:`
    type($buffer)
  }];
  let hasVerifier = 1;
}

def Tile_ReleaseWeightsOp
    : Tile_Step<"release_weights", [MemoryEffects<[MemFree<Tile_WeightRing>]>]> {
  let summary = "weights of earlier tiles may leave the ring";
  let description = [{
    Tiles of other outputs of a product have other weights.

    Constraints:
    - release_weights_c1: between two tiles of other outputs of a product there
      is one (`ashlar-tile-verify`).
  }];
  let assemblyFormat = "attr-dict";
}

#endif // ASHLAR_DIALECTS_TILE_TILEOPS_TD
