// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Planning passes of the npu dialect.

#ifndef ASHLAR_TRANSFORMS_NPU_PASSES_TD
#define ASHLAR_TRANSFORMS_NPU_PASSES_TD

include "mlir/Pass/PassBase.td"
include "include/ashlar/Transforms/NPU/ClusterPasses.td"
include "include/ashlar/Transforms/NPU/ProductPasses.td"

def AssignAxis : Pass<"ashlar-npu-assign-axis", "::mlir::ModuleOp"> {
  let summary = "choose the partition dimension of every tensor";
  let description = [{
    Sets `layout`, whose `axis` is the partition dimension (-1: one partition
    holds the tensor). The rules, in order:

    1. An encoded tensor has its block axis.
    2. Another result has the axis that its operation produces.
    3. If the operation leaves it open, the result has the axis of the operands,
       or the longest axis that the operation may use.
    4. Without any constraint it is the channel axis of a feature map, otherwise
       the last axis. Another axis is taken if partitions then hold at most a
       quarter and no reader needs a specific axis.

    The partition dimension may be the reduced axis (`npu.vec.reduce`), where
    the sum through the partitions takes fewer cycles than a copy of the operand
    across another axis and the sum within partitions. Functions of the results,
    which lie in one partition, then work across another axis, if copies there
    and back take fewer cycles.

    A tensor and its reduction may be read together, as in a normalisation. Both
    then use the axis of the reduction, if partitions hold no more that way: the
    reduction has a copy of the tensor across that axis anyway. An operation
    that reads a tensor along another axis gets a copy in its own layout when
    the tensor is staged.
  }];
}

def SplitMeans : Pass<"ashlar-npu-split-means", "::mlir::ModuleOp"> {
  let summary = "divide the sums of a mean across partitions";
  let description = [{
    A mean through the partitions has all results in one partition, whose lane
    divides them one after another. If copies there and back take fewer cycles,
    the mean becomes a sum and a quotient, which is computed across the longest
    axis of the result. The quotient rounds as the mean does.
  }];
  let dependentDialects = ["::ashlar::nn::NNDialect"];
  let statistics = [
    Statistic<"numSplit", "split", "means that became a sum and a quotient">
  ];
}

def DecodeOperands : Pass<"ashlar-npu-decode-operands", "::mlir::ModuleOp"> {
  let summary = "decode block operands that are read along another axis";
  let description = [{
    Blocks run along the partition dimension, so an operation of the vector unit
    with another partition dimension cannot read them. An `npu.vec.map "copy"`
    decodes the operand to f32 along the axis of its blocks, once for all such
    readers. The decoded tensor is copied to the new layout when it is staged.
  }];
  let statistics = [
    Statistic<"numDecoded", "decoded", "tensors that got a decoded copy">
  ];
}

def ClassifyTransposes
    : Pass<"ashlar-npu-classify-transposes", "::mlir::ModuleOp"> {
  let summary = "choose how each data movement is done";
  let description = [{
    A data movement that only renames axes of a resident tensor is a view
    (`none`). One that changes the partition dimension takes the route with the
    fewest predicted cycles, or the one that `mode` names:

    - a copy on the chip;
    - an identity multiplication on the array (npu.pe.transpose): `pe` passes
      whole words; `planes` multiplies every byte of the elements by 1, which
      never takes fewer cycles; `floats` multiplies floating-point elements
      themselves, which is exact for finite values except -0;
    - through DRAM (`route`).

    A graph input or output is loaded or stored in its new order in any case.
    The drain of an identity multiplication also applies a function that is the
    only reader of its result.

    Two other cases are data movements as well (`layout`): an operation that
    reads its operand across another partition dimension, and a result whose
    neighbours in DRAM are in other partitions. They become operations where the
    array or DRAM is chosen, and otherwise remain copies of the operation's
    tiles. The part of such a copy that overlaps a product before or after it
    costs nothing.

    The attribute `ashlar.decision.transpose` has the choice, its reason and the
    predicted cycles of every alternative.
  }];
  let options = [
    Option<"mode", "mode", "std::string", /*default=*/"\"auto\"",
           "auto, pe, planes, floats, dma or copy">];
  let statistics = [
    Statistic<"numNone", "none", "data movements that are views">,
    Statistic<"numCopies", "copies", "data movements copied on the chip">,
    Statistic<"numIdentities", "identities", "identity multiplications">,
    Statistic<"numThroughDram", "through-dram", "data movements through DRAM">
  ];
}

