// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attributes of npu operations: what belongs to the meaning of an operation,
// and what planning decided about it.

#ifndef ASHLAR_DIALECTS_NPU_NPUATTRS_TD
#define ASHLAR_DIALECTS_NPU_NPUATTRS_TD

include "dialects/NPU/NPUDialect.td"
include "mlir/IR/AttrTypeBase.td"

class NPU_Attr<string name, string attrMnemonic>
    : AttrDef<NPU_Dialect, name> {
  let mnemonic = attrMnemonic;
}

def NPU_QuantAttr : NPU_Attr<"Quant", "quant"> {
  let summary = "Zero points of a product of integers";
  let description = [{
    `sum (x - x_zero) * (w - w_zero)` is exact; a result of 8 bits is rounded and
    `y_zero` added to it (docs/Numerics.md 12). A zero point that is not written
    is none: `w_zero` of weights of 16 bits says that they are stored as bytes,
    value + `w_zero`; `y_zero` that the drain rounds to integers of 8 bits.
    Which ones an operation has to have, and their ranges, follow from its
    types (npu_pe_conv_c6).

    Example: `#npu.quant<x_zero = 120, w_zero = -3>`
  }];
  let parameters = (ins OptionalParameter<"std::optional<int64_t>">:$x_zero,
                        OptionalParameter<"std::optional<int64_t>">:$w_zero,
                        OptionalParameter<"std::optional<int64_t>">:$y_zero);
  let assemblyFormat = "`<` struct(params) `>`";
}

#endif // ASHLAR_DIALECTS_NPU_NPUATTRS_TD
