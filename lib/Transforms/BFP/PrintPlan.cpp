// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The numeric plan as text, from a pass: lets tests look at what the plan
// writer makes of a module.

#include "ashlar/Analysis/Module/NumericPlan.h"
#include "ashlar/Transforms/BFP/Passes.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace ashlar::bfp {

#define GEN_PASS_DEF_PRINTPLAN
#include "ashlar/Transforms/BFP/Passes.h.inc"

namespace {
struct PrintPlan : impl::PrintPlanBase<PrintPlan> {
  using PrintPlanBase::PrintPlanBase;

protected:
  void runOnOperation() override {
    markAllAnalysesPreserved();
    if (directory.empty()) {
      llvm::outs() << analysis::buildNumericPlanJson(getOperation());
      return;
    }
    if (llvm::Error error = analysis::dumpPlan(getOperation(), directory)) {
      getOperation().emitError(llvm::toString(std::move(error)));
      signalPassFailure();
    }
  }
};
} // namespace

} // namespace ashlar::bfp
