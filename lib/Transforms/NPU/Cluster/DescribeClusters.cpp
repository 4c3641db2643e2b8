// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The decisions on the sparse cluster once more, for the tiles of the state
// buffer that memory planning has made (see Passes.td).

#include "ClusterDecision.h"

#include "ashlar/Analysis/Array/StationaryPlan.h"
#include "ashlar/Analysis/Layout/StorageType.h"
#include "ashlar/Analysis/Layout/View.h"
#include "ashlar/Transforms/NPU/Passes.h"
#include "dialects/NPU/NPUDialect.h"
#include "llvm/Support/MathExtras.h"

namespace ashlar::npu {
#define GEN_PASS_DEF_DESCRIBECLUSTERS
#include "ashlar/Transforms/NPU/Passes.h.inc"

using namespace mlir;
using analysis::shapeOf;

namespace {

struct DescribeClustersPass : impl::DescribeClustersBase<DescribeClustersPass> {
  void runOnOperation() override {
    auto machine = records::machineOf(getOperation());
    if (failed(machine))
      return signalPassFailure();
    getOperation().walk([&](TcuConvOp conv) { renew(conv, *machine); });
    nameCounters(getOperation(), *machine);
  }

  /// The plan that code generation makes for a tile, in the decision.
  void renew(TcuConvOp conv, const machine::Description &machine) {
    const auto written = records::decisionOf(conv, kSparseDecisionAttr);
    TilingAttr tiling = conv.getTilingAttr();
    auto tile = tiling ? tiling.getTile() : DenseI64ArrayAttr();
    auto shape = shapeOf(conv.getY());
    if (!written || !tile ||
        tile.size() != static_cast<int64_t>(shape.size()) ||
        llvm::any_of(tile.asArrayRef(), [](int64_t size) { return size < 1; }))
      return;
    const analysis::WeightPattern weights =
        analysis::tilePattern(conv, machine);
    analysis::Shape extent{tile[0]};
    extent.append(tile.asArrayRef().begin() + 2, tile.asArrayRef().end());
    analysis::TileProblem problem =
        analysis::tileProblem(conv, weights, extent, machine);
    const analysis::TilePlans plans(problem, machine);
    auto plan = plans.best();
    if (!plan) // emission says so
      return;
    int64_t tiles = 1;
    for (auto [all, size] : llvm::zip(shape, tile.asArrayRef()))
      tiles *= llvm::divideCeilSigned(all, size);
    records::Decision decision(written);
    describe(decision, {*plan, plans.unskippedCycles(*plan),
                        analysis::mostParts(problem), tiles, plan->scatter});
    decision.facts.erase("cuts");
    if (problem.scatter) {
      const analysis::ScatterProblem &scatter = *problem.scatter;
      const auto folds = analysis::allFolds(problem, *plan, machine);
      llvm::ArrayRef<partition::Box> parts = scatter.parts;
      if (scatter.whole())
        parts = {};
      decision.facts.set("cuts",
                         analysis::cutsAttr(*plan,
                                            {folds, parts, scatter.data,
                                             scatter.cut, scatter.drained},
                                            &getContext()));
    }
    decision.record(conv, kSparseDecisionAttr);
  }
};

} // namespace
} // namespace ashlar::npu
