// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How channels fill the rows of the array, and what must hold at the end of the
// fold phase.

#ifndef ASHLAR_TRANSFORMS_NN_FOLDPASSES_TD
#define ASHLAR_TRANSFORMS_NN_FOLDPASSES_TD

include "include/ashlar/Transforms/NN/PassBase.td"

def FoldWidth : NNPass<"ashlar-nn-fold-width"> {
  let summary = "map the taps of few-channel convolutions to array rows";
  let description = [{
    A convolution of few input channels leaves most rows of the multiplier array
    idle. One cost function compares these alternatives:

    | alternative | mapping |
    |---|---|
    | `plain` | one tap at a time; a W stride skips columns in place |
    | `stride-fold` | the Sw columns that a step of the window passes become channels of one pixel, at W stride 1, so that row groups of the array may give several results per step (docs/WidthFolding.md) |
    | `phase-fold` | the same with only those of the Sw columns that a tap reads |
    | `strided-slice` | a single one of the Sw columns, because the dilation is a multiple of the stride or there is one tap: the taps keep their distance |
    | `lane-fold` | W stride 1: nothing to fold, but row groups to use |
    | `rows-and-stride-fold` | the rows of the kernel become channels as well; an input in DRAM is fetched once for all rows of the kernel if the feature map stays on the chip (`ashlar-npu-read-windows`) |
    | `pack-taps` | the whole kernel becomes channels |

    All but `plain` are an nn.im2col and a smaller convolution. The feature map
    that a stride fold reads has exactly Wo + Kf - 1 columns. The fold takes the
    cheaper of form B (zero taps before the kernel; the input is a view) and
    form A (zero taps after it; borders are added while folding). Zero taps that
    a fold adds are never issued and cost nothing.

    The cost is the time to read, copy or encode the input, whichever takes
    longest, then the longer of array and drain, plus what does not overlap at
    the ends.

    Candidates are convolutions of group 1 with more than one tap or a W stride,
    and either fewer than 8 channels, or fewer than 16 that are no multiple of 8.
    Grouped and depthwise convolutions, and strided ones of more channels, stay
    as they are and get a decision that says why.

    A kernel that is computed at run time is folded by the same data movement,
    inside the chip. Its cost counts the cycles in which it is read, moved and
    encoded, and its zero taps, which only the run knows to be zeros. Where its
    taps would fill more than half of the partitions of its channels, they become
    channels instead, however many channels there are.

    The attribute `ashlar.decision` of the convolution records the choice, the
    reason with the useful share of the array by cause, and the cycles of all
    alternatives.
  }];
  let options = [
    Option<"mode", "mode", "std::string", "\"auto\"",
           "auto, off (no stride fold and no lanes), stride, lane or both">,
    Option<"only", "only", "std::string", "\"\"",
           "name of the alternative to take wherever it exists">,
    Option<"activationBits", "activation-bits", "int64_t", "8",
           "bits of the mantissas of activations, sign included">,
    Option<"weightBits", "weight-bits", "int64_t", "8",
           "bits of the mantissas of weights, sign included">,
    Option<"useCluster", "use-cluster", "bool", "true",
           "the sparse cluster, if there is one, may run convolutions">
  ];
  let statistics = [
    Statistic<"numFolded", "folded", "convolutions folded">
  ];
}

