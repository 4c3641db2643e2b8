// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Goes through sequences as code generation does, with the loops unrolled, and
// keeps account of buffers and tiles.

#include "SequenceChecker.h"

#include "ashlar/Transforms/NPU/Passes.h"
#include "ashlar/Transforms/Tile/Passes.h"
#include "dialects/NPU/NPUDialect.h"
#include "llvm/ADT/DenseMap.h"

namespace ashlar::tile {
#define GEN_PASS_DEF_VERIFYTILES
#include "ashlar/Transforms/Tile/Passes.h.inc"

using namespace mlir;

/// Every operation has one sequence.
static LogicalResult
collectSequences(ModuleOp module,
                 llvm::SmallVectorImpl<SequenceOp> &sequences) {
  llvm::DenseMap<Operation *, unsigned> count;
  module.walk([&](SequenceOp sequence) {
    sequences.push_back(sequence);
    ++count[sequence.getNode().getDefiningOp()];
  });
  auto result = module.walk([&](npu::DecisionInterface op) {
    if (count.lookup(op) == 1)
      return WalkResult::advance();
    op->emitOpError("has ") << count.lookup(op)
                            << " sequences of tile operations, expected one "
                               "(-ashlar-tile-build)";
    return WalkResult::interrupt();
  });
  return success(!result.wasInterrupted());
}

LogicalResult verifySequences(ModuleOp module,
                              const machine::Description &machine) {
  llvm::SmallVector<SequenceOp> sequences;
  if (failed(collectSequences(module, sequences)))
    return failure();
  const analysis::Residents residents(module, machine);
  bool ok = true;
  for (SequenceOp sequence : sequences)
    ok &= succeeded(SequenceChecker(sequence, residents, machine).run());
  return success(ok);
}

namespace {

struct VerifyTilesPass : impl::VerifyTilesBase<VerifyTilesPass> {
  using VerifyTilesBase::VerifyTilesBase;

  void runOnOperation() override {
    bool planned = false;
    getOperation().walk([&](npu::DecisionInterface) { planned = true; });
    if (!planned)
      return;
    auto machine = checkPlan ? npu::plannedMachineOf(getOperation())
                             : records::machineOf(getOperation());
    if (failed(machine) || failed(verifySequences(getOperation(), *machine)))
      signalPassFailure();
  }
};

} // namespace
} // namespace ashlar::tile
