// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the importer offers to Flow.

#include "Largest.h"
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
  return *value ? largestOf(*value) : std::nullopt;
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
