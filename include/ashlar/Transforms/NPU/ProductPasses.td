// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How products and convolutions use the dense array and the engines that drain
// it.

#ifndef ASHLAR_TRANSFORMS_NPU_PRODUCTPASSES_TD
#define ASHLAR_TRANSFORMS_NPU_PRODUCTPASSES_TD

include "mlir/Pass/PassBase.td"

def ChoosePatterns : Pass<"ashlar-npu-choose-patterns", "::mlir::ModuleOp"> {
  let summary = "find the N:M weights that the array multiplies faster";
  let description = [{
    Sets `pattern` on products with constant weights that have stationary tiles
    with the machine's N:M pattern (`pe.pattern_group`). With `mode` auto this
    needs fewer predicted cycles of loads and streams than without the pattern;
    with `mode` on, one such tile is enough. Does nothing with `mode` off or for
    a machine without the pattern. The decision has the cycles of both
    alternatives and the number of tiles with the pattern.
  }];
  let options = [
    Option<"mode", "mode", "std::string", "\"auto\"",
           "N:M weights: auto (fewest cycles), on or off">
  ];
  let statistics = [
    Statistic<"numTiles", "tiles", "stationary tiles with the pattern">
  ];
}

def ChooseStationary : Pass<"ashlar-npu-choose-stationary", "::mlir::ModuleOp"> {
  let summary = "choose the stationary operand of every product by cycles";
  let description = [{
    Predicts the array cycles of every `npu.pe` operation with its weights and
    with its activations as the stationary operand. The latter include the cost
    of transposing the result back: a copy and a vector instruction, or, where
    the drain can encode, an identity multiplication that moves whole blocks and
    flips their orientation.

    An operation for which stationary activations are cheaper is marked with
    `stationary`: `activations`, or `activations_blocks` for the identity
    multiplication. Only products with constant weights, one group and at most
    as many result positions as partitions can be transposed. The decision has
    the cycles of both alternatives.
  }];
  let statistics = [
    Statistic<"numActivations", "activations", "products whose weights move">,
    Statistic<"numBlocks", "blocks", "of these, transposed on the array">
  ];
}

def ChooseFunctionEngine
    : Pass<"ashlar-npu-choose-function-engine", "::mlir::ModuleOp"> {
  let summary = "apply functions after products on the vector unit where faster";
  let description = [{
    A drain applies the function that follows a product, with one lane per
    column of the array. A function that takes several cycles per result can
    make the drain slower than the array. Where the vector unit, which usually
    has more lanes, is predicted to be faster, the function becomes an
    `npu.vec.map` on the result of a plain drain. Only results in binary32
    change engines, so no bit changes. The decision has the cycles of both
    alternatives. With `engine` `vector` every function leaves that can; with
    `drain` and `shared` none does.
  }];
  let options = [
    Option<"engine", "engine", "std::string", /*default=*/"\"auto\"",
           "auto, drain, vector or shared">];
  let statistics = [
    Statistic<"numMoved", "moved", "functions that left their drains">
  ];
}

def PackRows : Pass<"ashlar-npu-pack-rows", "::mlir::ModuleOp"> {
  let summary = "put several rows of results into one step of the array";
  let description = [{
    A convolution of Co outputs uses Co of the columns of the array. With
    `packed_rows` = G, G rows of results lie side by side, and G * Co columns
    work. The stationary tiles are those of a kernel that covers the windows of
    all G rows: it is (G - 1) * stride rows higher, with zeros where a row has
    no tap. A feature map takes 1 / G of the steps for each tap, and 1 / G of
    the steps of its drains (docs/Machine.md, PE array).

    **Apart.** With `rows_apart` G rows of the operand lie side by side in the
    rows of the array as well: row y in group y mod G of as many partitions as
    there are channels. The operand is copied into this layout tile by tile. Each
    step then covers G rows of the operand, each with its own weights: a kernel
    of one row takes 1 / G of the steps, one of K rows about K / G + 1 for each
    of its columns. If G times the outputs exceed the columns, the outputs are
    divided among several column tiles. G divides the number of rows of the
    operand, the channels of a row fill whole exponent cells, and the copy takes
    at most an eighth of the state buffer.

    A convolution of one group whose constant weights are stationary gets the G
    with the fewest predicted cycles of copies, array, drains and DRAM for its
    weights, zeros included; among equals, the one with the fewest cycles of the
    array. The decision has the cycles of every alternative. Field `pack_rows` of
    the module attribute `npu.tuning` asks for rows apart wherever possible
    (`apart`), for none (`columns`, or `compared` if whole programs were), or
    for one row (`off`).
  }];
  let statistics = [
    Statistic<"numPacked", "packed", "convolutions with several rows in a step">,
    Statistic<"numApart", "apart", "those whose operand has them, too">];
}

