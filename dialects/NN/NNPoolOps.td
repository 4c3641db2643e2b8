// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Window reductions.

#ifndef ASHLAR_DIALECTS_NN_NNPOOLOPS_TD
#define ASHLAR_DIALECTS_NN_NNPOOLOPS_TD

include "dialects/NN/NNDialect.td"

class NN_PoolOp<string mnemonic, dag extra = (ins)> : NN_Op<mnemonic> {
  let arguments = !con((ins NN_Tensor:$x, DenseI64ArrayAttr:$kernel,
    DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$pads,
    DenseI64ArrayAttr:$dilations), extra);
  let results = (outs NN_Tensor:$y);
  let assemblyFormat = "$x attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def NN_MaxPoolOp : NN_PoolOp<"max_pool"> {
  let summary = "largest element of each window";
  let description = [{
    `y[n, c, p...] = max over q of x[n, c, p*strides + q*dilations - pads_begin]`
    over the positions inside `x`; a window without any gives the lowest value
    of the type. ONNX's ceil_mode shows in the result shape alone.

    Constraints:
    - max_pool_c1: x has rank 3 to 5; kernel, strides, dilations have one entry
      per spatial dimension, pads two; all but pads positive, pads not negative.
    - max_pool_c2: dim(y, 2+i) is (s + begin + end - ((k-1)*dilation + 1)) / stride + 1
      rounded down or up, and is at least 1; dim(y, 0..1) = dim(x, 0..1).

    Example:
    ```mlir
    %0 = nn.max_pool %x {kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>,
        dilations = array<i64: 1, 1>} : (tensor<1x3x8x8xf32>) -> tensor<1x3x4x4xf32>
    ```
  }];
}

def NN_AvgPoolOp : NN_PoolOp<"avg_pool",
    (ins DefaultValuedAttr<BoolAttr, "false">:$count_include_pad,
         DefaultValuedAttr<BoolAttr, "false">:$sums)> {
  let summary = "mean or sum of each window";
  let description = [{
    The sum over the window's positions inside `x` divided by the number of
    positions inside `x` or, with `count_include_pad`, inside `x` extended by
    `pads`. Positions beyond the pads (a ceil-mode overhang) never count. With
    `sums` nothing is divided.

    Constraints:
    - avg_pool_c1: as max_pool_c1.
    - avg_pool_c2: as max_pool_c2.

    Example:
    ```mlir
    %0 = nn.avg_pool %x {kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>,
        dilations = array<i64: 1, 1>} : (tensor<1x3x8x8xf32>) -> tensor<1x3x4x4xf32>
    ```
  }];
}

#endif // ASHLAR_DIALECTS_NN_NNPOOLOPS_TD
