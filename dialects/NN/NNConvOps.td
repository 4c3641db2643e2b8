// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products: convolution, transposed convolution, matrix multiplication and the
// patch extraction that turns the first into the last.

#ifndef ASHLAR_DIALECTS_NN_NNCONVOPS_TD
#define ASHLAR_DIALECTS_NN_NNCONVOPS_TD

include "dialects/NN/NNDialect.td"

class NN_ConvLikeOp<string mnemonic> : NN_Op<mnemonic> {
  let arguments = (ins NN_Tensor:$x, NN_Tensor:$w, Optional<NN_Tensor>:$bias,
    DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$pads,
    DenseI64ArrayAttr:$dilations, DefaultValuedAttr<I64Attr, "1">:$group);
  let results = (outs NN_Tensor:$y);
  let assemblyFormat = [{
    $x `,` $w (`,` $bias^)? attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def NN_ConvOp : NN_ConvLikeOp<"conv"> {
  let summary = "convolution of one to three spatial dimensions";
  let description = [{
    `x` is [N, C, s...], `w` is [O, C/group, k...], `bias` is [O]:
    ```
    y[n, o, p...] = bias[o] + sum over c, q of
        x[n, g*C/group + c, p*strides + q*dilations - pads_begin] * w[o, c, q]
    ```
    with g = o / (O/group); positions outside `x` count as zero. `pads` holds
    all begins, then all ends.

    Constraints:
    - conv_c1: rank(x) = rank(w), 3 to 5.
    - conv_c2: strides and dilations have one entry per spatial dimension,
      pads two; strides and dilations are positive, pads not negative.
    - conv_c3: group >= 1 divides O, and C = group * dim(w, 1).
    - conv_c4: bias, if present, is [O].
    - conv_c5: dim(y, 2+i) = (s + begin + end - ((k-1)*dilation + 1)) / stride + 1
      and is at least 1.

    Example:
    ```mlir
    %0 = nn.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>,
        dilations = array<i64: 1, 1>} : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x8x8xf32>
    ```
  }];
}

def NN_ConvTransposeOp : NN_ConvLikeOp<"conv_transpose"> {
  let summary = "transposed convolution of one to three spatial dimensions";
  let description = [{
    `x` is [N, C, s...], `w` is [C, O/group, k...], `bias` is [O]: each input
    element adds `x * w` to the window it would have been read from by `conv`;
    `pads` are cut from the full result (a negative end pad extends it: ONNX's
    output padding is resolved that way).

    Constraints:
    - conv_transpose_c1: rank(x) = rank(w), 3 to 5.
    - conv_transpose_c2: attribute lengths as conv_c2; pads may be negative.
    - conv_transpose_c3: C = dim(w, 0) and group divides C.
    - conv_transpose_c4: bias, if present, is [O] with O = group * dim(w, 1).
    - conv_transpose_c5: dim(y, 2+i) = (s-1)*stride + (k-1)*dilation + 1 - begin - end
      and is at least 1.

    Example:
    ```mlir
    %0 = nn.conv_transpose %x, %w {strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>,
        dilations = array<i64: 1, 1>} : (tensor<1x3x4x4xf32>, tensor<3x2x2x2xf32>) -> tensor<1x2x8x8xf32>
    ```
  }];
}

def NN_MatMulOp : NN_Op<"matmul"> {
  let summary = "matrix product with broadcast leading dimensions";
  let description = [{
    `y[..., m, n] = sum over k of a[..., m, k] * b[..., k, n]`, leading
    dimensions broadcast as in numpy.

    Constraints:
    - matmul_c1: both ranks are at least 2.
    - matmul_c2: the last dimension of a equals the last but one of b.
    - matmul_c3: leading dimensions broadcast; the result has their shape, M, N.

    Example:
    ```mlir
    %0 = nn.matmul %a, %b : (tensor<2x5x3xf32>, tensor<3x4xf32>) -> tensor<2x5x4xf32>
    ```
  }];
  let arguments = (ins NN_Tensor:$a, NN_Tensor:$b);
  let results = (outs NN_Tensor:$y);
  let assemblyFormat = "$a `,` $b attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def NN_Im2ColOp : NN_Op<"im2col"> {
  let summary = "kernel windows laid out as channels";
  let description = [{
    `y[n, (c, q...), p...] = x[n, c, p*strides + q*dilations - pads_begin]`,
    zero outside `x`; the channel index runs over (c, q...) with the last
    kernel dimension fastest.

    Constraints:
    - im2col_c1: x has rank 3 to 5; kernel, strides, dilations have one entry
      per spatial dimension, pads two; all but pads positive, pads not negative.
    - im2col_c2: dim(y, 1) = C * product(kernel); spatial dimensions as conv_c5.

    Example:
    ```mlir
    %0 = nn.im2col %x {kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>,
        dilations = array<i64: 1, 1>} : (tensor<1x3x8x8xf32>) -> tensor<1x27x8x8xf32>
    ```
  }];
  let arguments = (ins NN_Tensor:$x, DenseI64ArrayAttr:$kernel,
    DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$pads,
    DenseI64ArrayAttr:$dilations);
  let results = (outs NN_Tensor:$y);
  let assemblyFormat = "$x attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

#endif // ASHLAR_DIALECTS_NN_NNCONVOPS_TD