def FoldLanes : Pass<"ashlar-npu-fold-lanes", "::mlir::ModuleOp"> {
  let summary = "fold neighbouring pixels of a row into idle array rows";
  let description = [{
    A convolution of C channels uses C of the R rows of the array. Its input can
    be folded: Ws = R / PCi neighbouring pixels lie side by side in Ws groups of
    PCi >= C partitions, and one step gives Ws results (docs/Machine.md, PE
    array, row groups; docs/WidthFolding.md). The pass sets `lanes` = Ws and
    `pitch` = PCi in the `layout` of the producer of such an input.

    A feature map can be folded if

    - all its readers are convolutions of a W stride up to 16 with stationary
      weights, with any number of groups, and
    - its producer can write it folded: a convolution whose drain encodes, or a
      data movement that encodes.

    A convolution can also write feature maps of C > PCi channels, in blocks of
    PCi channels that its readers stream one after the other. This is considered
    where a reader may take fewer steps that way.

    PCi is the value with the fewest predicted cycles of all readers and of the
    producer; among equals, the largest. A data movement copies rows into lanes
    element by element, so its cost includes the cycles in which the byte
    network forms these runs. With `policy` source, the rule of the original
    design decides: the largest PCi whose padding exceeds the minimum by at most
    `tolerance` channels. Each reader's decision has the cycles of every
    alternative.
  }];
  let options = [
    Option<"policy", "policy", "std::string", /*default=*/"\"cycles\"",
           "how PCi is chosen: cycles or source">,
    Option<"tolerance", "tolerance", "int64_t", /*default=*/"8",
           "padding that the rule of the original design accepts, in channels">];
  let statistics = [
    Statistic<"numFolded", "folded", "feature maps folded into lanes">];
}

def ConvertInPlace : Pass<"ashlar-npu-convert-in-place", "::mlir::ModuleOp"> {
  let summary = "replace data movements that only encode by conversions";
  let description = [{
    A lane fold needs a data movement that lays neighbouring pixels side by
    side. If no fold is the cheapest, or a reader runs on the sparse cluster, the
    movement does not move any element: it only copies the map into scratch
    memory and encodes it from there. Such an `npu.dma.move` becomes an
    `npu.vec.map "copy"`, which reads the map in place, and a map of few
    channels in parts that it processes side by side. The encode event keeps its
    name. Predictions for clusters and folds assume this form for a map without
    a fold.
  }];
  let statistics = [
    Statistic<"numConverted", "converted", "movements that became conversions">
  ];
}

def ReadWindows : Pass<"ashlar-npu-read-windows", "::mlir::ModuleOp"> {
  let summary = "read windows that reach beyond their operand without a padded copy";
  let description = [{
    Windows that share elements or reach beyond an end of their operand are read
    from a padded copy of it, tile by tile.

    If windows share elements along one axis other than the last, every element
    has to be fetched only once (analysis::windowCopies), and it can be fetched
    from the operand itself, even in DRAM. The windows inside the operand are
    one access pattern. Each window that reaches beyond an end is a pattern of
    its own, without the taps outside; the result is filled with zeros there.

    The alternative with fewer predicted cycles of copies is taken.
  }];
  let statistics = [
    Statistic<"numInPlace", "in-place", "movements that read windows in place">];
}

def SpreadMaps : Pass<"ashlar-npu-spread-maps", "::mlir::ModuleOp"> {
  let summary = "put a second axis of few-channel maps across partitions";
  let description = [{
    A feature map of C channels fills C partitions and C lanes of the vector
    unit. Its rows or columns can be distributed over `count` groups of C
    partitions (`#npu.spread`). Element-wise operations and reductions of other
    axes then take about `count` times fewer cycles. The feature map also takes
    `count` times less of each partition, so one that was too large for the
    state buffer may fit.

    **Groups of operations.** Vector-unit operations that are connected by
    feature maps are decided together. For each group, the pass compares every
    axis and the numbers of partition groups that fill most partitions. The cost
    is that of vector instructions, of copies between layouts, and of feature
    maps that go through DRAM.

    **Marks.** `work_spread` marks an operation that computes in this layout,
    `spread` a result that is stored in it. An operation that reads or writes a
    feature map in another layout than the stored one copies it tile by tile. A
    network input that several operations read in this layout is loaded once.

    **Large feature maps.** A feature map of other operations that is too large
    for its partitions is stored in this layout if the copies of its tiles cost
    less than DRAM. It might have fitted anyway, or have been processed in
    tiles, so the compiler times the network with and without `keep-large`.
  }];
  let options = [
    Option<"keepLarge", "keep-large", "bool", /*default=*/"true",
           "maps that are too large for their partitions lie in others as well">
  ];
  let statistics = [
    Statistic<"numSpread", "spread",
              "operations with a second axis across partitions">,
    Statistic<"numKept", "kept", "maps that fit the state buffer so">];
}

