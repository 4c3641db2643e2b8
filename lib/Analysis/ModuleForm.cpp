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

bool isExtent(func::FuncOp main, unsigned result) {
  for (unsigned index = 0; index < main.getNumResults(); ++index) {
    auto numbers =
        main.getResultAttrOfType<DenseI64ArrayAttr>(index, nn::extentAttr);
    if (numbers && numbers.size() == 2 && numbers[1] == result)
      return true;
  }
  return false;
}

/// An extent that data decide: an axis, and the result that has it.
static LogicalResult verifyExtent(func::FuncOp main, unsigned index) {
  Attribute attribute = main.getResultAttr(index, nn::extentAttr);
  if (!attribute)
    return success();
  auto numbers = dyn_cast<DenseI64ArrayAttr>(attribute);
  auto type = cast<RankedTensorType>(main.getResultTypes()[index]);
  const auto results = static_cast<int64_t>(main.getNumResults());
  if (!numbers || numbers.size() != 2 || numbers[0] < 0 ||
      numbers[0] >= type.getRank() || numbers[1] < 0 || numbers[1] >= results)
    return main.emitError("expected an axis and a result as '")
           << nn::extentAttr << "' of result " << index << ", found "
           << attribute;
  auto extent = cast<RankedTensorType>(main.getResultTypes()[numbers[1]]);
  if (!extent.getElementType().isSignlessInteger(64) ||
      extent.getNumElements() != 1)
    return main.emitError("expected an i64 as the extent of result ")
           << index << ", found " << extent;
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
  for (unsigned index = 0; index < main.getNumResults(); ++index)
    if (failed(verifyExtent(main, index)))
      return failure();
  return success();
}

} // namespace ashlar::analysis
