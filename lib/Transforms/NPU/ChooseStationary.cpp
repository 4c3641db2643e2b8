// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Chooses the stationary operand of every product by predicted cycles. Input:
// pe operations. Output: the same, some with `stationary` activations, and
// a decision with the cycles of both alternatives.

#include "ashlar/Analysis/Cost/StationaryCycles.h"
#include "ashlar/Transforms/NPU/Passes.h"
#include "dialects/Ashlar/Decision.h"
#include "dialects/NPU/NPUDialect.h"
#include "mlir/IR/Builders.h"

namespace ashlar::npu {
#define GEN_PASS_DEF_CHOOSESTATIONARY
#include "ashlar/Transforms/NPU/Passes.h.inc"

using namespace mlir;

namespace {

struct ChooseStationaryPass : impl::ChooseStationaryBase<ChooseStationaryPass> {
  void runOnOperation() override {
    auto machine = boundMachineOf(getOperation());
    if (failed(machine))
      return signalPassFailure();
    for (Operation *op : denseProducts(getOperation()))
      choose(op, *machine);
  }

  void choose(Operation *op, const machine::Description &machine) {
    const analysis::StationaryCycles cycles =
        analysis::stationaryCycles(op, machine);
    const std::optional<int64_t> moving = cycles.moving();
    const bool turns = moving && *moving < cycles.weights;
    const bool blocks = turns && cycles.activations != moving;
    if (turns) {
      setStationary(op, blocks ? Stationary::ActivationsBlocks
                               : Stationary::Activations);
      setPattern(op, nullptr);
      op->removeAttr(kPatternDecisionAttr);
    }
    numActivations += turns;
    numBlocks += blocks;
    llvm::StringRef reason =
        blocks   ? "fewer cycles: the stream of weights is longer than a load, "
                   "and the array transposes whole blocks"
        : turns  ? "fewer cycles: the stream of weights is longer than a load"
        : moving ? "fewer cycles: the stream of positions covers the loads"
                 : "the result cannot be transposed in one pass";
    records::Decision decision(
        op->getContext(),
        turns ? "activations-stationary" : "weights-stationary", reason);
    decision.alternative("weights-stationary", cycles.weights);
    if (cycles.activations)
      decision.alternative("activations-stationary", *cycles.activations);
    if (cycles.blocks)
      decision.alternative("activations-stationary-transposed-blocks",
                           *cycles.blocks);
    decision.record(op, kStationaryDecisionAttr);
  }
};

} // namespace
} // namespace ashlar::npu
