// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Flattens graphs and functions one at a time, when what they depend on is
// known.

#include "Expansion.h"

#include "Capture.h"

#include "ashlar/Frontend/Onnx/Import.h"
#include "llvm/ADT/STLExtras.h"

using namespace ashlar;
using namespace ashlar::frontend;
using llvm::Error;
using llvm::Expected;

namespace {

/// Every value that a node reads is defined by then, as far as the expansion
/// defines it at all.
Error checkOrder(const std::vector<FlatNode> &nodes) {
  llvm::StringSet<> pending;
  for (const FlatNode &node : nodes)
    for (const std::string &output : node.outputs)
      if (!output.empty() && !pending.insert(output).second)
        return makeError(ErrorClass::Malformed, "value '{}' is defined twice",
                         printable(output));
  for (const FlatNode &node : nodes) {
    for (const std::string &input : operandsOf(node))
      if (pending.contains(input))
        return makeError(ErrorClass::Malformed,
                         "node '{}' reads '{}' before it is defined",
                         printable(node.name), printable(input));
    for (const std::string &output : node.outputs)
      pending.erase(output);
  }
  return Error::success();
}

/// Moves the nodes that the results need into the model.
Expansion keepLive(Model &model, std::vector<FlatNode> nodes,
                   std::vector<std::string> outputs) {
  llvm::StringSet<> needed;
  for (const std::string &output : outputs)
    needed.insert(output);
  for (FlatNode &node : llvm::reverse(nodes)) {
    node.live = llvm::any_of(node.outputs, [&](const std::string &name) {
      return !name.empty() && needed.contains(name);
    });
    if (node.live)
      for (const std::string &input : operandsOf(node))
        needed.insert(input);
  }
  Expansion expansion;
  expansion.outputs = std::move(outputs);
  for (FlatNode &node : nodes)
    if (node.live) {
      model.expanded.push_back(std::move(node));
      expansion.nodes.push_back(&model.expanded.back());
    }
  return expansion;
}

Error checkDepth(const FlatNode &owner) {
  if (owner.depth < kMaxDepth)
    return Error::success();
  return makeError(ErrorClass::Malformed,
                   "graphs and functions are more than {} deep", kMaxDepth);
}

/// A constant of the graph as a node; from version 13 on every type may be one.
FlatNode constantNode(Model &model, const onnx::TensorProto &tensor,
                      const std::string &name, unsigned depth) {
  onnx::AttributeProto value;
  value.set_name("value");
  value.set_type(onnx::AttributeProto::TENSOR);
  *value.mutable_t() = tensor;
  model.attributes.push_back(std::move(value));
  FlatNode node;
  node.name = node.op = "Constant";
  node.name = name;
  node.opset = newestOpset;
  node.outputs = {name};
  node.attributes = {&model.attributes.back()};
  node.depth = depth;
  return node;
}

} // namespace

Expected<Expansion> ashlar::frontend::expandGraph(
    Model &model, const FlatNode &owner, const onnx::GraphProto &graph,
    const std::string &prefix, llvm::ArrayRef<std::string> operands) {
  if (Error error = checkDepth(owner))
    return error;
  if (operands.size() != static_cast<size_t>(graph.input_size()))
    return makeError(
        ErrorClass::Malformed, "its graph '{}' takes {} values, {} are given",
        printable(graph.name()), graph.input_size(), operands.size());
  std::vector<FlatNode> nodes;
  Flattener flattener(model,
                      [&](FlatNode node) { nodes.push_back(std::move(node)); });
  if (Error error = flattener.addFunctions())
    return error;
  Scope scope;
  scope.opsets = owner.opsets;
  scope.prefix = prefix;
  scope.depth = owner.depth + 1;
  for (const CapturedValue &value : owner.captured)
    scope.values[value.name] = value.flat;
  // Another graph of the node may read a name from outside that this one gives.
  for (const auto &name : definedNames(graph))
    scope.values.erase(name.first());
  for (auto [input, operand] : llvm::zip(graph.input(), operands))
    scope.values[input.name()] = operand;
  for (const onnx::TensorProto &tensor : graph.initializer()) {
    scope.roots.push_back(tensor.name());
    // That of an input is its default, and every input is given.
    if (!scope.values.contains(tensor.name()))
      nodes.push_back(constantNode(model, tensor, scope.flatName(tensor.name()),
                                   scope.depth));
  }
  if (Error error = flattener.expand(graph.node(), scope))
    return error;
  if (Error error = checkOrder(nodes))
    return error;
  std::vector<std::string> outputs;
  for (const onnx::ValueInfoProto &output : graph.output())
    outputs.push_back(scope.flatName(output.name()));
  return keepLive(model, std::move(nodes), std::move(outputs));
}

Expected<Expansion>
ashlar::frontend::expandFunction(Model &model, const FlatNode &node,
                                 const onnx::FunctionProto &function) {
  if (Error error = checkDepth(node))
    return error;
  std::vector<FlatNode> nodes;
  Flattener flattener(
      model, [&](FlatNode inner) { nodes.push_back(std::move(inner)); });
  Scope scope;
  scope.opsets = std::make_shared<const Opsets>();
  scope.depth = node.depth;
  if (Error error = flattener.inlineCall(node, function, scope))
    return error;
  if (Error error = checkOrder(nodes))
    return error;
  return keepLive(model, std::move(nodes), node.outputs);
}
