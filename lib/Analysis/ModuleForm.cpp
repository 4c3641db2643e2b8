// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The frame of a module.

#include "ashlar/Analysis/ModuleForm.h"

#include "dialects/NN/NNDialect.h"

using namespace mlir;

namespace ashlar::analysis {

func::FuncOp mainOf(ModuleOp module) {
  auto function = module.lookupSymbol<func::FuncOp>("main");
  bool whole = function && function.getBody().hasOneBlock() &&
               isa<func::ReturnOp>(function.getBody().front().back());
  return whole ? function : func::FuncOp();
}

/// Name and storage of an argument or a result.
static LogicalResult verifyPort(func::FuncOp main, llvm::StringRef what,
                                unsigned index, Type type, Attribute name) {
  if (!isa_and_present<StringAttr>(name))
    return main.emitError("expected '")
           << nn::nameAttr << "' on " << what << " " << index;
  if (!nn::isStoredTensor(type))
    return main.emitError("expected a tensor that a memory can hold as ")
           << what << " " << index << ", found " << type;
  return success();
}

LogicalResult verifyForm(ModuleOp module) {
  func::FuncOp main = mainOf(module);
  auto functions = module.getOps<func::FuncOp>();
  if (!main || !llvm::hasSingleElement(functions))
    return module.emitError("expected one function 'main' of one block, found ")
           << std::distance(functions.begin(), functions.end()) << " functions";
  for (auto [index, type] : llvm::enumerate(main.getArgumentTypes()))
    if (failed(verifyPort(main, "argument", index, type,
                          main.getArgAttr(index, nn::nameAttr))))
      return failure();
  for (auto [index, type] : llvm::enumerate(main.getResultTypes()))
    if (failed(verifyPort(main, "result", index, type,
                          main.getResultAttr(index, nn::nameAttr))))
      return failure();
  return success();
}

} // namespace ashlar::analysis
