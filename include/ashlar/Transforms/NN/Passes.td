// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Passes within the `nn` dialect: the simplify and fold phases. Constants are
// computed in binary64 in index order and rounded once to the type they are
// stored in (docs/Numerics.md 6); data movement keeps every bit (7).

#ifndef ASHLAR_TRANSFORMS_NN_PASSES_TD
#define ASHLAR_TRANSFORMS_NN_PASSES_TD

include "mlir/Pass/PassBase.td"

class NNPass<string flag> : Pass<flag, "::mlir::func::FuncOp"> {
  let dependentDialects = ["::ashlar::nn::NNDialect"];
}

def BandChains : NNPass<"ashlar-nn-band-chains"> {
  let summary = "compute chains that change layout band by band of rows";
  let description = [{
    In a chain of element-wise operations and pools that work in different
    layouts (a maximum over channels has positions in the partition dimension)
    the vector unit and copies between layouts alternate, and results are whole
    feature maps of floats. Sums over channels keep the layout, but not less
    memory. If fewer cycles are predicted, each band of rows gets a chain of its
    own, between slices and a concat: one band is computed while another is
    loaded or changes its layout, and its results stay in the state buffer.
    Functions that the drain of a product applies are left there.

    Bands have the number of rows with the fewest predicted cycles: short ones
    overlap better, long ones fill partitions. The concat has the decision.
  }];
  let options = [
    Option<"partitions", "partitions", "int64_t", "128",
           "partitions of the state buffer">,
    Option<"partitionBytes", "partition-bytes", "int64_t", "65536",
           "bytes of one partition of the state buffer">,
    Option<"copyBytes", "copy-bytes", "int64_t", "128",
           "bytes per cycle of copies inside the chip">,
    Option<"copyQueues", "copy-queues", "int64_t", "3",
           "queues that copy at the same time">,
    Option<"copyRuns", "copy-runs", "int64_t", "0",
           "runs that a queue forms per cycle; 0: any number">,
    Option<"dramBytes", "dram-bytes", "int64_t", "64",
           "bytes per cycle of DRAM">,
    Option<"dramPercent", "dram-percent", "int64_t", "100",
           "percent of them that DRAM reaches">,
    Option<"handOver", "hand-over", "int64_t", "592",
           "cycles until what a stage makes reaches the next one">,
    Option<"vectorLatency", "vector-latency", "int64_t", "32",
           "the same where both are on the vector unit">
  ];
  let statistics = [
    Statistic<"numChains", "chains", "chains computed in bands">
  ];
}

def FoldConstants : NNPass<"ashlar-nn-fold-constants"> {
  let summary = "evaluate operations whose operands are all constant";
  let description = [{
    Replaces every operation whose operands are constant by its value. Data
    movement copies raw bits. Arithmetic is in binary64, in index order, rounded
    once to the result type; that of integers is exact, modulo their width.

    A result without elements is a constant for any operands.

    A result that is larger than `max-bytes` and larger than all operands
    together (a broadcast, a pad) stays an operation: the program file should
    not store what the machine can compute.
  }];
  let options = [
    Option<"maxBytes", "max-bytes", "int64_t", "4194304",
           "largest constant that may exceed its operands, in bytes">
  ];
  let statistics = [
    Statistic<"folded", "folded", "operations replaced by a constant">,
    Statistic<"kept", "kept", "operations kept because their value is large">
  ];
}

def SetBatch : NNPass<"ashlar-nn-set-batch"> {
    let summary = "several samples at a time for a network of one";
  let description = [{
    Every graph input has one sample on axis 0; afterwards it has `batch`, and
    so has every result, which is what the network gives for each sample. The
    samples' axis is followed through every operation, through transposes and
    reshapes too: a shape that the model states for one sample becomes that of
    all. Values that are the same for all samples are repeated where an
    operation needs them once per sample.

    An operation that would mix samples (a reduction over their axis, a softmax
    along it) is refused, and so is a result without the axis in front.
    Inputs of `keep` are the same for all samples; networks whose inputs all
    have `batch` already stay as they are.
  }];
  let options = [
    Option<"batch", "batch", "int64_t", "1", "samples at a time">,
    ListOption<"keep", "keep", "std::string",
               "names of inputs that are the same for all samples">
  ];
}

