// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Constants of the `nn` dialect.

#ifndef ASHLAR_DIALECTS_NN_NNCONSTANTOPS_TD
#define ASHLAR_DIALECTS_NN_NNCONSTANTOPS_TD

include "dialects/NN/NNDialect.td"

def NN_ConstantOp : NN_Op<"constant", [ConstantLike,
    AllTypesMatch<["value", "output"]>]> { // constant_c1
  let summary = "a tensor known at compile time";
  let description = [{
    The result holds the elements of `value`. Tensors of more than 64 elements
    are `dense_resource` attributes, which live outside MLIR's uniquer; smaller
    ones are `dense`.

    Constraints:
    - constant_c1: the result type is the type of `value`.
    - constant_c2: `value` is `dense` or `dense_resource`; one number for all
      elements stands for at most 2^24 of them.

    Example:
    ```mlir
    %0 = nn.constant dense<[1.0, 2.0]> : tensor<2xf32>
    ```
  }];
  let arguments = (ins ElementsAttr:$value);
  let results = (outs NN_Tensor:$output);
  let assemblyFormat = "$value attr-dict";
  let hasFolder = 1;
  let hasVerifier = 1;
}

#endif // ASHLAR_DIALECTS_NN_NNCONSTANTOPS_TD
