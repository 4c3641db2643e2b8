// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operations whose results are indices in an order that data decide, or as many
// as data decide: work of the host (docs/Numerics.md 14). Types are static: a
// result has room for the most indices there can be, and -1 where there is
// none. How many there are follows from the result.

#ifndef ASHLAR_DIALECTS_NN_NNHOSTOPS_TD
#define ASHLAR_DIALECTS_NN_NNHOSTOPS_TD

include "dialects/NN/NNDialect.td"

class NN_HostOp<string mnemonic, dag operands, dag attributes = (ins)>
    : NN_Op<mnemonic, [NN_HostFunction]> {
  let arguments = !con(operands, attributes);
  let results = (outs NN_Tensor:$y);
  let hasVerifier = 1;
}

def NN_NonzeroOp : NN_HostOp<"nonzero", (ins NN_Tensor:$x)> {
  let summary = "indices of the elements that are not zero";
  let description = [{
    Column k of y has the indices of the k-th element of x that is not zero, in
    row-major order; columns after the last hold -1.

    Constraints:
    - nonzero_c1: x has 1 to 8 dimensions and an element at least.
    - nonzero_c2: y is i64 of shape [rank(x), elements of x].

    Example:
    ```mlir
    %0 = nn.nonzero %x : (tensor<2x3xf32>) -> tensor<2x6xi64>
    ```
  }];
  let assemblyFormat = "$x attr-dict `:` functional-type(operands, results)";
}

def NN_ArgSortOp : NN_HostOp<"arg_sort", (ins NN_Tensor:$x),
                             (ins I64Attr:$axis, BoolAttr:$descending)> {
  let summary = "indices of the first elements in order";
  let description = [{
    The indices along `axis` of the smallest (largest, if `descending`) elements
    in their order, as many as y has there. Equal elements keep the order of
    their indices; NaN is larger than every number.

    Constraints:
    - arg_sort_c1: 0 <= axis < rank(x), x has an element at least.
    - arg_sort_c2: y is i64 of the shape of x but for `axis`, where it has 1 to
      dim(x, axis).

    Example:
    ```mlir
    %0 = nn.arg_sort %x {axis = 1 : i64, descending = true} : (tensor<2x9xf32>) -> tensor<2x3xi64>
    ```
  }];
  let assemblyFormat = "$x attr-dict `:` functional-type(operands, results)";
}

def NN_UniqueOp : NN_HostOp<"unique", (ins NN_Tensor:$x),
                            (ins BoolAttr:$sorted)> {
  let summary = "distinct rows, where they are first, and how often";
  let description = [{
    Distinct rows of x are numbered as they come, or with `sorted` in
    lexicographic order. Row 0 of y has the index at which each comes first,
    then -1; row 1 the number of every row's distinct row; row 2 how often each
    occurs, then 0. All NaN are equal, and 0 equals -0.

    Constraints:
    - unique_c1: x has two dimensions and an element at least.
    - unique_c2: y is i64 of shape [3, dim(x, 0)].

    Example:
    ```mlir
    %0 = nn.unique %x {sorted = true} : (tensor<6x2xf32>) -> tensor<3x6xi64>
    ```
  }];
  let assemblyFormat = "$x attr-dict `:` functional-type(operands, results)";
}

def NN_NmsOp : NN_HostOp<"nms",
    (ins NN_Tensor:$boxes, NN_Tensor:$scores, NN_Tensor:$most, NN_Tensor:$iou,
     NN_Tensor:$least),
    (ins BoolAttr:$center, BoolAttr:$filtered)> {
  let summary = "boxes that no better box of their class overlaps";
  let description = [{
    Of each batch and class the boxes with a score above `least` (of all with a
    score that is a number, unless `filtered`) are taken in descending order of
    their scores. A box is kept unless its intersection over union with a kept
    one exceeds `iou`, until `most` are kept. Boxes are two corners (y, x, y, x),
    or with `center` x and y of their centre, width and height. y has batch,
    class and box of each, then -1.

    Constraints:
    - nms_c1: boxes are [B, N, 4] and scores [B, C, N], not empty; most, iou and
      least have one element each.
    - nms_c2: y is i64 of shape [B * C * K, 3] with 1 <= K <= N: no more than K
      boxes of a class are kept.

    Example:
    ```mlir
    %0 = nn.nms %boxes, %scores, %most, %iou, %least {center = false, filtered = true} : (tensor<1x6x4xf32>, tensor<1x2x6xf32>, tensor<1xi64>, tensor<1xf32>, tensor<1xf32>) -> tensor<6x3xi64>
    ```
  }];
  let assemblyFormat = [{
    $boxes `,` $scores `,` $most `,` $iou `,` $least attr-dict `:`
    functional-type(operands, results)
  }];
  let extraClassDeclaration = [{
    /// K: boxes of a class for which there is room.
    int64_t getKeep();
  }];
}

#endif // ASHLAR_DIALECTS_NN_NNHOSTOPS_TD
