// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reductions along whole axes and what is built on them.

#ifndef ASHLAR_DIALECTS_NN_NNREDUCEOPS_TD
#define ASHLAR_DIALECTS_NN_NNREDUCEOPS_TD

include "dialects/NN/NNDialect.td"
include "dialects/NN/NNEnums.td"

def NN_ReduceOp : NN_Op<"reduce"> {
  let summary = "reduction over axes";
  let description = [{
    Reduces `x` over `axes` in index order: sum, mean, max, min, product, sum of
    squares, or sum of absolute values.

    Constraints:
    - reduce_c1: axes are strictly increasing, 0 <= axis < rank(x).
    - reduce_c2: the result has 1 in place of each reduced dimension if
      `keepdims`, otherwise lacks it.

    Example:
    ```mlir
    %0 = nn.reduce mean %x {axes = array<i64: 2, 3>, keepdims = true} : (tensor<1x3x8x8xf32>) -> tensor<1x3x1x1xf32>
    ```
  }];
  let arguments = (ins NN_ReduceKindAttr:$kind, NN_Tensor:$x,
    DenseI64ArrayAttr:$axes, BoolAttr:$keepdims);
  let results = (outs NN_Tensor:$y);
  let assemblyFormat = "$kind $x attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def NN_ArgReduceOp : NN_Op<"arg_reduce"> {
  let summary = "index of the largest or smallest element along an axis";
  let description = [{
    The index along `axis` of the largest (smallest) element; of equals the
    first, or the last with `select_last`.

    Constraints:
    - arg_reduce_c1: 0 <= axis < rank(x).
    - arg_reduce_c2: result shape as reduce_c2.

    Example:
    ```mlir
    %0 = nn.arg_reduce max %x {axis = 1 : i64, keepdims = false} : (tensor<1x10xf32>) -> tensor<1xi64>
    ```
  }];
  let arguments = (ins NN_ArgKindAttr:$kind, NN_Tensor:$x, I64Attr:$axis,
    BoolAttr:$keepdims, DefaultValuedAttr<BoolAttr, "false">:$select_last);
  let results = (outs NN_Tensor:$y);
  let assemblyFormat = "$kind $x attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

class NN_AxisOp<string mnemonic> : NN_Op<mnemonic, [SameOperandsAndResultShape]> {
  let arguments = (ins NN_Tensor:$x, I64Attr:$axis);
  let results = (outs NN_Tensor:$y);
  let assemblyFormat = "$x attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def NN_SoftmaxOp : NN_AxisOp<"softmax"> {
  let summary = "softmax along one axis";
  let description = [{
    `exp(x - m) / sum(exp(x - m))` with the maximum m and the sum taken along
    `axis`.

    Constraints:
    - softmax_c1: 0 <= axis < rank(x).
    - softmax_c2: the result has the shape of x.

    Example:
    ```mlir
    %0 = nn.softmax %x {axis = 1 : i64} : (tensor<1x10xf32>) -> tensor<1x10xf32>
    ```
  }];
}

def NN_LogSoftmaxOp : NN_AxisOp<"log_softmax"> {
  let summary = "logarithm of softmax along one axis";
  let description = [{
    `(x - m) - log(sum(exp(x - m)))` with the maximum m and the sum taken along
    `axis`.

    Constraints:
    - log_softmax_c1: 0 <= axis < rank(x).
    - log_softmax_c2: the result has the shape of x.

    Example:
    ```mlir
    %0 = nn.log_softmax %x {axis = 1 : i64} : (tensor<1x10xf32>) -> tensor<1x10xf32>
    ```
  }];
}

def NN_BatchNormOp : NN_Op<"batch_norm"> {
  let summary = "batch normalisation with stored statistics";
  let description = [{
    `y = (x - mean[c]) / sqrt(var[c] + epsilon) * scale[c] + bias[c]`, c being
    the index along dimension 1.

    Constraints:
    - batch_norm_c1: rank(x) >= 2 and the result has the shape of x.
    - batch_norm_c2: scale, bias, mean and var are [dim(x, 1)].

    Example:
    ```mlir
    %0 = nn.batch_norm %x, %s, %b, %m, %v {epsilon = 1.0e-05 : f32}
        : (tensor<1x3x8x8xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<1x3x8x8xf32>
    ```
  }];
  let arguments = (ins NN_Tensor:$x, NN_Tensor:$scale, NN_Tensor:$bias,
    NN_Tensor:$mean, NN_Tensor:$var, F32Attr:$epsilon);
  let results = (outs NN_Tensor:$y);
  let assemblyFormat = [{
    $x `,` $scale `,` $bias `,` $mean `,` $var attr-dict
    `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

#endif // ASHLAR_DIALECTS_NN_NNREDUCEOPS_TD
