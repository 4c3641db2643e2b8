// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operators that no engine has, rewritten as operators that one has.

#ifndef ASHLAR_TRANSFORMS_NN_LOWERINGPASSES_TD
#define ASHLAR_TRANSFORMS_NN_LOWERINGPASSES_TD

include "include/ashlar/Transforms/NN/PassBase.td"

def FlattenToConv : NNPass<"ashlar-nn-flatten-to-conv"> {
  let summary = "rewrite flattened or pruned dense layers as convolutions";
  let description = [{
    Two kinds of dense layers become convolutions:

    - `matmul(reshape(x: [N, C, s...] -> [N, C*s...]), w: [C*s..., M])` with a
      constant w. The kernel covers the whole feature map, so the blocks of the
      weights run along C like those of the feature map (docs/Numerics.md 1). An
      add of a constant per column becomes the bias. A reshape back to [N, M]
      follows.
    - `matmul(x: [..., K], w: [K, M])` with a constant w of which at least three
      quarters are zero. It becomes a 1x1 convolution on `[rows, K, 1, 1]`,
      because the sparse cluster, which skips zeros, executes convolutions only.
      A residual connection of the matmul moves to the convolution.

    All other matmuls stay.
  }];
  let statistics = [
    Statistic<"converted", "converted", "matmuls that became convolutions">
  ];
}

def LowerConvTranspose : NNPass<"ashlar-nn-lower-conv-transpose"> {
  let summary = "lower conv_transpose to convolutions";
  let description = [{
    A transposed convolution is a convolution of stride one over the input with
    `stride - 1` zeros between its elements. The weights are mirrored in space,
    and input and output channels are exchanged within each group. There are two
    forms:

    - **By phases.** Results that are a multiple of the stride apart meet the
      same taps, so each phase is a convolution over the input itself, and the
      result is the nn.interleave of all phases. Chosen if there are at most 64
      phases, all of them have taps, and the state buffer can hold the result,
      so that products write into it directly.
    - **With zeros.** Otherwise an nn.pad inserts the zeros.

    Padding that conv cannot express (negative padding) becomes an nn.pad as
    well. Weights need not be constant; for constant ones, fold-constants
    removes the data movement.
  }];
  let options = [
    Option<"interleave", "interleave", "bool", "true",
           "results may consist of phases that products interleave">
  ];
  let statistics = [
    Statistic<"lowered", "lowered", "transposed convolutions lowered">
  ];
}

def LowerDynamicConv : NNPass<"ashlar-nn-lower-dynamic-conv"> {
  let summary = "split convolutions with run-time weights into their groups";
  let description = [{
    The array loads a kernel that is known only at run time from the state
    buffer, where the channels of all its outputs lie in the same partitions. So
    a convolution of several groups becomes one per group, whose results are
    joined along the channels. A bias that is computed, too, becomes an
    addition. `ashlar-nn-fold-width` chooses how the taps are mapped to array
    rows. Runs after constants are folded.
  }];
  let statistics = [
    Statistic<"lowered", "lowered", "convolutions that were rewritten">
  ];
}

def LowerComposites : NNPass<"ashlar-nn-lower-composites"> {
  let summary = "rewrite operations that no engine supports as compositions";
  let description = [{
    Rewrites these operations; the first two rows are exact for every value:

    | operation | becomes |
    |---|---|
    | where | prelu, add and neg; for booleans and, or |
    | mod with fmod | remainder of the magnitudes times a sign; for integers dividend minus quotient times divisor |
    | max_pool with at least four times as many taps as the sum of its extents | one max_pool per dimension |
    | convolution with a bias that is not constant | convolution and add |

    Reductions, softmax and log_softmax have to fit the vector unit:

    - a reduction over more than two ranges of axes gets its axes moved
      together;
    - a reduction of more elements than half a partition holds is split into
      several;
    - softmax and log_softmax over more than a quarter of a partition are split
      into the formulas of docs/Numerics.md 9.
  }];
}

def ComposeNormalisations : NNPass<"ashlar-nn-compose-normalisations"> {
  let summary = "write normalisations as one scale and one shift per channel";
  let description = [{
    `(x - mean) / deviation * scale + shift`, where scale and shift are
    constants or absent, becomes `x * a + b` with `a = scale / deviation` and `b
    = shift - mean * a`, if all four vary along one axis at most. Each element
    is then visited once, and `a` and `b` have one element per channel. The
    result has an error of the size that the rounding of the mean alone would
    cause. If mean and deviation vary along several axes, as those of the
    positions of an image do, the quotient becomes `(x - mean) * (1 /
    deviation)`: a division for each position, not for each element.
  }];
  let statistics = [
    Statistic<"numComposed", "composed", "normalisations without a quotient">
  ];
}

def SplitWindows : NNPass<"ashlar-nn-split-windows"> {
  let summary = "split pools whose windows exceed an instruction or a partition";
  let description = [{
    Splits pools that exceed the fields of an instruction:

    - **A kernel of more than 4095 taps, or a dilation above 4095, along an
      axis.** The taps are divided into runs. A max_pool becomes the maximum of
      the pools of all runs, an avg_pool the sum of their means, weighted by
      their taps.
    - **A stride above 4095.** One pool computes each window; a concat joins
      them.

    At most 256 pools replace one. A pool that needs more stays, and so do
    integer pools along a long kernel. The sum of an avg_pool is rounded once
    per run, and once more for the weights.

    In the fold phase, windows whose elements take more than half a partition
    of the machine (module attribute `ashlar.target`) are split in the same way.
  }];
  let options = [
    Option<"forPartition", "for-partition", "bool", "false",
           "also split windows that half a partition has no room for">
  ];
  let statistics = [
    Statistic<"numSplit", "split", "pools that were split">
  ];
}

def SplitProducts : NNPass<"ashlar-nn-split-products"> {
  let summary = "split products whose columns are read in disjoint slices";
  let description = [{
    Splits fused projections, such as the queries, keys and values of attention.
    A matmul with constant weights may be followed by an addition of a constant
    per column, a reshape that splits the last axis, and a transpose. If the
    result is then read only in disjoint slices of the columns, each slice gets
    a matmul of its own. The multiplications are the same, and each result gets
    the storage that its reader needs. Slices of fewer than 32 columns stay.
  }];
  let statistics = [
    Statistic<"numSplit", "split", "products that were split">
  ];
}

#endif // ASHLAR_TRANSFORMS_NN_LOWERINGPASSES_TD
