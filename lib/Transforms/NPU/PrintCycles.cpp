// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The predictions that choices compare, operation by operation, as text: a
// script puts them beside the cycles of a run.

#include "ashlar/Analysis/Array/PatternTiles.h"
#include "ashlar/Analysis/Array/StationaryPlan.h"
#include "ashlar/Analysis/Array/WeightPattern.h"
#include "ashlar/Analysis/Cost/DenseCycles.h"
#include "ashlar/Analysis/Cost/OperationCycles.h"
#include "ashlar/Analysis/Module/NodeNames.h"
#include "ashlar/Transforms/NPU/Passes.h"
#include "dialects/NPU/NPUDialect.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace ashlar::npu {
#define GEN_PASS_DEF_PRINTCYCLES
#include "ashlar/Transforms/NPU/Passes.h.inc"

namespace {

struct PrintCyclesPass : impl::PrintCyclesBase<PrintCyclesPass> {
  void runOnOperation() override {
    markAllAnalysesPreserved();
    auto machine = assignedMachineOf(getOperation());
    if (failed(machine))
      return signalPassFailure();
    getOperation().walk(
        [&](DecisionInterface op) { print(op.getOperation(), *machine); });
  }

  static void print(Operation *op, const machine::Description &machine) {
    if (auto conv = dyn_cast<PeConvOp>(op))
      return printProduct(conv, machine);
    if (auto move = dyn_cast<DmaMoveOp>(op)) {
      const analysis::OperationCycles cycles =
          analysis::moveCycles(move, analysis::lanesOf(op), machine);
      line(op, "dma", cycles.copied(machine) - cycles.latency);
      line(op, "vec", cycles.vector);
    } else if (op->hasTrait<VectorEngine>()) {
      line(op, "vec",
           analysis::vectorCycles(op, analysis::workLanesOf(op), machine));
    }
  }

  static void printProduct(PeConvOp conv, const machine::Description &machine) {
    if (hasStationaryActivations(conv))
      return;
    auto columns =
        analysis::planStationary(analysis::productShape(conv), machine);
    if (analysis::hasStreamedWeights(conv)) {
      const analysis::WeightPattern weights(conv);
      analysis::dropZeroTiles(columns, conv, weights);
      analysis::markChosenPatterns(columns, conv, weights, machine);
    }
    const analysis::DenseCycles cycles = analysis::denseCycles(
        conv, analysis::widthLanesOf(conv.getX()), columns, machine);
    line(conv, "pe", cycles.stream);
    line(conv, "act", cycles.drain);
  }

  static void line(Operation *op, llvm::StringRef engine, int64_t cycles) {
    if (cycles > 0)
      llvm::outs() << analysis::getNodeName(op->getLoc()) << '\t' << engine
                   << '\t' << cycles << '\n';
  }
};

} // namespace
} // namespace ashlar::npu
