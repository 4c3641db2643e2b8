// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Exit invariants of the fold phase.

#include "Rewrite.h"
#include "ashlar/Transforms/NN/Passes.h"

namespace ashlar::nn {
#define GEN_PASS_DEF_VERIFYFOLDED
#include "lib/Transforms/NN/Passes.h.inc"
} // namespace ashlar::nn

using namespace mlir;
using namespace ashlar::nn;

namespace {

struct VerifyFoldedPass : ashlar::nn::impl::VerifyFoldedBase<VerifyFoldedPass> {
  void runOnOperation() override {
    getOperation().walk([&](Operation *op) {
      if (isa<BatchNormOp>(op)) {
        op->emitOpError() << "is left after folding: scale, bias, mean and var "
                             "must be constant";
        signalPassFailure();
      } else if (isa<ConvTransposeOp>(op)) {
        op->emitOpError() << "is left after folding: its pads cut more than "
                             "its input holds";
        signalPassFailure();
      } else if (auto conv = dyn_cast<ConvOp>(op);
                 conv && !isConstant(conv.getW()) && conv.getGroup() != 1) {
        op->emitOpError() << "has " << conv.getGroup()
                          << " groups of weights that are computed at run "
                             "time, expected a convolution per group";
        signalPassFailure();
      }
    });
    markAllAnalysesPreserved();
  }
};

} // namespace