def PoolInDrain : Pass<"ashlar-npu-pool-in-drain", "::mlir::ModuleOp"> {
  let summary = "drain products through the windows of the pool that follows";
  let description = [{
    A pool that alone reads a convolution of the array can take the sums from
    PSUM: `vec.drain` applies the epilogue, rounds every value as the drain would
    have stored it, and reduces the windows (`pooling` of `npu.pe.conv`). No bit
    changes; the map is neither stored nor read again, ACT is idle, and the
    vector unit waits only for whole rows of results. In return the vector unit
    applies the epilogue, rows of sums that two groups of results share are
    computed twice, rows are not packed, and PSUM is occupied while the windows
    are reduced.

    A maximum that alone reads a convolution on the sparse cluster, or several
    that are joined along channels, can be taken by the drains of the cluster:
    ACT compares what it would have stored (`act.pool`, `pooling` of
    `npu.tcu.conv`). The map is made in bands of rows whose sums fill half of
    the accumulators; rows that the windows of two bands share are summed up
    twice. Maxima of joined maps are joined in turn.

    With mode `auto` the drain reduces windows where that takes fewer predicted
    cycles, with `eager` where it takes at most a thirty-second more, with `on`
    wherever it can. It can not on the cluster: without `act.pool_columns`, or if
    these do not hold the windows that are open between two rows; with averages,
    dilations, or windows of which more than two have a position along an axis;
    in scatter mode, with kept maps, three dimensions, a residual or an integer
    epilogue. It can not on the array: without `vec.psum_lanes`; with
    another reader of the map, a residual, an integer epilogue, lanes, stationary
    activations or a scale policy that watches the map; if the
    sums of one row of results exceed half of PSUM; if the drain cannot form the
    blocks of both; if windows are further apart than they are high.
  }];
  let options = [
    Option<"mode", "mode", "std::string", /*default=*/"\"auto\"",
           "auto, eager, on or off">,
    Option<"reason", "reason", "std::string", /*default=*/"\"\"",
           "with off: why, for the decision of each pool; empty: no decision">];
  let statistics = [
    Statistic<"numPooled", "pooled", "pools in drains">];
}

def ShareFunctions : Pass<"ashlar-npu-share-functions", "::mlir::ModuleOp"> {
  let summary = "apply functions after products on two engines";
  let description = [{
    Where the drain of a product takes longer than the array because of its
    function, ACT leaves it to the vector unit for some pieces of the sums
    (`vector_share`): these leave as binary32 and are finished from scratch
    memory, while ACT goes on with the next piece. The share is the one with the
    fewest predicted cycles; products whose results do not lie where drains
    write them are left alone. Both engines apply the function to the same
    binary32 values, so no bit changes. A function that
    `ashlar-npu-choose-function-engine` gave to the vector unit comes back where
    a share takes fewer cycles. With `engine` `shared` every function is shared
    that can be, with `drain` and `vector` none is.
  }];
  let options = [
    Option<"engine", "engine", "std::string", /*default=*/"\"auto\"",
           "auto, drain, vector or shared">];
  let statistics = [
    Statistic<"numShared", "shared", "products whose function two engines apply">
  ];
}

#endif // ASHLAR_TRANSFORMS_NPU_PRODUCTPASSES_TD