def FoldBatchNorm : NNPass<"ashlar-nn-fold-batch-norm"> {
  let summary = "absorb batch normalisation into weights, or make it mul + add";
  let description = [{
    With constant parameters, batch_norm is `x * s + t` per channel, where
    `s = scale / sqrt(var + epsilon)` and `t = bias - mean * s` in binary64.
    If x is the only use of a conv, conv_transpose or matmul with constant
    weights, s scales the weights and t joins the bias (matmul: an add of a
    constant follows). Otherwise the op becomes nn.mul and nn.add. Each new
    constant is rounded once.

    Parameters that are not constant leave the op as it is.
  }];
  let statistics = [
    Statistic<"absorbed", "absorbed", "batch_norm ops merged into weights">,
    Statistic<"expanded", "expanded", "batch_norm ops that became mul + add">
  ];
}

def MergeBias : NNPass<"ashlar-nn-merge-bias"> {
  let summary = "merge per-channel constants around a convolution into it";
  let description = [{
    conv or conv_transpose with constant weights, followed as its only use by
    add, sub, mul or div of a constant that varies along the channel axis only:
    terms join the bias, factors scale weights and bias. A factor per column of
    a matmul scales its weights. Computed in binary64, rounded once.

    A quotient becomes a factor: the reciprocal in binary64. Factors that are
    not finite (a division by zero) stay operations.
  }];
  let statistics = [
    Statistic<"biases", "biases", "sums merged into a bias">,
    Statistic<"scales", "scales", "factors merged into weights">
  ];
}

def ComposeAffine : NNPass<"ashlar-nn-compose-affine"> {
  let summary = "compose chains of products and sums with constants";
  let description = [{
    add, sub, mul and div of floats with constants that vary along one axis at
    most, each the only reader of the one before: `x * s + t` with s and t
    composed in binary64 and rounded once. A factor of one or a term of zero is
    omitted. Chains that would not get shorter stay, and so do those whose s or
    t is not finite in the element type.
  }];
  let statistics = [
    Statistic<"composed", "composed", "operations in composed chains">
  ];
}

def RecogniseActivations : NNPass<"ashlar-nn-recognise-activations"> {
  let summary = "recognise functions that exporters split into operations";
  let description = [{
    A product of x, a gate and numbers, in any order, becomes one nn.unary that
    the drain of the producer can apply:
    - `x * sigmoid(alpha * x)`: swish;
    - `x * (1 + erf(x / sqrt 2)) / 2`: gelu; with tanh of
      `sqrt(2 / pi) * (x + 0.044715 * x^3)`, the cube as products: geluTanh;
    - `x * hardSigmoid(x)` with 1/6 and 1/2, `x * clip(x + 3, 0, 6) / 6`:
      hardSwish.
    Inner products that other operations read stay whole factors.
  }];
  let statistics = [
    Statistic<"recognised", "recognised", "products that became one function">
  ];
}

def FoldPad : NNPass<"ashlar-nn-fold-pad"> {
  let summary = "absorb spatial padding into convolutions and pools";
  let description = [{
    A constant pad of spatial dimensions without interior elements goes into
    - conv, if the value is zero;
    - avg_pool, if the value is zero: the pool then counts its padding. Needs a
      pool that has no pads of its own, or already counts them;
    - max_pool of floats, if the value is minus infinity.
    Negative (cutting) pads stay.
  }];
  let statistics = [
    Statistic<"absorbed", "absorbed", "pads that a user absorbed">
  ];
}

def FlattenToConv : NNPass<"ashlar-nn-flatten-to-conv"> {
  let summary = "rewrite flattened or pruned dense layers as convolutions";
  let description = [{
    `matmul(reshape(x: [N, C, s...] -> [N, C*s...]), w: [C*s..., M])` with a
    constant w is a convolution whose kernel is the feature map: its blocks then
    run along C, as those of the feature map that it consumes (docs/Numerics.md
    1). An add of a constant per column becomes the bias. A reshape back to [N,
    M] follows. `matmul(x: [..., K], w: [K, M])` with a constant w of which at
    least three quarters are zero is a 1x1 convolution on `[rows, K, 1, 1]`: the
    sparse cluster, which skips zeros, has convolutions only. A residual
    connection of the product moves to the convolution. A matmul on anything
    else stays.
  }];
  let statistics = [
    Statistic<"converted", "converted", "matmuls that became convolutions">
  ];
}

