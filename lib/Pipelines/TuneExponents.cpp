// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Exponents of weights in few bits of DRAM, decided for the whole program.

#include "Compilation.h"

#include "dialects/NN/NNOps.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace ashlar::pipelines {

/// What was not compared, as decisions name it.
static constexpr llvm::StringLiteral kExponentsCompared =
    "exponents of weights in few bits";

/// The comparison of exponents in few bits with bytes, for reports.
static records::DecisionAttr
exponentsDecisionFor(MLIRContext *context, uint64_t packed, uint64_t bytes) {
  const std::string reason = llvm::formatv(
      "the whole network takes {0} cycles with exponents of weights in few "
      "bits of DRAM, {1} with bytes",
      packed, bytes);
  return records::Decision(
             context, packed <= bytes ? "packed-exponents" : "byte-exponents",
             reason)
      .alternative("packed-exponents", static_cast<int64_t>(packed))
      .alternative("byte-exponents", static_cast<int64_t>(bytes))
      .get();
}

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
  packsExponents = elements >= kManyElements;
  if (!packsExponents)
    return;
  const std::string reason = llvm::formatv(
      "fewer bytes and no more cycles of each load; with {0} constants the "
      "whole network is not compared",
      elements);
  exponentsDecision =
      records::Decision(&context, "packed-exponents", reason).get();
}

/// Also emits the program with exponents of weights in few bits, and keeps it
/// if it takes no more cycles: each load takes fewer bytes and no more cycles
/// of its queue, but the schedules of short programs differ by chance.
llvm::Expected<Tried> Compilation::tryExponents(const ClusterChoice &choice,
                                                Tried bytes) {
  if (options.weightCompression != "auto" || packsExponents ||
      options.comparedWork == 0 || machine.dma.decodedCodesPerCycle == 0 ||
      !bytes.tiled || bytes.result.weights.total().exponents == 0 ||
      !budget->allowsAgain(kExponentsCompared))
    return bytes;
  auto before = bytes.cycles(*budget, options.sparse.sample);
  if (!before)
    return before.takeError();
  const uint64_t known = (*before)->total;
  (*bytes.tiled)->setAttr(npu::kPackedExponentsAttr, UnitAttr::get(&context));
  auto packed = runTrial(choice, *bytes.tiled, Phase::Emit);
  if (!packed) {
    budget->wasGivenUp(kExponentsCompared);
    llvm::consumeError(packed.takeError());
    return bytes;
  }
  auto after = packed->cycles(*budget, options.sparse.sample);
  if (!after)
    return after.takeError();
  const uint64_t cycles = (*after)->total;
  packsExponents = cycles <= known;
  exponentsDecision = exponentsDecisionFor(&context, cycles, known);
  std::vector<PhaseTime> times = std::move(bytes.result.times);
  const std::string decisions = bytes.result.decisionsJson;
  if (packsExponents)
    packed->tiled = std::move(bytes.tiled);
  Tried best = std::move(packsExponents ? *packed : bytes);
  CompileResult &result = best.result;
  if (packsExponents) {
    llvm::erase_if(
        times, [](const PhaseTime &time) { return time.phase == Phase::Emit; });
    result.times.insert(result.times.begin(), times.begin(), times.end());
    // What comparisons have said of layers is in those of the first program.
    result.decisionsJson = mergeDecisions(decisions, result.decisionsJson);
    if (banksDecision && !banksDecisionOf(*best.tiled))
      result.decisionsJson =
          joinDecisions(result.decisionsJson, programDecision(banksDecision));
  } else {
    result.times = std::move(times);
  }
  result.decisionsJson =
      joinDecisions(result.decisionsJson, programDecision(exponentsDecision));
  result.program->decisionsJson = result.decisionsJson;
  return best;
}

} // namespace ashlar::pipelines