def PlanMemory : Pass<"ashlar-npu-plan-memory", "::mlir::ModuleOp"> {
  let summary = "decide residency, addresses and tile sizes";
  let description = [{
    Keeps tensors in the state buffer from producer to last consumer if they
    fit, and spills the largest ones that do not fit to DRAM. In detail:

    - Convolutions write directly into the concatenation that is their only
      reader.
    - Addresses are allocated by liveness. Each operation gets the largest tile
      that its scratch memory allows; the remaining memory is the ring into
      which weights are prefetched.
    - A data movement that converts works in place of its operand if no tile
      overwrites what a later one reads (`ashlar.decision.in_place`). A square
      transpose that does not fit next to its operand swaps blocks in place
      (`route`).
    - A product in tiles has positions or outputs in the outer loop, whichever
      reads fewer bytes of DRAM (`ashlar.decision.weights`).
    - If not everything fits, the plan with the fewest predicted cycles is
      taken: it spills feature maps to DRAM, cuts columns of weights into parts
      along the contraction axis (`chunk`), or both.

    Sets `memory`, with the reason if a result is not resident, and `tiling`.
    Fails with required and available bytes if an operation does not fit even
    with its smallest tile.

    If the module attribute `npu.tuning` has `banks_apart`, results are placed
    in other banks of the state buffer than their operands, where there is room.
  }];
  let statistics = [
    Statistic<"numResident", "resident", "tensors kept in the state buffer">,
    Statistic<"numSpilled", "spilled", "tensors placed in DRAM">
  ];
}

def VerifyFormats : Pass<"ashlar-npu-verify-formats", "::mlir::ModuleOp"> {
  let summary = "check that the machine can hold the block formats";
  let description = [{
    The partitions of an exponent cell share an exponent, so block lengths have
    to be multiples of `xm_group`. Blocks that span an axis or a tensor always
    fit.
  }];
}

def ChooseMapForm : Pass<"ashlar-npu-choose-map-form", "::mlir::ModuleOp"> {
  let summary = "decide which feature maps in DRAM are compressed";
  let description = [{
    A result in DRAM may be stored compressed, in cells of one row each
    (docs/SparseTiles.md 4), if it is written and read in whole rows and its
    partition dimension is the channels. The densities of `npu.profile`, which
    is removed, or estimates from producers give the expected bytes of bitmap,
    COO and quad-tree. The form with the fewest DRAM cycles is chosen if it
    makes no transfer slower. Sets `form` in `memory`, and `ashlar.decision.map`
    with the reason, and the bytes and cycles of the alternatives.
  }];
  let options = [
    Option<"mode", "mode", "std::string", "\"auto\"",
           "auto, off, or the form of every feature map that can be "
           "compressed: bitmap, coo, quadtree">
  ];
  let statistics = [
    Statistic<"numCompressed", "compressed", "feature maps compressed in DRAM">
  ];
}

def VerifyLayouts : Pass<"ashlar-npu-verify-layouts", "::mlir::ModuleOp"> {
  let summary = "check that operations accept their layouts";
  let description = [{
    By its layout interface, every operation says which operands it can read and
    which results it can write directly in the state buffer. This pass follows
    the views that planning made (`memory`, `route`, `layout`) and refuses a
    module in which an operation has a layout that it does not accept. Without
    placements, every result counts as dense in the state buffer, with the
    partition dimension of its `layout`.

    Example: a slice of every other token is a view without a copy. A product
    that loads its positions as the columns of a stationary operand reads them
    with one stride; a transposed view of them has two, so planning copies it.
  }];
}

def PrintCycles : Pass<"ashlar-npu-print-cycles", "::mlir::ModuleOp"> {
  let summary = "print the predicted cycles of every operation";
  let description = [{
    For tests and developers; not part of a phase. Changes nothing. Prints one
    line for each engine of an operation on standard output, separated by tabs:
    node, engine (`pe`, `act`, `vec`, or `dma` for the queues that share a copy)
    and the cycles that the choices of the assign phase assume.

    An operation counts as one tile. Its neighbours are left out, and so are
    products with stationary activations or on the sparse cluster, which have
    predictions of their own.

    Input: operations with `layout`.
  }];
}

def VerifyPlan : Pass<"ashlar-npu-verify-plan", "::mlir::ModuleOp"> {
  let summary = "check the exit invariants of the plan phase";
  let description = [{
    Every npu operation has an axis, a placement and a tile. Every other
    operation is a constant, an encode of a constant, or part of the function
    frame.

    Resident results, scratch memory and the weight ring lie within a partition
    and are disjoint while they are in use. The buffers of every tile of every
    operation are contiguous in its slot. A result may overlap its operand only
    if no tile overwrites what a later one reads. Code generation takes its
    addresses from the buffers that are checked here.
  }];
}

#endif // ASHLAR_TRANSFORMS_NPU_PASSES_TD
