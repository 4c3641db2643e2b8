// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Element-wise operations. Shapes of two and more operands broadcast as in
// numpy: aligned at the last dimension, a missing or unit dimension repeats.

#ifndef ASHLAR_DIALECTS_NN_NNMATHOPS_TD
#define ASHLAR_DIALECTS_NN_NNMATHOPS_TD

include "dialects/NN/NNDialect.td"
include "dialects/NN/NNEnums.td"

class NN_BinaryOp<string mnemonic, string summaryText, string semantics,
                  list<Trait> traits = []> : NN_Op<mnemonic, traits> {
  let summary = summaryText;
  let description = [{
    }] # semantics # [{

    Constraints:
    - }] # mnemonic # [{_c1: the operand shapes broadcast to the result shape.

    Example:
    ```mlir
    %0 = nn.}] # mnemonic # [{ %a, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
    ```
  }];
  let arguments = (ins NN_Tensor:$a, NN_Tensor:$b);
  let results = (outs NN_Tensor:$y);
  let assemblyFormat = "$a `,` $b attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def NN_AddOp : NN_BinaryOp<"add", "sum", "`y = a + b`.">;
def NN_SubOp : NN_BinaryOp<"sub", "difference", "`y = a - b`.">;
def NN_MulOp : NN_BinaryOp<"mul", "product", "`y = a * b`.">;
def NN_DivOp : NN_BinaryOp<"div", "quotient",
  "`y = a / b`; integers truncate towards zero.">;
def NN_MaxOp : NN_BinaryOp<"max", "larger operand", "`y = a > b ? a : b`.">;
def NN_MinOp : NN_BinaryOp<"min", "smaller operand", "`y = a < b ? a : b`.">;
def NN_PowOp : NN_BinaryOp<"pow", "power",
  "`y = a ^ b`; the result has the element type of `a`.">;
def NN_PReluOp : NN_BinaryOp<"prelu", "parametric rectifier",
  "`y = a < 0 ? a * b : a`; `b` is the slope.">;
def NN_ModOp : NN_BinaryOp<"mod", "remainder", [{`y = a mod b`. The result has the sign
    of `b`; with the unit attribute `fmod` that of `a` (C's `fmod`).}]> {
  let arguments = (ins NN_Tensor:$a, NN_Tensor:$b, UnitAttr:$fmod);
}

class NN_KindOp<string mnemonic, Attr kind> : NN_Op<mnemonic> {
  let arguments = (ins kind:$kind, NN_Tensor:$a, NN_Tensor:$b);
  let results = (outs NN_Tensor:$y);
  let assemblyFormat = "$kind $a `,` $b attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def NN_CompareOp : NN_KindOp<"compare", NN_CompareKindAttr> {
  let summary = "comparison to booleans";
  let description = [{
    `y = a kind b`; a comparison with NaN is false.

    Constraints:
    - compare_c1: the operand shapes broadcast to the result shape.

    Example:
    ```mlir
    %0 = nn.compare less %a, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xi1>
    ```
  }];
}

def NN_LogicalOp : NN_KindOp<"logical", NN_LogicalKindAttr> {
  let summary = "operation on booleans or bits";
  let description = [{
    `y = a kind b` on booleans, bit by bit on integers.

    Constraints:
    - logical_c1: the operand shapes broadcast to the result shape.

    Example:
    ```mlir
    %0 = nn.logical and %a, %b : (tensor<2x3xi1>, tensor<3xi1>) -> tensor<2x3xi1>
    ```
  }];
}

def NN_WhereOp : NN_Op<"where"> {
  let summary = "choice per element";
  let description = [{
    `y = condition ? a : b`.

    Constraints:
    - where_c1: the three operand shapes broadcast to the result shape.

    Example:
    ```mlir
    %0 = nn.where %c, %a, %b : (tensor<2x3xi1>, tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
    ```
  }];
  let arguments = (ins NN_Tensor:$condition, NN_Tensor:$a, NN_Tensor:$b);
  let results = (outs NN_Tensor:$y);
  let assemblyFormat = [{
    $condition `,` $a `,` $b attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def NN_UnaryOp : NN_Op<"unary", [SameOperandsAndResultShape]> { // unary_c1
  let summary = "element-wise function";
  let description = [{
    `y = function(x)`. `alpha` and `beta` parameterise: leakyRelu (slope alpha),
    clip (to [alpha, beta]), hardSigmoid (alpha * x + beta clipped to [0, 1]),
    hardSwish (x * clip(x/6 + 1/2, 0, 1)), elu (alpha * (exp(x) - 1) below 0), selu
    (beta * elu with alpha), swish (x / (1 + exp(-alpha * x))). round is to
    nearest even; gelu is the exact form x/2 * (1 + erf(x / sqrt 2)), geluTanh
    its approximation by tanh; relu is max(x, 0).

    Constraints:
    - unary_c1: the result has the shape of x.

    Example:
    ```mlir
    %0 = nn.unary clip %x {alpha = 0.0 : f32, beta = 6.0 : f32} : (tensor<4xf32>) -> tensor<4xf32>
    ```
  }];
  let arguments = (ins NN_UnaryFunctionAttr:$function, NN_Tensor:$x,
    DefaultValuedAttr<F32Attr, "0.0f">:$alpha,
    DefaultValuedAttr<F32Attr, "0.0f">:$beta);
  let results = (outs NN_Tensor:$y);
  let assemblyFormat = "$function $x attr-dict `:` functional-type(operands, results)";
  let hasFolder = 1;
}

def NN_CastOp : NN_Op<"cast", [SameOperandsAndResultShape]> { // cast_c1
  let summary = "change of element type";
  let description = [{
    Converts each element to the result's element type: float to integer
    truncates towards zero and saturates, to a narrower float rounds to nearest
    even, to boolean compares with zero.

    Constraints:
    - cast_c1: the result has the shape of x.

    Example:
    ```mlir
    %0 = nn.cast %x : (tensor<4xf32>) -> tensor<4xi32>
    ```
  }];
  let arguments = (ins NN_Tensor:$x);
  let results = (outs NN_Tensor:$y);
  let assemblyFormat = "$x attr-dict `:` functional-type(operands, results)";
  let hasFolder = 1;
}

#endif // ASHLAR_DIALECTS_NN_NNMATHOPS_TD
