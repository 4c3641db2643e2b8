// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the importer offers to Flow.

#include "lib/Frontend/Onnx/Extents/Join.h"
#include "lib/Frontend/Onnx/Extents/NumberRange.h"
#include "lib/Frontend/Onnx/Importer.h"
#include "lib/Frontend/Onnx/Sources.h"
#include "lib/Frontend/Onnx/Tensors.h"

#include "dialects/NN/NNElements.h"

using namespace ashlar;
using namespace ashlar::frontend;
using llvm::Error;
using llvm::Expected;

/// What Flow carries out goes by shapes, which have to be known; only branches
/// do not ask.
Error Importer::checkExtents(const FlatNode &node) {
  for (const std::string &name : operandsOf(node)) {
    if (name.empty() || node.op == "If" || flow.isList(name))
      continue;
    Expected<Value> value = lookup(name);
    if (!value)
      return value.takeError();
    if (auto extent = extents.find(*value))
      return makeError(ErrorClass::Unsupported,
                       "'{}' has a data-dependent extent on axis {}, which {} "
                       "does not support",
                       printable(name), extent->axis, printable(node.op));
  }
  return Error::success();
}

Error Importer::importFlow(const FlatNode &node, NodeStatus &status) {
  if (status.state == NodeState::Unreached)
    return Error::success();
  status.state = NodeState::Rewritten;
  status.detail = "its nodes";
  Error error = checkExtents(node);
  if (!error)
    error = flow.run(node);
  if (!error)
    return error;
  const ErrorClass kind = support::classify(error);
  std::string text = llvm::toString(std::move(error));
  if (kind != ErrorClass::Unsupported)
    return makeError(kind, "node '{}' ({}): {}", node.name, status.op, text);
  status.state = NodeState::Unsupported;
  status.detail = std::move(text);
  addPlaceholders(node);
  return Error::success();
}

Error Importer::run(const FlatNode &node) { return importNode(node); }

void Importer::keep(const std::string &name) { readNames.insert(name); }

Error Importer::alias(const std::string &name, const std::string &of) {
  Expected<Value> value = lookup(of);
  if (!value)
    return value.takeError();
  model.narrow.set(name, model.narrow.find(of));
  if (*value)
    define(name, *value);
  return Error::success();
}

Expected<std::optional<std::vector<int64_t>>>
Importer::integers(const std::string &name) {
  Expected<Value> value = lookup(name);
  if (!value)
    return value.takeError();
  std::optional<std::vector<int64_t>> numbers;
  if (*value)
    if (auto known = integersOf(*value))
      numbers.emplace(known->begin(), known->end());
  return numbers;
}

Expected<std::optional<int64_t>> Importer::atMost(const std::string &name) {
  Expected<Value> value = lookup(name);
  if (!value)
    return value.takeError();
  return rangeOf(*value, extents).most;
}

Error Importer::choose(const std::string &name, const std::string &condition,
                       const std::string &yes, const std::string &no) {
  SmallVector<Value> operands;
  for (const std::string &operand : {condition, yes, no}) {
    Expected<Value> value = lookup(operand);
    if (!value)
      return value.takeError();
    operands.push_back(*value);
  }
  if (!llvm::all_of(operands, [](Value value) { return value; }))
    return makeError(ErrorClass::Unsupported,
                     "it depends on an unsupported node");
  if (!(model.narrow.find(yes) == model.narrow.find(no)))
    return makeError(ErrorClass::Unsupported, "the types differ");
  Emitter emitter(builder, nameLoc(name), options.maxElements, model.budget,
                  model.useHost);
  Value chosen = chooseWithExtents(emitter, extents, operands[0], operands[1],
                                   operands[2]);
  if (emitter.failed() || !chosen)
    return makeError(emitter.errorClass(), "{}", emitter.errorMessage());
  model.narrow.set(name, model.narrow.find(yes));
  define(name, chosen);
  return Error::success();
}

Error Importer::setGuard(const std::string &condition) {
  guard = nullptr;
  if (condition.empty())
    return Error::success();
  Expected<Value> value = lookup(condition);
  if (!value)
    return value.takeError();
  guard = *value;
  return Error::success();
}

std::string Importer::remedy(const std::string &name) {
  Expected<Value> value = lookup(name);
  if (value)
    return remedyForRunTime(*value);
  llvm::consumeError(value.takeError());
  return {};
}

Expected<std::optional<OperandKind>> Importer::kind(const std::string &name) {
  Expected<Value> value = lookup(name);
  if (!value)
    return value.takeError();
  std::optional<OperandKind> kind;
  if (*value)
    if (auto type = nn::toElementType(elementOf(*value)))
      kind = OperandKind{model.narrow.find(name) ? model.narrow.find(name)->onnx
                                                 : onnxTypeOf(*type),
                         shapeOf(*value).vec()};
  return kind;
}
