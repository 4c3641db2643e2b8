// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Makes conversions of movements that encode and move nothing (see Passes.td).
// Input: npu operations whose lane folds are decided. Output: npu.vec.map
// "copy" for movements without one whose elements all stay where they were.

#include "ashlar/Analysis/Layout/Lanes.h"
#include "ashlar/Analysis/Layout/MoveView.h"
#include "ashlar/Transforms/NPU/Passes.h"
#include "dialects/NPU/NPUDialect.h"
#include "mlir/IR/Builders.h"

namespace ashlar::npu {
#define GEN_PASS_DEF_CONVERTINPLACE
#include "ashlar/Transforms/NPU/Passes.h.inc"

using namespace mlir;

namespace {

struct ConvertInPlacePass : impl::ConvertInPlaceBase<ConvertInPlacePass> {
  void runOnOperation() override {
    if (failed(assignedMachineOf(getOperation())))
      return signalPassFailure();
    llvm::SmallVector<DmaMoveOp> moves;
    getOperation().walk([&](DmaMoveOp move) {
      if (!analysis::lanesOf(move.getY()).folded() &&
          analysis::encodesInPlace(move))
        moves.push_back(move);
    });
    for (DmaMoveOp move : moves)
      convert(move);
  }

private:
  void convert(DmaMoveOp move) {
    OpBuilder builder(move);
    FloatAttr zero = builder.getF32FloatAttr(0.0f);
    auto map = VecMapOp::create(builder, move.getLoc(), move.getY().getType(),
                                move.getInputs(), Value(), Value(),
                                builder.getStringAttr("copy"), zero, zero);
    copyDecisions(move, map);
    move.getY().replaceAllUsesWith(map.getY());
    move.erase();
    ++numConverted;
  }
};

} // namespace
} // namespace ashlar::npu
