// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a dialect of formats tells `nn` of its element types.

#ifndef ASHLAR_DIALECTS_NN_NNINTERFACES_TD
#define ASHLAR_DIALECTS_NN_NNINTERFACES_TD

include "mlir/IR/OpBase.td"

def NN_StoredElement : TypeInterface<"StoredElement"> {
  let cppNamespace = "::ashlar::nn";
  let description = [{
    An element type with a storage of its own, such as `!bfp.block`. Builtin
    types need no interface.
  }];
  let methods = [InterfaceMethod<
    "True if a tensor of this shape can have such elements.", "bool",
    "fitsShape", (ins "::llvm::ArrayRef<int64_t>":$shape)>];
}

#endif // ASHLAR_DIALECTS_NN_NNINTERFACES_TD
