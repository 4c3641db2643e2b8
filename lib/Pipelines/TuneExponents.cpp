// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Exponents of weights in few bits of DRAM, decided for the whole program.

#include "Compilation.h"

#include "dialects/Ashlar/Decision.h"
#include "dialects/NN/NNOps.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace ashlar::pipelines {

/// What was not compared, as decisions name it.
static constexpr llvm::StringLiteral kExponentsCompared =
    "exponents of weights in few bits";

/// Elements of constants of a network whose programs are not compared: its
/// loads are so many that chances of the schedule even out, and most of the
/// time goes into making them again.
static constexpr int64_t kManyElements = int64_t(1) << 20;

void Compilation::packManyExponents() {
  if (options.weightCompression != "auto" ||
      machine.dma.decodedCodesPerCycle == 0)
    return;
  int64_t elements = 0;
  result.module->walk([&](nn::ConstantOp constant) {
    elements += cast<ShapedType>(constant.getType()).getNumElements();
  });
  if (elements < kManyElements)
    return;
  choices.tuning = choices.tuning.withPackedExponents(true);
  const std::string reason = llvm::formatv(
      "fewer bytes and no more cycles of each load; with {0} constants the "
      "whole network is not compared",
      elements);
  choices.exponentsDecision =
      records::Decision(&context, "packed-exponents", reason).get();
}

/// Also emits the program with exponents of weights in few bits, and keeps it
/// if it takes no more cycles: each load takes fewer bytes and no more cycles
/// of its queue, but the schedules of short programs differ by chance.
llvm::Error Compilation::tryExponents(Tried &best) {
  if (options.weightCompression != "auto" ||
      choices.tuning.getPackedExponents() || options.comparedWork == 0 ||
      machine.dma.decodedCodesPerCycle == 0 || !best.tiled ||
      best.result.weights.total().exponents == 0 ||
      !budget->allowsAgain(kExponentsCompared))
    return llvm::Error::success();
  if (auto bytes = best.cycles(*budget, options.sparse.sample); !bytes)
    return bytes.takeError();
  ProgramChoices other = choices;
  other.tuning = other.tuning.withPackedExponents(true);
  auto packed = compare(best, kExponentsCompared, [&] {
    return runTrial(other, *best.tiled, Phase::Emit);
  });
  if (!packed)
    return packed.takeError();
  if (!*packed)
    return llvm::Error::success();
  const CycleComparison cycles = (*packed)->cycles;
  const bool packs = cycles.cycles <= cycles.otherwise;
  if (packs) {
    choices.tuning = other.tuning;
    takeEmission(best, std::move((*packed)->program));
  }
  choices.exponentsDecision = cycles.decide(
      {"packed-exponents", "exponents of weights in few bits of DRAM"},
      {"byte-exponents", "bytes"}, packs, context);
  best.decisions.add(choices.exponentsDecision);
  return llvm::Error::success();
}

/// Replaces `best` by a program of the same module before emission: the phases
/// before, and what comparisons have said of layers, are those of `best`.
void Compilation::takeEmission(Tried &best, Tried emitted) {
  emitted.tiled = std::move(best.tiled);
  std::vector<PhaseTime> &times = best.result.times;
  llvm::erase_if(
      times, [](const PhaseTime &time) { return time.phase == Phase::Emit; });
  emitted.result.times.insert(emitted.result.times.begin(), times.begin(),
                              times.end());
  best.decisions.takeProgramOf(emitted.decisions);
  emitted.decisions = std::move(best.decisions);
  if (choices.banksDecision &&
      !records::decisionOf(*emitted.tiled, npu::kBanksDecisionAttr))
    emitted.decisions.add(choices.banksDecision);
  best = std::move(emitted);
}

} // namespace ashlar::pipelines
