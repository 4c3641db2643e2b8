// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Exit invariants of the plan phase.

#include "ashlar/Analysis/TilingModel.h"
#include "ashlar/Transforms/NPU/Passes.h"
#include "dialects/NPU/NPUDialect.h"

namespace ashlar::npu {
#define GEN_PASS_DEF_VERIFYPLAN
#include "ashlar/Transforms/NPU/Passes.h.inc"

using namespace mlir;

namespace {

struct VerifyPlanPass : impl::VerifyPlanBase<VerifyPlanPass> {
  void runOnOperation() override {
    bool failed = false;
    getOperation().walk([&](Operation *op) {
      if (!isa_and_nonnull<NPUDialect>(op->getDialect()))
        return;
      for (llvm::StringRef attr :
           {llvm::StringRef(analysis::kAxisAttr),
            llvm::StringRef(kPlacementAttr), llvm::StringRef(kTileAttr),
            llvm::StringRef(kScratchAttr), llvm::StringRef(kRingAttr)})
        if (!op->hasAttr(attr)) {
          op->emitOpError() << "left the plan phase without '" << attr << "'";
          failed = true;
        }
    });
    if (failed)
      signalPassFailure();
  }
};

} // namespace
} // namespace ashlar::npu
