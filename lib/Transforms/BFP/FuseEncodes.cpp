// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Movement of floats that only an encode reads stores its result encoded: the
// float tensor in between is never needed. Input and output: the plan after
// formats have been chosen; no value changes a bit.

#include "ashlar/Transforms/BFP/Passes.h"
#include "dialects/BFP/BFPOps.h"
#include "dialects/NN/NNOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace ashlar::bfp {

#define GEN_PASS_DEF_FUSEENCODES
#include "ashlar/Transforms/BFP/Passes.h.inc"

namespace {

/// Reshapes may need the row-major order of the floats, so they stay apart.
bool mayStoreEncoded(Operation *op) {
  return isa<nn::TransposeOp, nn::PadOp, nn::BroadcastOp, nn::GatherOp,
             nn::Im2ColOp>(op);
}

struct FuseEncodesPass : impl::FuseEncodesBase<FuseEncodesPass> {
  void runOnOperation() override {
    getOperation().walk([&](EncodeOp encode) {
      Operation *producer = encode.getInput().getDefiningOp();
      if (encode.getWeights() || !producer || !mayStoreEncoded(producer) ||
          !encode.getInput().hasOneUse() ||
          // Measured before it is encoded, so it has to exist.
          getBlockType(encode.getOutput().getType()).isWholeTensor() ||
          isEncoded(producer->getOperand(0).getType()))
        return;
      Value result = producer->getResult(0);
      result.setType(encode.getOutput().getType());
      encode.getOutput().replaceAllUsesWith(result);
      producer->setLoc(
          FusedLoc::get(&getContext(), {producer->getLoc(), encode.getLoc()}));
      encode.erase();
      ++numFused;
    });
  }
};

} // namespace
} // namespace ashlar::bfp
