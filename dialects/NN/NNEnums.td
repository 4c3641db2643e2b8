// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Enumerations of the `nn` dialect. Keywords equal the names of the machine's
// functions so that later phases can map by name.

#ifndef ASHLAR_DIALECTS_NN_NNENUMS_TD
#define ASHLAR_DIALECTS_NN_NNENUMS_TD

include "mlir/IR/EnumAttr.td"

class NN_Enum<string name, string summary, list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::ashlar::nn";
}

def NN_UnaryFunctionAttr : NN_Enum<"UnaryFunction", "element-wise function of one operand", [
  I32EnumAttrCase<"Copy", 0, "copy">,
  I32EnumAttrCase<"Neg", 1, "neg">,
  I32EnumAttrCase<"Abs", 2, "abs">,
  I32EnumAttrCase<"Sqrt", 3, "sqrt">,
  I32EnumAttrCase<"Exp", 4, "exp">,
  I32EnumAttrCase<"Log", 5, "log">,
  I32EnumAttrCase<"Reciprocal", 6, "reciprocal">,
  I32EnumAttrCase<"Relu", 7, "relu">,
  I32EnumAttrCase<"LeakyRelu", 8, "leakyRelu">,
  I32EnumAttrCase<"Clip", 9, "clip">,
  I32EnumAttrCase<"Sigmoid", 10, "sigmoid">,
  I32EnumAttrCase<"Tanh", 11, "tanh">,
  I32EnumAttrCase<"HardSigmoid", 12, "hardSigmoid">,
  I32EnumAttrCase<"HardSwish", 13, "hardSwish">,
  I32EnumAttrCase<"Elu", 14, "elu">,
  I32EnumAttrCase<"Selu", 15, "selu">,
  I32EnumAttrCase<"Softplus", 16, "softplus">,
  I32EnumAttrCase<"Softsign", 17, "softsign">,
  I32EnumAttrCase<"Erf", 18, "erf">,
  I32EnumAttrCase<"Gelu", 19, "gelu">,
  I32EnumAttrCase<"Floor", 20, "floor">,
  I32EnumAttrCase<"Ceil", 21, "ceil">,
  I32EnumAttrCase<"Round", 22, "round">,
  I32EnumAttrCase<"Sign", 23, "sign">,
  I32EnumAttrCase<"Not", 24, "not">,
  I32EnumAttrCase<"Swish", 25, "swish">,
  I32EnumAttrCase<"GeluTanh", 26, "geluTanh">
]>;

def NN_CompareKindAttr : NN_Enum<"CompareKind", "comparison", [
  I32EnumAttrCase<"Equal", 0, "equal">,
  I32EnumAttrCase<"Less", 1, "less">,
  I32EnumAttrCase<"LessOrEqual", 2, "lessOrEqual">,
  I32EnumAttrCase<"Greater", 3, "greater">,
  I32EnumAttrCase<"GreaterOrEqual", 4, "greaterOrEqual">
]>;

def NN_LogicalKindAttr : NN_Enum<"LogicalKind", "operation on booleans", [
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
