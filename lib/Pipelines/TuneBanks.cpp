// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Placement of results in the banks of the state buffer, decided for the whole
// program.

#include "Compilation.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace ashlar::pipelines {

/// The part of a run that an engine waits for banks from which on another
/// placement is tried: one in 32.
static constexpr uint64_t kBankWaits = 32;

/// What was not compared, as decisions name it.
static constexpr llvm::StringLiteral kBanksCompared = "results in other banks";

/// The comparison of two placements of results, for reports.
static records::DecisionAttr banksDecisionFor(MLIRContext *context,
                                              uint64_t apart, uint64_t low) {
  const std::string reason = llvm::formatv(
      "the whole network takes {0} cycles with results in other banks than "
      "their operands, {1} with results as low as they fit",
      apart, low);
  return records::Decision(
             context, apart < low ? "banks-apart" : "low-addresses", reason)
      .alternative("banks-apart", static_cast<int64_t>(apart))
      .alternative("low-addresses", static_cast<int64_t>(low))
      .get();
}

/// Where engines wait for banks of the state buffer, also compiles with results
/// in other banks than operands, and keeps what takes fewer cycles. With more
/// memory a plan that begins at its start shares fewer banks: without this a
/// larger memory would be slower. Both programs are the same up to the plan.
llvm::Expected<Tried> Compilation::tryBanks(const ClusterChoice &choice,
                                            Tried dense) {
  if (machine.sb.banks < 2 || options.comparedWork == 0)
    return dense;
  auto measured = dense.cycles(*budget, options.sparse.sample);
  if (!measured)
    return measured.takeError();
  const NetworkCycles before = **measured;
  if (before.bankWaits * kBankWaits < before.total ||
      !budget->allows(kBanksCompared))
    return dense;
  (*dense.assigned)->setAttr(npu::kBanksApartAttr, UnitAttr::get(&context));
  auto apart = runTrial(choice, *dense.assigned, Phase::Plan);
  if (!apart) {
    budget->wasGivenUp(kBanksCompared);
    llvm::consumeError(apart.takeError());
    return dense;
  }
  auto after = apart->cycles(*budget, options.sparse.sample);
  if (!after)
    return after.takeError();
  const uint64_t cycles = (*after)->total;
  banksApart = cycles < before.total;
  banksDecision = banksDecisionFor(&context, cycles, before.total);
  std::vector<PhaseTime> times = dense.result.times;
  Tried best = std::move(banksApart ? *apart : dense);
  // Both were compiled before it was known.
  CompileResult &result = best.result;
  if (banksApart)
    result.times.insert(result.times.begin(), times.begin(),
                        llvm::find_if(times, [](const PhaseTime &time) {
                          return time.phase == Phase::Plan;
                        }));
  result.decisionsJson =
      joinDecisions(result.decisionsJson, programDecision(banksDecision));
  result.program->decisionsJson = result.decisionsJson;
  return best;
}

} // namespace ashlar::pipelines
