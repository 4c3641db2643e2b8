// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Types of the `bfp` dialect, and the constraints that ops share.
// Assumption: a block type is only ever the element type of a ranked tensor;
// it carries the block axis because the axis is part of the storage.

#ifndef ASHLAR_DIALECTS_BFP_BFPTYPES_TD
#define ASHLAR_DIALECTS_BFP_BFPTYPES_TD

include "dialects/BFP/BFPDialect.td"
include "dialects/NN/NNDialect.td"
include "dialects/NN/NNInterfaces.td"
include "mlir/IR/AttrTypeBase.td"

def BFP_BlockType : TypeDef<BFP_Dialect, "Block",
    [DeclareTypeInterfaceMethods<NN_StoredElement>]> {
  let mnemonic = "block";
  let summary = "Elements that share an exponent per block";
  let description = [{
    Element type of an encoded tensor (docs/Numerics.md 1). Along dimension
    `axis` of the tensor, runs of `block` elements starting at index 0 share an
    exponent; the last run may be short. A mantissa `m` is a symmetric integer,
    `|m| <= 2^(mantissa-1) - 1`, of value `m * 2^e`, `e = x - (mantissa - 2)`,
    `x` being the stored block exponent.

    * `mantissa` (W): 3 to 16 bits, sign included;
    * `block` (B): 8, 16, 32, 64, `axis` (the whole axis is one block) or
      `tensor` (the whole tensor is one block; `axis` then names the contraction
      axis only);
    * `range` (D): 0, 1, 3, 7 or 15 octaves within which alignment is exact;
    * `axis`: the dimension of the tensor along which blocks run;
    * `unsigned`: no element is negative, and memories hold the W - 1 bits below
      the sign; W is 4 to 9;
    * `rows`: of weights, how many indices of the dimension of output channels
      share the exponents of their blocks, counted from 0. With the block axis
      one of the first two dimensions, this is the other one. 1 if left out; the
      last rows may be fewer.

    ```mlir
    tensor<1x64x8x8x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1>>
    tensor<64x32x3x3x!bfp.block<mantissa = 8, block = 16, range = 7, axis = 1, rows = 4>>
    ```
  }];
  let parameters = (ins "unsigned":$mantissa, "int64_t":$block,
                        "unsigned":$range, "int64_t":$axis,
                        DefaultValuedParameter<"bool", "false">:$isUnsigned,
                        DefaultValuedParameter<"unsigned", "1">:$rows);
  let assemblyFormat = [{
    `<` `mantissa` `=` $mantissa `,` `block` `=` custom<BlockLength>($block)
    `,` `range` `=` $range `,` `axis` `=` $axis ``
    custom<SignsAndRows>($isUnsigned, $rows) `>`
  }];
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// `block` value of "one block per row of the axis".
    static constexpr int64_t kWholeAxis = 0;
    /// `block` value of "one block per tensor".
    static constexpr int64_t kWholeTensor = -1;

    /// Bytes that one mantissa takes in storage: 1 up to 8 bits, else 2.
    unsigned getMantissaBytes() const {
      return getMantissa() <= 8 || getIsUnsigned() ? 1 : 2;
    }
    /// x - e: the block exponent minus the exponent of a mantissa step.
    int64_t getExponentOffset() const {
      return static_cast<int64_t>(getMantissa()) - 2;
    }
    bool isWholeAxis() const { return getBlock() == kWholeAxis; }
    bool isWholeTensor() const { return getBlock() == kWholeTensor; }
    /// True if output channels share exponents.
    bool sharesRows() const { return getRows() > 1; }
    /// The dimension of output channels, where they share exponents.
    int64_t getRowAxis() const { return 1 - getAxis(); }
    /// The same format with blocks along another dimension.
    BlockType withAxis(int64_t axis) const;
    /// True when only the axis may differ.
    bool sameFormat(BlockType other) const;
  }];
}

/// A tensor of certain elements within the limits of NNTypes.h.
class BFP_TensorOf<list<Type> elements>
    : ConfinedType<StaticShapeTensorOf<elements>, [NN_IsStored],
                   StaticShapeTensorOf<elements>.summary #
                   " that a memory can hold">;

/// Any storage a tensor of floats can have.
def BFP_StorageTensor : BFP_TensorOf<[AnyFloat, BFP_BlockType]>;
/// An encoded tensor.
def BFP_BlockTensor : BFP_TensorOf<[BFP_BlockType]>;
/// A tensor of floats that is not encoded.
def BFP_FloatTensor : BFP_TensorOf<[AnyFloat]>;
/// A tensor of integers.
def BFP_IntegerTensor : BFP_TensorOf<[AnyInteger]>;
/// What an epilogue adds or multiplies per output channel.
def BFP_ChannelTensor : BFP_TensorOf<[F32]>;

#endif // ASHLAR_DIALECTS_BFP_BFPTYPES_TD
