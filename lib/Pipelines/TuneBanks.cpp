// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Placement of results in the banks of the state buffer, decided for the whole
// program.

#include "Compilation.h"

#include "llvm/ADT/STLExtras.h"

namespace ashlar::pipelines {

/// The part of a run that an engine waits for banks from which on another
/// placement is tried: one in 32.
static constexpr uint64_t kBankWaits = 32;

/// What was not compared, as decisions name it.
static constexpr llvm::StringLiteral kBanksCompared = "results in other banks";

/// Where engines wait for banks of the state buffer, also compiles with results
/// in other banks than operands, and keeps what takes fewer cycles. With more
/// memory a plan that begins at its start shares fewer banks: without this a
/// larger memory would be slower. Both programs are the same up to the plan.
llvm::Error Compilation::tryBanks(Tried &best) {
  if (machine.sb.banks < 2 || options.comparedWork == 0)
    return llvm::Error::success();
  auto low = best.cycles(*budget, options.sparse.sample);
  if (!low)
    return low.takeError();
  if ((*low)->bankWaits * kBankWaits < (*low)->total ||
      !budget->allows(kBanksCompared))
    return llvm::Error::success();
  ProgramChoices other = choices;
  other.tuning = other.tuning.withBanksApart(true);
  auto apart = compare(best, kBanksCompared, [&] {
    return runTrial(other, *best.assigned, Phase::Plan);
  });
  if (!apart)
    return apart.takeError();
  if (!*apart)
    return llvm::Error::success();
  const CycleComparison cycles = (*apart)->cycles;
  if (cycles.isFaster()) {
    choices.tuning = other.tuning;
    const std::vector<PhaseTime> times = std::move(best.result.times);
    best = std::move((*apart)->program);
    best.result.times.insert(best.result.times.begin(), times.begin(),
                             llvm::find_if(times, [](const PhaseTime &time) {
                               return time.phase == Phase::Plan;
                             }));
  }
  // Both were compiled before it was known.
  choices.banksDecision = cycles.decide(
      {"banks-apart", "results in other banks than their operands"},
      {"low-addresses", "results as low as they fit"}, cycles.isFaster(),
      context);
  best.decisions.add(choices.banksDecision);
  return llvm::Error::success();
}

} // namespace ashlar::pipelines
