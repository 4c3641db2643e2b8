// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Cuts of graphs. Models are read as they stand, without inlining or sorting,
// so that the files of a search differ by what the search did alone.

#include "ShrinkGraph.h"
#include "lib/Frontend/Onnx/Tensors.h"

#include "ashlar/Support/CheckedMath.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

#include <cstring>

using namespace ashlar;
using namespace ashlar::frontend;
using llvm::StringRef;
using llvm::StringSet;

namespace {

/// Elements of the largest constant that is made up.
constexpr int64_t maxStandIn = int64_t(1) << 26;

/// Adds the names that a graph inside an attribute reads from outside.
void addCaptured(const onnx::GraphProto &graph, StringSet<> &names,
                 StringSet<> inner = {});

/// Adds all names that a node reads, those of graphs inside it included.
void addReads(const onnx::NodeProto &node, StringSet<> &names) {
  for (const std::string &input : node.input())
    if (!input.empty())
      names.insert(input);
  for (const onnx::AttributeProto &attribute : node.attribute()) {
    if (attribute.has_g())
      addCaptured(attribute.g(), names);
    for (const onnx::GraphProto &graph : attribute.graphs())
      addCaptured(graph, names);
  }
}

void addCaptured(const onnx::GraphProto &graph, StringSet<> &names,
                 StringSet<> inner) {
  for (const onnx::ValueInfoProto &input : graph.input())
    inner.insert(input.name());
  for (const onnx::TensorProto &tensor : graph.initializer())
    inner.insert(tensor.name());
  StringSet<> reads;
  for (const onnx::NodeProto &node : graph.node()) {
    addReads(node, reads);
    for (const std::string &output : node.output())
      inner.insert(output);
  }
  for (const onnx::ValueInfoProto &output : graph.output())
    reads.insert(output.name());
  for (const auto &name : reads.keys())
    if (!inner.contains(name))
      names.insert(name);
}

/// Everything but nodes, initialisers, inputs and outputs.
onnx::ModelProto frameOf(const onnx::ModelProto &model) {
  onnx::ModelProto frame;
  frame.set_ir_version(model.ir_version());
  frame.set_producer_name(model.producer_name());
  *frame.mutable_opset_import() = model.opset_import();
  *frame.mutable_functions() = model.functions();
  *frame.mutable_metadata_props() = model.metadata_props();
  onnx::GraphProto &graph = *frame.mutable_graph();
  graph.set_name(model.graph().name());
  *graph.mutable_value_info() = model.graph().value_info();
  return frame;
}

/// Values that depend on no graph input.
StringSet<> constantValues(const onnx::GraphProto &graph) {
  StringSet<> constant;
  for (const onnx::TensorProto &tensor : graph.initializer())
    constant.insert(tensor.name());
  for (const onnx::NodeProto &node : graph.node()) {
    StringSet<> reads;
    addReads(node, reads);
    if (llvm::all_of(reads.keys(),
                     [&](StringRef name) { return constant.contains(name); }))
      for (const std::string &output : node.output())
        constant.insert(output);
  }
  return constant;
}

/// Whether a stand-in may be made: declared shapes are only claims.
bool isModest(const ValueType &type) {
  int64_t count = 1;
  for (int64_t extent : type.shape) {
    if (extent < 0 || extent > maxStandIn)
      return false;
    count *= extent;
    if (count > maxStandIn)
      return false;
  }
  return true;
}

/// Stands for a constant that was computed: small values of both signs, so
/// that what reads them has something to do; ones for integers.
onnx::TensorProto standIn(const std::string &name, const ValueType &type) {
  onnx::TensorProto tensor;
  tensor.set_name(name);
  tensor.set_data_type(type.elements);
  for (int64_t extent : type.shape)
    tensor.add_dims(extent);
  const int64_t count = elementsOf(tensor);
  if (type.elements != onnx::TensorProto::FLOAT) {
    auto elements = elementTypeOf(type.elements, "stand-in");
    const size_t width = elements ? support::byteSize(*elements) : 0;
    if (!elements)
      llvm::consumeError(elements.takeError());
    std::vector<char> bytes(count * width, 0);
    for (size_t at = 0; at < bytes.size(); at += width)
      bytes[at] = 1;
    storeRaw(tensor, bytes);
    return tensor;
  }
  std::vector<char> bytes(count * sizeof(float));
  for (int64_t i = 0; i < count; ++i) {
    const float value = static_cast<float>(i * 37 % 17 - 8) / 8.0f;
    std::memcpy(&bytes[i * sizeof(float)], &value, sizeof(float));
  }
  storeRaw(tensor, bytes);
  return tensor;
}

/// The pieces of one cut.
struct Cut {
  const onnx::GraphProto &graph;
  const std::vector<bool> &keep;
  StringSet<> read;    ///< By kept nodes.
  StringSet<> made;    ///< By kept nodes.
  StringSet<> wanted;  ///< Graph outputs of the whole.
  StringSet<> present; ///< Inputs and initialisers of the result.