def LowerConvTranspose : NNPass<"ashlar-nn-lower-conv-transpose"> {
  let summary = "lower conv_transpose to convolutions";
  let description = [{
    A transposed convolution is a convolution with stride one over the input
    with `stride - 1` zeros between its elements, with weights mirrored in space
    and input and output channels exchanged within each group. Elements of the
    result that are a multiple of the stride apart meet the same taps, so that
    each phase is a convolution over the input itself: with up to 64 phases
    that all have taps, the result is their nn.interleave, if the state buffer
    can hold it, so that products write it directly. Otherwise the zeros
    are those of an nn.pad. Padding that conv cannot express (negative) becomes an
    nn.pad as well. Weights need not be
    constant; for constant ones fold-constants removes the data movement.
  }];
  let options = [
    Option<"partitions", "partitions", "int64_t", "128",
           "partitions of the state buffer">,
    Option<"partitionBytes", "partition-bytes", "int64_t", "65536",
           "bytes of one partition of the state buffer">
  ];
  let statistics = [
    Statistic<"lowered", "lowered", "transposed convolutions lowered">
  ];
}

def SplitShuffles : NNPass<"ashlar-nn-split-shuffles"> {
  let summary = "a convolution for each phase of a pixel shuffle";
  let description = [{
    A pixel shuffle (depth_to_space: reshape, transpose, reshape) spreads groups
    of channels over space. Where a convolution with constant weights makes them,
    alone or through functions of one element, it becomes one convolution for
    each phase of the result and their nn.interleave: products write into it
    directly, so that no element is moved. Taken if the state buffer can hold the
    result, and the copies would take longer than what the array loses because
    fewer channels fill its `columns` worse.
  }];
  let options = [
    Option<"rows", "rows", "int64_t", "128",
           "rows of the multiplier array">,
    Option<"columns", "columns", "int64_t", "64",
           "columns of the multiplier array">,
    Option<"queues", "queues", "int64_t", "3", "queues that copy">,
    Option<"partitions", "partitions", "int64_t", "128",
           "partitions of the state buffer">,
    Option<"partitionBytes", "partition-bytes", "int64_t", "65536",
           "bytes of one partition of the state buffer">
  ];
  let statistics = [
    Statistic<"split", "split", "shuffles that became interleaves">
  ];
}

def LowerDynamicConv : NNPass<"ashlar-nn-lower-dynamic-conv"> {
  let summary = "rewrite convolutions with run-time weights as matmuls";
  let description = [{
    A convolution whose weights are only known at run time becomes im2col and a
    matmul with two computed operands, one per group, joined along the channels;
    the machine maps the taps to array rows and encodes both operands. The
    bias becomes a sum. Runs after constants are folded.
  }];
  let statistics = [
    Statistic<"lowered", "lowered", "convolutions that became products">
  ];
}

def LowerComposites : NNPass<"ashlar-nn-lower-composites"> {
  let summary = "rewrite operations that no engine supports as compositions";
  let description = [{
    where becomes prelu, add and neg (booleans: and, or), mod with fmod becomes
    the remainder of the magnitudes times a sign (integers: dividend minus
    quotient times divisor). Both are exact for every value. A max_pool whose
    window has at least four times as many taps as the sum of its extents
    becomes one max_pool per dimension. A concat loses its empty parts, and
    a convolution a bias that is not constant to an add.

    A reduction over more than two ranges of axes gets its axes moved together;
    one over more elements than half a partition holds becomes several, and so
    do softmax and log_softmax over a quarter of a partition (the formulas of
    docs/Numerics.md 9 one by one).
  }];
  let options = [
    Option<"partitionBytes", "partition-bytes", "int64_t", "65536",
           "bytes of one partition of the state buffer">
  ];
}

def ComposeNormalisations : NNPass<"ashlar-nn-compose-normalisations"> {
  let summary = "write normalisations as one scale and one shift per channel";
  let description = [{
    `(x - mean) / deviation * scale + shift`, with constants for scale and shift
    or without them, becomes `x * a + b` with `a = scale / deviation` and
    `b = shift - mean * a`, where all four vary along one axis at most. The
    elements take one pass; `a` and `b` have an element per channel. The result
    has an error of the size that the rounded mean alone gives it.
  }];
  let statistics = [
    Statistic<"numComposed", "composed", "normalisations with one scale">
  ];
}

