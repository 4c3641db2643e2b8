// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operations that move elements and change none (docs/Numerics.md 7).

#ifndef ASHLAR_DIALECTS_NN_NNMOVEMENTOPS_TD
#define ASHLAR_DIALECTS_NN_NNMOVEMENTOPS_TD

include "dialects/NN/NNDialect.td"
include "dialects/NN/NNEnums.td"

class NN_MoveOp<string mnemonic, dag attributes = (ins)> : NN_Op<mnemonic> {
  let arguments = !con((ins NN_Tensor:$x), attributes);
  let results = (outs NN_Tensor:$y);
  let assemblyFormat = "$x attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def NN_ConcatOp : NN_Op<"concat"> {
  let summary = "concatenation along an axis";
  let description = [{
    The operands one after the other along `axis`.

    Constraints:
    - concat_c1: at least one operand, all of one rank, 0 <= axis < rank.
    - concat_c2: dimensions other than `axis` are equal; the result's `axis`
      dimension is the sum.

    Example:
    ```mlir
    %0 = nn.concat %a, %b {axis = 1 : i64} : (tensor<1x2xf32>, tensor<1x3xf32>) -> tensor<1x5xf32>
    ```
  }];
  let arguments = (ins Variadic<NN_Tensor>:$inputs, I64Attr:$axis);
  let results = (outs NN_Tensor:$y);
  let assemblyFormat = "$inputs attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def NN_InterleaveOp : NN_Op<"interleave"> {
  let summary = "elements of several tensors by turns";
  let description = [{
    Operand p holds one phase of the result: with the numbers p_d of p in the
    mixed base of `factors`, the last dimension fastest,
    `y[i_0 * factors[0] + p_0, ...] = x_p[i_0, ...]`. A transposed convolution
    and a pixel shuffle are convolutions for each phase, interleaved.

    Constraints:
    - interleave_c1: as many operands as the product of the factors, all of one
      shape; a factor for each dimension, none less than 1.
    - interleave_c2: dim(y, d) = dim(x, d) * factors[d].

    Example:
    ```mlir
    %0 = nn.interleave %even, %odd {factors = array<i64: 1, 2>} : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x8xf32>
    ```
  }];
  let arguments = (ins Variadic<NN_Tensor>:$inputs,
                       DenseI64ArrayAttr:$factors);
  let results = (outs NN_Tensor:$y);
  let assemblyFormat = "$inputs attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
  let hasFolder = 1;
  let extraClassDeclaration = [{
    /// The first index of phase \p phase in every dimension of the result.
    llvm::SmallVector<int64_t> startOf(int64_t phase);
  }];
}

def NN_SliceOp : NN_MoveOp<"slice",
    (ins DenseI64ArrayAttr:$starts, DenseI64ArrayAttr:$steps)> {
  let summary = "regular sub-box of a tensor";
  let description = [{
    `y[i...] = x[starts + i * steps]`; the sizes are the result's shape and a
    step may be negative.

    Constraints:
    - slice_c1: starts and steps have one entry per dimension; steps are not 0.
    - slice_c2: first and last index of each non-empty dimension lie in x.

    Example:
    ```mlir
    %0 = nn.slice %x {starts = array<i64: 0, 4>, steps = array<i64: 1, -2>} : (tensor<2x5xf32>) -> tensor<2x3xf32>
    ```
  }];
}

