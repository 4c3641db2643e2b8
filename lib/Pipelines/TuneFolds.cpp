// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Folds of convolutions for the dense array against none for the sparse
// cluster, decided for the whole program.

#include "Compilation.h"

#include "ashlar/Support/Error.h"
#include "ashlar/Transforms/NN/Passes.h"
#include "dialects/Ashlar/Decision.h"
#include "dialects/NN/NNOps.h"

using namespace mlir;

namespace ashlar::pipelines {

/// What was not compared, as decisions name it.
static constexpr llvm::StringLiteral kFoldsCompared =
    "convolutions without folds";

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
    if (!mayFitOtherwise(error))
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

void Compilation::noteFoldsNotCompared() { budget->note(kFoldsCompared); }

} // namespace ashlar::pipelines
