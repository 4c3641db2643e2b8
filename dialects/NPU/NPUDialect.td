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
    Each operation is work that one engine does on whole tensors. The
    engine is part of the operation's name: `pe` is the dense array with its
    drain, `tcu` the sparse cluster, `vec` the vector unit, `dma` the copy
    engines. Operands and
    results have storage types (`!bfp.block` or builtin element types): the
    numeric plan is fixed before this dialect is entered, so no operation here
    may change a bit of any value.

    Planning decisions are attributes of the operations, each with a type and a
    verifier (NPUAttrs.td): `origin`, `layout`, `memory` and `tiling` on all of
    them, others where there is a choice. On modules the dialect accepts only the
    attributes of NPUAttributes.cpp, so passes read them
    without further checks.
  }];
  // Decisions and other records may lie on every operation.
  let dependentDialects = ["::ashlar::records::AshlarDialect"];
  let hasOperationAttrVerify = 1;
  let useDefaultAttributePrinterParser = 1;
}

#endif // ASHLAR_DIALECTS_NPU_NPUDIALECT_TD
