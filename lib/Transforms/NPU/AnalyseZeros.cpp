// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Counts of zeros as attributes (see Passes.td). Input: npu products. Output:
// the same with `npu.zeros`.

#include "ashlar/Analysis/StationaryPlan.h"
#include "ashlar/Analysis/ZeroAnalysis.h"
#include "ashlar/Transforms/NPU/Passes.h"
#include "dialects/NPU/NPUDialect.h"
#include "mlir/IR/Builders.h"

namespace ashlar::npu {
#define GEN_PASS_DEF_ANALYSEZEROS
#include "ashlar/Transforms/NPU/Passes.h.inc"

using namespace mlir;

namespace {

struct AnalyseZerosPass : impl::AnalyseZerosBase<AnalyseZerosPass> {
  void runOnOperation() override {
    Builder builder(&getContext());
    WalkResult done = getOperation().walk([&](Operation *op) {
      if (!analysis::hasStreamedWeights(op))
        return WalkResult::advance();
      if (failed(verifyWeights(op)))
        return WalkResult::interrupt();
      analysis::ZeroCounts counts =
          analysis::countZeros(op, analysis::EncodedWeights(op));
      numZeros += counts.weights - counts.nonZero();
      auto entry = [&](llvm::StringRef name, int64_t value) {
        return builder.getNamedAttr(name, builder.getI64IntegerAttr(value));
      };
      op->setAttr(
          analysis::kZerosAttr,
          builder.getDictionaryAttr({entry("weights", counts.weights),
                                     entry("exact", counts.exact),
                                     entry("encoded", counts.encoded),
                                     entry("structural", counts.structural)}));
      return WalkResult::advance();
    });
    if (done.wasInterrupted())
      signalPassFailure();
  }
};

} // namespace
} // namespace ashlar::npu
