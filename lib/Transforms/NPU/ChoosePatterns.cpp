// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// N:M weights (see Passes.td). Input: products on the array. Output: the same,
// some with `pattern`, and a decision where the machine has the pattern.

#include "ashlar/Analysis/Array/PatternTiles.h"
#include "ashlar/Analysis/Array/WeightPattern.h"
#include "ashlar/Transforms/NPU/Passes.h"
#include "dialects/Ashlar/Decision.h"
#include "dialects/NPU/NPUDialect.h"
#include "mlir/IR/Builders.h"

#include <fmt/format.h>

namespace ashlar::npu {
#define GEN_PASS_DEF_CHOOSEPATTERNS
#include "ashlar/Transforms/NPU/Passes.h.inc"

using namespace mlir;

namespace {

/// Cycles of a product without and with the pattern.
struct PatternCycles {
  int64_t tiles = 0, marked = 0;
  int64_t dense = 0, pattern = 0;
};

struct ChoosePatternsPass : impl::ChoosePatternsBase<ChoosePatternsPass> {
  using ChoosePatternsBase::ChoosePatternsBase;

  void runOnOperation() override {
    auto machine = boundMachineOf(getOperation());
    if (failed(machine))
      return signalPassFailure();
    if (mode == "off" || !machine->pe.hasPattern())
      return;
    getOperation().walk([&](Operation *op) {
      if (isa<PeConvOp, PeMatmulOp>(op) && analysis::hasStreamedWeights(op))
        choose(op, *machine);
    });
  }

private:
  static PatternCycles predict(Operation *op,
                               const machine::Description &machine) {
    const analysis::WeightPattern weights(op);
    auto columns =
        analysis::planStationary(analysis::productShape(op), machine);
    analysis::dropZeroTiles(columns, op, weights);
    PatternCycles result;
    for (const analysis::ColumnTile &column : columns)
      result.tiles += static_cast<int64_t>(column.tiles.size());
    result.dense = analysis::tileCycles(columns, op, machine);
    result.marked = analysis::markPatterns(columns, op, weights, machine);
    result.pattern = analysis::tileCycles(columns, op, machine);
    return result;
  }

  void choose(Operation *op, const machine::Description &machine) {
    const auto kept = static_cast<int64_t>(machine.pe.patternKept);
    const auto group = static_cast<int64_t>(machine.pe.patternGroup);
    const PatternCycles cycles = predict(op, machine);
    const bool uses =
        cycles.marked > 0 && (mode == "on" || cycles.pattern < cycles.dense);
    if (uses) {
      setPattern(op, PatternAttr::get(&getContext(), kept, group));
      numTiles += cycles.marked;
    }
    const std::string name = fmt::format("{}:{}", kept, group);
    const std::string tiles =
        fmt::format("{} of {} stationary tiles have the pattern {}",
                    cycles.marked, cycles.tiles, name);
    const llvm::StringRef reason = cycles.marked == 0 ? ""
                                   : !uses ? ", but loads and waits take longer"
                                   : cycles.pattern < cycles.dense
                                       ? ": fewer cycles"
                                       : ": requested";
    records::Decision decision(&getContext(), uses ? name : "dense",
                               tiles + reason);
    decision.alternative("dense", cycles.dense);
    if (cycles.marked > 0)
      decision.alternative(name, cycles.pattern);
    decision.record(op, kPatternDecisionAttr);
  }
};

} // namespace
} // namespace ashlar::npu
