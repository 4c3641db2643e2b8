// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Chooses between the dense array and the sparse cluster for every convolution
// (see Passes.td). Input: npu.pe operations with stationary operands and counts
// of zeros. Output: some of them as npu.tcu.conv, a decision on each.

#include "ClusterChoice.h"
#include "ClusterConvolution.h"
#include "ClusterDecision.h"

#include "ashlar/Analysis/Layout/StorageType.h"
#include "ashlar/Analysis/Module/NodeNames.h"
#include "ashlar/Analysis/Sparse/ZeroAnalysis.h"
#include "ashlar/Analysis/Tiles/TilingModel.h"
#include "ashlar/Transforms/NPU/Passes.h"
#include "dialects/NPU/ModuleAttributes.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/StringSwitch.h"

#include <fmt/format.h>

namespace ashlar::npu {
#define GEN_PASS_DEF_CHOOSECLUSTER
#include "ashlar/Transforms/NPU/Passes.h.inc"

using namespace mlir;

namespace {

struct ChooseClusterPass : impl::ChooseClusterBase<ChooseClusterPass> {
  using ChooseClusterBase::ChooseClusterBase;

  void runOnOperation() override {
    auto machine = boundMachineOf(getOperation());
    Policy policy;
    if (failed(machine) || failed(readOptions(policy)))
      return signalPassFailure();
    cut = policy.cut;
    Chooser chooser(*machine, policy);
    getOperation().walk([&](PeConvOp conv) { chooser.predict(conv); });
    chooser.decide();
    for (Candidate &candidate : chooser.candidates)
      finish(candidate);
    nameCounters(getOperation(), *machine);
    getOperation().walk([&](Operation *op) { classify(op, policy.rule); });
    getOperation()->removeAttr(kProfileAttr);
    getOperation()->removeAttr(kMeasuredAttr);
  }

  /// Operations that one engine alone has: the class is all there is to say.
  void classify(Operation *op, partition::Rule rule) {
    auto map = dyn_cast<MapInterface>(op);
    bool product = isa<PeMatmulOp>(op);
    // Copies encode, decode or lay out again: movement.
    bool moves = map && map.isConversion();
    if (!product && (moves || !op->hasTrait<VectorEngine>()))
      return;
    partition::Evidence evidence;
    evidence.denseRuns = product;
    evidence.sparseRuns = false;
    partition::Route route =
        llvm::cantFail(partition::classify(evidence, rule));
    records::Decision decision(op->getContext(), partition::name(route),
                               product ? "the sparse cluster has convolutions"
                                       : "neither cluster has the operation");
    decision.facts.set("class", partition::name(route));
    decision.record(op, kSparseDecisionAttr);
  }

  template <typename T>
  LogicalResult take(T &target, llvm::Expected<T> value) {
    if (value) {
      target = std::move(*value);
      return success();
    }
    return getOperation().emitError() << llvm::toString(value.takeError());
  }