def ComposeMovement : NNPass<"ashlar-nn-compose-movement"> {
  let summary = "merge and cancel data movement operations";
  let description = [{
    Applies until nothing changes: folders of identities; reshape of reshape,
    transpose of transpose, slice of slice; a transpose that only moves
    dimensions of size one becomes a reshape; a reshape moves below a unary
    function, so that it meets the next data movement; a broadcast before a
    broadcasting operation is removed. Dead operations are removed too.
  }];
}

def CanonicaliseTransposes : NNPass<"ashlar-nn-canonicalise-transposes"> {
  let summary = "simplify chains of reshapes and transposes";
  let description = [{
    A chain of reshapes and transposes permutes the digits of the source's
    row-major index: axes that stay adjacent in order are one digit, axes of one
    element none. The remaining permutation decides:

    * nothing moves: a reshape;
    * only indices along one axis change (a channel shuffle): an nn.gather with
      constant indices, which later slices and gathers merge into;
    * two or more transposes (depth to space after space to depth, head splits
      that meet): one transpose of the merged axes between two reshapes;
    * one transpose: it stays.

    A reshape that cuts a digit ends the chain.
  }];
}

def MergeBatchAxes : NNPass<"ashlar-nn-merge-batch-axes"> {
  let summary = "merge batch axes of matrix multiplications";
  let description = [{
    A matmul whose result has more than five axes becomes one on reshaped
    operands: neighbouring batch axes that both operands have, or that the same
    operand is repeated along, form one axis. If operands alternate in being
    repeated more than three times, they are broadcast first.
  }];
  let statistics = [
    Statistic<"numMerged", "merged", "products with merged batch axes">
  ];
}

def UngroupMaps : NNPass<"ashlar-nn-ungroup-maps"> {
  let summary = "compute statistics of groups of channels on the map itself";
  let description = [{
    A reshape that splits channels or joins them with other axes, as
    [N, C, H, W] to [N, G, C/G * H * W] does, element-wise operations and
    reductions of floats, and reshapes back: the normalisation of groups of
    channels as exporters write it. A grouped map lies in other partitions, so
    both reshapes are copies of all elements, and few groups fill few partitions.

    Such operations are computed in the shape of the map if nothing else reads
    the grouped one. Reductions run over the whole axes of the map first, then,
    of an element per channel, over the rest of a group; the order of their sums
    changes. Small operands are repeated along the channels of a group. A
    reduction over channels and positions comes in these two steps too.
  }];
  let statistics = [
    Statistic<"numUngrouped", "ungrouped", "regions computed on their map">
  ];
}

def SplitWindows : NNPass<"ashlar-nn-split-windows"> {
  let summary = "split pools whose windows exceed an instruction or a partition";
  let description = [{
    A kernel of more than 4095 taps, or a dilation above 4095, along an axis:
    the taps are divided into runs, a max_pool becomes the maximum of the runs'
    pools, an avg_pool the sum of their means, weighted by their taps. A stride
    above 4095: one pool for each window, joined by a concat. At most 256 pools;
    pools that need more, and integers along a long kernel, stay. The sums of an
    avg_pool are rounded once per run, and once more for the weights.

    In the fold phase windows whose elements take more than half a partition are
    split in the same way.
  }];
  let options = [
    Option<"partitionBytes", "partition-bytes", "int64_t", "0",
           "bytes of one partition of the state buffer; 0: any window fits">
  ];
  let statistics = [
    Statistic<"numSplit", "split", "pools that were split">
  ];
}

def SplitProducts : NNPass<"ashlar-nn-split-products"> {
  let summary = "split products whose columns are read in disjoint slices";
  let description = [{
    A matmul with constant weights whose result, after a sum with a constant
    per column, a reshape that splits the last axis and a transpose, is only
    read in disjoint slices of the columns becomes one matmul for each slice:
    queries, keys and values of one fused projection. The multiplications are
    the same; each result gets the storage that its reader needs. Slices of
    fewer than 32 columns stay.
  }];
  let statistics = [
    Statistic<"numSplit", "split", "products that were split">
  ];
}

def SimplifyArithmetic : NNPass<"ashlar-nn-simplify-arithmetic"> {
  let summary = "rewrite squares, cubes and constant divisors as products";
  let description = [{
    * Powers of 2 and 3 become products.
    * A division by one constant becomes a product with its reciprocal where
      that is exact, or where a preceding matmul takes it into its epilogue (the
      scaling of attention); then the reciprocal is rounded once.
    * A sum or mean of squares of differences, a variance, squares what it
      reduces. The mean is the sum times the rounded reciprocal of the count.
  }];
}

