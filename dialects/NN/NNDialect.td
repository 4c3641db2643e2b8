// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The `nn` dialect itself and the base classes of its operations.

#ifndef ASHLAR_DIALECTS_NN_NNDIALECT_TD
#define ASHLAR_DIALECTS_NN_NNDIALECT_TD

include "mlir/IR/OpBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def NN_Dialect : Dialect {
  let name = "nn";
  let cppNamespace = "::ashlar::nn";
  let summary = "what a network computes: static-shaped tensors, ONNX semantics normalised";
  let description = [{
    One operation per concept, every default resolved, every shape static.
    The dialect says *what* is computed; formats (`bfp`) and machine engines
    (`npu`) come later.

    A module holds one `func.func @main`; its arguments and results carry the
    ONNX names as `nn.name`; the module carries `nn.model_name`. Tensors are in
    ONNX's logical order (batch, channel, spatial...).

    Verifiers check shapes and attributes strictly and element types only
    loosely: from the quantise phase on, a value's type is its storage type.
  }];
  // Decisions and other records may lie on every operation.
  let dependentDialects = ["::ashlar::records::AshlarDialect"];
  let hasConstantMaterializer = 1;
}

/// Any tensor that a memory can hold (NNTypes.h). Which element types an
/// operation computes with is left open on purpose.
def NN_IsStored : CPred<"::ashlar::nn::isStoredTensor($_self)">;
def NN_Tensor : Type<NN_IsStored,
    "statically shaped tensor of floats, integers or blocks with at most 2^40 "
    "elements in 64 dimensions", "::mlir::RankedTensorType">;

/// Work of the host: no engine does it.
def NN_HostFunction : NativeOpTrait<"HostFunction"> {
  let cppNamespace = "::ashlar::nn";
}

class NN_Op<string mnemonic, list<Trait> traits = []>
    : Op<NN_Dialect, mnemonic, !listconcat([Pure], traits)>;

#endif // ASHLAR_DIALECTS_NN_NNDIALECT_TD
