// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Exit invariants of the simplify phase.

#include "Rewrite.h"
#include "ashlar/Transforms/NN/Passes.h"
#include "llvm/ADT/STLExtras.h"

namespace ashlar::nn {
#define GEN_PASS_DEF_VERIFYSIMPLIFIED
#include "lib/Transforms/NN/Passes.h.inc"
} // namespace ashlar::nn

using namespace mlir;
using namespace ashlar::nn;

namespace {

/// Engines count from one: a tensor without elements has no instruction.
bool hasElements(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return !type || type.getNumElements() != 0;
}

struct VerifySimplifiedPass
    : ashlar::nn::impl::VerifySimplifiedBase<VerifySimplifiedPass> {
  void runOnOperation() override {
    getOperation().walk([&](Operation *op) {
      if (!isa_and_present<NNDialect>(op->getDialect()) ||
          llvm::all_of(op->getOperands(), hasElements))
        return;
      op->emitOpError() << "reads an empty tensor: no engine runs it; leave "
                           "it out, or give the tensor an extent above 0";
      signalPassFailure();
    });
    markAllAnalysesPreserved();
  }
};

} // namespace