  Cut(const onnx::GraphProto &graph, const std::vector<bool> &keep)
      : graph(graph), keep(keep) {
    for (const onnx::ValueInfoProto &output : graph.output())
      wanted.insert(output.name());
    for (auto [i, node] : llvm::enumerate(graph.node())) {
      if (!keep[i])
        continue;
      addReads(node, read);
      for (const std::string &output : node.output())
        made.insert(output);
    }
  }

  void addConstants(onnx::GraphProto &result) {
    for (const onnx::TensorProto &tensor : graph.initializer())
      if (read.contains(tensor.name())) {
        *result.add_initializer() = tensor;
        present.insert(tensor.name());
      }
    for (const onnx::ValueInfoProto &input : graph.input())
      if (read.contains(input.name())) {
        *result.add_input() = input;
        present.insert(input.name());
      }
  }

  /// Values of the nodes that go.
  bool addBoundary(onnx::GraphProto &result, const ValueTypes &types) {
    const StringSet<> constant = constantValues(graph);
    for (auto [i, node] : llvm::enumerate(graph.node()))
      for (const std::string &output : node.output()) {
        if (keep[i] || !read.contains(output) || made.contains(output) ||
            !present.insert(output).second)
          continue;
        auto type = types.find(output);
        if (type == types.end())
          return false;
        if (constant.contains(output) && isModest(type->second)) {
          *result.add_initializer() = standIn(output, type->second);
          continue;
        }
        onnx::ValueInfoProto &input = *result.add_input();
        input.set_name(output);
        setType(input, type->second);
      }
    return true;
  }

  void addOutput(onnx::GraphProto &result, const std::string &name,
                 const ValueTypes &types) {
    for (const onnx::ValueInfoProto &output : graph.output())
      if (output.name() == name) {
        *result.add_output() = output;
        return;
      }
    onnx::ValueInfoProto &output = *result.add_output();
    output.set_name(name);
    if (auto type = types.find(name); type != types.end())
      setType(output, type->second);
  }

  void addOutputs(onnx::GraphProto &result, const ValueTypes &types) {
    // Secondary results (masks, indices) that are never read stay inside.
    StringSet<> readBefore;
    for (const onnx::NodeProto &node : graph.node())
      addReads(node, readBefore);
    StringSet<> added;
    for (const onnx::NodeProto &node : result.node())
      for (auto [i, name] : llvm::enumerate(node.output())) {
        const bool known = wanted.contains(name);
        const bool open =
            !read.contains(name) && (i == 0 || readBefore.contains(name));
        if (!name.empty() && (known || open) && added.insert(name).second)
          addOutput(result, name, types);
      }
  }
};

void renameReads(onnx::GraphProto &graph, const std::string &from,
                 const std::string &to) {
  for (onnx::NodeProto &node : *graph.mutable_node()) {
    for (std::string &input : *node.mutable_input())
      if (input == from)
        input = to;
    for (onnx::AttributeProto &attribute : *node.mutable_attribute())
      if (attribute.has_g())
        renameReads(*attribute.mutable_g(), from, to);
  }
}

} // namespace

int64_t ashlar::frontend::elementsOf(const onnx::TensorProto &tensor) {
  int64_t count = 1;
  for (int64_t extent : tensor.dims()) {
    auto product = support::checkedMul(count, extent);
    if (extent < 0 || !product)
      return 0;
    count = *product;
  }
  return count;
}

ShrinkSize ashlar::frontend::sizeOf(const onnx::ModelProto &model) {
  const onnx::GraphProto &graph = model.graph();
  ShrinkSize size{graph.node_size(), graph.input_size(), graph.output_size(),
                  0};
  for (const onnx::TensorProto &tensor : graph.initializer())
    size.constants += elementsOf(tensor);
  return size;
}

ModelCopy ashlar::frontend::keepNodes(const onnx::ModelProto &model,
                                      const std::vector<bool> &keep,
                                      const ValueTypes &types) {
  if (!llvm::is_contained(keep, true))
    return std::nullopt;
  onnx::ModelProto result = frameOf(model);
  onnx::GraphProto &graph = *result.mutable_graph();
  Cut cut(model.graph(), keep);
  for (auto [i, node] : llvm::enumerate(model.graph().node()))
    if (keep[i])
      *graph.add_node() = node;
  cut.addConstants(graph);
  if (!cut.addBoundary(graph, types))
    return std::nullopt;
  cut.addOutputs(graph, types);
  if (graph.output_size() == 0)
    return std::nullopt;
  return result;
}

