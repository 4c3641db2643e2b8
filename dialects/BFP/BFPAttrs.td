// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attributes of the `bfp` dialect.

#ifndef ASHLAR_DIALECTS_BFP_BFPATTRS_TD
#define ASHLAR_DIALECTS_BFP_BFPATTRS_TD

include "dialects/BFP/BFPDialect.td"
include "mlir/IR/AttrTypeBase.td"

def BFP_FormatAttr : AttrDef<BFP_Dialect, "Format"> {
  let mnemonic = "format";
  let summary = "A block floating point format that was requested";
  let description = [{
    What the user or the format search requests for one factor of a product,
    before the axis and the storage of any tensor are known: `!bfp.block` is the
    format that a tensor got. Parameters are those of `--format`
    (docs/BlockFloatingPoint.md):

    * `mantissa`, `block`, `range`: as in `!bfp.block`;
    * `unsigned = auto`: tensors without negative values keep `mantissa` bits
      and store no sign;
    * `rows`: of weights, how many neighbouring output channels share the
      exponents of their blocks, or `quadrant`, which divides each tensor of
      weights into four; 1 if left out.

    Example: `#bfp.format<mantissa = 6, block = 16, range = 7, rows = 4>`

    - format_c1: the parameters are those that docs/Numerics.md 1 admits.
  }];
  let parameters = (ins "int":$mantissa, "int64_t":$block, "int":$range,
                        DefaultValuedParameter<"bool", "false">:$dropsSigns,
                        DefaultValuedParameter<"int", "1">:$rows);
  let builders = [AttrBuilder<(ins "const ::ashlar::numerics::BlockFormat &":$format)>];
  let assemblyFormat = [{
    `<` `mantissa` `=` $mantissa `,` `block` `=` custom<BlockLength>($block)
    `,` `range` `=` $range `` custom<DroppedSignsAndRows>($dropsSigns, $rows) `>`
  }];
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// The format as the numerics know it.
    ::ashlar::numerics::BlockFormat getFormat() const;
  }];
}

#endif // ASHLAR_DIALECTS_BFP_BFPATTRS_TD
