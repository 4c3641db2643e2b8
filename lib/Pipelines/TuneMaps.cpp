// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compressed feature maps against dense ones, decided for the whole program.

#include "Compilation.h"

#include "ashlar/Analysis/Layout/MapForm.h"
#include "dialects/Ashlar/Decision.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace ashlar::pipelines {

/// What was not compared, as decisions name it.
static constexpr llvm::StringLiteral kMapsCompared =
    "feature maps without compression";

/// Emits the program with compressed feature maps and without, and keeps the
/// one of fewer cycles.
llvm::Error Compilation::measureMaps() {
  OwningOpRef<ModuleOp> dense = result.module->clone();
  if (llvm::Error error = generate())
    return error;
  if (!budget->allowsAgain(kMapsCompared))
    return llvm::Error::success();
  auto compressed = cyclesOfResult();
  if (!compressed)
    return compressed.takeError();
  timed = *compressed;
  CompileResult kept = std::move(result);
  DecisionList keptDecisions = std::move(decisions);
  auto keep = [&] {
    result = std::move(kept);
    decisions = std::move(keptDecisions);
  };
  result = CompileResult();
  result.numericPlanJson = kept.numericPlanJson;
  result.module = std::move(dense);
  result.module->walk([](npu::DecisionInterface op) {
    if (npu::MemoryAttr memory = op.getMemoryAttr())
      op.setMemoryAttr(memory.withForm({}));
  });
  OwningOpRef<ModuleOp> again = result.module->clone();
  if (llvm::Error error = generate(budget->mostAgain())) {
    if (!budget->wasGivenUp(kMapsCompared))
      return error;
    llvm::consumeError(std::move(error));
    keep();
    return llvm::Error::success();
  }
  auto plain = cyclesOfResult();
  if (!plain)
    return plain.takeError();
  if (compressed->total < plain->total) {
    keep();
    return llvm::Error::success();
  }
  timed = *plain;
  // The reason has to be in the decisions of the program that stays.
  const std::string reason =
      llvm::formatv("the whole network takes {0} cycles with compressed maps, "
                    "{1} without",
                    compressed->total, plain->total);
  again->walk([&](Operation *op) {
    auto decision = records::decisionOf(op, npu::kMapDecisionAttr);
    if (decision && decision.getAlternatives())
      records::Decision(decision)
          .choose("map-dense")
          .because(reason)
          .record(op, npu::kMapDecisionAttr);
  });
  result.times = std::move(kept.times);
  decisions = DecisionList::ofNodes(*again);
  decisions.append(DecisionList::ofNodes(*result.module));
  decisions.append(DecisionList::ofProgram(*again));
  return llvm::Error::success();
}

} // namespace ashlar::pipelines