  LogicalResult readOptions(Policy &policy) {
    constexpr llvm::StringLiteral modes[] = {"auto", "off", "tile", "scatter"};
    if (!llvm::is_contained(modes, mode))
      return getOperation().emitError()
             << "mode '" << mode << "', expected auto, off, tile or scatter";
    policy.mode = mode;
    policy.useScatter = useScatter && skipZeros;
    policy.skipZeros = skipZeros;
    if (bias != "drain" && bias != "sums")
      return getOperation().emitError()
             << "bias '" << bias << "', expected drain or sums";
    policy.biasInSums = bias == "sums";
    if (binding != "auto" && binding != "off" && binding != "always")
      return getOperation().emitError()
             << "binding '" << binding << "', expected auto, off or always";
    policy.binding = binding;
    if (!skipZeros && mode == "scatter")
      return getOperation().emitError()
             << "mode 'scatter' without skipping zeros";
    policy.cut.threshold = threshold;
    const auto [rows, cols] = policy.cut.block =
        std::array<int64_t, 2>{blockRows, blockCols};
    if (std::min(rows, cols) < 0 || std::max(rows, cols) > 255)
      return getOperation().emitError() << "blocks of " << rows << "x" << cols
                                        << ", expected at most 255x255";
    auto order = llvm::StringSwitch<std::optional<analysis::WeightOrder>>(
                     this->order.getValue())
                     .Case("ascending", analysis::WeightOrder::Ascending)
                     .Case("snake", analysis::WeightOrder::Snake)
                     .Case("auto", analysis::WeightOrder::Auto)
                     .Default(std::nullopt);
    if (!order)
      return getOperation().emitError()
             << "order '" << this->order
             << "', expected ascending, snake or auto";
    policy.cut.order = *order;
    if (variant.size() != 1 || variant[0] < 'A' || variant[0] > 'D')
      return getOperation().emitError()
             << "variant '" << variant << "', expected A, B, C or D";
    policy.cut.variant = static_cast<machine::ScatterVariant>(variant[0] - 'A');
    if (failed(take(policy.rule, partition::parseRule(rule))) ||
        failed(
            take(policy.cut.algorithm, partition::parseAlgorithm(algorithm))) ||
        failed(take(policy.cut.metric, partition::parseMetric(metric))) ||
        failed(take(policy.cut.time, partition::parseCutTime(cutTime))) ||
        failed(take(policy.cut.halo, partition::parseHaloMode(halo))))
      return failure();
    policy.profiles = analysis::profilesOf(
        getOperation()->getAttrOfType<DictionaryAttr>(kProfileAttr));
    return success();
  }

  std::string reasonOf(const Candidate &candidate) const {
    if (mode == "off")
      return reason.empty() ? "the sparse cluster is switched off"
                            : reason.getValue();
    if (candidate.tile.least > 0)
      return "the dense array takes fewer cycles";
    if (!candidate.plan())
      return candidate.obstacle;
    if (rule != "cost" && mode == "auto")
      return fmt::format("{} of 1000 data are not zero", candidate.data.mean());
    if (candidate.pulled && candidate.sparse)
      return "the network takes fewer cycles so";
    if (candidate.sparse)
      return candidate.gains() ? "fewer cycles than the dense array"
             : mode == "tile" && !reason.empty() ? reason.getValue()
                                                 : "requested";
    if (candidate.beside)
      return "the array is idle while other readers run on the cluster";
    if (candidate.pinned)
      return "the network takes fewer cycles so";
    return candidate.gains() || candidate.plan()->inNetwork() < candidate.plain
               ? "a lane fold of the input, or of the result for its readers, "
                 "gains more"
               : "the dense array takes fewer cycles";
  }

  /// Records the decision and converts the operation if it is to move.
  void finish(Candidate &candidate) {
    PeConvOp conv = candidate.conv;
    records::Decision decision(
        &getContext(),
        candidate.sparse ? choiceName(candidate.scatters()) : "dense",
        reasonOf(candidate));
    const int64_t kept = candidate.tiles - candidate.zeroTiles;
    decision.facts.set("eligible", candidate.obstacle.empty() ? "yes" : "no")
        .set("class",
             partition::name(candidate.sparse ? partition::Route::Sparse
                                              : partition::Route::Dense))
        .set("dense_tiles", candidate.tiles)
        .set("dense_tiles_skipped", candidate.zeroTiles)
        .set("dense_realised_skip",
             kept > 0 ? ratioText(candidate.tiles, kept) : "1.00")
        .set("data_density", int64_t(candidate.data.mean()));
    if (candidate.encode > 0)
      decision.facts.set("input_encode", candidate.encode);
    if (candidate.plan() || candidate.tile.least > 0)
      addAlternatives(decision, candidate);
    addZeros(decision, candidate);
    if (candidate.sparse) {
      addMeasured(decision, candidate);
      describe(decision, {*candidate.plan(), candidate.best().unskipped,
                          candidate.best().parts, 1, candidate.scatters()});
    }
    if (candidate.sparse && candidate.scatters()) {
      const analysis::TilePlan &plan = *candidate.scatter.plan;
      const analysis::CutOptions cut = cutOf(candidate);
      decision.facts.set(
          "cuts",
          analysis::cutsAttr(
              plan, {plan.folds, {}, candidate.data, cut, candidate.drained},
              &getContext()));
    }
    decision.record(conv, kSparseDecisionAttr);
    if (candidate.sparse)
      convert(candidate);
    else if (candidate.plan() || candidate.tile.least > 0)
      recordPrediction(candidate);
  }

