// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names of planned tensors. ONNX value names are not in the IR; node names are,
// as locations.

#include "ashlar/Analysis/Module/NodeNames.h"
#include "ashlar/Analysis/Module/NumericPlan.h"
#include "dialects/BFP/BFPOps.h"
#include "dialects/NN/NNOps.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace ashlar::analysis {

/// File names longer than this trouble some file systems once extended.
static constexpr size_t kMaxStem = 160;

bool isPlanConstant(Value value) {
  if (value.getDefiningOp<nn::ConstantOp>())
    return !llvm::all_of(value.getUsers(), [](Operation *user) {
      return isa<bfp::EncodeOp>(user);
    });
  auto encode = value.getDefiningOp<bfp::EncodeOp>();
  return encode && encode.getInput().getDefiningOp<nn::ConstantOp>();
}

/// `wanted`, or `wanted.2`, `wanted.3`, ... whichever is free first. Names are
/// never given back: the numbers tried for one before need no second try.
static std::string claim(llvm::StringMap<unsigned> &used, StringRef wanted) {
  auto [entry, isNew] = used.try_emplace(wanted, 2);
  if (isNew)
    return wanted.str();
  for (unsigned number = entry->second;; ++number) {
    std::string name = (wanted + "." + llvm::Twine(number)).str();
    if (!used.try_emplace(name, 2).second)
      continue;
    used[wanted] = number + 1;
    return name;
  }
}

static std::string sanitise(StringRef name) {
  std::string stem;
  for (char c : name.take_front(kMaxStem))
    stem += llvm::isAlnum(c) || c == '.' || c == '_' || c == '-' ? c : '_';
  // A leading dot hides the file, an empty name is none.
  if (stem.empty() || stem.front() == '.')
    stem.insert(stem.begin(), '_');
  return stem;
}

void PlanNames::assign(Value value, StringRef wanted) {
  if (names.contains(value))
    return;
  std::string name = claim(usedNames, wanted);
  stems[value] = claim(usedStems, sanitise(name));
  names[value] = std::move(name);
}

/// Node name of `op`, or a name made of its kind and position.
static std::string getBaseName(Operation *op, size_t position) {
  std::string name = getNodeName(op->getLoc());
  if (!name.empty())
    return name;
  return (op->getName().stripDialect() + "_" + llvm::Twine(position)).str();
}

PlanNames::PlanNames(func::FuncOp function) {
  if (function.getBody().empty())
    return;
  Block &body = function.getBody().front();
  auto nameOf = [](Attribute name, StringRef fallback, unsigned index) {
    if (auto text = dyn_cast_if_present<StringAttr>(name))
      return text.str();
    return (fallback + llvm::Twine(index)).str();
  };
  for (auto [index, argument] : llvm::enumerate(body.getArguments()))
    assign(argument,
           nameOf(function.getArgAttr(index, nn::nameAttr), "input_", index));
  for (auto [index, result] :
       llvm::enumerate(body.getTerminator()->getOperands()))
    assign(result, nameOf(function.getResultAttr(index, nn::nameAttr),
                          "output_", index));
  for (auto [position, op] : llvm::enumerate(body)) {
    std::string base = getBaseName(&op, position);
    for (Value result : op.getResults()) {
      bool constant = isPlanConstant(result);
      if (isa<nn::ConstantOp>(op) && !constant)
        continue;
      // A conversion is called after what it converts; the encoding of a
      // constant is the constant, as the plan sees it.
      if (isa<bfp::EncodeOp>(op) && !constant)
        assign(result, names[op.getOperand(0)] + ".bfp");
      else if (isa<bfp::DecodeOp>(op))
        assign(result, names[op.getOperand(0)] + ".f32");
      else
        assign(result, base);
    }
  }
}

StringRef PlanNames::getName(Value value) const {
  auto found = names.find(value);
  return found == names.end() ? StringRef() : StringRef(found->second);
}

StringRef PlanNames::getFileStem(Value value) const {
  auto found = stems.find(value);
  return found == stems.end() ? StringRef() : StringRef(found->second);
}

} // namespace ashlar::analysis
