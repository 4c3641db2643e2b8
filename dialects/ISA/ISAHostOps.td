// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Queue `host`: functions of a small library that the host processor runs on
// whole tensors in DRAM. They are what no engine does: results whose extent
// depends on data, and orders of elements.

#ifndef ASHLAR_ISA_HOST_OPS
#define ASHLAR_ISA_HOST_OPS

include "dialects/ISA/ISABase.td"

/// A dense tensor in DRAM: the product of `counts` elements of `bytes` bytes.
class Dense<string name, ISA_Effect effect, string what, list<string> counts,
            string bytes>
    : Linear<name, effect, what,
             StridedBy<["denseCount({" # !interleave(counts, ", ") # "})"],
                       [bytes]>, "Memory::Dram", bytes>;

def ISA_HostNonzeroOp : ISA_Op<"HostNonzero", "host.nonzero", 0x70, ["host"]> {
  let summary = "Indices of the elements that are not zero.";
  let description = [{
    The operand has n0 * .. * n7 = N elements in row-major order. Its last
    `rank` extents count; the others are
    1. The result is an i64 matrix of `rank` rows and N columns: column k has
       the indices of the k-th nonzero
    element, and -1 after the last of them. NaN is not zero.

    Example: `isa.host.nonzero(type = bool, rank = 2, n6 = 3, n7 = 5, dstBase = 64)`
  }];
  let isaWords = 8;
  let isaFields = [
    E<"type", 5, ISA_ElemType, 1, 0, "type of the operand, not bfp">,
    CountTo<"rank", 4, 8, 1, 5, "dimensions", "rows of the result">,
    U<"xBase", 40, 2, 0, "bytes", "DRAM address of the operand">,
    U<"dstBase", 40, 3, 0, "bytes", "DRAM address of the result">,
    Count<"n0", 32, 4, 0, "elements", "outermost extent">,
    Count<"n1", 32, 4, 32, "elements", "extent 1">,
    Count<"n2", 32, 5, 0, "elements", "extent 2">,
    Count<"n3", 32, 5, 32, "elements", "extent 3">,
    Count<"n4", 32, 6, 0, "elements", "extent 4">,
    Count<"n5", 32, 6, 32, "elements", "extent 5">,
    Count<"n6", 32, 7, 0, "elements", "extent 6">,
    Count<"n7", 32, 7, 32, "elements", "innermost extent">
  ];
  let isaReserved = [Reserved<1, 9, 55>, Reserved<2, 40, 24>, Reserved<3, 40, 24>];
  let isaOperands = [
    Dense<"x", Read, "operand",
          ["$n0", "$n1", "$n2", "$n3", "$n4", "$n5", "$n6", "$n7"],
          "elementBytes($type, 0)">,
    Dense<"dst", Write, "result",
          ["$rank", "$n0", "$n1", "$n2", "$n3", "$n4", "$n5", "$n6", "$n7"],
          "8">
  ];
  let isaSince = 1;
}

def ISA_HostSortOp : ISA_Op<"HostSort", "host.sort", 0x71, ["host"]> {
  let summary = "Indices of the first elements in ascending or descending order.";
  let description = [{
    The operand is [outer, extent, inner] in row-major order, the result [outer,
    keep, inner] of i64. Along its middle axis the result has the indices of the
    first `keep` elements in the order of their values (docs/Numerics.md, host
    functions), the largest first with `descending`. Equal elements keep the
    order of their indices.

    Example: `isa.host.sort(type = f32, extent = 1000, keep = 10, descending = 1, dstBase = 4096)`
  }];
  let isaWords = 6;
  let isaFields = [
    E<"type", 5, ISA_ElemType, 1, 0, "type of the operand, not bfp">,
    Flag<"descending", 1, 5, "the largest first">,
    U<"xBase", 40, 2, 0, "bytes", "DRAM address of the operand">,
    U<"dstBase", 40, 3, 0, "bytes", "DRAM address of the result">,
    Count<"outer", 32, 4, 0, "rows", "product of the extents before the axis">,
    Count<"extent", 32, 4, 32, "elements", "extent of the axis">,
    Count<"inner", 32, 5, 0, "elements", "product of the extents after it">,
    Count<"keep", 32, 5, 32, "elements", "elements kept, at most `extent`">
  ];
  let isaReserved = [Reserved<1, 6, 58>, Reserved<2, 40, 24>, Reserved<3, 40, 24>];
  let isaOperands = [
    Dense<"x", Read, "operand", ["$outer", "$extent", "$inner"],
          "elementBytes($type, 0)">,
    Dense<"dst", Write, "result", ["$outer", "$keep", "$inner"], "8">
  ];
  let isaSince = 1;
}

def ISA_HostUniqueOp : ISA_Op<"HostUnique", "host.unique", 0x72, ["host"]> {
  let summary = "Distinct rows, their first positions and their counts.";
  let description = [{
    The operand is [rows, length]. Its D distinct rows are numbered in the order
    of their first appearance or, with `sorted`, in lexicographic order of their
    values. The result is [3, rows] of i64:

    1. the index of the first row equal to the d-th distinct row, then -1;
    2. for every row, the number d of its distinct row;
    3. the number of rows equal to the d-th distinct row, then 0.

    All NaN are equal, and 0 equals -0.

    Example: `isa.host.unique(type = i64, rows = 6, length = 2, sorted = 1, dstBase = 128)`
  }];
  let isaWords = 5;
  let isaFields = [
    E<"type", 5, ISA_ElemType, 1, 0, "type of the operand, not bfp">,
    Flag<"sorted", 1, 5, "in the order of their values">,
    U<"xBase", 40, 2, 0, "bytes", "DRAM address of the operand">,
    U<"dstBase", 40, 3, 0, "bytes", "DRAM address of the result">,
    Count<"rows", 32, 4, 0, "rows", "rows of the operand">,
    Count<"length", 32, 4, 32, "elements", "elements of a row">
  ];
  let isaReserved = [Reserved<1, 6, 58>, Reserved<2, 40, 24>, Reserved<3, 40, 24>];
  let isaOperands = [
    Dense<"x", Read, "operand", ["$rows", "$length"],
          "elementBytes($type, 0)">,
    Dense<"dst", Write, "result", ["3", "$rows"], "8">
  ];
  let isaSince = 1;
}

def ISA_HostNmsOp : ISA_Op<"HostNms", "host.nms", 0x73, ["host"]> {
  let summary = "Boxes that no better box of their class overlaps (non-maximum suppression).";
  let description = [{
    For each batch and class, the boxes with a score above `least` (with
    `filtered`; never NaN) are taken in descending order of their scores, equal
    ones in the order of their indices. A box is kept unless its intersection
    over union with a kept box exceeds `iou`, until `most` boxes are kept
    (docs/Numerics.md, host functions).

    | operand | shape and type |
    |---|---|
    | boxes | [batches, boxes, 4] of f32 |
    | scores | [batches, classes, boxes] of f32 |
    | `most` | one i64, of which at most `keep` count |
    | `iou`, `least` | one f32 each |
    | result | [batches * classes * keep, 3] of i64: batch, class and box of all that were kept, class by class, then -1 |

    The time depends on data; without execution all boxes are candidates and
    `keep` are kept.

    Example: `isa.host.nms(classes = 80, boxes = 1000, keep = 100, boxesBase = 64, scoresBase = 16064, mostBase = 0, iouBase = 8, leastBase = 12, dstBase = 336064)`
  }];
  let isaWords = 9;
  let isaFields = [
    U<"boxesBase", 40, 1, 0, "bytes", "DRAM address of the boxes">,
    Flag<"center", 1, 40, "boxes are x, y of the centre, width, height; else two corners y, x">,
    Flag<"filtered", 1, 41, "scores have to exceed `least`">,
    U<"scoresBase", 40, 2, 0, "bytes", "DRAM address of the scores">,
    U<"mostBase", 40, 3, 0, "bytes", "DRAM address of the most boxes of a class">,
    U<"iouBase", 40, 4, 0, "bytes", "DRAM address of the threshold of overlaps">,
    U<"leastBase", 40, 5, 0, "bytes", "DRAM address of the threshold of scores">,
    U<"dstBase", 40, 6, 0, "bytes", "DRAM address of the result">,
    Count<"batches", 32, 7, 0, "batches", "batches">,
    Count<"classes", 32, 7, 32, "classes", "classes">,
    Count<"boxes", 32, 8, 0, "boxes", "boxes of a batch">,
    Count<"keep", 32, 8, 32, "boxes", "capacity for the boxes of a class">
  ];
  let isaReserved = [Reserved<1, 42, 22>, Reserved<2, 40, 24>, Reserved<3, 40, 24>, Reserved<4, 40, 24>, Reserved<5, 40, 24>, Reserved<6, 40, 24>];
  let isaOperands = [
    Dense<"boxes", Read, "boxes", ["$batches", "$boxes", "4"], "4">,
    Dense<"scores", Read, "scores", ["$batches", "$classes", "$boxes"], "4">,
    Dense<"most", Read, "most boxes", ["1"], "8">,
    Dense<"iou", Read, "threshold of overlaps", ["1"], "4">,
    Dense<"least", Read, "threshold of scores", ["1"], "4">,
    Dense<"dst", Write, "result", ["$batches", "$classes", "$keep", "3"], "8">
  ];
  let isaSince = 1;
}

#endif // ASHLAR_ISA_HOST_OPS