ModelCopy ashlar::frontend::bypassNode(const onnx::ModelProto &model, int node,
                                       int input, const ValueTypes &types) {
  const onnx::NodeProto &bypassed = model.graph().node(node);
  if (input >= bypassed.input_size() || bypassed.output_size() == 0)
    return std::nullopt;
  const std::string &from = bypassed.output(0), &to = bypassed.input(input);
  auto fromType = types.find(from), toType = types.find(to);
  if (fromType == types.end() || toType == types.end() ||
      fromType->second != toType->second)
    return std::nullopt;
  for (const onnx::ValueInfoProto &output : model.graph().output())
    if (llvm::is_contained(bypassed.output(), output.name()))
      return std::nullopt;
  std::vector<bool> keep(model.graph().node_size(), true);
  keep[node] = false;
  onnx::ModelProto renamed = model;
  renameReads(*renamed.mutable_graph(), from, to);
  return keepNodes(renamed, keep, types);
}

ModelCopy ashlar::frontend::dropOutput(const onnx::ModelProto &model,
                                       int output) {
  if (model.graph().output_size() < 2)
    return std::nullopt;
  onnx::ModelProto result = model;
  onnx::GraphProto &graph = *result.mutable_graph();
  graph.mutable_output()->DeleteSubrange(output, 1);
  // What a dropped output alone needed goes; the order of the file need not be
  // that of execution, hence rounds.
  for (bool changed = true; changed;) {
    changed = false;
    StringSet<> needed;
    for (const onnx::ValueInfoProto &value : graph.output())
      needed.insert(value.name());
    for (const onnx::NodeProto &node : graph.node())
      addReads(node, needed);
    for (int i = graph.node_size() - 1; i >= 0; --i)
      if (llvm::none_of(graph.node(i).output(), [&](const std::string &name) {
            return needed.contains(name);
          })) {
        graph.mutable_node()->DeleteSubrange(i, 1);
        changed = true;
      }
  }
  std::vector<bool> keep(graph.node_size(), true);
  return keepNodes(result, keep, {});
}

ModelCopy ashlar::frontend::dropDeclarations(const onnx::ModelProto &model) {
  onnx::ModelProto result = model;
  result.clear_metadata_props();
  result.clear_doc_string();
  result.clear_producer_name();
  result.clear_producer_version();
  result.clear_domain();
  result.clear_training_info();
  onnx::GraphProto &graph = *result.mutable_graph();
  graph.clear_value_info();
  graph.clear_doc_string();
  graph.clear_quantization_annotation();
  StringSet<> domains, calls;
  for (onnx::NodeProto &node : *graph.mutable_node()) {
    node.clear_doc_string();
    domains.insert(node.domain() == "ai.onnx" ? "" : node.domain());
    calls.insert(node.domain() + "/" + node.op_type());
  }
  if (llvm::none_of(result.functions(), [&](const auto &function) {
        return calls.contains(function.domain() + "/" + function.name());
      }))
    result.clear_functions();
  for (int i = result.opset_import_size() - 1; i >= 0; --i) {
    const std::string &domain = result.opset_import(i).domain();
    // Bodies of functions name domains of their own.
    if (result.functions_size() == 0 && !domain.empty() &&
        domain != "ai.onnx" && !domains.contains(domain))
      result.mutable_opset_import()->DeleteSubrange(i, 1);
  }
  return result;
}

ModelCopy
ashlar::frontend::constantsAsInitializers(const onnx::ModelProto &model) {
  onnx::ModelProto result = model;
  onnx::GraphProto &graph = *result.mutable_graph();
  bool changed = false;
  for (int i = graph.node_size() - 1; i >= 0; --i) {
    const onnx::NodeProto &node = graph.node(i);
    if (node.op_type() != "Constant" || node.attribute_size() != 1 ||
        node.attribute(0).name() != "value" || node.output_size() != 1)
      continue;
    onnx::TensorProto tensor = node.attribute(0).t();
    tensor.set_name(node.output(0));
    *graph.add_initializer() = std::move(tensor);
    graph.mutable_node()->DeleteSubrange(i, 1);
    changed = true;
  }
  return changed ? ModelCopy(std::move(result)) : std::nullopt;
}
