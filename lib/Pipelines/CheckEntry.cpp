// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks of a module where compilation enters a phase: one from a file is
// checked as the phases before would have left it.

#include "Compilation.h"
#include "DiagnosticText.h"

#include "ashlar/Analysis/Layout/StorageType.h"
#include "ashlar/Transforms/BFP/Passes.h"
#include "ashlar/Transforms/NPU/Passes.h"
#include "ashlar/Transforms/Tile/Passes.h"
#include "dialects/NN/NNDialect.h"
#include "dialects/NPU/NPUDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace ashlar::pipelines {

/// Without the host nothing of a module from a file may be its work: import
/// was not there to refuse it.
static llvm::Error refuseHost(ModuleOp module) {
  Operation *found = nullptr;
  module->walk([&](Operation *op) {
    const bool host = op->hasTrait<nn::HostFunction>() ||
                      op->hasTrait<npu::HostEngine>() ||
                      op->getName().getStringRef().starts_with("isa.host.");
    if (host && !found)
      found = op;
  });
  if (!found)
    return llvm::Error::success();
  return makeError(ErrorClass::Unsupported,
                   "'{}' (node '{}') needs the host, which --no-host "
                   "excludes",
                   found->getName().getStringRef().str(),
                   analysis::getNodeName(found->getLoc()));
}

/// What passes the borders of the graph has to lie in DRAM as a whole, and the
/// passes from here on take time that grows with it.
llvm::Error Compilation::checkBorders() {
  llvm::SetVector<Value> values;
  result.module->walk([&](func::FuncOp main) {
    values.insert_range(main.getArguments());
    values.insert_range(main.getBody().front().getTerminator()->getOperands());
  });
  double bytes = 0;
  for (Value value : values)
    if (auto type = dyn_cast<RankedTensorType>(value.getType()))
      if (auto storage = analysis::storageOf(type.getElementType()))
        bytes += static_cast<double>(type.getNumElements()) *
                 static_cast<double>(storage->bytes());
  if (bytes <= static_cast<double>(machine.dram.bytes))
    return llvm::Error::success();
  return makeError(ErrorClass::Capacity,
                   "graph inputs and outputs take {:.0f} bytes of DRAM, the "
                   "machine {} has {}",
                   bytes, machine.name, machine.dram.bytes);
}

/// A module from a file is checked as the phases before would have left it.
llvm::Error Compilation::checkEntry() {
  if (!options.import.useHost)
    if (llvm::Error error = refuseHost(*result.module))
      return error;
  DiagnosticText diagnostics(context);
  PassManager manager(&context);
  LogicalResult valid = success(first < static_cast<int>(Phase::Plan) ||
                                succeeded(records::machineOf(*result.module)));
  if (first == static_cast<int>(Phase::Assign))
    manager.addPass(bfp::createVerifyPlan());
  if (succeeded(valid) && first == static_cast<int>(Phase::Plan))
    valid = success(succeeded(npu::assignedMachineOf(*result.module)));
  if (first == static_cast<int>(Phase::Tile) ||
      first == static_cast<int>(Phase::Emit)) {
    manager.addPass(npu::createVerifyPlan());
    manager.addPass(npu::createVerifyLayouts());
  }
  if (first == static_cast<int>(Phase::Emit))
    manager.addPass(tile::createVerifyTiles({/*checkPlan=*/false}));
  if (succeeded(valid) && succeeded(manager.run(*result.module)))
    return llvm::Error::success();
  return makeError(ErrorClass::Malformed, "{}", diagnostics.take());
}

} // namespace ashlar::pipelines
