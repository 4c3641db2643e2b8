// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Chooses between the dense array and the sparse cluster for every convolution
// (see Passes.td). Input: npu.pe operations with stationary operands and counts
// of zeros. Output: some of them as npu.tcu.conv, a decision on each.

#include "ClusterChoice.h"
#include "ClusterDecision.h"

#include "ashlar/Analysis/Layout/StorageType.h"
#include "ashlar/Analysis/Module/NodeNames.h"
#include "ashlar/Analysis/Sparse/ZeroAnalysis.h"
#include "ashlar/Analysis/Tiles/TilingModel.h"
#include "ashlar/Transforms/NPU/Passes.h"
#include "dialects/NPU/NPUDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/Support/JSON.h"

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
    auto reason = getOperation()->getAttrOfType<StringAttr>(kDenseReasonAttr);
    offReason =
        reason ? reason.getValue().str() : "the sparse cluster is switched off";
    cut = policy.cut;
    Chooser chooser(*machine, policy);
    getOperation().walk([&](PeConvOp conv) { chooser.predict(conv); });
    chooser.decide();
    for (Candidate &candidate : chooser.candidates)
      finish(candidate);
    nameCounters(getOperation(), *machine);
    getOperation().walk([&](Operation *op) { classify(op, policy.rule); });
    getOperation()->removeAttr(kProfileAttr);
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
    Builder builder(op->getContext());
    auto text = [&](llvm::StringRef name, llvm::StringRef value) {
      return builder.getNamedAttr(name, builder.getStringAttr(value));
    };
    op->setAttr(
        kSparseDecisionAttr,
        builder.getDictionaryAttr(
            {text("class", partition::name(route)),
             text("choice", partition::name(route)),
             text("reason", product ? "the sparse cluster has convolutions"
                                    : "neither cluster has the operation")}));
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
    if (!measured.empty()) {
      llvm::json::Value all = llvm::json::Value(nullptr);
      if (failed(take(all, llvm::json::parse(measured))))
        return failure();
      if (!all.getAsObject())
        return getOperation().emitError()
               << "option 'measured' is not an object";
      cycles = std::move(*all.getAsObject());
    }
    auto text = getOperation()->getAttrOfType<StringAttr>(kProfileAttr);
    return text
               ? take(policy.profiles, analysis::parseProfiles(text.getValue()))
               : success();
  }

  std::string offReason; ///< what mode off gives as its reason

  std::string reasonOf(const Candidate &candidate) const {
    if (mode == "off")
      return offReason;
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
    Builder builder(conv.getContext());
    llvm::SmallVector<NamedAttribute> decision;
    auto text = [&](llvm::StringRef name, const llvm::Twine &value) {
      decision.push_back(
          builder.getNamedAttr(name, builder.getStringAttr(value)));
    };
    auto number = [&](llvm::StringRef name, int64_t value) {
      decision.push_back(
          builder.getNamedAttr(name, builder.getI64IntegerAttr(value)));
    };
    text("eligible", candidate.obstacle.empty() ? "yes" : "no");
    text("class", partition::name(candidate.sparse ? partition::Route::Sparse
                                                   : partition::Route::Dense));
    text("choice",
         candidate.sparse ? choiceName(candidate.scatters()) : "dense");
    text("reason", reasonOf(candidate));
    number("dense_tiles", candidate.tiles);
    number("dense_tiles_skipped", candidate.zeroTiles);
    int64_t kept = candidate.tiles - candidate.zeroTiles;
    text("dense_realised_skip",
         fmt::format("{:.2f}", kept > 0 ? static_cast<double>(candidate.tiles) /
                                              static_cast<double>(kept)
                                        : 1.0));
    number("data_density", candidate.data.mean());
    if (candidate.encode > 0)
      number("input_encode", candidate.encode);
    if (candidate.plan() || candidate.tile.least > 0)
      addAlternatives(builder, candidate,
                      candidate.mayFold ? candidate.folded : candidate.plain,
                      decision);
    addZeros(builder, candidate, decision);
    NamedAttrList entries(decision);
    if (candidate.sparse)
      addMeasured(entries, candidate);
    if (candidate.sparse)
      describe(entries, {*candidate.plan(), candidate.best().unskipped,
                         candidate.best().parts, 1, candidate.scatters()});
    if (candidate.sparse && candidate.scatters())
      entries.set("cuts",
                  analysis::cutsAttr(*candidate.scatter.plan, candidate.data,
                                     cut, candidate.drained, &getContext()));
    conv->setAttr(kSparseDecisionAttr, entries.getDictionary(&getContext()));
    if (candidate.sparse)
      convert(candidate);
  }

  /// What the node took in the networks that were timed.
  void addMeasured(NamedAttrList &decision, Candidate &candidate) {
    const llvm::json::Object *nodes = cycles.getObject("nodes");
    const llvm::json::Object *node =
        nodes ? nodes->getObject(analysis::getNodeName(candidate.conv.getLoc()))
              : nullptr;
    const llvm::json::Object *network = cycles.getObject("network");
    if (!node || !network)
      return;
    Builder builder(&getContext());
    auto pair = [&](const llvm::json::Object &both) {
      auto number = [&](llvm::StringRef name, llvm::StringRef key) {
        return builder.getNamedAttr(
            name, builder.getI64IntegerAttr(both.getInteger(key).value_or(0)));
      };
      return builder.getDictionaryAttr(
          {number("dense", "dense"),
           number(choiceName(candidate.scatters()), "written")});
    };
    decision.set("measured", pair(*node));
    decision.set("measured_network", pair(*network));
  }

  static void addAlternatives(Builder &builder, const Candidate &candidate,
                              int64_t dense,
                              llvm::SmallVectorImpl<NamedAttribute> &decision) {
    auto number = [&](llvm::StringRef name, int64_t value) {
      return builder.getNamedAttr(name, builder.getI64IntegerAttr(value));
    };
    llvm::SmallVector<NamedAttribute> alternatives{number("dense", dense)};
    if (candidate.tile.plan) {
      alternatives.push_back(
          number("sparse-tile", candidate.tile.plan->cycles));
      alternatives.push_back(
          number("sparse-tile-unskipped", candidate.tile.unskipped));
    }
    if (candidate.tile.least > 0)
      alternatives.push_back(number("sparse-tile-least", candidate.tile.least));
    if (candidate.scatter.plan)
      alternatives.push_back(
          number("sparse-scatter", candidate.scatter.plan->cycles));
    decision.push_back(builder.getNamedAttr(
        "alternatives", builder.getDictionaryAttr(alternatives)));
  }

  /// Theoretical skip: weights per coefficient that is left.
  static void addZeros(Builder &builder, Candidate &candidate,
                       llvm::SmallVectorImpl<NamedAttribute> &decision) {
    ZerosAttr zeros = candidate.conv.getZerosAttr();
    if (!zeros)
      return;
    auto count = [&](llvm::StringRef name, int64_t value) {
      return builder.getNamedAttr(name, builder.getI64IntegerAttr(value));
    };
    decision.push_back(builder.getNamedAttr(
        "zeros", builder.getDictionaryAttr(
                     {count("weights", zeros.getWeights()),
                      count("exact", zeros.getExact()),
                      count("encoded", zeros.getEncoded()),
                      count("structural", zeros.getStructural())})));
    int64_t left = zeros.getWeights() - zeros.getExact() - zeros.getEncoded() -
                   zeros.getStructural();
    decision.push_back(builder.getNamedAttr(
        "theoretical_skip",
        builder.getStringAttr(ratioText(zeros.getWeights(), left))));
  }

  static bool bytes(Value value) {
    return getElementTypeOrSelf(value).isInteger(8);
  }

  void convert(const Candidate &candidate) {
    PeConvOp conv = candidate.conv;
    OpBuilder builder(conv);
    auto tcu = TcuConvOp::create(
        builder, conv.getLoc(), conv.getY().getType(), conv.getX(), conv.getW(),
        conv.getBias(), conv.getScale(), conv.getSlope(), conv.getResidual(),
        conv.getStridesAttr(), conv.getPadsAttr(), conv.getDilationsAttr(),
        conv.getGroupAttr(), conv.getFunctionAttr(), conv.getAlphaAttr(),
        conv.getBetaAttr());
    copyDecisions(conv, tcu);
    tcu->removeAttr(kStationaryDecisionAttr);
    tcu.setIntegerEpilogue(conv.getIntegerEpilogue());
    tcu->removeAttr(kPatternDecisionAttr);
    tcu.setZerosAttr(conv.getZerosAttr());
    if (QuantAttr quant =
            conv.getQuantAttr()) // weights are not stored as bytes
      tcu.setQuantAttr(
          QuantAttr::get(conv.getContext(), quant.getXZero(),
                         bytes(conv.getW()) ? quant.getWZero() : std::nullopt,
                         quant.getYZero()));
    if (candidate.best().parts > 1)
      tcu.setColumnParts(static_cast<uint64_t>(candidate.best().parts));
    tcu.setIssueZeros(!skipZeros);
    tcu.setBiasInSums(bias == "sums" && analysis::biasFitsSums(conv));
    if (binding != "auto")
      tcu.setBinding(binding);
    if (candidate.scatters())
      tcu.setScatterAttr(
          analysis::scatterAttr(candidate.data, cut, &getContext()));
    conv.getY().replaceAllUsesWith(tcu.getY());
    conv.erase();
    ++numSparse;
  }

  analysis::CutOptions cut;
  llvm::json::Object cycles; ///< option `measured`
};

} // namespace
} // namespace ashlar::npu