  /// What the node took in the networks that were timed.
  void addMeasured(records::Decision &decision, Candidate &candidate) {
    auto measured = getOperation()->getAttrOfType<MeasuredAttr>(kMeasuredAttr);
    if (!measured)
      return;
    auto node = measured.getNodes().getAs<DenseI64ArrayAttr>(
        analysis::getNodeName(candidate.conv.getLoc()));
    if (!node)
      return;
    auto pair = [&](int64_t dense, int64_t written) {
      return records::Facts(&getContext())
          .set("dense", dense)
          .set(choiceName(candidate.scatters()), written)
          .get();
    };
    decision.facts.set("measured", pair(node[0], node[1]))
        .set("measured_network",
             pair(measured.getDense(), measured.getWritten()));
  }

  /// For comparisons of whole programs, which may move the layer all the same.
  void recordPrediction(const Candidate &candidate) {
    candidate.conv->setAttr(
        kPredictedAttr,
        PredictedAttr::get(
            &getContext(),
            candidate.mayFold ? candidate.folded : candidate.plain,
            candidate.tile.plan ? std::optional(candidate.tile.plan->cycles)
                                : std::nullopt,
            /*on_chip=*/std::nullopt, /*dram=*/std::nullopt));
  }

  static void addAlternatives(records::Decision &decision,
                              const Candidate &candidate) {
    decision.alternative("dense", candidate.mayFold ? candidate.folded
                                                    : candidate.plain);
    if (candidate.tile.plan)
      decision.alternative("sparse-tile", candidate.tile.plan->cycles)
          .alternative("sparse-tile-unskipped", candidate.tile.unskipped);
    if (candidate.tile.least > 0)
      decision.alternative("sparse-tile-least", candidate.tile.least);
    if (candidate.scatter.plan)
      decision.alternative("sparse-scatter", candidate.scatter.plan->cycles);
  }

  /// Theoretical skip: weights per coefficient that is left.
  static void addZeros(records::Decision &decision, Candidate &candidate) {
    ZerosAttr zeros = candidate.conv.getZerosAttr();
    if (!zeros)
      return;
    const int64_t left = zeros.getWeights() - zeros.getExact() -
                         zeros.getEncoded() - zeros.getStructural();
    decision.facts
        .set("zeros", records::Facts(zeros.getContext())
                          .set("weights", zeros.getWeights())
                          .set("exact", zeros.getExact())
                          .set("encoded", zeros.getEncoded())
                          .set("structural", zeros.getStructural())
                          .get())
        .set("theoretical_skip", ratioText(zeros.getWeights(), left));
  }

  /// The options with the order of coefficients that was taken.
  analysis::CutOptions cutOf(const Candidate &candidate) const {
    analysis::CutOptions own = cut;
    own.order = candidate.snakes ? analysis::WeightOrder::Snake
                                 : analysis::WeightOrder::Ascending;
    return own;
  }

  void convert(const Candidate &candidate) {
    PeConvOp conv = candidate.conv;
    TcuConvOp tcu = createOnCluster(conv);
    if (candidate.best().parts > 1)
      tcu.setColumnParts(static_cast<uint64_t>(candidate.best().parts));
    tcu.setIssueZeros(!skipZeros);
    tcu.setBiasInSums(bias == "sums" && analysis::biasFitsSums(conv));
    if (binding != "auto")
      tcu.setBinding(binding);
    if (candidate.scatters())
      tcu.setScatterAttr(analysis::scatterAttr(candidate.data, cutOf(candidate),
                                               &getContext()));
    conv.getY().replaceAllUsesWith(tcu.getY());
    conv.erase();
    ++numSparse;
  }

  analysis::CutOptions cut;
};

} // namespace
} // namespace ashlar::npu
