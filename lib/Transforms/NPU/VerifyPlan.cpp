// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Exit invariants of the plan phase.

#include "CheckBuffers.h"

#include "ashlar/Analysis/Tiles/TilingModel.h"
#include "ashlar/Transforms/NPU/Passes.h"
#include "dialects/BFP/BFPOps.h"
#include "dialects/NN/NNOps.h"
#include "dialects/NPU/NPUDialect.h"
#include "dialects/Tile/TileDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace ashlar::npu {
#define GEN_PASS_DEF_VERIFYPLAN
#include "ashlar/Transforms/NPU/Passes.h.inc"

using namespace mlir;

namespace {

/// Constants, encodings of weights and the function frame stay next to npu
/// operations, and the tile phase adds sequences.
bool mayLeave(Operation *op) {
  if (isa<ModuleOp, nn::ConstantOp>(op) ||
      isa_and_present<func::FuncDialect, tile::TileDialect>(op->getDialect()))
    return true;
  auto encode = dyn_cast<bfp::EncodeOp>(op);
  return encode && encode.getWeights();
}

struct VerifyPlanPass : impl::VerifyPlanBase<VerifyPlanPass> {
  void runOnOperation() override {
    bool failed = false;
    getOperation().walk([&](Operation *op) {
      if (!isa_and_nonnull<NPUDialect>(op->getDialect())) {
        if (!mayLeave(op)) {
          op->emitOpError() << "left the plan phase although only constants, "
                               "their encodings and npu operations may";
          failed = true;
        }
        return;
      }
      failed |= mlir::failed(verifyPresence(op));
    });
    // Values are judged by the machine, which a module of the compiler names.
    if (!failed && getOperation()->hasAttr(records::kTargetAttr))
      failed = mlir::failed(plannedMachineOf(getOperation()));
    if (failed)
      return signalPassFailure();
    if (!getOperation()->hasAttr(records::kTargetAttr) && !plansAnything())
      return;
    auto machine = records::machineOf(getOperation());
    if (mlir::failed(machine) ||
        mlir::failed(checkBuffers(getOperation(), *machine)))
      signalPassFailure();
  }

  /// Without operations of the dialect there is nothing that needs a machine.
  bool plansAnything() {
    return getOperation()
        ->walk([](Operation *op) {
          return isa_and_nonnull<NPUDialect>(op->getDialect())
                     ? WalkResult::interrupt()
                     : WalkResult::advance();
        })
        .wasInterrupted();
  }
};

} // namespace
} // namespace ashlar::npu
