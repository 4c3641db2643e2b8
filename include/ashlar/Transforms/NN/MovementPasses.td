// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Data movement: transposes, reshapes and copies, and the layouts they lead to.

#ifndef ASHLAR_TRANSFORMS_NN_MOVEMENTPASSES_TD
#define ASHLAR_TRANSFORMS_NN_MOVEMENTPASSES_TD

include "include/ashlar/Transforms/NN/PassBase.td"

def ComposeMovement : NNPass<"ashlar-nn-compose-movement"> {
  let summary = "merge and cancel data movement operations";
  let description = [{
    Applies these rewrites until nothing changes:

    - identities are removed;
    - reshape of reshape, transpose of transpose and slice of slice are merged;
    - a transpose that only moves dimensions of size one becomes a reshape;
    - a reshape moves below a unary function, so that it meets the next data
      movement;
    - a broadcast before an operation that broadcasts by itself is removed;
    - a concat loses its empty parts.

    Dead operations are removed too.
  }];
}

def CanonicaliseTransposes : NNPass<"ashlar-nn-canonicalise-transposes"> {
  let summary = "simplify chains of reshapes and transposes";
  let description = [{
    A chain of reshapes and transposes permutes the digits of the source's
    row-major index. Axes that stay adjacent and in order form one digit; axes
    of one element form none. The remaining permutation decides:

    | what remains | result |
    |---|---|
    | nothing moves | a reshape |
    | only indices along one axis change (a channel shuffle) | an nn.gather with constant indices, which later slices and gathers merge into |
    | two or more transposes (depth to space after space to depth, head splits that meet) | one transpose of the merged axes between two reshapes |
    | one transpose | it stays |

    A reshape that cuts a digit ends the chain.
  }];
}

def SinkTransposes : NNPass<"ashlar-nn-sink-transposes"> {
  let summary = "move transposes past operations that commute with them";
  let description = [{
    Moves a transpose from the operands of an operation to its result, if the
    operands are all transposed alike or constant. This holds for element-wise
    operations, reductions, softmax, concatenations and slices. Only transposes
    without other readers move. A reduction over several axes then adds in the
    order of the untransposed axes.
  }];
}

def SplitShuffles : NNPass<"ashlar-nn-split-shuffles"> {
  let summary = "compute each phase of a pixel shuffle by a convolution of its own";
  let description = [{
    A pixel shuffle (depth_to_space: reshape, transpose, reshape) spreads groups
    of channels over space. If a convolution with constant weights produces
    these channels, directly or through unary functions, it becomes one
    convolution per phase, and an nn.interleave of their results. Products write
    into the interleave directly, so no element is moved.

    Done if the state buffer can hold the result, and if the copies would take
    longer than what the array loses: fewer channels fill its columns less well,
    in all passes over the digits of a product.
  }];
  let options = [
    Option<"activationBits", "activation-bits", "int64_t", "8",
           "bits of the mantissas of activations, sign included">,
    Option<"weightBits", "weight-bits", "int64_t", "8",
           "bits of the mantissas of weights, sign included">
  ];
  let statistics = [
    Statistic<"split", "split", "shuffles that became interleaves">
  ];
}

def MergeBatchAxes : NNPass<"ashlar-nn-merge-batch-axes"> {
  let summary = "merge batch axes of matrix multiplications";
  let description = [{
    A matmul whose result has more than five axes becomes a matmul of reshaped
    operands. Neighbouring batch axes become one axis if both operands have
    them, or if the same operand is repeated along them. If the repeated operand
    alternates more than three times, the operands are broadcast first.
  }];
  let statistics = [
    Statistic<"numMerged", "merged", "products with merged batch axes">
  ];
}

def UngroupMaps : NNPass<"ashlar-nn-ungroup-maps"> {
  let summary = "compute statistics of channel groups in the layout of the feature map";
  let description = [{
    Exporters write group normalisation as a reshape that splits channels or
    joins them with other axes ([N, C, H, W] to [N, G, C/G * H * W]),
    element-wise operations and reductions of floats, and reshapes back. The
    grouped tensor has another mapping to partitions, so both reshapes copy all
    elements; and few groups fill few partitions.

    If nothing else reads the grouped tensor, such operations are computed in
    the shape of the feature map:

    - Reductions run over whole axes of the feature map first, and then, on one
      element per channel, over the rest of a group. The order of their sums
      changes.
    - Small operands are repeated along the channels of a group.
    - A reduction over channels and positions takes the same two steps.
  }];
  let statistics = [
    Statistic<"numUngrouped", "ungrouped", "regions computed on their map">
  ];
}

def BandChains : NNPass<"ashlar-nn-band-chains"> {
  let summary = "compute chains that change layout in bands of rows";
  let description = [{
    In some chains of element-wise operations and pools, neighbours work in
    different layouts: a maximum over channels has positions in the partition
    dimension, the operations around it have channels. The vector unit and the
    copies that change layouts then alternate, and every intermediate result is
    a whole feature map of floats. Sums over channels keep the layout, but
    their feature maps take as much memory.

    If fewer cycles are predicted, each band of rows gets a chain of its own,
    between slices of the operands and a concat. One band is computed while
    another is loaded or changes its layout, and the intermediate results of a
    band stay in the state buffer. Functions that the drain of a product applies
    are left there. Every element is computed as before.

    The number of rows in a band is the one with the fewest predicted cycles:
    short bands overlap better, long ones fill partitions better. The decision
    is an attribute of the concat.
  }];
  let statistics = [
    Statistic<"numChains", "chains", "chains computed in bands">
  ];
}

#endif // ASHLAR_TRANSFORMS_NN_MOVEMENTPASSES_TD
