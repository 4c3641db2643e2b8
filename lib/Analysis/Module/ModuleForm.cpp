// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The frame of a module.

#include "ashlar/Analysis/Module/ModuleForm.h"
#include "ashlar/Analysis/Layout/KeptResults.h"

#include "dialects/NN/NNDialect.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace ashlar::analysis {

func::FuncOp mainOf(ModuleOp module) {
  auto function = module.lookupSymbol<func::FuncOp>("main");
  bool whole = function && function.getBody().hasOneBlock() &&
               isa<func::ReturnOp>(function.getBody().front().back());
  return whole ? function : func::FuncOp();
}

/// Name and storage of an argument or a result; \p names are those before it of
/// the same kind.
static LogicalResult verifyPort(func::FuncOp main, llvm::StringRef what,
                                unsigned index, Type type, Attribute name,
                                llvm::StringSet<> &names) {
  auto text = dyn_cast_if_present<StringAttr>(name);
  if (!text)
    return main.emitError("expected '")
           << nn::nameAttr << "' on " << what << " " << index;
  if (!names.insert(text.getValue()).second)
    return main.emitError("expected another name than that of an earlier ")
           << what << ", found " << text << " on " << what << " " << index;
  if (!nn::isStoredTensor(type))
    return main.emitError("expected a tensor that a memory can hold as ")
           << what << " " << index << ", found " << type;
  return success();
}

llvm::DenseSet<unsigned> extentsOf(func::FuncOp main) {
  llvm::DenseSet<unsigned> extents;
  for (unsigned index = 0; index < main.getNumResults(); ++index) {
    auto numbers =
        main.getResultAttrOfType<DenseI64ArrayAttr>(index, nn::extentAttr);
    if (numbers && numbers.size() == 2)
      extents.insert(static_cast<unsigned>(numbers[1]));
    if (auto kept = keptOf(main, index); kept && kept->position >= 0)
      extents.insert(static_cast<unsigned>(kept->position));
  }
  return extents;
}

std::optional<nn::Kept> keptOf(func::FuncOp main, unsigned result) {
  return nn::Kept::of(main.getResultAttr(result, nn::keptAttr));
}

llvm::DenseSet<unsigned> keptArguments(func::FuncOp main) {
  llvm::DenseSet<unsigned> arguments;
  for (unsigned index = 0; index < main.getNumResults(); ++index)
    if (auto kept = keptOf(main, index); kept && kept->input >= 0)
      arguments.insert(static_cast<unsigned>(kept->input));
  return arguments;
}

/// Whether the result fits the argument that it replaces a part of.
static bool fits(func::FuncOp main, unsigned index, const nn::Kept &kept) {
  const auto results = static_cast<int64_t>(main.getNumResults());
  const int64_t axis = kept.axis, position = kept.position;
  if (kept.input < 0 || kept.input >= main.getNumArguments() ||
      (axis < 0) != (position < 0) || axis < -1 || position < -1 ||
      position >= results)
    return false;
  auto argument = cast<RankedTensorType>(
      main.getArgumentTypes()[static_cast<unsigned>(kept.input)]);
  auto rows = cast<RankedTensorType>(main.getResultTypes()[index]);
  if (argument.getElementType() != rows.getElementType() ||
      argument.getRank() != rows.getRank() || axis >= rows.getRank())
    return false;
  for (int64_t i = 0; i < rows.getRank(); ++i)
    if (i == axis ? rows.getDimSize(i) > argument.getDimSize(i) ||
                        rows.getDimSize(i) < 1
                  : rows.getDimSize(i) != argument.getDimSize(i))
      return false;
  if (position < 0)
    return true;
  auto place = cast<RankedTensorType>(
      main.getResultTypes()[static_cast<unsigned>(position)]);
  return place.getElementType().isSignlessInteger(64) &&
         place.getNumElements() == 1;
}

/// A result that replaces an argument: each argument is replaced once.
static LogicalResult verifyKept(func::FuncOp main, unsigned index) {
  Attribute attribute = main.getResultAttr(index, nn::keptAttr);
  if (!attribute)
    return success();
  auto kept = nn::Kept::of(attribute);
  if (!kept || !fits(main, index, *kept))
    return main.emitError("expected an argument of the same type but for more "
                          "rows on an axis, and an i64 as their position, as '")
           << nn::keptAttr << "' of result " << index << ", found "
           << attribute;
  for (unsigned other = 0; other < index; ++other)
    if (auto before = keptOf(main, other);
        before && before->input == kept->input)
      return main.emitError("results ")
             << other << " and " << index << " both replace argument "
             << kept->input;
  return success();
}

/// A data-dependent extent: an axis, and the result that has it.
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
  llvm::StringSet<> arguments, results;
  for (auto [index, type] : llvm::enumerate(main.getArgumentTypes()))
    if (failed(verifyPort(main, "argument", index, type,
                          main.getArgAttr(index, nn::nameAttr), arguments)))
      return failure();
  for (auto [index, type] : llvm::enumerate(main.getResultTypes()))
    if (failed(verifyPort(main, "result", index, type,
                          main.getResultAttr(index, nn::nameAttr), results)))
      return failure();
  for (unsigned index = 0; index < main.getNumResults(); ++index)
    if (failed(verifyExtent(main, index)) || failed(verifyKept(main, index)))
      return failure();
  return success();
}

} // namespace ashlar::analysis
