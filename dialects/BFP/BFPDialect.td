// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The `bfp` dialect: number formats as IR. Purpose: name the dialect and its
// definitions of types; assumes nothing about machines (docs/Numerics.md decides).

#ifndef ASHLAR_DIALECTS_BFP_BFPDIALECT_TD
#define ASHLAR_DIALECTS_BFP_BFPDIALECT_TD

include "mlir/IR/OpBase.td"

def BFP_Dialect : Dialect {
  let name = "bfp";
  let summary = "Block floating point storage and exact multiply-accumulate";
  let description = [{
    The level of number formats. After the quantise phase the element type of every
    tensor is its storage, and this dialect has what `nn` cannot express: the
    block type `!bfp.block`, the conversions `bfp.encode` and `bfp.decode`, and
    the multiplying ops `bfp.conv` and `bfp.matmul` whose accumulation is exact
    and whose epilogue has a fixed order (docs/Numerics.md 4 and 6).
  }];
  let cppNamespace = "::ashlar::bfp";
  // Decisions and other records may lie on every operation.
  let dependentDialects = ["::ashlar::records::AshlarDialect"];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
  let hasOperationAttrVerify = 1;
}

#endif // ASHLAR_DIALECTS_BFP_BFPDIALECT_TD
