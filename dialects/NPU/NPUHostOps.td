// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Work of the host: `nn`'s operations of that kind, on tensors in DRAM.

#ifndef ASHLAR_DIALECTS_NPU_NPUHOSTOPS_TD
#define ASHLAR_DIALECTS_NPU_NPUHOSTOPS_TD

include "dialects/NPU/NPUAttrs.td"
include "dialects/NPU/NPUInterfaces.td"
include "dialects/NN/NNDialect.td"

class NPU_HostOp<string mnemonic, dag operands, dag attributes = (ins)>
    : NPU_Op<"host." # mnemonic,
             [Pure, NPU_HostEngine, NPU_LayoutInterface]> {
  let arguments = !con(operands, attributes, NPU_Decisions);
  let results = (outs NN_Tensor:$y);
  let assemblyFormat =
    "`(` operands `)` attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def NPU_HostNonzeroOp : NPU_HostOp<"nonzero", (ins NN_Tensor:$x)> {
  let summary = "indices of the elements that are not zero, by the host";
  let description = [{
    `nn.nonzero`.

    Constraints:
    - npu_host_nonzero_c1: the operand is not encoded.
    - npu_host_nonzero_c2: nonzero_c1, nonzero_c2.

    Example: `%y = npu.host.nonzero(%x) : (tensor<6xf32>) -> tensor<1x6xi64>`
  }];
}

def NPU_HostSortOp : NPU_HostOp<"sort", (ins NN_Tensor:$x),
                                (ins I64Attr:$axis, BoolAttr:$descending)> {
  let summary = "indices of the first elements in order, by the host";
  let description = [{
    `nn.arg_sort`.

    Constraints:
    - npu_host_sort_c1: the operand is not encoded.
    - npu_host_sort_c2: arg_sort_c1, arg_sort_c2.

    Example: `%y = npu.host.sort(%x) {axis = 0, descending = true} : (...) -> ...`
  }];
}

def NPU_HostUniqueOp : NPU_HostOp<"unique", (ins NN_Tensor:$x),
                                  (ins BoolAttr:$sorted)> {
  let summary = "distinct rows, by the host";
  let description = [{
    `nn.unique`.

    Constraints:
    - npu_host_unique_c1: the operand is not encoded.
    - npu_host_unique_c2: unique_c1, unique_c2.

    Example: `%y = npu.host.unique(%x) {sorted = true} : (...) -> ...`
  }];
}

def NPU_HostNmsOp : NPU_HostOp<"nms",
    (ins NN_Tensor:$boxes, NN_Tensor:$scores, NN_Tensor:$most, NN_Tensor:$iou,
     NN_Tensor:$least),
    (ins BoolAttr:$center, BoolAttr:$filtered)> {
  let summary = "non-maximum suppression, by the host";
  let description = [{
    `nn.nms`.

    Constraints:
    - npu_host_nms_c1: boxes, scores and thresholds are f32, `most` is i64.
    - npu_host_nms_c2: nms_c1, nms_c2.

    Example: `%y = npu.host.nms(%b, %s, %m, %i, %l) {center = false, ...} : (...) -> ...`
  }];
  let extraClassDeclaration = [{
    /// Boxes of a class for which there is room.
    int64_t getKeep();
  }];
}

#endif // ASHLAR_DIALECTS_NPU_NPUHOSTOPS_TD