def SinkTransposes : NNPass<"ashlar-nn-sink-transposes"> {
  let summary = "move transposes past operations that commute with them";
  let description = [{
    Element-wise operations whose operands are all transposed alike, or
    constant, reductions, softmax, concatenations and slices compute on the
    untransposed operands; the transpose follows them. Only transposes without
    other readers move. A reduction over several axes then adds in the order of
    the untransposed axes.
  }];
}

def FoldWidth : NNPass<"ashlar-nn-fold-width"> {
  let summary = "map the taps of few-channel convolutions to array rows";
  let description = [{
    A convolution of few input channels leaves most rows of the multiplier array
    idle. Alternatives, compared by one cost function: first the longest of
    reading, copying and encoding the input, then the longer of array and drain,
    with what does not overlap at the ends:

    * `plain`: one tap at a time; a W stride skips columns in place;
    * `stride-fold`: the Sw columns that a step of the window passes become
      channels of one pixel, W stride 1, so that row groups of the array may
      give several results per step (docs/WidthFolding.md). The
      folded feature map has exactly Wo + Kf - 1 columns. The cheaper of form B
      (zero taps before the kernel, the input is a view) and form A (zero taps
      after it, borders added while folding);
    * `phase-fold`: the same with only those of the Sw columns that a tap reads;
    * `strided-slice`: one such column, because the dilation is a multiple of
      the stride or there is one tap: the taps keep their distance;
    * `lane-fold`: W stride 1, nothing to fold but row groups to use;
    * `rows-and-stride-fold`: the kernel's rows become channels as well; an input
      in DRAM is fetched once for all rows of the kernel if the map stays in the
      chip (`ashlar-npu-read-windows`);
    * `pack-taps`: the whole kernel becomes channels.

    All but the first are an nn.im2col and a smaller convolution. Folded taps
    of zeros are never issued and cost nothing. Considered are convolutions of
    group 1 with constant weights, more than one tap or a W stride, and fewer
    than 8 channels, or fewer than 16 and no multiple of 8. Grouped and
    depthwise convolutions, and strided ones of more channels, stay as they are
    and get a decision that says why.

    The attribute `ashlar.decision` on the convolution records the choice, the
    reason with the useful share of the array by cause, and the cycles of all
    alternatives.
  }];
  let options = [
    Option<"mode", "mode", "std::string", "\"auto\"",
           "auto, off (no stride fold and no lanes), stride, lane or both">,
    Option<"only", "only", "std::string", "\"\"",
           "name of the alternative to take wherever it exists">,
    Option<"rows", "rows", "int64_t", "128", "rows of the multiplier array">,
    Option<"columns", "columns", "int64_t", "64",
           "columns of the multiplier array">,
    Option<"laneUnit", "lane-unit", "int64_t", "8",
           "row groups are multiples of this; 0: there are none">,
    Option<"partitions", "partitions", "int64_t", "128",
           "partitions of the state buffer">,
    Option<"partitionBytes", "partition-bytes", "int64_t", "65536",
           "bytes of one partition">,
    Option<"copyBytes", "copy-bytes", "int64_t", "128",
           "bytes per cycle of a copy inside the chip">,
    Option<"dramBytes", "dram-bytes", "int64_t", "64",
           "bytes per cycle of DRAM">,
    Option<"dramPercent", "dram-percent", "int64_t", "100",
           "percent of these that DRAM reaches">,
    Option<"copyQueues", "copy-queues", "int64_t", "3",
           "queues that copy at the same time">,
    Option<"copyRuns", "copy-runs", "int64_t", "0",
           "contiguous runs that each forms per cycle, 0: unlimited">,
    Option<"copySetup", "copy-setup", "int64_t", "0",
           "cycles of a copy before its first byte">,
    Option<"copyLatency", "copy-latency", "int64_t", "0",
           "cycles from the last byte of a copy inside the chip to its "
           "completion">,
    Option<"banks", "banks", "int64_t", "0",
           "banks of a partition, 0: accesses never conflict">,
    Option<"ports", "ports", "int64_t", "1",
           "accesses that a bank takes per cycle">,
    Option<"portBytes", "port-bytes", "int64_t", "16", "bytes of an access">,
    Option<"burstBytes", "burst-bytes", "int64_t", "64",
           "bytes of a DRAM burst">,
    Option<"latency", "latency", "int64_t", "456",
           "cycles of latencies between DRAM and the result">,
    Option<"dramLatency", "dram-latency", "int64_t", "200",
           "of these, cycles from a request to DRAM to its first byte">,
    Option<"encodeCycles", "encode-cycles", "int64_t", "2",
           "cycles in which the vector unit encodes a position of all "
           "partitions">,
    Option<"drainCycles", "drain-cycles", "int64_t", "1",
           "cycles in which a position of all columns is drained">,
    Option<"writePorts", "write-ports", "int64_t", "0",
           "row groups that PSUM takes in a cycle; 0: all">,
    Option<"bankEntries", "bank-entries", "int64_t", "512",
           "PSUM entries of a column and bank">,
    Option<"psumEntries", "psum-entries", "int64_t", "1024",
           "PSUM entries of a column that fill together">,
    Option<"clusterMultipliers", "cluster-multipliers", "int64_t", "0",
           "multipliers of the sparse cluster; 0: there is none">
  ];
  let statistics = [
    Statistic<"numFolded", "folded", "convolutions folded">
  ];
}

