// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Chooses between the dense array and the sparse cluster for every convolution
// (see Passes.td). Input: npu.pe operations with stationary operands and counts
// of zeros. Output: some of them as npu.tcu.conv, a decision on each.

#include "ashlar/Analysis/DenseCycles.h"
#include "ashlar/Analysis/StorageType.h"
#include "ashlar/Analysis/TilePlan.h"
#include "ashlar/Analysis/TilingModel.h"
#include "ashlar/Analysis/ZeroAnalysis.h"
#include "ashlar/Machine/Cycles.h"
#include "ashlar/Partition/Classify.h"
#include "ashlar/Transforms/NPU/Passes.h"
#include "dialects/NPU/NPUDialect.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/MapVector.h"

#include <fmt/format.h>

namespace ashlar::npu {
#define GEN_PASS_DEF_CHOOSECLUSTER
#include "ashlar/Transforms/NPU/Passes.h.inc"

using namespace mlir;
using analysis::shapeOf;
using analysis::storageOf;

namespace {

/// Why the sparse cluster cannot run a convolution; empty if it can.
std::string obstacle(PeConvOp conv, const machine::Description &machine) {
  auto w = shapeOf(conv.getW()), x = shapeOf(conv.getX());
  auto above = [](llvm::ArrayRef<int64_t> values, int64_t limit) {
    return llvm::any_of(values, [=](int64_t v) { return v > limit; });
  };
  if (conv.getStrides().size() > 2)
    return "three spatial dimensions";
  if (!storageOf(conv.getX()).encoded || storageOf(conv.getX()).blockAxis != 1)
    return "its input is not encoded along channels";
  if (!analysis::hasStreamedWeights(conv))
    return "its weights are not constant";
  int64_t block = storageOf(conv.getX()).format.block;
  auto plane = std::min<int64_t>(block > 0 ? block : 64, machine.sb.partitions);
  if (plane < 8 || plane < static_cast<int64_t>(machine.xmGroup) ||
      static_cast<int64_t>(machine.sb.partitions) % plane != 0)
    return "no plane of exponent cells has its blocks";
  if (above(w.drop_front(2), 255) || above(conv.getStrides(), 15) ||
      above(conv.getDilations(), 63) || above(x.drop_front(2), 65535) ||
      above(shapeOf(conv.getY()), 65535) || x[0] > 65535)
    return "larger than the fields of an instruction";
  return "";
}

/// Attribute of the module: why mode off was chosen, if it was not asked for.
constexpr llvm::StringLiteral kDenseReasonAttr = "npu.dense_reason";

/// What a mode of the sparse cluster makes of a convolution.
struct Alternative {
  std::optional<analysis::TilePlan> plan;
  int64_t unskipped = 0; ///< the same cluster without skipping
  int64_t parts = 1;     ///< groups of units that share a drain
};

/// A convolution with the predicted cycles of its alternatives.
struct Candidate {
  PeConvOp conv;
  std::string obstacle; ///< why the sparse cluster cannot run it
  int64_t plain = 0;    ///< dense array, input as it is
  int64_t folded = 0;   ///< dense array, input in the best lane fold
  Alternative tile, scatter;
  analysis::DataProfile data; ///< of its input
  bool drained = false;       ///< its input can be counted as it is drained
  int64_t loss = 0;           ///< of its readers if the result cannot be folded
  int64_t encode = 0;         ///< of its input as it is, on the vector unit
  bool sparse = false;
  int64_t tiles = 0, zeroTiles = 0; ///< stationary tiles of the array

