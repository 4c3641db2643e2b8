// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Removes operations that reach no result. All operations of `nn` are pure.

#include "ashlar/Transforms/NN/Passes.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/STLExtras.h"

namespace ashlar::nn {
#define GEN_PASS_DEF_REMOVEDEAD
#include "lib/Transforms/NN/Passes.h.inc"
} // namespace ashlar::nn

using namespace mlir;

namespace {

struct RemoveDeadPass : ashlar::nn::impl::RemoveDeadBase<RemoveDeadPass> {
  void runOnOperation() override {
    // Users come after what they use: one backward walk is enough.
    for (Block &block : getOperation().getBody())
      for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
        if (isOpTriviallyDead(&op)) {
          op.erase();
          ++removed;
        }
  }
};

} // namespace
