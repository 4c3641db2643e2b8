// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Chooses between the dense array and the sparse cluster for every convolution
// (see Passes.td). Input: npu.pe operations with stationary operands and counts
// of zeros. Output: some of them as npu.tcu.conv, a decision on each.

#include "ClusterChoice.h"

#include "ashlar/Analysis/CounterRooms.h"
#include "ashlar/Analysis/StorageType.h"
#include "ashlar/Analysis/TilingModel.h"
#include "ashlar/Analysis/ZeroAnalysis.h"
#include "ashlar/Transforms/NPU/Passes.h"
#include "dialects/NPU/NPUDialect.h"
#include "mlir/IR/Builders.h"

#include <fmt/format.h>

namespace ashlar::npu {
#define GEN_PASS_DEF_CHOOSECLUSTER
#include "ashlar/Transforms/NPU/Passes.h.inc"

using namespace mlir;

namespace {

struct ChooseClusterPass : impl::ChooseClusterBase<ChooseClusterPass> {
  using ChooseClusterBase::ChooseClusterBase;

  void runOnOperation() override {
    auto machine = machineOf(getOperation());
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
    nameCounters(*machine);
    getOperation().walk([&](Operation *op) { classify(op, policy.rule); });
    getOperation()->removeAttr(kProfileAttr);
  }

  /// Cuts at run time of maps that no drain counts after all: it counts for one
  /// map, as far as there are counters.
  void nameCounters(const machine::Description &machine) {
    llvm::DenseMap<Operation *, size_t> numbers;
    std::vector<analysis::CountedMap> maps;
    auto cutsOf = [](Operation *op) {
      auto decision = op->getAttrOfType<DictionaryAttr>(kSparseDecisionAttr);
      return decision ? decision.getAs<DictionaryAttr>("cuts")
                      : DictionaryAttr();
    };
    getOperation().walk([&](Operation *op) {
      numbers.insert({op, numbers.size()});
      DictionaryAttr cuts =
          op->hasAttr(analysis::kScatterAttr) ? cutsOf(op) : DictionaryAttr();
      if (cuts && cuts.getAs<StringAttr>("counts"))
        maps.push_back(analysis::CountedMap::of(
            op, [&](Operation *other) { return numbers.lookup(other); },
            machine));
    });
    analysis::CounterRooms rooms(
        maps, static_cast<int64_t>(machine.sparse.countEntries));
    for (const analysis::CountedMap &map : maps) {
      if (rooms.of(map.reader).drained)
        continue;
      NamedAttrList cuts(cutsOf(map.reader));
      cuts.set("counts", StringAttr::get(&getContext(), "pass"));
      NamedAttrList decision(
          map.reader->getAttrOfType<DictionaryAttr>(kSparseDecisionAttr));
      decision.set("cuts", cuts.getDictionary(&getContext()));
      map.reader->setAttr(kSparseDecisionAttr,
                          decision.getDictionary(&getContext()));
    }
  }

  /// Operations that one engine alone has: the class is all there is to say.
  void classify(Operation *op, partition::Rule rule) {
    auto map = dyn_cast<VecMapOp>(op);
    bool product = isa<PeMatmulOp>(op);
    // Copies encode, decode or lay out again: movement.
    if (!product && !(map && map.getOp() != "copy") &&
        !isa<VecPoolOp, VecReduceOp, VecSoftmaxOp, VecGatherOp>(op))
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
    policy.useScatter = useScatter;
    policy.cut.threshold = threshold;
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
    auto text = getOperation()->getAttrOfType<StringAttr>(kProfileAttr);
    return text
               ? take(policy.profiles, analysis::parseProfiles(text.getValue()))
               : success();
  }

  std::string offReason; ///< what mode off gives as its reason

  std::string reasonOf(const Candidate &candidate) const {
    if (mode == "off")
      return offReason;
    if (!candidate.plan())
      return candidate.obstacle;
    if (rule != "cost" && mode == "auto")
      return fmt::format("{} of 1000 data are not zero", candidate.data.mean());
    if (candidate.sparse)
      return candidate.gains() ? "fewer cycles than the dense array"
                               : "asked for";
    if (candidate.beside)
      return "the array is idle while other readers run on the cluster";
    return candidate.gains() || candidate.plan()->cycles < candidate.plain
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
    text("choice", !candidate.sparse      ? "dense"
                   : candidate.scatters() ? "sparse-scatter"
                                          : "sparse-tile");
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
    if (candidate.plan())
      addPlan(builder, candidate,
              mayFold(conv.getX()) ? candidate.folded : candidate.plain,
              decision);
    if (candidate.scatter.plan)
      decision.push_back(builder.getNamedAttr(
          "cuts", analysis::cutsAttr(*candidate.scatter.plan, candidate.data,
                                     cut, candidate.drained, &getContext())));
    addZeros(builder, candidate, decision);
    conv->setAttr(kSparseDecisionAttr, builder.getDictionaryAttr(decision));
    if (candidate.sparse && candidate.scatters())
      conv->setAttr(analysis::kScatterAttr,
                    analysis::scatterAttr(candidate.data, cut, &getContext()));
    if (candidate.sparse)
      convert(candidate);
  }