  /// Scatter mode has to be clearly better: its cycles depend on the data.
  bool scatters() const {
    return scatter.plan &&
           (!tile.plan || scatter.plan->cycles + scatter.plan->cycles / 16 <
                              tile.plan->cycles);
  }
  const Alternative &best() const { return scatters() ? scatter : tile; }
  const std::optional<analysis::TilePlan> &plan() const { return best().plan; }
  int64_t sparseCycles() const { return plan()->cycles + loss; }
  /// The sparse cluster has to be clearly better: predictions are not exact.
  bool gains() const {
    return plan() && sparseCycles() + sparseCycles() / 16 < plain;
  }
};

/// True if the array can read `x` folded, and something can write it so: the
/// conditions of fold-lanes, seen from here.
bool mayFold(Value x) {
  Operation *producer = x.getDefiningOp();
  if (!producer || !isa<PeConvOp, DmaMoveOp>(producer))
    return false;
  return llvm::all_of(x.getUsers(), [&](Operation *user) {
    auto conv = dyn_cast<PeConvOp>(user);
    if (!conv || conv->hasAttr(analysis::kStationaryAttr))
      return false;
    return conv.getX() != x ||
           (conv.getGroup() == 1 && conv.getStrides().back() == 1);
  });
}

/// Cycles in which the vector unit encodes a map.
struct EncodeCycles {
  int64_t plain = 0;  ///< as it is
  int64_t folded = 0; ///< in the best lane fold: few channels fill more lanes
};

/// Of `x` where a move encodes it; else none.
EncodeCycles encodeCycles(Value x, const machine::Description &machine) {
  auto shape = shapeOf(x);
  auto move = x.getDefiningOp<DmaMoveOp>();
  if (!move || !storageOf(x).encoded ||
      llvm::any_of(move.getInputs(),
                   [](Value input) { return storageOf(input).encoded; }))
    return {};
  int64_t positions = shape[0];
  for (int64_t extent : shape.drop_front(2))
    positions *= extent;
  auto encode = [&](int64_t channels, int64_t steps) {
    return static_cast<int64_t>(
        machine::vecMap(machine, machine::VecCost::Cheap,
                        machine::VecStore::Encode, channels, steps)
            .issue);
  };
  EncodeCycles cycles;
  cycles.plain = cycles.folded = encode(shape[1], positions);
  for (const analysis::Lanes &fold :
       analysis::laneFolds(shape[1], shape.back(), machine))
    cycles.folded = std::min(
        cycles.folded, encode(fold.pitch * fold.count, positions / fold.count));
  return cycles;
}

/// What the options of the pass say.
struct Policy {
  llvm::StringRef mode;
  bool useScatter = true; ///< mode auto may
  partition::Rule rule = partition::Rule::Cost;
  analysis::CutOptions cut;
  analysis::DataProfiles profiles;

  /// Every convolution that can goes to the sparse cluster.
  bool forced() const { return mode == "tile" || mode == "scatter"; }
};

class Chooser {
public:
  Chooser(const machine::Description &machine, const Policy &policy)
      : machine(machine), policy(policy) {}

  void predict(PeConvOp conv);
  void decide();
  std::vector<Candidate> candidates;

private:
  int64_t otherCycles(PeConvOp conv) const;
  int64_t weightCycles(PeConvOp conv) const;
  void planSparse(Candidate &candidate,
                  const analysis::EncodedWeights &weights) const;
  void planParts(Candidate &candidate, const analysis::EncodedWeights &weights,
                 int64_t parts) const;
  bool goesSparse(const Candidate &candidate) const;
  void decideGroup(llvm::ArrayRef<size_t> group);
  bool isSparse(Value map) const {
    return llvm::any_of(candidates, [&](const Candidate &candidate) {
      PeConvOp conv = candidate.conv;
      return candidate.sparse && conv.getY() == map;
    });
  }

