// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Interfaces of npu operations: what passes ask instead of matching on classes.

#ifndef ASHLAR_DIALECTS_NPU_NPUINTERFACES_TD
#define ASHLAR_DIALECTS_NPU_NPUINTERFACES_TD

include "mlir/IR/OpBase.td"

def NPU_LayoutInterface : OpInterface<"LayoutInterface"> {
  let cppNamespace = "::ashlar::npu";
  let description = [{
    The layouts in the state buffer that the code of an operation can read and
    write in place. An operand that it refuses is moved first, which costs
    cycles; `ashlar-npu-verify-layouts` checks what planning left.
  }];
  let methods = [
    InterfaceMethod<[{
        Why the operation cannot read operand `index` where it lies across the
        partitions that the operation works on; empty if it can.
      }],
      "std::string", "refuseOperand",
      (ins "unsigned":$index, "const ::ashlar::npu::Layout &":$layout),
      /*methodBody=*/"", /*defaultImplementation=*/[{
        (void)index;
        return ::ashlar::npu::refusePlain(layout);
      }]>,
    InterfaceMethod<[{
        Why the operation cannot write its result there; empty if it can.
        `layout` is that of the memory which it writes itself: scratch memory
        where another step finishes the result.
      }],
      "std::string", "refuseResult",
      (ins "const ::ashlar::npu::Layout &":$layout),
      /*methodBody=*/"", /*defaultImplementation=*/[{
        return ::ashlar::npu::refusePlain(layout);
      }]>,
  ];
}

#endif // ASHLAR_DIALECTS_NPU_NPUINTERFACES_TD
