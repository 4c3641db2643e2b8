// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The operations of a module as a graph.

#include "Graph.h"

#include "ashlar/Analysis/Module/NodeNames.h"
#include "dialects/NN/NNDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace ashlar::pipelines::explorer {
namespace {

/// What a side panel can show of an attribute.
constexpr size_t longestAttribute = 400;

template <typename T>
std::string textOf(T value) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << value;
  return text;
}

std::string textOf(Attribute attribute) {
  // Weights are not for reading.
  if (auto elements = llvm::dyn_cast<ElementsAttr>(attribute))
    if (elements.getNumElements() > 16)
      return textOf<Type>(elements.getShapedType());
  std::string text = textOf<Attribute>(attribute);
  if (text.size() > longestAttribute)
    text = text.substr(0, longestAttribute) + " ...";
  return text;
}

/// "/stage1/block/Conv" lies in "stage1/block".
std::string spaceOf(llvm::StringRef name) {
  llvm::SmallVector<llvm::StringRef> parts;
  name.split(parts, '/', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  return parts.size() < 2 ? ""
                          : llvm::join(llvm::ArrayRef(parts).drop_back(), "/");
}

class ModuleGraphBuilder {
public:
  ModuleGraphBuilder(func::FuncOp function, llvm::StringRef id,
                     const Layers &layers, llvm::StringRef next)
      : function(function), layers(layers), next(next) {
    graph.id = id.str();
  }

  Graph build() {
    for (BlockArgument argument : function.getArguments())
      addInput(argument);
    unsigned number = 0;
    for (Operation &op : function.getBody().front()) {
      const std::string id = "op" + std::to_string(number++);
      for (OpResult result : op.getResults())
        ids[result] = {id, result.getResultNumber()};
      add(op, id);
    }
    return std::move(graph);
  }

private:
  void addInput(BlockArgument argument) {
    const unsigned number = argument.getArgNumber();
    Node node;
    node.id = "in" + std::to_string(number);
    auto name = function.getArgAttrOfType<StringAttr>(number, nn::nameAttr);
    node.label = name ? name.str() : node.id;
    node.space = "inputs";
    node.outputs = {textOf<Type>(argument.getType())};
    ids[argument] = {node.id, 0};
    graph.nodes.push_back(std::move(node));
  }

  void add(Operation &op, const std::string &id) {
    Node node;
    node.id = id;
    node.label = op.hasTrait<OpTrait::IsTerminator>()
                     ? "outputs"
                     : op.getName().getStringRef().str();
    llvm::SmallVector<std::string> names = analysis::getNodeNames(op.getLoc());
    if (!names.empty()) {
      node.space = spaceOf(names.front());
      node.attributes.push_back({"node", llvm::join(names, ", ")});
    }
    for (NamedAttribute attribute : op.getAttrDictionary())
      node.attributes.push_back(
          {attribute.getName().str(), textOf(attribute.getValue())});
    for (OpOperand &operand : op.getOpOperands()) {
      const Edge &source = ids[operand.get()];
      node.edges.push_back(
          {source.source, source.output, operand.getOperandNumber()});
    }
    for (Type type : op.getResultTypes())
      node.outputs.push_back(textOf<Type>(type));
    if (!op.hasTrait<OpTrait::ConstantLike>())
      link(node, names);
    graph.nodes.push_back(std::move(node));
  }

  /// Into what the operation became.
  void link(Node &node, llvm::ArrayRef<std::string> names) const {
    for (const std::string &name : names) {
      auto layer = layers.find(name);
      if (layer == layers.end())
        continue;
      node.layer = layer->second->name;
      if (!next.empty())
        node.subgraphs.push_back(next.str());
      node.subgraphs.push_back(programGraphId(node.layer));
      return;
    }
  }

  func::FuncOp function;
  const Layers &layers;
  llvm::StringRef next;
  Graph graph;
  llvm::DenseMap<mlir::Value, Edge> ids;
};

} // namespace

Graph graphOf(ModuleOp module, llvm::StringRef id, const Layers &layers,
              llvm::StringRef next) {
  for (auto function : module.getOps<func::FuncOp>())
    if (!function.isDeclaration())
      return ModuleGraphBuilder(function, id, layers, next).build();
  return {id.str(), {}};
}

} // namespace ashlar::pipelines::explorer
