// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where feature maps lie, decided for the whole program: rows of operands side
// by side, large maps on chip, pools in drains, maps that stay in the sparse
// cluster. Each choice starts from the program of those before it.

#include "Compilation.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace ashlar::pipelines {

/// What was not compared, as decisions name it.
static constexpr llvm::StringLiteral kRowsCompared =
                                         "operands of convolutions as they lie",
                                     kLayoutsCompared =
                                         "large feature maps in DRAM",
                                     kPoolsCompared = "pools of stored maps",
                                     kKeptCompared = "maps that are loaded";

/// Stand for the outcome in decisions while programs are compared.
static constexpr llvm::StringLiteral
    kPoolsComparedReason =
        "the network is compared without pools that drain PSUM",
    kKeptComparedReason = "the network is compared without kept maps";

/// True if `fits` holds of an operation of class Op in `module`.
template <typename Op>
static bool hasAny(ModuleOp module, llvm::function_ref<bool(Op)> fits) {
  return module
      .walk([&](Op op) {
        return fits(op) ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

/// True for a map that spread-maps keeps on chip instead of DRAM.
static bool isLargeKept(npu::DecisionInterface op) {
  npu::PredictedAttr predicted = npu::predictedOf(op);
  return predicted && predicted.getDram();
}

/// The predicted choice of clusters. What does not fit with the sparse cluster
/// may fit without, where that is left to the compiler.
llvm::Expected<Tried> Compilation::tryPredicted() {
  auto tried = runTrial(choices);
  if (tried || choices.clusters.mode != "auto")
    return tried;
  llvm::Error refusal = tried.takeError();
  if (!mayFitOtherwise(refusal))
    return refusal;
  choices.clusters = {"off", false,
                      "the network does not fit with the sparse cluster: " +
                          llvm::toString(std::move(refusal))};
  return runTrial(choices);
}

/// tryPredicted() with rows of operands apart, or with all operands as they
/// lie: what a convolution gains by the copy, clusters and lanes of its
/// neighbours may lose.
llvm::Expected<Tried> Compilation::tryRows() {
  auto apart = tryPredicted();
  if (!apart)
    return apart;
  mayGiveUp = true;
  if (!hasAny<npu::PeConvOp>(*apart->tiled, [](npu::PeConvOp conv) {
        return conv.getRowsApart();
      }))
    return apart;
  ProgramChoices plain = choices;
  plain.tuning = plain.tuning.withPackRows(npu::RowPackingMode::Compared);
  auto taken = takeFaster(*apart, kRowsCompared, plain);
  if (!taken)
    return taken.takeError();
  return apart;
}

/// tryRows() with large feature maps in DRAM, where the program that keeps them
/// on chip was refused: what they leave may hold so small tiles of their
/// readers that these are too many. What fits neither way is refused as before.
llvm::Expected<Tried> Compilation::trySpilled(llvm::Error refusal) {
  if (!mayFitOtherwise(refusal))
    return refusal;
  const ProgramChoices asked = choices;
  choices.keepLarge = false;
  auto spilled = tryRows();
  if (!spilled) {
    choices = asked;
    llvm::consumeError(spilled.takeError());
    return refusal;
  }
  llvm::consumeError(std::move(refusal));
  return spilled;
}

/// tryRows() with large feature maps kept on chip, or as they would lie
/// otherwise: what a plan gains by the one and loses by the other shows in the
/// whole network only.
llvm::Expected<Tried> Compilation::tryLargeMaps() {
  const ProgramChoices asked = choices;
  auto kept = tryRows();
  if (!kept) {
    choices = asked;
    return trySpilled(kept.takeError());
  }
  if (!hasAny<npu::DecisionInterface>(*kept->tiled, isLargeKept))
    return kept;
  ProgramChoices plain = choices;
  plain.keepLarge = false;
  auto taken = takeFaster(*kept, kLayoutsCompared, plain);
  if (!taken)
    return taken.takeError();
  return kept;
}

/// tryLargeMaps() with the pools in drains that take about as long by
/// themselves, with those that gain, or with stored maps: predictions see one
/// convolution and its pool only.
llvm::Expected<Tried> Compilation::tryPools() {
  auto best = tryLargeMaps();
  if (!best || choices.poolDrain != "eager" ||
      !hasAny<Operation *>(*best->tiled, [](Operation *op) {
        return npu::poolingOf(op) != nullptr;
      }))
    return best;
  ProgramChoices stored = choices;
  stored.poolDrain = "off";
  stored.poolReason = kPoolsComparedReason;
  auto none = takeFaster(*best, kPoolsCompared, stored);
  if (!none)
    return none.takeError();
  if (!*none)
    return best; // Fewer pools in drains gain nothing.
  choices.poolReason =
      llvm::formatv("the whole network takes {0} cycles with pools that drain "
                    "PSUM, {1} without",
                    (*none)->otherwise, (*none)->cycles);
  best->decisions.replaceReason(kPoolsComparedReason, choices.poolReason);
  ProgramChoices gaining = choices;
  gaining.poolDrain = "auto";
  gaining.poolReason.clear();
  auto taken = takeFaster(*best, kPoolsCompared, gaining);
  if (!taken)
    return taken.takeError();
  return best;
}

/// tryPools() with maps that stay in the sparse cluster, or with none: what
/// loads would hide is seen in the whole network only.
llvm::Expected<Tried> Compilation::tryKept() {
  auto best = tryPools();
  if (!best || choices.keep != "auto" ||
      !hasAny<npu::TcuConvOp>(*best->tiled, [](npu::TcuConvOp conv) {
        return conv.getKeptAttr() != nullptr;
      }))
    return best;
  ProgramChoices loaded = choices;
  loaded.keep = "off";
  loaded.keepReason = kKeptComparedReason;
  auto none = takeFaster(*best, kKeptCompared, loaded);
  if (!none)
    return none.takeError();
  if (!*none)
    return best;
  choices.keepReason =
      llvm::formatv("the whole network takes {0} cycles with kept maps, {1} "
                    "without",
                    (*none)->otherwise, (*none)->cycles);
  best->decisions.replaceReason(kKeptComparedReason, choices.keepReason);
  return best;
}

} // namespace ashlar::pipelines
