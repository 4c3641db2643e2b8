// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Choices that are made by timing whole programs: predictions of layers leave
// out what neighbours overlap.

#include "Compilation.h"

#include "ashlar/Analysis/Layout/MapForm.h"
#include "ashlar/Support/Error.h"
#include "ashlar/Transforms/NN/Passes.h"
#include "ashlar/Transforms/NPU/Passes.h"
#include "dialects/Ashlar/Decision.h"
#include "dialects/NN/NNOps.h"
#include "dialects/NPU/NPUDialect.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

#include <chrono>

using namespace mlir;

namespace ashlar::pipelines {

/// What was not compared, as decisions name it.
static constexpr llvm::StringLiteral kMapsCompared =
                                         "feature maps without compression",
                                     kFoldsCompared =
                                         "convolutions without folds",
                                     kPlainRowsCompared =
                                         "operands of convolutions as they lie",
                                     kPoolsCompared = "pools of stored maps",
                                     kKeptCompared = "maps that are loaded",
                                     kScatterCompared = "no scatter mode",
                                     kArrayCompared = "no sparse cluster",
                                     kClusterCompared =
                                         "all convolutions on the cluster";

/// Cycles of the program of `result`.
llvm::Expected<NetworkCycles> Compilation::cyclesOfResult() {
  auto cycles = cyclesOf(*result.program, options.sparse.sample);
  if (cycles)
    budget->addRun(cycles->multiplications);
  return cycles;
}

/// Emits the program with compressed feature maps and without, and keeps the
/// one of fewer cycles.
llvm::Error Compilation::measureMaps() {
  OwningOpRef<ModuleOp> dense = result.module->clone();
  if (llvm::Error error = generate())
    return error;
  if (!budget->allowsAgain(kMapsCompared))
    return llvm::Error::success();
  auto compressed = cyclesOfResult();
  if (!compressed)
    return compressed.takeError();
  timed = *compressed;
  CompileResult kept = std::move(result);
  result = CompileResult();
  result.numericPlanJson = kept.numericPlanJson;
  result.module = std::move(dense);
  result.module->walk([](npu::DecisionInterface op) {
    if (npu::MemoryAttr memory = op.getMemoryAttr())
      op.setMemoryAttr(memory.withForm({}));
  });
  OwningOpRef<ModuleOp> again = result.module->clone();
  if (llvm::Error error = generate(budget->mostAgain())) {
    if (!budget->wasGivenUp(kMapsCompared))
      return error;
    llvm::consumeError(std::move(error));
    result = std::move(kept);
    return llvm::Error::success();
  }
  auto plain = cyclesOfResult();
  if (!plain)
    return plain.takeError();
  if (compressed->total < plain->total) {
    result = std::move(kept);
    return llvm::Error::success();
  }
  timed = *plain;
  // The reason has to be in the decisions of the program that stays.
  const std::string reason =
      llvm::formatv("the whole network takes {0} cycles with compressed maps, "
                    "{1} without",
                    compressed->total, plain->total);
  again->walk([&](Operation *op) {
    auto decision = records::decisionOf(op, npu::kMapDecisionAttr);
    if (decision && decision.getAlternatives())
      records::Decision(decision)
          .choose("map-dense")
          .because(reason)
          .record(op, npu::kMapDecisionAttr);
  });
  result.times = std::move(kept.times);
  result.decisionsJson = joinDecisions(
      joinDecisions(collectDecisions(*again), collectDecisions(*result.module)),
      joinDecisions(
          programDecision(banksDecisionOf(*again)),
          joinDecisions(programDecision(exponentsDecisionOf(*again)),
                        programDecision(comparisonsDecisionOf(*again)))));
  result.program->decisionsJson = result.decisionsJson;
  return llvm::Error::success();
}

namespace {
/// What is at stake where folds may go, as far as bounds can tell.
struct FoldStakes {
  /// Cycles by which layers may be faster on the sparse cluster without their
  /// folds than on the array with them.
  int64_t gain = 0;
  /// Cycles that convolutions take at least, one after the other.
  int64_t network = 0;
};
} // namespace

static FoldStakes stakesOf(ModuleOp module,
                           const machine::Description &machine) {
  FoldStakes stakes;
  module->walk([&](nn::ConvOp op) {
    auto decision = records::decisionOf(op, records::kDecisionAttr);
    const auto chosen = decision ? records::Decision(decision).cyclesOf(
                                       decision.getChoice().getValue())
                                 : std::nullopt;
    if (!chosen) {
      const auto result = cast<RankedTensorType>(op.getY().getType());
      const auto weights = cast<RankedTensorType>(op.getW().getType());
      const int64_t products = weights.getNumElements() / weights.getDimSize(0);
      stakes.network +=
          result.getNumElements() * products /
          static_cast<int64_t>(machine.pe.rows * machine.pe.columns);
      return;
    }
    stakes.network += *chosen;
    if (auto least =
            op->getAttrOfType<IntegerAttr>(records::kLeastOnClusterAttr))
      stakes.gain += *chosen - least.getInt();
  });
  return stakes;
}

/// Cycles of the program that the phases from `next` on make of a copy of
/// `module`; -1 if it does not fit.
llvm::Expected<int64_t>
Compilation::cyclesFrom(ModuleOp module, Phase next, llvm::StringRef only,
                        std::shared_ptr<ComparisonBudget> of) {
  CompileOptions now = options;
  now.afterPass = nullptr;
  now.dumpPlan.clear();
  now.stopAfter = Phase::Emit;
  Compilation other(now, context);
  other.trial = other.mayGiveUp = true;
  other.budget = std::move(of);
  other.pool = pool;
  other.foldOnly = only;
  // The names of the program itself stay free.
  other.dataName = only.empty() ? "folded" : "unfolded";
  other.result.module = module.clone();
  other.first = static_cast<int>(next);
  auto tried = other.run();
  if (!tried) {
    llvm::Error error = tried.takeError();
    const ErrorClass kind = support::classify(error);
    if (kind != ErrorClass::Capacity && kind != ErrorClass::Unsupported)
      return error;
    llvm::consumeError(std::move(error));
    return -1;
  }
  if (!other.timed) {
    other.result = std::move(*tried);
    auto cycles = other.cyclesOfResult();
    if (!cycles)
      return cycles.takeError();
    other.timed = std::move(*cycles);
  }
  return static_cast<int64_t>(other.timed->total);
}

/// The part of its cycles by which a program without folds has to be better.
/// Folds change blocks, so that results differ in their last bits: they are not
/// given up for little
/// (docs/decisions/layout/2026-11-23-folds-with-clusters.md).
static constexpr int64_t kClearFold = 32;

/// True if a gain of `gain` may be clear in a program of `cycles` cycles.
static bool mayBeClear(int64_t gain, int64_t cycles) {
  return gain * (kClearFold + 1) > cycles;
}

/// A fold is for the array; the sparse cluster reads a map as it is. Where
/// bounds leave open which of both is faster, the programs decide, and the
/// module, whose folds are done, is made again from `before` if that is clearly
/// better.
llvm::Error Compilation::chooseFolds(ModuleOp before) {
  const FoldStakes stakes = stakesOf(*result.module, machine);
  if (options.comparedWork == 0 || !mayBeClear(stakes.gain, stakes.network))
    return llvm::Error::success();
  // Its own: a phase file continues with a new one, too.
  const auto own = std::make_shared<ComparisonBudget>(options.comparedWork);
  auto omit = [&] {
    (*result.module)
        ->setAttr(npu::kComparisonsDecisionAttr, own->decision(context));
    return llvm::Error::success();
  };
  auto folded = cyclesFrom(*result.module, Phase::Quantise, "", own);
  if (!folded)
    return folded.takeError();
  if (own->wasGivenUp(kFoldsCompared) || !own->allows(kFoldsCompared))
    return omit();
  if (*folded >= 0 && !mayBeClear(stakes.gain, *folded))
    return llvm::Error::success();
  auto plain = cyclesFrom(before, Phase::Fold, "plain", own);
  if (!plain)
    return plain.takeError();
  if (own->wasGivenUp(kFoldsCompared))
    return omit();
  if (*plain < 0 || (*folded >= 0 && *folded <= *plain + *plain / kClearFold))
    return llvm::Error::success();
  result.module = before.clone();
  foldOnly = "plain";
  return runPhase(Phase::Fold);
}

llvm::Expected<const NetworkCycles *>
Tried::cycles(ComparisonBudget &budget, llvm::ArrayRef<HostTensor> sample) {
  if (!known) {
    auto measured = cyclesOf(*result.program, sample);
    if (!measured)
      return measured.takeError();
    budget.addRun(measured->multiplications);
    known = std::move(*measured);
  }
  return &*known;
}

/// The phases from `next` on, of a copy of the module, without hooks. Programs
/// other than the first are given up beyond the budget.
llvm::Expected<Tried> Compilation::runTrial(const ClusterChoice &choice,
                                            ModuleOp module, Phase next) {
  CompileOptions now = options;
  now.afterPass = nullptr;
  now.stopAfter = Phase::Emit;
  Compilation other(now, context);
  other.trial = other.isBound = true;
  other.mayGiveUp = mayGiveUp;
  other.budget = budget;
  other.pool = pool;
  other.choose(choice);
  other.packRows = packRows;
  other.keepLarge = keepLarge;
  other.poolDrain = poolDrain;
  other.poolReason = poolReason;
  other.keep = keep;
  other.keepReason = keepReason;
  other.banksApart = banksApart;
  other.packsExponents = packsExponents;
  other.exponentsDecision = exponentsDecision;
  other.banksDecision = banksDecision;
  other.result.module = module.clone();
  other.result.numericPlanJson = result.numericPlanJson;
  other.first = static_cast<int>(next);
  auto done = other.run();
  if (!done)
    return done.takeError();
  Tried tried;
  tried.result = std::move(*done);
  tried.assigned = std::move(other.assigned);
  tried.tiled = std::move(other.tiled);
  tried.known = std::move(other.timed);
  return tried;
}

/// All that depends on the choice of clusters.
llvm::Expected<Tried> Compilation::tryClusters(const ClusterChoice &choice) {
  return runTrial(choice, *bound, Phase::Assign);
}

/// What all programs that are compared begin with, of a copy of the module.
llvm::Error Compilation::bindCommon() {
  CompileOptions now = options;
  now.afterPass = nullptr;
  Compilation other(now, context);
  other.machine = machine;
  other.result.module = result.module->clone();
  // What trials find is joined at the end.
  if (comparisonsDecisionOf(*result.module)) {
    budget->note(kFoldsCompared);
    (*other.result.module)->removeAttr(npu::kComparisonsDecisionAttr);
  }
  if (llvm::Error error = other.bind())
    return error;
  bound = std::move(other.result.module);
  return llvm::Error::success();
}

/// A compilation with the predicted choice of clusters. What does not fit with
/// the sparse cluster may fit without, where that is left to the compiler.
llvm::Expected<Tried> Compilation::tryPredicted(ClusterChoice &choice) {
  auto tried = tryClusters(choice);
  if (tried || choice.mode != "auto")
    return tried;
  llvm::Error refusal = tried.takeError();
  const ErrorClass kind = support::classify(refusal);
  if (kind != ErrorClass::Capacity && kind != ErrorClass::Unsupported)
    return refusal;
  choice = {"off", false,
            "the network does not fit with the sparse cluster: " +
                llvm::toString(std::move(refusal))};
  return tryClusters(choice);
}

/// tryPredicted() with rows of operands apart, or with all operands as they
/// lie, whichever takes fewer cycles: what a convolution gains by the copy,
/// clusters and lanes of its neighbours may lose.
llvm::Expected<Tried> Compilation::tryRows(ClusterChoice &choice) {
  auto apart = tryPredicted(choice);
  if (!apart)
    return apart;
  mayGiveUp = true;
  if (!hasRowsApart(apart->result.decisionsJson) ||
      !budget->allows(kPlainRowsCompared))
    return apart;
  const std::string asked = std::exchange(packRows, npu::kRowsCompared.str());
  auto plain = tryClusters(choice);
  if (!plain) {
    packRows = asked;
    budget->wasGivenUp(kPlainRowsCompared);
    llvm::consumeError(plain.takeError());
    return apart;
  }
  auto with = apart->cycles(*budget, options.sparse.sample);
  if (!with)
    return with.takeError();
  auto without = plain->cycles(*budget, options.sparse.sample);
  if (!without)
    return without.takeError();
  if ((*without)->total < (*with)->total)
    return plain;
  packRows = asked;
  return apart;
}

/// tryLayouts() with the pools in drains that take about as long by themselves,
/// with those that gain, or with stored maps, whichever takes fewest cycles:
/// predictions see one convolution and its pool only.
llvm::Expected<Tried> Compilation::tryPools(ClusterChoice &choice) {
  auto best = tryLayouts(choice);
  if (!best || poolDrain != "eager" ||
      !hasPoolsInDrains(best->result.decisionsJson))
    return best;
  std::string chosen = poolDrain, why;
  for (const char *mode : {"off", "auto"}) {
    if (!budget->allows(kPoolsCompared))
      break;
    poolDrain = mode;
    poolReason = poolDrain == "off" ? kPoolsComparedReason.str() : "";
    auto other = tryClusters(choice);
    if (!other) {
      budget->wasGivenUp(kPoolsCompared);
      llvm::consumeError(other.takeError());
      break;
    }
    auto before = best->cycles(*budget, options.sparse.sample);
    if (!before)
      return before.takeError();
    auto after = other->cycles(*budget, options.sparse.sample);
    if (!after)
      return after.takeError();
    const uint64_t known = (*before)->total, cycles = (*after)->total;
    if (cycles >= known)
      break; // Fewer pools in drains gain nothing.
    chosen = mode;
    best = std::move(other);
    if (chosen != "off")
      continue;
    why = llvm::formatv("the whole network takes {0} cycles with pools that "
                        "drain PSUM, {1} without",
                        known, cycles);
    CompileResult &result = best->result;
    result.decisionsJson =
        giveReason(result.decisionsJson, kPoolsComparedReason, why);
    result.program->decisionsJson = result.decisionsJson;
  }
  poolDrain = chosen;
  poolReason = chosen == "off" ? why : "";
  return best;
}

/// tryPools() with maps that stay in the sparse cluster, or with none,
/// whichever takes fewer cycles: what loads would hide is seen in the whole
/// network only.
llvm::Expected<Tried> Compilation::tryKept(ClusterChoice &choice) {
  auto kept = tryPools(choice);
  if (!kept || keep != "auto" || !hasKeptMaps(kept->result.decisionsJson) ||
      !budget->allows(kKeptCompared))
    return kept;
  keep = "off";
  keepReason = kKeptComparedReason.str();
  auto loaded = tryClusters(choice);
  keep = "auto";
  keepReason.clear();
  if (!loaded) {
    budget->wasGivenUp(kKeptCompared);
    llvm::consumeError(loaded.takeError());
    return kept;
  }
  auto with = kept->cycles(*budget, options.sparse.sample);
  if (!with)
    return with.takeError();
  auto without = loaded->cycles(*budget, options.sparse.sample);
  if (!without)
    return without.takeError();
  if ((*with)->total <= (*without)->total)
    return kept;
  keep = "off";
  keepReason = llvm::formatv("the whole network takes {0} cycles with kept "
                             "maps, {1} without",
                             (*with)->total, (*without)->total);
  CompileResult &result = loaded->result;
  result.decisionsJson =
      giveReason(result.decisionsJson, kKeptComparedReason, keepReason);
  result.program->decisionsJson = result.decisionsJson;
  return loaded;
}

/// The predicted choice of clusters, in the layout and the banks that take
/// fewest cycles.
llvm::Expected<Tried> Compilation::tryFirst(ClusterChoice &choice) {
  auto tried = tryKept(choice);
  if (!tried)
    return tried;
  return tryBanks(choice, std::move(*tried));
}

/// The program with another choice of clusters; none if it does not fit the
/// machine or the budget.
llvm::Expected<std::optional<Tried>>
Compilation::tryOther(const ClusterChoice &choice) {
  const llvm::StringLiteral what = choice.mode == "off"    ? kArrayCompared
                                   : choice.mode == "tile" ? kClusterCompared
                                                           : kScatterCompared;
  if (!budget->allows(what))
    return std::nullopt;
  auto tried = tryClusters(choice);
  if (tried)
    return std::move(*tried);
  llvm::Error refusal = tried.takeError();
  const ErrorClass kind = support::classify(refusal);
  if (!budget->wasGivenUp(what) && kind != ErrorClass::Capacity &&
      kind != ErrorClass::Unsupported)
    return refusal;
  llvm::consumeError(std::move(refusal));
  return std::nullopt;
}

/// Why a choice was taken: what the network takes with it, and otherwise.
static std::string comparedReason(llvm::StringRef mode, uint64_t cycles,
                                  uint64_t otherwise) {
  if (mode == "off")
    return llvm::formatv("the whole network takes {0} cycles with the sparse "
                         "cluster, {1} without",
                         otherwise, cycles);
  return llvm::formatv("the whole network takes {0} cycles with all "
                       "convolutions on the sparse cluster, {1} otherwise",
                       cycles, otherwise);
}

/// Decides between layouts, and between the predicted choice of clusters, all
/// convolutions there, the same without scatter mode, and none at all by the
/// cycles of the whole network; a choice or a rule that was requested is only
/// compared with none. True if `result` is the finished program.
llvm::Expected<bool> Compilation::measureChoices() {
  auto start = std::chrono::steady_clock::now();
  packManyExponents();
  if (llvm::Error error = bindCommon())
    return error;
  const std::chrono::duration<double> binding =
      std::chrono::steady_clock::now() - start;
  std::vector<ClusterChoice> choices{{clusters, true, denseReason}};
  const bool open = clusters == "auto" && options.sparse.rule == "cost";
  std::optional<Tried> best;
  std::optional<NetworkCycles> least;
  for (size_t i = 0; i < choices.size(); ++i) {
    ClusterChoice choice = choices[i];
    std::optional<Tried> tried;
    if (llvm::Error error = i == 0 ? tryFirst(choice).moveInto(tried)
                                   : tryOther(choice).moveInto(tried))
      return error;
    if (!tried)
      continue;
    auto use = clusterUseOf(*tried->result.program);
    if (!use)
      return use.takeError();
    if (i == 0 && use->scatters && open)
      choices.push_back({"auto", false, ""});
    if (i == 0 && use->runs && open && options.sparse.keep == "auto") {
      auto cycles = tried->cycles(*budget, options.sparse.sample);
      if (!cycles)
        return cycles.takeError();
      if (mayUseClusterAlone(tried->result.decisionsJson, (*cycles)->total))
        choices.push_back({"tile", false, kAllComparedReason.str()});
    }
    if (i == 0 && use->runs)
      choices.push_back({"off", false, kComparedReason.str()});
    if (choices.size() > 1) {
      auto cycles = tried->cycles(*budget, options.sparse.sample);
      if (!cycles)
        return cycles.takeError();
      if (best && (!open || (*cycles)->total >= least->total)) {
        if (choice.mode == "off")
          measured = measuredText(**cycles, *least);
        continue;
      }
      if (i > 0 && !choice.reason.empty()) {
        const std::string placeholder = std::exchange(
            choice.reason,
            comparedReason(choice.mode, (*cycles)->total, least->total));
        CompileResult &result = tried->result;
        result.decisionsJson =
            giveReason(result.decisionsJson, placeholder, choice.reason);
        result.program->decisionsJson = result.decisionsJson;
      }
      least = **cycles;
    }
    choose(choice);
    best = std::move(*tried);
  }
  auto finished =
      tryExponents({clusters, scatter, denseReason}, std::move(*best));
  if (!finished)
    return finished.takeError();
  best = std::move(*finished);
  bound = {};
  mayGiveUp = false;
  comparisonsDecision = budget->decision(context);
  if (options.afterPass || options.stopAfter != Phase::Emit)
    return false;
  finishWith(std::move(best->result), binding.count());
  return true;
}

/// The program that was found is that of this compilation, whose phases before
/// have run; all programs shared \p binding seconds of assign.
void Compilation::finishWith(CompileResult best, double binding) {
  for (PhaseTime &time : best.times)
    result.times.push_back(
        {time.phase,
         time.seconds + (time.phase == Phase::Assign ? binding : 0)});
  best.times = std::move(result.times);
  result = std::move(best);
  if (comparisonsDecision)
    result.decisionsJson = joinDecisions(result.decisionsJson,
                                         programDecision(comparisonsDecision));
  if (!measured.empty())
    result.decisionsJson = addMeasured(result.decisionsJson, measured);
  result.program->decisionsJson = result.decisionsJson;
}

} // namespace ashlar::pipelines
