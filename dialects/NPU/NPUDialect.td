// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The npu dialect: tensor operations bound to an engine of the machine.

#ifndef ASHLAR_DIALECTS_NPU_NPUDIALECT_TD
#define ASHLAR_DIALECTS_NPU_NPUDIALECT_TD

include "mlir/IR/OpBase.td"

def NPU_Dialect : Dialect {
  let name = "npu";
  let cppNamespace = "::ashlar::npu";
  let summary = "Tensor operations bound to an engine of the machine";
  let description = [{
    One operation per piece of work that an engine does on whole tensors. The
    engine is part of the operation's name: `pe` is the dense array with its
    drain, `tcu` the sparse cluster, `vec` the vector unit, `dma` the movement
    engines. Operands and
    results carry storage types (`!bfp.block` or builtin element types): the
    numeric plan is fixed before this dialect is entered, so no operation here
    may change a bit of any value.

    Planning decisions are discardable attributes in the `npu.` namespace:
    `npu.axis` (the axis that lies across partitions), `npu.placement` (memory
    and addresses) and `npu.tile` (extents of one emitted tile). The dialect
    verifies the type and range of each of them and knows no others
    (NPUAttributes.cpp): passes read them without asking again.
  }];
  let hasOperationAttrVerify = 1;
  let useDefaultAttributePrinterParser = 1;
}

class NPU_Op<string mnemonic, list<Trait> traits = []>
    : Op<NPU_Dialect, mnemonic, traits>;

#endif // ASHLAR_DIALECTS_NPU_NPUDIALECT_TD
