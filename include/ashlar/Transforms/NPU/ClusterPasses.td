// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What runs on the sparse cluster, and how.

#ifndef ASHLAR_TRANSFORMS_NPU_CLUSTERPASSES_TD
#define ASHLAR_TRANSFORMS_NPU_CLUSTERPASSES_TD

include "mlir/Pass/PassBase.td"

def AnalyseZeros : Pass<"ashlar-npu-analyse-zeros", "::mlir::ModuleOp"> {
  let summary = "count the zeros among constant coefficients by cause";
  let description = [{
    Sets `zeros` on every product with constant weights. It has the number of
    `weights`, and how many of them are zero by cause:

    - `exact`: zeros of the model;
    - `encoded`: zero once their block is encoded and aligned to the scale of
      the output channel;
    - `structural`: inserted by a fold of the kernel.

    An engine that skips zeros issues the rest.
  }];
  let statistics = [
    Statistic<"numZeros", "zeros", "coefficients that are zero">
  ];
}

def ChooseCluster : Pass<"ashlar-npu-choose-cluster", "::mlir::ModuleOp"> {
  let summary = "choose the cluster of every convolution by cycles";
  let description = [{
    Turns `npu.pe.conv` into `npu.tcu.conv` where the sparse cluster takes fewer
    predicted cycles than the dense array; with `mode` tile or scatter, wherever
    it can. Eligible are convolutions of one or two spatial dimensions with
    constant encoded weights.

    - **Prediction for the array:** the better stationary operand and the best
      lane fold.
    - **Prediction for the sparse cluster:** loads, runs, drains and streams of
      the best tile plan, followed through their buffers.
    - **Readers of a feature map** are decided together. A lane fold needs all
      of them on the array. If several go to the sparse cluster, one of them
      stays on the array if both engines in parallel take fewer cycles.

    Every convolution gets a decision: eligible, choice, reason, cycles of the
    alternatives (also of the sparse cluster without skipping), the zeros of
    analyse-zeros, theoretical and realised skip, cycles saved, and the plan.
    Matrix multiplications are of class dense, operations that run on neither
    engine of class vector.

    **Scatter mode** skips zeros of the data as well (docs/SparseTiles.md 6).
    Its cycles follow from the density of the input, which is measured on
    samples (module attribute `npu.profile`) or derived from the
    producers. If positions are measured, `algorithm` cuts tiles of equal work;
    with `cut-time` runtime, the machine cuts them by its own counts. The rules
    majority and threshold use the density of the input instead of cycles.
  }];
  let options = [
    Option<"mode", "mode", "std::string", /*default=*/"\"auto\"",
           "auto, off, or every eligible convolution: tile, scatter">,
    Option<"reason", "reason", "std::string", /*default=*/"\"\"",
           "why the mode is off or tile, for decisions">,
    Option<"useScatter", "use-scatter", "bool", /*default=*/"true",
           "mode auto may choose scatter mode if data are measured">,
    Option<"skipZeros", "skip-zeros", "bool", /*default=*/"true",
           "zero coefficients take no cycles; false: they do, without scatter "
           "mode">,
    Option<"bias", "bias", "std::string", /*default=*/"\"drain\"",
           "who adds the biases of integers: the drain (drain), or the sums, "
           "which start from them (sums)">,
    Option<"binding", "binding", "std::string", /*default=*/"\"auto\"",
           "whether groups of units hand tiles on: where that takes fewer "
           "cycles (auto), never (off), or wherever possible (always)">,
    Option<"rule", "rule", "std::string", /*default=*/"\"cost\"",
           "what decides: cost, majority or threshold">,
    Option<"variant", "variant", "std::string", /*default=*/"\"D\"",
           "variant of the scatter unit: A, B, C or D">,
    Option<"blockRows", "block-rows", "int64_t", /*default=*/"0",
           "rows of the blocks that a unit scatters; 0: the whole tile">,
    Option<"blockCols", "block-cols", "int64_t", /*default=*/"0",
           "columns of these blocks; 0: the whole tile">,
    Option<"order", "order", "std::string", /*default=*/"\"auto\"",
           "order of the coefficients of a kernel in scatter mode: ascending, "
           "snake, or auto: snake where windows then move for fewer cycles">,
    Option<"algorithm", "algorithm", "std::string", /*default=*/"\"p2\"",
           "how tiles are cut: uniform, p1, p2 or rows">,
    Option<"metric", "metric", "std::string", /*default=*/"\"nnz\"",
           "what the tiles share equally: nnz, density or zeros">,
    Option<"threshold", "threshold", "int64_t", /*default=*/"300",
           "largest difference of two tiles, 1/10000">,
    Option<"cutTime", "cut-time", "std::string", /*default=*/"\"auto\"",
           "when tiles are cut: profile (by the compiler), runtime (by the "
           "machine where that pays), always (wherever it can), or auto: "
           "profile where positions are measured">,
    Option<"halo", "halo", "std::string", /*default=*/"\"overlap\"",
           "tiles of the results that overlap on the operand (overlap), of the "
           "operand (disjoint), or whichever takes fewer cycles (auto)">];
  let statistics = [
    Statistic<"numSparse", "sparse", "convolutions on the sparse cluster">];
}

def DescribeClusters
    : Pass<"ashlar-npu-describe-clusters", "::mlir::ModuleOp"> {
  let summary = "update the decisions about the sparse cluster";
  let description = [{
    Plan-memory may cut the result of an `npu.tcu.conv` into tiles of the state
    buffer. Code generation plans each such tile separately: with other tiles of
    the units, and without cuts if positions or counts of the whole feature map
    would be needed. This pass makes the same plan and updates these entries of
    the decision of choose-cluster: `plan`, `engines`, `cuts`, `cycles_saved`,
    `realised_skip`, and the cycles of the chosen alternative over all tiles.

    Input: operations with `tiling`. Operations without a decision stay
    unchanged.
  }];
}

def KeepMaps : Pass<"ashlar-npu-keep-maps", "::mlir::ModuleOp"> {
  let summary = "keep results in the sparse cluster for the next convolution";
  let description = [{
    The drains of an `npu.tcu.conv` can write its results to the feature-map
    units, as the tiles that the next `npu.tcu.conv` needs. That convolution then
    needs no loads. With `copies` needed, and if it is the only reader, the
    results never reach the state buffer. The map has to fit one buffer set,
    with all channels and one tile for each unit, while the producer reads its
    own operand from the other sets.

    Chains of such convolutions are planned both ways, and the choices with the
    fewest predicted cycles are taken, where keeping an operand has to save a
    sixteenth of the layer's cycles; `mode` always takes the choices that keep
    most maps. Sets `kept`, and the entry `operand` of the decision of
    choose-cluster.

    Input: operations with `tiling` and `memory`.
  }];
  let options = [
    Option<"mode", "mode", "std::string", /*default=*/"\"auto\"",
           "auto (fewest predicted cycles), off, or always (wherever possible)">,
    Option<"reason", "reason", "std::string", /*default=*/"\"\"",
           "why the mode is off, for decisions">,
    Option<"copies", "copies", "std::string", /*default=*/"\"all\"",
           "which kept maps the state buffer has a copy of: all, or those that "
           "are needed">
  ];
  let statistics = [
    Statistic<"numKept", "kept", "feature maps that stay in the cluster">
  ];
}

#endif // ASHLAR_TRANSFORMS_NPU_CLUSTERPASSES_TD