def NN_PadOp : NN_MoveOp<"pad",
    (ins DenseI64ArrayAttr:$low, DenseI64ArrayAttr:$high,
     DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$interior,
     DefaultValuedAttr<NN_PadModeAttr, "::ashlar::nn::PadMode::Constant">:$mode,
     DefaultValuedAttr<F64Attr, "0.0">:$value)> {
  let summary = "padding at the ends and between elements";
  let description = [{
    Adds `low` elements before, `high` after and `interior` between neighbours
    along each dimension; negative low and high cut (in every mode, before
    the other modes mirror). New elements hold
    `value` (constant), the mirrored element without the edge (reflect), the
    edge (edge) or the element of the other end (wrap).

    Constraints:
    - pad_c1: low and high have one entry per dimension; interior one or none
      (none means 0) and is not negative.
    - pad_c2: interior other than 0 needs mode constant.
    - pad_c3: dim(y) = low + high + dim(x) + max(dim(x) - 1, 0) * interior >= 0.
    - pad_c4: reflect adds at most dim(x) - 1, wrap and reflect and edge need
      a non-empty dimension.

    Example:
    ```mlir
    %0 = nn.pad %x {low = array<i64: 0, 1>, high = array<i64: 0, 2>} : (tensor<2x5xf32>) -> tensor<2x8xf32>
    ```
  }];
  let extraClassDeclaration = [{
    /// Interior padding of dimension `dim`; an empty array means 0.
    int64_t interiorAt(unsigned dim) {
      return getInterior().empty() ? 0 : getInterior()[dim];
    }
  }];
}

def NN_ReshapeOp : NN_MoveOp<"reshape"> {
  let summary = "the same elements in another shape";
  let description = [{
    Row-major order of elements is kept.

    Constraints:
    - reshape_c1: x and y have the same number of elements.

    Example:
    ```mlir
    %0 = nn.reshape %x : (tensor<2x6xf32>) -> tensor<3x4xf32>
    ```
  }];
}

def NN_TransposeOp : NN_MoveOp<"transpose", (ins DenseI64ArrayAttr:$perm)> {
  let summary = "permutation of dimensions";
  let description = [{
    Dimension i of y is dimension perm[i] of x.

    Constraints:
    - transpose_c1: perm is a permutation of 0..rank-1 and dim(y, i) = dim(x, perm[i]).

    Example:
    ```mlir
    %0 = nn.transpose %x {perm = array<i64: 1, 0>} : (tensor<2x6xf32>) -> tensor<6x2xf32>
    ```
  }];
}

def NN_BroadcastOp : NN_MoveOp<"broadcast"> {
  let summary = "repetition along missing and unit dimensions";
  let description = [{
    numpy's broadcast of x to the shape of y.

    Constraints:
    - broadcast_c1: aligned at the last dimension, each dimension of x is 1 or
      that of y, and rank(x) <= rank(y).

    Example:
    ```mlir
    %0 = nn.broadcast %x : (tensor<1x3xf32>) -> tensor<4x2x3xf32>
    ```
  }];
}

def NN_GatherOp : NN_MoveOp<"gather",
    (ins I64Attr:$axis, DenseI64ArrayAttr:$indices)> {
  let summary = "slices at constant indices";
  let description = [{
    `y[..., i, ...] = x[..., indices[i], ...]` along `axis`.

    Constraints:
    - gather_c1: 0 <= axis < rank(x), 0 <= index < dim(x, axis).
    - gather_c2: the result has len(indices) in place of dim(x, axis).

    Example:
    ```mlir
    %0 = nn.gather %x {axis = 1 : i64, indices = array<i64: 0, 0, 2>} : (tensor<2x6xf32>) -> tensor<2x3xf32>
    ```
  }];
}

def NN_TakeOp : NN_Op<"take"> {
  let summary = "elements at run-time indices";
  let description = [{
    `y[..., i, ...] = x[..., indices[..., i, ...], ...]` along `axis`. The
    indices broadcast along the other dimensions. A negative index counts from
    the end; an index outside [-dim(x, axis), dim(x, axis)) ends the run with a
    fault.

    Constraints:
    - take_c1: x and indices have one rank, 0 <= axis < rank.
    - take_c2: other dimensions of the indices are 1 or those of x; y has the
      shape of x with dim(indices, axis) in place of dim(x, axis).
    - take_c3: the axis of x is not empty unless y is.

    Example:
    ```mlir
    %0 = nn.take %x, %indices {axis = 0 : i64} : (tensor<9x4xf32>, tensor<3x1xi64>) -> tensor<3x4xf32>
    ```
  }];
  let arguments = (ins NN_Tensor:$x, NN_Tensor:$indices, I64Attr:$axis);
  let results = (outs NN_Tensor:$y);
  let assemblyFormat =
    "$x `,` $indices attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

#endif // ASHLAR_DIALECTS_NN_NNMOVEMENTOPS_TD
