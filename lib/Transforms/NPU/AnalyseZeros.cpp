// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Counts of zeros as attributes (see Passes.td). Input: npu products. Output:
// the same with `zeros`.

#include "ashlar/Analysis/Array/StationaryPlan.h"
#include "ashlar/Analysis/Array/WeightPattern.h"
#include "ashlar/Analysis/Sparse/ZeroAnalysis.h"
#include "ashlar/Transforms/NPU/Passes.h"
#include "dialects/NPU/NPUDialect.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/TypeSwitch.h"

namespace ashlar::npu {
#define GEN_PASS_DEF_ANALYSEZEROS
#include "ashlar/Transforms/NPU/Passes.h.inc"

using namespace mlir;

namespace {

struct AnalyseZerosPass : impl::AnalyseZerosBase<AnalyseZerosPass> {
  void runOnOperation() override {
    WalkResult done = getOperation().walk([&](Operation *op) {
      if (!analysis::hasStreamedWeights(op))
        return WalkResult::advance();
      if (failed(verifyWeights(op)))
        return WalkResult::interrupt();
      const analysis::EncodedWeights weights(
          op, analysis::EncodedWeights::Also::SourceZeros);
      analysis::WeightPattern::keep(op, weights);
      analysis::ZeroCounts counts = analysis::countZeros(op, weights);
      numZeros += counts.weights - counts.nonZero();
      auto zeros =
          ZerosAttr::get(&getContext(), counts.weights, counts.structural,
                         counts.exact, counts.encoded);
      llvm::TypeSwitch<Operation *>(op).Case<PeConvOp, TcuConvOp, PeMatmulOp>(
          [&](auto product) { product.setZerosAttr(zeros); });
      return WalkResult::advance();
    });
    if (done.wasInterrupted())
      signalPassFailure();
  }
};

} // namespace
} // namespace ashlar::npu
