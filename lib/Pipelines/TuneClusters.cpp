// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which convolutions the sparse cluster computes, decided for the whole
// program, and the order of all choices between programs.

#include "Compilation.h"

#include "ashlar/Support/Error.h"
#include "dialects/Ashlar/Decision.h"
#include "llvm/Support/FormatVariadic.h"

#include <chrono>

using namespace mlir;

namespace ashlar::pipelines {

/// What was not compared, as decisions name it.
static constexpr llvm::StringLiteral kScatterCompared = "no scatter mode",
                                     kArrayCompared = "no sparse cluster",
                                     kClusterCompared =
                                         "all convolutions on the cluster";

/// Reasons of layers in a program that is compared with the first: on the
/// array, and on the sparse cluster. The outcome replaces them.
static constexpr llvm::StringLiteral
    kArrayReason = "the network is compared without the sparse cluster",
    kClusterReason =
        "the network is compared with all convolutions on the sparse cluster";

/// What all programs that are compared begin with, of a copy of the module.
llvm::Error Compilation::bindCommon() {
  CompileOptions now = options;
  now.afterPass = nullptr;
  Compilation other(now, context);
  other.machine = machine;
  other.result.module = result.module->clone();
  // What trials find is joined at the end.
  if (records::decisionOf(*result.module, npu::kComparisonsDecisionAttr)) {
    noteFoldsNotCompared();
    (*other.result.module)->removeAttr(npu::kComparisonsDecisionAttr);
  }
  if (llvm::Error error = other.bind())
    return error;
  bound = std::move(other.result.module);
  return llvm::Error::success();
}

/// True if `module` has convolutions on the array that the cluster could run
/// too, and it is predicted that all of them together lose less there than
/// their loads may save where results stay in the cluster; `total` are the
/// cycles of the network.
static bool mayUseClusterAlone(ModuleOp module, uint64_t total) {
  int64_t onArray = 0, loss = 0;
  bool searched = true;
  module.walk([&](npu::PeConvOp conv) {
    npu::PredictedAttr predicted = npu::predictedOf(conv);
    if (!predicted || !predicted.getArray())
      return;
    // Plans that were not searched lose too much.
    const std::optional<int64_t> cluster = predicted.getCluster();
    searched &= cluster.has_value();
    ++onArray;
    loss += std::max<int64_t>(cluster.value_or(0) - *predicted.getArray(), 0);
  });
  // Loads between layers are a quarter of small networks at most.
  return searched && onArray > 0 && loss <= static_cast<int64_t>(total / 4);
}

/// Choices of clusters that are compared with the program of the predicted one.
/// If the choice is not left `open`, that is none at all.
llvm::Expected<llvm::SmallVector<ClusterChoice, 3>>
Compilation::otherClusters(Tried &first, bool open) {
  llvm::SmallVector<ClusterChoice, 3> others;
  auto use = clusterUseOf(*first.result.program);
  if (!use)
    return use.takeError();
  if (use->scatters && open)
    others.push_back({"auto", /*scatter=*/false, ""});
  if (use->runs && open && options.sparse.keep == "auto") {
    auto cycles = first.cycles(*budget, options.sparse.sample);
    if (!cycles)
      return cycles.takeError();
    if (mayUseClusterAlone(*first.tiled, (*cycles)->total))
      others.push_back({"tile", /*scatter=*/false, kClusterReason.str()});
  }
  if (use->runs)
    others.push_back({"off", /*scatter=*/false, kArrayReason.str()});
  return others;
}

/// The program with another choice of clusters; none if it does not fit the
/// machine or the budget.
llvm::Expected<std::optional<Tried>>
Compilation::tryClusters(const ClusterChoice &clusters) {
  const llvm::StringLiteral what = clusters.mode == "off"    ? kArrayCompared
                                   : clusters.mode == "tile" ? kClusterCompared
                                                             : kScatterCompared;
  if (!budget->allows(what))
    return std::nullopt;
  ProgramChoices other = choices;
  other.clusters = clusters;
  auto tried = runTrial(other);
  if (tried)
    return std::move(*tried);
  llvm::Error refusal = tried.takeError();
  if (!budget->wasGivenUp(what) && !mayFitOtherwise(refusal))
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

/// Replaces `best`, the program of `choices`, by that of other clusters if it
/// takes fewer cycles and the choice is `open`.
llvm::Error Compilation::takeClusters(Tried &best, ClusterChoice clusters,
                                      bool open) {
  auto least = best.cycles(*budget, options.sparse.sample);
  if (!least)
    return least.takeError();
  auto tried = tryClusters(clusters);
  if (!tried)
    return tried.takeError();
  if (!*tried)
    return llvm::Error::success();
  auto cycles = (*tried)->cycles(*budget, options.sparse.sample);
  if (!cycles)
    return cycles.takeError();
  if (!open || (*cycles)->total >= (*least)->total) {
    if (clusters.mode == "off")
      measured = MeasuredCycles{**cycles, **least};
    return llvm::Error::success();
  }
  if (!clusters.reason.empty()) {
    const std::string placeholder = std::exchange(
        clusters.reason,
        comparedReason(clusters.mode, (*cycles)->total, (*least)->total));
    (*tried)->decisions.replaceReason(placeholder, clusters.reason);
  }
  measured.reset();
  choices.clusters = std::move(clusters);
  best = std::move(**tried);
  return llvm::Error::success();
}

/// Decides between layouts, and between the predicted choice of clusters, all
/// convolutions there, the same without scatter mode, and none at all by the
/// cycles of the whole network; a choice or a rule that was requested is only
/// compared with none. True if `result` is the finished program.
llvm::Expected<bool> Compilation::measureChoices() {
  const auto start = std::chrono::steady_clock::now();
  packManyExponents();
  if (llvm::Error error = bindCommon())
    return error;
  const std::chrono::duration<double> binding =
      std::chrono::steady_clock::now() - start;
  const bool open =
      choices.clusters.mode == "auto" && options.sparse.rule == "cost";
  auto best = tryKept();
  if (!best)
    return best.takeError();
  if (llvm::Error error = tryBanks(*best))
    return error;
  auto others = otherClusters(*best, open);
  if (!others)
    return others.takeError();
  for (const ClusterChoice &clusters : *others)
    if (llvm::Error error = takeClusters(*best, clusters, open))
      return error;
  if (llvm::Error error = tryExponents(*best))
    return error;
  bound = {};
  mayGiveUp = false;
  comparisonsDecision = budget->decision(context);
  if (options.afterPass || options.stopAfter != Phase::Emit)
    return false;
  finishWith(std::move(*best), binding.count());
  return true;
}

/// The program that was found is that of this compilation, whose phases before
/// have run; all programs shared \p binding seconds of assign.
void Compilation::finishWith(Tried best, double binding) {
  for (PhaseTime &time : best.result.times)
    result.times.push_back(
        {time.phase,
         time.seconds + (time.phase == Phase::Assign ? binding : 0)});
  best.result.times = std::move(result.times);
  result = std::move(best.result);
  decisions = std::move(best.decisions);
  decisions.add(comparisonsDecision);
  if (measured)
    decisions.addMeasured(*measured);
  publishDecisions();
}

} // namespace ashlar::pipelines
