// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Interfaces of npu operations: what passes ask instead of matching on classes.

#ifndef ASHLAR_DIALECTS_NPU_NPUINTERFACES_TD
#define ASHLAR_DIALECTS_NPU_NPUINTERFACES_TD

include "dialects/NPU/NPUDialect.td"
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

def NPU_MapInterface : OpInterface<"MapInterface"> {
  let cppNamespace = "::ashlar::npu";
  let description = [{
    An element-wise operation of the vector unit: `op` of one or two operands
    with numpy broadcasting, then conversion to the result's storage.
  }];
  let methods = [
    InterfaceMethod<"The operands.", "::mlir::OperandRange", "getInputs">,
    InterfaceMethod<"The result.",
      "::mlir::TypedValue<::mlir::RankedTensorType>", "getY">,
    InterfaceMethod<"Name of the function (docs/Numerics.md).",
      "::llvm::StringRef", "getOp">,
    InterfaceMethod<"First parameter of the function.",
      "::llvm::APFloat", "getAlpha">,
    InterfaceMethod<"Second parameter of the function.",
      "::llvm::APFloat", "getBeta">,
    InterfaceMethod<"Factor of the first operand, or null.",
      "::mlir::Value", "getScale", (ins), /*methodBody=*/"",
      /*defaultImplementation=*/"return {};">,
    InterfaceMethod<"Term added to the first operand, or null.",
      "::mlir::Value", "getBias", (ins), /*methodBody=*/"",
      /*defaultImplementation=*/"return {};">,
    InterfaceMethod<[{
        True if scale and bias vary along `axis` of the result, or not at all:
        each channel has one of each where that axis is the partition dimension.
      }],
      "bool", "hasParametersAlong", (ins "int64_t":$axis), /*methodBody=*/"",
      /*defaultImplementation=*/"(void)axis; return true;">,
    InterfaceMethod<[{
        True if the operation changes the storage of its operand and nothing
        else.
      }],
      "bool", "isConversion", (ins), /*methodBody=*/"",
      /*defaultImplementation=*/"return false;">,
  ];
}

def NPU_DecisionInterface : OpInterface<"DecisionInterface"> {
  let cppNamespace = "::ashlar::npu";
  let description = [{
    What planning decides about every operation of the dialect (NPUAttrs.td).
    Null until then.
  }];
  let methods = [
    InterfaceMethod<"What it was made from.",
      "::ashlar::npu::OriginAttr", "getOriginAttr">,
    InterfaceMethod<"", "void", "setOriginAttr",
      (ins "::ashlar::npu::OriginAttr":$attr)>,
    InterfaceMethod<"Its result across partitions.",
      "::ashlar::npu::LayoutAttr", "getLayoutAttr">,
    InterfaceMethod<"", "void", "setLayoutAttr",
      (ins "::ashlar::npu::LayoutAttr":$attr)>,
    InterfaceMethod<"Memory of its result.",
      "::ashlar::npu::MemoryAttr", "getMemoryAttr">,
    InterfaceMethod<"", "void", "setMemoryAttr",
      (ins "::ashlar::npu::MemoryAttr":$attr)>,
    InterfaceMethod<"Tiles of its result.",
      "::ashlar::npu::TilingAttr", "getTilingAttr">,
    InterfaceMethod<"", "void", "setTilingAttr",
      (ins "::ashlar::npu::TilingAttr":$attr)>,
  ];
  let verify = [{ return ::ashlar::npu::verifyDecisions($_op); }];
}

/// Done by the vector unit: it reads no scale exponents and begins while other
/// engines still make the rest of its operands.
def NPU_VectorEngine : NativeOpTrait<"VectorEngine"> {
  let cppNamespace = "::ashlar::npu";
}

/// Works across an axis of its own choice, which may be another one than that
/// of its result (`work_axis` of its layout).
def NPU_OwnWorkAxis : NativeOpTrait<"OwnWorkAxis"> {
  let cppNamespace = "::ashlar::npu";
}

/// A sum of products on one of the arrays: operand 0 meets weights, operand 1,
/// and the drain applies the epilogue.
def NPU_Contraction : NativeOpTrait<"Contraction"> {
  let cppNamespace = "::ashlar::npu";
}

/// Done by the host: reads its operands whole in DRAM, and writes its result
/// there.
def NPU_HostEngine : NativeOpTrait<"HostEngine"> {
  let cppNamespace = "::ashlar::npu";
}

/// An operation of the dialect.
class NPU_Op<string mnemonic, list<Trait> traits = []>
    : Op<NPU_Dialect, mnemonic, !listconcat(traits, [NPU_DecisionInterface])>;

#endif // ASHLAR_DIALECTS_NPU_NPUINTERFACES_TD