def OrderChannels : NNPass<"ashlar-nn-order-channels"> {
  let summary = "order channels so that zero weights fill whole tiles";
  let description = [{
    The channels of a feature map that only convolutions with constant weights
    read, directly or through functions and windows that work on each channel
    alone, may have any order: the outputs of the producer and the inputs of all
    readers are permuted together.     Channels that no reader needs come last,
    before them those whose weights are all zero; outputs whose weights are zero
    in the same places are neighbours. An order is taken if it increases the
    number of all-zero tiles of `rows` inputs and `columns` outputs; the
    array skips these, and the sparse cluster skips whole blocks of channels.

    A channel without weights and bias stays zero through relu and pooling: the
    readers' weights for it become zero too.

    A feature map that a grouped convolution, a graph output, an addition or a
    concatenation reads keeps its order, because these fix it.
  }];
  let options = [
    Option<"rows", "rows", "int64_t", "128",
           "rows of the multiplier array">,
    Option<"columns", "columns", "int64_t", "64",
           "columns of the multiplier array">
  ];
  let statistics = [
    Statistic<"numOrdered", "ordered", "maps with another order of channels">,
    Statistic<"numCleared", "cleared", "input channels without effect">
  ];
}

def RemoveChannels : NNPass<"ashlar-nn-remove-channels"> {
  let summary = "leave out channels that no result needs";
  let description = [{
    From the results of the function backwards, a product needs the channels of
    its input for which any of its own needed channels has a weight. What no one
    needs is left out of the weights and biases of whatever makes it, and of all
    functions, pools, sums, concatenations, slices, paddings and depthwise
    convolutions between products; channels that such an operation ties together
    stay or go together. Products are convolutions of one group with constant
    weights and products with a constant matrix.

    A channel that is one number whatever the input (a product without weights
    gives its bias; functions and pools of a number are numbers) is needed by no
    product without padding: its part goes into the bias, in binary64, rounded
    once. With padding that holds for the number zero.

    Results of the function keep their values: sums of integers to the bit, floats
    but for the rounding of biases. Encoded values differ by rounding, because
    blocks hold other channels. `0 * x` counts as 0 for every x.

    A product keeps a multiple of `granularity` channels, or all: lanes and groups
    of units share channels in powers of two. So do parts of a concatenation, but
    the last, of `block` channels: each begins with a block of its own and stays
    where its product writes it. The machine has no say, because bits depend on it.
    The attribute `ashlar.decision.channels` of products says what is left.
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

def RemoveDead : NNPass<"ashlar-nn-remove-dead"> {
  let summary = "remove operations whose result is unused";
  let description = [{
    Every operation of the dialect is pure, so one walk from the last to the
    first removes all that do not reach a result.
  }];
  let statistics = [Statistic<"removed", "removed", "operations removed">];
}

def VerifyFolded : NNPass<"ashlar-nn-verify-folded"> {
  let summary = "check the exit invariants of the fold phase";
  let description = [{
    Changes nothing. An error for every remaining batch_norm and
    conv_transpose: later phases have no engine for them.
  }];
}

#endif // ASHLAR_TRANSFORMS_NN_PASSES_TD
