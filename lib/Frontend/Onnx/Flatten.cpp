// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Inlines model-local functions: every call becomes its body with values
// renamed and attribute references resolved. Depth and size are limited, as a
// small file can describe an exponentially large graph.

#include "Flatten.h"

#include "Flow/Capture.h"
#include "Flow/Flow.h"

#include "ashlar/Frontend/Onnx/Import.h"

using namespace ashlar;
using namespace ashlar::frontend;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;

/// FunctionProto.attribute_proto: attributes with defaults, newer than the
/// protobuf classes of the package, so they arrive as unknown fields.
static constexpr int attributeProtoField = 11;

StringRef ashlar::frontend::normalDomain(StringRef domain) {
  return domain == "ai.onnx" ? StringRef() : domain;
}

std::string Scope::flatName(const std::string &name) const {
  auto mapped = values.find(name);
  if (mapped != values.end())
    return mapped->second;
  return name.empty() ? name : prefix + name;
}

/// Names of a scope, sorted.
static std::vector<std::string> namesOf(const ProtoNodes &nodes,
                                        llvm::ArrayRef<StringRef> roots) {
  std::vector<std::string> names(roots.begin(), roots.end());
  for (int i = 0; i < nodes.size(); ++i) {
    names.push_back(nodeName(nodes[i], static_cast<size_t>(i)));
    names.insert(names.end(), nodes[i].output().begin(),
                 nodes[i].output().end());
  }
  llvm::sort(names);
  return names;
}

/// What names inside of the node `flat` of a scope begin with. A model may call
/// a value "loop/round0/x" that has nothing to do with its node "loop".
static std::string insideOf(const std::string &flat, const Scope &scope) {
  auto begin = [&](const std::string &with) {
    auto found = llvm::lower_bound(scope.names, with);
    return found != scope.names.end() && StringRef(*found).starts_with(with);
  };
  const std::string own = flat.substr(scope.prefix.size());
  std::string name = own;
  while (begin(name + "/") ||
         (name != own && llvm::binary_search(scope.names, name)))
    name += '~';
  return scope.prefix + name + "/";
}

Error Flattener::addFunctions() {
  for (const onnx::FunctionProto &function : model.proto.functions()) {
    std::string key =
        (normalDomain(function.domain()) + "\n" + function.name()).str();
    if (!functions.try_emplace(key, &function).second)
      return makeError(ErrorClass::Malformed, "function '{}' is defined twice",
                       printable(function.name()));
  }
  return Error::success();
}

Error Flattener::expand(const ProtoNodes &nodes, Scope &scope) {
  for (int i = 0; i < nodes.size(); ++i)
    if (Error error = add(nodes, static_cast<size_t>(i), scope))
      return error;
  return Error::success();
}

Error Flattener::add(const ProtoNodes &nodes, size_t index, Scope &scope) {
  const onnx::NodeProto &node = nodes[static_cast<int>(index)];
  FlatNode flat;
  flat.op = node.op_type();
  flat.domain = normalDomain(node.domain()).str();
  flat.name = uniqueName(scope.prefix + nodeName(node, index), index);
  if (flat.op.empty())
    return makeError(ErrorClass::Malformed, "node '{}' has no operator",
                     flat.name);
  auto version = scope.opsets->find(flat.domain);
  // Exporters of other domains forget to import them; ONNX's own has no version
  // to assume.
  if (version != scope.opsets->end())
    flat.opset = version->second;
  else if (!flat.domain.empty())
    flat.opset = 1;
  flat.depth = scope.depth;
  for (const std::string &input : node.input())
    flat.inputs.push_back(scope.flatName(input));
  for (const std::string &output : node.output())
    flat.outputs.push_back(scope.flatName(output));
  if (Error error = addAttributes(node, scope, flat))
    return error;
  auto function = functions.find(flat.domain + "\n" + flat.op);
  if (function != functions.end() || flat.opsets || isFlowOperator(flat)) {
    if (scope.names.empty())
      scope.names = namesOf(nodes, scope.roots);
    flat.inside = insideOf(flat.name, scope);
  }
  if (function != functions.end())
    return inlineCall(flat, *function->second, scope);
  if (!model.budget.takeOperations(1))
    return makeError(ErrorClass::Capacity,
                     "node '{}': the graph has more than {} nodes after "
                     "inlining, more than a file of its size may make; call "
                     "the functions less often",
                     flat.name, model.nodes.size());
  sink(std::move(flat));
  return Error::success();
}

Error Flattener::addAttributes(const onnx::NodeProto &node, const Scope &scope,
                               FlatNode &flat) {
  llvm::StringSet<> seen;
  for (const onnx::AttributeProto &attribute : node.attribute()) {
    if (attribute.name().empty())
      return makeError(ErrorClass::Malformed,
                       "node '{}' has an attribute without a name", flat.name);
    if (!seen.insert(attribute.name()).second)
      return makeError(ErrorClass::Malformed,
                       "node '{}' has the attribute '{}' twice", flat.name,
                       printable(attribute.name()));
    if (attribute.has_g() || attribute.graphs_size() != 0) {
      addGraphs(attribute, scope, flat);
      continue;
    }
    if (attribute.ref_attr_name().empty()) {
      flat.attributes.push_back(&attribute);
      continue;
    }
    if (!scope.bound)
      return makeError(ErrorClass::Malformed,
                       "node '{}' refers to the function attribute '{}' "
                       "outside a function",
                       flat.name, printable(attribute.ref_attr_name()));
    auto bound = scope.bound->find(attribute.ref_attr_name());
    if (bound == scope.bound->end())
      continue; // An attribute the call omits is omitted here too.
    onnx::AttributeProto copy = *bound->second;
    copy.set_name(attribute.name());
    model.attributes.push_back(std::move(copy));
    flat.attributes.push_back(&model.attributes.back());
  }
  return Error::success();
}

