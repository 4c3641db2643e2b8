// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Enumerations of the `nn` dialect. Keywords equal the names of the machine's
// functions so that later phases can map by name.

#ifndef ASHLAR_DIALECTS_NN_NNENUMS_TD
#define ASHLAR_DIALECTS_NN_NNENUMS_TD

include "dialects/Functions.td"
include "mlir/IR/EnumAttr.td"

class NN_Enum<string name, string summary, list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::ashlar::nn";
}

def NN_UnaryFunctionAttr : NN_Enum<"UnaryFunction", "element-wise function of one operand",
  !foreach(f, AshlarUnaryFunctions,
           I32EnumAttrCase<f.symbol, f.number, f.name>)>;

def NN_CompareKindAttr : NN_Enum<"CompareKind", "comparison", [
  I32EnumAttrCase<"Equal", 0, "equal">,
  I32EnumAttrCase<"Less", 1, "less">,
  I32EnumAttrCase<"LessOrEqual", 2, "lessOrEqual">,
  I32EnumAttrCase<"Greater", 3, "greater">,
  I32EnumAttrCase<"GreaterOrEqual", 4, "greaterOrEqual">
]>;

def NN_LogicalKindAttr : NN_Enum<"LogicalKind", "operation on booleans, or bit by bit on integers", [
  I32EnumAttrCase<"And", 0, "and">,
  I32EnumAttrCase<"Or", 1, "or">,
  I32EnumAttrCase<"Xor", 2, "xor">
]>;

def NN_ReduceKindAttr : NN_Enum<"ReduceKind", "reduction", [
  I32EnumAttrCase<"Sum", 0, "sum">,
  I32EnumAttrCase<"Mean", 1, "mean">,
  I32EnumAttrCase<"Max", 2, "max">,
  I32EnumAttrCase<"Min", 3, "min">,
  I32EnumAttrCase<"Prod", 4, "prod">,
  I32EnumAttrCase<"SumSquare", 5, "sumSquare">,
  I32EnumAttrCase<"L1", 6, "l1">
]>;

def NN_ArgKindAttr : NN_Enum<"ArgKind", "index reduction", [
  I32EnumAttrCase<"Max", 0, "max">,
  I32EnumAttrCase<"Min", 1, "min">
]>;

def NN_PadModeAttr : NN_Enum<"PadMode", "what the new elements hold", [
  I32EnumAttrCase<"Constant", 0, "constant">,
  I32EnumAttrCase<"Reflect", 1, "reflect">,
  I32EnumAttrCase<"Edge", 2, "edge">,
  I32EnumAttrCase<"Wrap", 3, "wrap">
]>;

#endif // ASHLAR_DIALECTS_NN_NNENUMS_TD