  const machine::Description &machine;
  const Policy &policy;
};

/// What the array takes besides its streams: the drain of all results bounds
/// it, and the last ones have to pass.
int64_t Chooser::otherCycles(PeConvOp conv) const {
  int64_t drain = 0, positions = 1;
  for (int64_t extent : shapeOf(conv.getY()))
    positions *= extent;
  positions /= shapeOf(conv.getY())[1];
  for (const auto &column :
       analysis::planStationary(analysis::productShape(conv), machine))
    drain += static_cast<int64_t>(
        machine::actDrain(machine, column.cols, positions).issue);
  return drain;
}

/// Plans of both modes where `parts` groups of units share the results of a
/// drain, where they are better than those so far;
/// nothing if they cannot be split into so many.
void Chooser::planParts(Candidate &candidate,
                        const analysis::EncodedWeights &weights,
                        int64_t parts) const {
  PeConvOp conv = candidate.conv;
  auto out = shapeOf(conv.getY());
  llvm::SmallVector<int64_t, 4> extent{out[0]};
  extent.append(out.begin() + 2, out.end());
  analysis::TileProblem problem =
      analysis::tileProblem(conv, weights, extent, machine, parts);
  if (analysis::mostParts(problem) != parts)
    return;
  // Asked for, cuts may take more cycles than equal tiles.
  auto improve = [&](Alternative &best, bool forced) {
    int64_t limit = best.plan && !forced ? best.plan->cycles : INT64_MAX;
    auto plan = analysis::planTiles(problem, machine, limit);
    if (!plan)
      return;
    if (best.plan && forced) {
      bool alike = best.plan->isCut() == plan->isCut();
      if (alike ? plan->cycles >= best.plan->cycles : best.plan->isCut())
        return;
    }
    best.plan = plan;
    best.parts = parts;
    best.unskipped = analysis::unskippedCycles(problem, *plan, machine);
  };
  if (policy.mode != "scatter")
    improve(candidate.tile, false);
  // Cycles of scatter mode follow from the data: not by an estimate alone.
  if (policy.mode == "scatter" ||
      (policy.mode == "auto" && policy.useScatter &&
       candidate.data.source == analysis::ProfileSource::Measured)) {
    analysis::addScatter(problem, conv, weights, candidate.data, policy.cut,
                         machine);
    improve(candidate.scatter, partition::isForced(policy.cut.time));
  }
}

/// The best plans over the numbers of groups of units that the results of a
/// drain are split over: more groups occupy more units where maps are small.
void Chooser::planSparse(Candidate &candidate,
                         const analysis::EncodedWeights &weights) const {
  auto units = static_cast<int64_t>(machine.sparse.tcus);
  for (int64_t parts = 1; parts <= units; parts *= 2)
    planParts(candidate, weights, parts);
  if (!candidate.plan())
    candidate.obstacle = "no tile fits its units";
}

/// Cycles in which DRAM delivers the weights of the array.
int64_t Chooser::weightCycles(PeConvOp conv) const {
  int64_t elements = 1;
  for (int64_t extent : shapeOf(conv.getW()))
    elements *= extent;
  analysis::StorageType type = storageOf(conv.getW());
  auto cell = static_cast<int64_t>(machine.xmGroup);
  int64_t block = std::max<int64_t>(type.format.block, cell);
  int64_t bytes = elements * type.format.mantissa / 8 + elements / block;
  return bytes / static_cast<int64_t>(machine.dram.bytesPerCycle);
}

void Chooser::predict(PeConvOp conv) {
  Candidate candidate;
  candidate.conv = conv;
  candidate.obstacle = obstacle(conv, machine);
  candidate.data = analysis::profileOf(conv.getX(), policy.profiles);
  candidate.encode = encodeCycles(conv.getX(), machine).plain;
  candidate.drained = !analysis::countedResults(conv.getX(), machine).empty();
  int64_t fill = static_cast<int64_t>(machine.pe.rows + machine.pe.columns +
                                      machine.act.latency);
  int64_t drain = otherCycles(conv);
  int64_t cycles = analysis::arrayCycles(conv, analysis::Lanes(), machine);
  int64_t folded = cycles;
  int64_t fetch = 0;
  auto shape = shapeOf(conv.getX());
  if (conv.getGroup() == 1 && conv.getStrides().back() == 1)
    for (const analysis::Lanes &fold :
         analysis::laneFolds(shape[1], shape.back(), machine))
      folded = std::min(folded, analysis::arrayCycles(conv, fold, machine));
  if (auto decision =
          conv->getAttrOfType<DictionaryAttr>(kStationaryDecisionAttr))
    if (auto all = decision.getAs<DictionaryAttr>("alternatives"))
      for (NamedAttribute alternative : all)
        cycles = std::min(cycles,
                          cast<IntegerAttr>(alternative.getValue()).getInt());
  if (analysis::hasStreamedWeights(conv)) {
    analysis::EncodedWeights weights(conv);
    // Tiles of zeros are left out of the array's work too.
    auto columns =
        analysis::planStationary(analysis::productShape(conv), machine);
    for (const auto &column : columns)
      candidate.tiles += static_cast<int64_t>(column.tiles.size());
    candidate.zeroTiles = analysis::dropZeroTiles(columns, conv, weights);
    int64_t kept = candidate.tiles - candidate.zeroTiles;
    cycles = cycles * kept / std::max<int64_t>(candidate.tiles, 1);
    folded = folded * kept / std::max<int64_t>(candidate.tiles, 1);
    fetch = weightCycles(conv) * kept / std::max<int64_t>(candidate.tiles, 1);
    if (candidate.obstacle.empty() && policy.mode != "off")
      planSparse(candidate, weights);
  }
  candidate.plain = std::max({cycles, drain, fetch}) + fill;
  candidate.folded = std::max({folded, drain, fetch}) + fill;
  candidates.push_back(std::move(candidate));
}

/// The choice for a convolution by itself.
bool Chooser::goesSparse(const Candidate &candidate) const {
  if (!candidate.plan() || policy.forced())
    return candidate.plan().has_value();
  if (policy.rule == partition::Rule::Cost)
    return candidate.gains();
  partition::Evidence evidence;
  evidence.nonZeros = static_cast<uint64_t>(candidate.data.mean());
  evidence.zeros = 1000 - evidence.nonZeros;
  evidence.vectorRuns = false;
  evidence.denseCycles = static_cast<uint64_t>(candidate.plain);
  evidence.sparseCycles = static_cast<uint64_t>(candidate.sparseCycles());
  return llvm::cantFail(partition::classify(evidence, policy.rule)) ==
         partition::Route::Sparse;
}

/// Readers of one map, together: if one of them is on the sparse cluster, the
/// others cannot have the map folded.
void Chooser::decideGroup(llvm::ArrayRef<size_t> group) {
  int64_t plain = 0, folded = 0;
  for (size_t i : group) {
    Candidate &candidate = candidates[i];
    candidate.sparse = goesSparse(candidate);
    plain += candidate.sparse ? candidate.sparseCycles() : candidate.plain;
    folded += candidate.folded;
  }
  Value x = candidates[group.front()].conv.getX();
  if (policy.forced() || policy.rule != partition::Rule::Cost || !mayFold(x))
    return;
  EncodeCycles encode = encodeCycles(x, machine);
  plain += encode.plain - encode.folded;
  if (folded > plain)
    return;
  for (size_t i : group)
    candidates[i].sparse = false;
  for (Candidate &candidate : candidates)
    if (candidate.conv.getY() == x)
      candidate.loss = plain - folded;
}

/// Later readers first: what they lose without a fold is a cost of their
/// producer. If that goes to the sparse cluster all the same, there is no fold,
/// and they decide without it.
void Chooser::decide() {
  llvm::MapVector<Value, llvm::SmallVector<size_t, 2>> readers;
  for (auto [i, candidate] : llvm::enumerate(candidates))
    readers[candidate.conv.getX()].push_back(i);
  for (auto &entry : llvm::reverse(readers))
    decideGroup(entry.second);
  for (auto &[map, group] : readers)
    if (isSparse(map))
      for (size_t i : group)
        candidates[i].sparse = goesSparse(candidates[i]);
}

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
    getOperation().walk([&](Operation *op) { classify(op, policy.rule); });
    getOperation()->removeAttr(kProfileAttr);
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
        failed(take(policy.cut.time, partition::parseCutTime(cutTime))))
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