/// The graphs of an attribute read values of the scope around them, whose flat
/// names are found here, as the scope is gone when the graphs are expanded.
void Flattener::addGraphs(const onnx::AttributeProto &attribute,
                          const Scope &scope, FlatNode &flat) {
  model.attributes.push_back(attribute);
  onnx::AttributeProto &copy = model.attributes.back();
  llvm::StringSet<> seen;
  for (const CapturedValue &value : flat.captured)
    seen.insert(value.name);
  auto capture = [&](const std::string &name) {
    if (seen.insert(name).second)
      flat.captured.push_back({name, scope.flatName(name)});
  };
  if (copy.has_g())
    captureFree(*copy.mutable_g(), scope.bound, capture);
  for (onnx::GraphProto &graph : *copy.mutable_graphs())
    captureFree(graph, scope.bound, capture);
  flat.opsets = scope.opsets;
  flat.attributes.push_back(&copy);
}

Error Flattener::bindDefaults(const onnx::FunctionProto &function,
                              BoundAttributes &bound) {
  const google::protobuf::UnknownFieldSet &unknown =
      function.GetReflection()->GetUnknownFields(function);
  for (int i = 0; i < unknown.field_count(); ++i) {
    const google::protobuf::UnknownField &field = unknown.field(i);
    if (field.number() != attributeProtoField ||
        field.type() != google::protobuf::UnknownField::TYPE_LENGTH_DELIMITED)
      continue;
    onnx::AttributeProto attribute;
    if (!attribute.ParseFromString(field.length_delimited()))
      return makeError(ErrorClass::Malformed,
                       "function '{}' has a corrupt default attribute",
                       printable(function.name()));
    model.attributes.push_back(std::move(attribute));
    bound.try_emplace(model.attributes.back().name(), &model.attributes.back());
  }
  return Error::success();
}

Error Flattener::inlineCall(const FlatNode &call,
                            const onnx::FunctionProto &function,
                            const Scope &scope) {
  if (scope.depth >= kMaxDepth)
    return makeError(ErrorClass::Malformed,
                     "node '{}': functions call each other more than {} deep",
                     call.name, kMaxDepth);
  if (call.inputs.size() > static_cast<size_t>(function.input_size()) ||
      call.outputs.size() > static_cast<size_t>(function.output_size()))
    return makeError(ErrorClass::Malformed,
                     "node '{}' has {} inputs and {} outputs, function '{}' "
                     "takes {} and {}",
                     call.name, call.inputs.size(), call.outputs.size(),
                     printable(function.name()), function.input_size(),
                     function.output_size());
  Opsets opsets = readOpsets(function.opset_import(), model.remarks);
  opsets.insert(scope.opsets->begin(), scope.opsets->end());
  BoundAttributes bound;
  for (const onnx::AttributeProto *attribute : call.attributes)
    bound.try_emplace(attribute->name(), attribute);
  if (Error error = bindDefaults(function, bound))
    return error;
  Scope inner;
  inner.opsets = std::make_shared<const Opsets>(std::move(opsets));
  inner.prefix = call.inside;
  inner.bound = &bound;
  inner.depth = scope.depth + 1;
  for (int i = 0; i < function.input_size(); ++i)
    inner.values[function.input(i)] =
        static_cast<size_t>(i) < call.inputs.size() ? call.inputs[i]
                                                    : std::string();
  for (size_t i = 0; i < call.outputs.size(); ++i) {
    if (call.outputs[i].empty())
      continue;
    // An output that is an input needs a node to carry the new name.
    auto [it, isNew] =
        inner.values.try_emplace(function.output(i), call.outputs[i]);
    if (isNew)
      continue;
    FlatNode copy;
    copy.name = uniqueName(inner.prefix + "output", i);
    copy.op = "Identity";
    copy.opset = newestOpset;
    copy.inputs = {it->second};
    copy.outputs = {call.outputs[i]};
    copy.depth = inner.depth;
    sink(std::move(copy));
  }
  return expand(function.node(), inner);
}

Error ashlar::frontend::flatten(Model &model) {
  Flattener flattener(
      model, [&](FlatNode node) { model.nodes.push_back(std::move(node)); });
  if (Error error = flattener.addFunctions())
    return error;
  Opsets opsets = readOpsets(model.proto.opset_import(), model.remarks);
  // IR 3 models may omit the import; ONNX then means version 1.
  opsets.try_emplace("", 1);
  Scope scope;
  scope.opsets = std::make_shared<const Opsets>(std::move(opsets));
  const onnx::GraphProto &graph = model.proto.graph();
  for (const onnx::ValueInfoProto &input : graph.input())
    scope.roots.push_back(input.name());
  for (const onnx::TensorProto &tensor : graph.initializer())
    scope.roots.push_back(tensor.name());
  return flattener.expand(graph.node(), scope);
}