def SplitDilations : NNPass<"ashlar-nn-split-dilations"> {
  let summary = "put the phases of far dilated convolutions into the batch";
  let description = [{
    A tile of a convolution holds the box that its taps span. With a dilation of
    d, results that are d apart read rows that are d apart, so an axis has d
    independent phases, each d times shorter and with a dilation of 1. The pass
    moves the phases into the batch (a reshape, a transpose and a reshape),
    convolves, and moves the results back after the element-wise functions that
    follow. If the padding is not a multiple of d, the map is first padded with
    zeros.

    An axis is split if it has a stride of 1 and is not the last one, whose
    elements would be copied one by one, and if predicted cycles are clearly
    fewer: those of the loads of the best tiles, of the waits between tiles, and
    of the movement through DRAM. A layer whose maps fit a partition is never
    split. No bit of a result changes.

    The attribute `ashlar.decision.phases` of the convolution has the cycles of
    both.
  }];
  let options = [
    Option<"activationBits", "activation-bits", "int64_t", "8",
           "bits of the mantissas of activations, sign included">,
    Option<"weightBits", "weight-bits", "int64_t", "8",
           "bits of the mantissas of weights, sign included">,
    Option<"useCluster", "use-cluster", "bool", "true",
           "the sparse cluster, if there is one, may run convolutions">
  ];
  let statistics = [
    Statistic<"numSplit", "split", "axes of convolutions whose phases are in the batch">
  ];
}

def OrderChannels : NNPass<"ashlar-nn-order-channels"> {
  let summary = "order channels so that zero weights fill whole tiles";
  let description = [{
    The channels of a feature map may have any order if only convolutions with
    constant weights read it, directly or through functions and windows that
    work on each channel by itself. The outputs of the producer and the inputs
    of all readers are then permuted together:

    - outputs whose weights are zero in the same places become neighbours;
    - channels whose weights are all zero come after the others;
    - channels that no reader needs come last.

    The new order is kept if it increases the number of all-zero tiles of the
    array: as many inputs as it has rows, as many outputs as it has columns. The
    array skips these tiles, and the sparse
    cluster skips whole blocks of channels.

    A channel without weights and bias stays zero through relu and pooling, so
    the readers' weights for it become zero too. A feature map that a grouped
    convolution, a graph output, an addition or a concatenation reads keeps its
    order, because these fix it.
  }];
  let statistics = [
    Statistic<"numOrdered", "ordered", "maps with another order of channels">,
    Statistic<"numCleared", "cleared", "input channels without effect">
  ];
}

def RemoveChannels : NNPass<"ashlar-nn-remove-channels"> {
  let summary = "remove channels that no result needs";
  let description = [{
    Works backwards from the results of the function. A product (a convolution
    of one group with constant weights, or a product with a constant matrix)
    needs an input channel if one of its own needed channels has a weight for
    it. Channels that nobody needs are removed from the weights and biases of
    their producer, and from all functions, pools, sums, concatenations, slices,
    paddings and depthwise convolutions in between. Channels that such an
    operation ties together stay or go together.

    A channel is constant if it is one number whatever the input is: a product
    without weights gives its bias, and functions and pools of a number give a
    number. A product without padding does not need such a channel: its
    contribution goes into the bias, in binary64, rounded once. With padding
    this holds for the number zero only.

    Results of the function keep their values: sums of integers exactly, floats
    up to the rounding of biases. Encoded values differ by rounding, because
    blocks hold other channels. `0 * x` counts as 0 for every x.

    A product keeps a multiple of `granularity` channels, or all of them,
    because lanes and groups of units share channels in powers of two. Parts of
    a concatenation, except the last one, keep a multiple of `block` channels:
    each begins with a block of its own and stays where its product writes it.
    Parameters of the machine have no influence, because bits depend on the
    choice. The attribute `ashlar.decision.channels` of a product says what is
    left.
  }];
  let options = [
    Option<"granularity", "granularity", "int64_t", "8",
           "channels that a product keeps a multiple of">,
    Option<"block", "block", "int64_t", "1",
           "channels that share an exponent">
  ];
  let statistics = [
    Statistic<"numRemoved", "removed", "channels of products left out">
  ];
}

def VerifyFolded : NNPass<"ashlar-nn-verify-folded"> {
  let summary = "check the exit invariants of the fold phase";
  let description = [{
    Changes nothing. Reports an error for every remaining batch_norm and
    conv_transpose: later phases have no engine for them.
  }];
}

#endif // ASHLAR_TRANSFORMS_NN_FOLDPASSES_TD
