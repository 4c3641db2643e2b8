// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The frame of all choices that are made by timing whole programs, because
// predictions of layers leave out what neighbours overlap: an alternative is
// compiled from the phase on in which it differs, and its cycles are compared.
// TuneFolds, TuneClusters, TuneLayouts, TuneBanks, TuneExponents and TuneMaps
// have the choices.

#include "Compilation.h"

#include "ashlar/Support/Error.h"
#include "dialects/Ashlar/Decision.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace ashlar::pipelines {

bool mayFitOtherwise(const llvm::Error &refusal) {
  const ErrorClass kind = support::classify(refusal);
  return kind == ErrorClass::Capacity || kind == ErrorClass::Unsupported;
}

ProgramChoices::ProgramChoices(const CompileOptions &options,
                               MLIRContext &context)
    : clusters{options.sparse.mode, /*scatter=*/true, /*reason=*/""},
      tuning(npu::TuningAttr::getDefault(&context)),
      // Programs that are compared may try more pools than gain by themselves.
      poolDrain(options.poolDrain == "auto" && options.comparedWork > 0
                    ? "eager"
                    : options.poolDrain),
      keep(options.sparse.keep) {
  if (auto rows = npu::symbolizeRowPackingMode(options.packRows))
    tuning = tuning.withPackRows(*rows);
}

records::DecisionAttr CycleComparison::decide(const ComparedName &alternative,
                                              const ComparedName &other,
                                              bool taken,
                                              MLIRContext &context) const {
  const std::string reason =
      llvm::formatv("the whole network takes {0} cycles with {1}, {2} with {3}",
                    cycles, alternative.words, otherwise, other.words);
  return records::Decision(&context, taken ? alternative.choice : other.choice,
                           reason)
      .alternative(alternative.choice, static_cast<int64_t>(cycles))
      .alternative(other.choice, static_cast<int64_t>(otherwise))
      .get();
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

/// Cycles of the program of `result`.
llvm::Expected<NetworkCycles> Compilation::cyclesOfResult() {
  auto cycles = cyclesOf(*result.program, options.sparse.sample);
  if (cycles)
    budget->addRun(cycles->multiplications);
  return cycles;
}

/// The phases from `next` on, of a copy of the module, without hooks. Programs
/// other than the first are given up beyond the budget.
llvm::Expected<Tried> Compilation::runTrial(const ProgramChoices &of,
                                            ModuleOp module, Phase next) {
  CompileOptions now = options;
  now.afterPass = nullptr;
  now.stopAfter = Phase::Emit;
  Compilation other(now, context);
  other.trial = other.isBound = true;
  other.mayGiveUp = mayGiveUp;
  other.budget = budget;
  other.pool = pool;
  other.choices = of;
  other.result.module = module.clone();
  npu::setTuning(*other.result.module, of.tuning);
  other.result.numericPlanJson = result.numericPlanJson;
  other.first = static_cast<int>(next);
  auto done = other.run();
  if (!done)
    return done.takeError();
  Tried tried;
  tried.result = std::move(*done);
  tried.decisions = std::move(other.decisions);
  tried.assigned = std::move(other.assigned);
  tried.tiled = std::move(other.tiled);
  tried.known = std::move(other.timed);
  return tried;
}

/// The program of other choices from the common start of all programs.
llvm::Expected<Tried> Compilation::runTrial(const ProgramChoices &of) {
  return runTrial(of, *bound, Phase::Assign);
}

/// Times `known` and the program that `make` compiles, if it can: nothing if
/// that does not fit the machine or the budget, and `what` is known not to be
/// compared then.
llvm::Expected<std::optional<Alternative>>
Compilation::compare(Tried &known, llvm::StringRef what,
                     llvm::function_ref<llvm::Expected<Tried>()> make) {
  auto made = make();
  if (!made) {
    budget->wasGivenUp(what);
    llvm::consumeError(made.takeError());
    return std::nullopt;
  }
  auto otherwise = known.cycles(*budget, options.sparse.sample);
  if (!otherwise)
    return otherwise.takeError();
  auto cycles = made->cycles(*budget, options.sparse.sample);
  if (!cycles)
    return cycles.takeError();
  const CycleComparison both{(*cycles)->total, (*otherwise)->total};
  return Alternative{std::move(*made), both};
}

/// Replaces `known`, the program of `choices`, by that of `other`, if the
/// budget allows it and it takes fewer cycles. The alternative if it was taken.
llvm::Expected<std::optional<CycleComparison>>
Compilation::takeFaster(Tried &known, llvm::StringRef what,
                        const ProgramChoices &other) {
  if (!budget->allows(what))
    return std::nullopt;
  auto tried = compare(known, what, [&] { return runTrial(other); });
  if (!tried)
    return tried.takeError();
  if (!*tried || !(*tried)->cycles.isFaster())
    return std::nullopt;
  known = std::move((*tried)->program);
  choices = other;
  return (*tried)->cycles;
}

} // namespace ashlar::pipelines
