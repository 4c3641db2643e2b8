// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tile phase: a sequence of tile operations for every planned operation.

#include "EmissionOrder.h"
#include "SequenceBuilder.h"

#include "ashlar/Transforms/NPU/Passes.h"
#include "ashlar/Transforms/Tile/Passes.h"
#include "dialects/NPU/NPUDialect.h"
#include "mlir/Pass/PassRegistry.h"

namespace ashlar::tile {
#define GEN_PASS_DEF_BUILDTILES
#include "ashlar/Transforms/Tile/Passes.h.inc"

using namespace mlir;

namespace {

struct BuildTilesPass : impl::BuildTilesBase<BuildTilesPass> {
  using BuildTilesBase::BuildTilesBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    std::vector<Operation *> nodes;
    bool built = false;
    module.walk([&](Operation *op) {
      built |= isa<SequenceOp>(op);
      if (isa<npu::DecisionInterface>(op))
        nodes.push_back(op);
    });
    if (nodes.empty())
      return;
    if (built) {
      module.emitError("already has sequences of tile operations");
      return signalPassFailure();
    }
    for (Operation *op : nodes)
      if (!npu::tilingOf(op) || !npu::memoryOf(op) || !npu::axisOf(op)) {
        op->emitOpError("has no plan of its tiles: run -ashlar-npu-plan-memory "
                        "first");
        return signalPassFailure();
      }
    auto machine =
        checkPlan ? npu::plannedMachineOf(module) : records::machineOf(module);
    if (failed(machine))
      return signalPassFailure();
    build(module, nodes, *machine);
  }

private:
  /// Each sequence stands after its operation and after the sequence before.
  void build(ModuleOp module, llvm::ArrayRef<Operation *> nodes,
             const machine::Description &machine) {
    const analysis::Residents residents(module, machine);
    OpBuilder builder(&getContext());
    std::optional<size_t> last;
    for (size_t index : emissionOrder(nodes)) {
      if (!last || index > *last) {
        last = index;
        builder.setInsertionPointAfter(nodes[index]);
      }
      const SequenceSize size =
          buildSequence(builder, nodes[index], residents, machine);
      numTiles += size.tiles;
      numOperations += size.operations;
    }
  }
};

} // namespace

void buildTilePipeline(OpPassManager &manager, bool checkPlan) {
  manager.addPass(createBuildTiles({checkPlan}));
  manager.addPass(createVerifyTiles({/*checkPlan=*/false}));
}

void registerTilePipeline() {
  PassPipelineRegistration<>(
      "ashlar-tile", "the tile phase, from planned operations",
      [](OpPassManager &manager) { buildTilePipeline(manager); });
}

} // namespace ashlar::tile