  static void addPlan(Builder &builder, const Candidate &candidate,
                      int64_t dense,
                      llvm::SmallVectorImpl<NamedAttribute> &decision) {
    const analysis::TilePlan &plan = *candidate.plan();
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
    if (candidate.scatter.plan)
      alternatives.push_back(
          number("sparse-scatter", candidate.scatter.plan->cycles));
    decision.push_back(builder.getNamedAttr(
        "alternatives", builder.getDictionaryAttr(alternatives)));
    decision.push_back(number("cycles_saved", dense - plan.cycles));
    decision.push_back(builder.getNamedAttr(
        "plan",
        builder.getStringAttr(fmt::format(
            "tile {}x{}x{}, {} groups of units, {} channels a set, {} sums, {} "
            "outside{}",
            plan.images, plan.rows, plan.cols, plan.groups, plan.slots,
            plan.twoSums ? 2 : 1, plan.tilesOutside ? "tiles" : "outputs",
            candidate.best().parts > 1
                ? fmt::format(", drains of {} groups", candidate.best().parts)
                : ""))));
    decision.push_back(builder.getNamedAttr(
        "engines",
        builder.getDictionaryAttr(
            {number("run", plan.run), number("load", plan.load),
             number("drain", plan.drain), number("stream", plan.stream)})));
  }

  /// Theoretical skip: weights per coefficient that is left. Realised skip: the
  /// cluster's cycles without skipping over those with it.
  static void addZeros(Builder &builder, Candidate &candidate,
                       llvm::SmallVectorImpl<NamedAttribute> &decision) {
    auto zeros =
        candidate.conv->getAttrOfType<DictionaryAttr>(analysis::kZerosAttr);
    if (!zeros)
      return;
    decision.push_back(builder.getNamedAttr("zeros", zeros));
    auto count = [&](llvm::StringRef name) {
      auto attr = zeros.getAs<IntegerAttr>(name);
      return attr ? attr.getInt() : 0;
    };
    int64_t left = count("weights") - count("exact") - count("encoded") -
                   count("structural");
    auto ratio = [&](llvm::StringRef name, int64_t a, int64_t b) {
      decision.push_back(builder.getNamedAttr(
          name,
          builder.getStringAttr(fmt::format(
              "{:.2f}",
              b > 0 ? static_cast<double>(a) / static_cast<double>(b) : 0.0))));
    };
    ratio("theoretical_skip", count("weights"), left);
    if (candidate.plan())
      ratio("realised_skip", candidate.best().unskipped,
            candidate.plan()->cycles);
  }

  void convert(const Candidate &candidate) {
    PeConvOp conv = candidate.conv;
    OpBuilder builder(conv);
    auto tcu = TcuConvOp::create(
        builder, conv.getLoc(), conv.getY().getType(), conv.getX(), conv.getW(),
        conv.getBias(), conv.getScale(), conv.getResidual(),
        conv.getStridesAttr(), conv.getPadsAttr(), conv.getDilationsAttr(),
        conv.getGroupAttr(), conv.getFunctionAttr(), conv.getAlphaAttr(),
        conv.getBetaAttr());
    for (NamedAttribute attr : conv->getDiscardableAttrs())
      if (attr.getName() != analysis::kStationaryAttr &&
          attr.getName() != kStationaryDecisionAttr)
        tcu->setAttr(attr.getName(), attr.getValue());
    if (candidate.best().parts > 1)
      tcu->setAttr(analysis::kColumnPartsAttr,
                   builder.getI64IntegerAttr(candidate.best().parts));
    conv.getY().replaceAllUsesWith(tcu.getY());
    conv.erase();
    ++numSparse;
  }

  analysis::CutOptions cut;
};

} // namespace
} // namespace ashlar::npu
