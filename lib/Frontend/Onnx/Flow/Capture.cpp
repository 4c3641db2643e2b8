// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Walks graphs inside of graphs.

#include "Capture.h"

using namespace ashlar;
using namespace ashlar::frontend;

llvm::StringSet<>
ashlar::frontend::definedNames(const onnx::GraphProto &graph) {
  llvm::StringSet<> names;
  for (const onnx::ValueInfoProto &input : graph.input())
    names.insert(input.name());
  for (const onnx::TensorProto &tensor : graph.initializer())
    names.insert(tensor.name());
  for (const onnx::NodeProto &node : graph.node())
    for (const std::string &output : node.output())
      names.insert(output);
  return names;
}

namespace {

class Walk {
public:
  Walk(const BoundAttributes *bound,
       llvm::function_ref<void(const std::string &)> visit)
      : bound(bound), visit(visit) {}

  void graph(onnx::GraphProto &graph) {
    around.push_back(definedNames(graph));
    for (onnx::NodeProto &node : *graph.mutable_node())
      this->node(node);
    for (const onnx::ValueInfoProto &output : graph.output())
      name(output.name());
    around.pop_back();
  }

private:
  void name(const std::string &name) {
    for (const llvm::StringSet<> &names : around)
      if (names.contains(name))
        return;
    if (!name.empty())
      visit(name);
  }

  void node(onnx::NodeProto &node) {
    for (const std::string &input : node.input())
      name(input);
    auto &attributes = *node.mutable_attribute();
    for (int i = attributes.size() - 1; i >= 0; --i) {
      onnx::AttributeProto &attribute = attributes[i];
      if (bound && !attribute.ref_attr_name().empty()) {
        auto value = bound->find(attribute.ref_attr_name());
        if (value == bound->end()) {
          attributes.DeleteSubrange(i, 1);
          continue;
        }
        const std::string own = attribute.name();
        attribute = *value->second;
        attribute.set_name(own);
      }
      if (attribute.has_g())
        graph(*attribute.mutable_g());
      for (onnx::GraphProto &inner : *attribute.mutable_graphs())
        graph(inner);
    }
  }

  const BoundAttributes *bound;
  llvm::function_ref<void(const std::string &)> visit;
  std::vector<llvm::StringSet<>> around;
};

} // namespace

void ashlar::frontend::captureFree(
    onnx::GraphProto &graph, const BoundAttributes *bound,
    llvm::function_ref<void(const std::string &)> visit) {
  Walk(bound, visit).graph(graph);
}
